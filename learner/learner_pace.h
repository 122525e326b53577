#ifndef LEARNER_LEARNER_PACE_H
#define LEARNER_LEARNER_PACE_H

#include "learner/learner_checkpoint.h"
#include "learner/learner_run.h"

// The pace decides when a run acts: by the clock and arrivals (learner_pace_clock.c), or by turns
// (run.deterministic: learner_pace_turns.c, docs/determinism.md). The run has one path for both; it
// asks its pace wherever time would decide.
//
// Threads: the loop thread.
typedef struct learner_pace {
    void (*begin)(learner_run *run); // training begins
    void (*end)(learner_run *run);   // frees what begin reserved, if it was called
    // Batches: whether a request may be sent, what it says about the turn, and its answer: sampled
    // is NULL if there was no answer.
    bool (*may_request)(learner_run *run);
    void (*request)(learner_run *run, wire_sample *out);
    void (*answered)(learner_run *run, const wire_sampled *sampled, uint32_t batches);
    void (*learned)(learner_run *run); // the training thread has learned from a batch
    // Share of the budget that schedules use now, 0 to 1.
    double (*share)(const learner_run *run);
    // Priorities: whether they may be sent (if so, the caller sends them), and the result of
    // sending.
    bool (*may_return)(learner_run *run);
    void (*returned)(learner_run *run, oct_err err, const char *detail);
    // Replay no longer has a table of this run.
    void (*table_lost)(learner_run *run);
    void (*published)(learner_run *run, const quantizer_publication *publication);
    // Next publication for an actor that has a version; NULL: nothing is newer.
    const quantizer_publication *(*newest)(learner_run *run, const learner_actor *actor,
                                           uint64_t have);
    // Incarnation of an actor that registers; actor is NULL before it has sent its environment.
    uint32_t (*incarnation)(const learner_run *run, const learner_actor *actor);
    // Session of the actor with that index; 0: the caller draws one.
    uint64_t (*session)(const learner_run *run, uint32_t actor_index);
    // Takes the training thread's state, which learner_train_ask_state requested.
    void (*state)(learner_run *run, learner_state_bytes *take);
    // Evaluations: whether one may be ordered now, the time used to schedule short evaluations, and
    // the largest number of evaluators that share an evaluation.
    bool (*may_evaluate)(const learner_run *run);
    uint64_t (*evaluation_now_ns)(const learner_run *run);
    uint32_t evaluators_max;
    // Runs fifty times a second while training, for checkpoints and the end of the run.
    void (*tick)(learner_run *run, uint64_t now_ns);
    void (*checkpoint)(learner_run *run); // a checkpoint was requested
    // What a checkpoint written now records about turns.
    void (*place)(const learner_run *run, learner_turn_place *out);
    // Checks that the run can continue from the checkpoint that was read. OCT_EINVAL: it could not.
    oct_err (*resume_check)(const learner_run *run, oct_reason *why);
    // Training must end: the return is reached, or the budget is spent.
    void (*finish)(learner_run *run, const char *reason);
    bool saves_at_end;     // a checkpoint is written when training ends
    bool publishes_at_end; // a version is published at the end with what was learned since the last
    // A resumed run computes again, to the bit, all that followed its checkpoint. So nothing later
    // than the checkpoint is taken from the folder, and machines that round differently are
    // refused.
    bool repeats;
    bool waits_for_actors;      // one that ended is waited for, and continues where it was
    uint32_t return_timeout_ms; // for replay's answer to priorities
    const char *no_checkpoint;  // why no checkpoint can be asked for; NULL: it can
    const char *no_relay;       // why a relay may not register; NULL: it may
} learner_pace;

extern const learner_pace learner_pace_clock;
extern const learner_pace learner_pace_turns;

#endif // LEARNER_LEARNER_PACE_H
