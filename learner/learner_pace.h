#ifndef LEARNER_LEARNER_PACE_H
#define LEARNER_LEARNER_PACE_H

#include "learner/learner_checkpoint.h"
#include "learner/learner_run.h"

// What decides when a run does what: the clock and whatever has arrived (learner_pace_clock.c), or
// turns (run.deterministic: learner_pace_turns.c, docs/determinism.md). The run has one path; where
// time would decide, it asks its pace.
//
// Threads: the loop thread.
typedef struct learner_pace {
    void (*begin)(learner_run *run); // training begins
    void (*end)(learner_run *run);   // frees what begin reserved, if it was called
    // Batches. Whether a request may go, and what it says of the turn; what came of it: sampled is
    // NULL when there was no answer.
    bool (*may_request)(learner_run *run);
    void (*request)(learner_run *run, wire_sample *out);
    void (*answered)(learner_run *run, const wire_sampled *sampled, uint32_t batches);
    void (*learned)(learner_run *run); // from one
    // Of the budget, by which schedules go now, 0 to 1.
    double (*share)(const learner_run *run);
    // Priorities. Whether they may go: then they do; what became of them, and why.
    bool (*may_return)(learner_run *run);
    void (*returned)(learner_run *run, oct_err err, const char *detail);
    // Replay has no table of this run any more.
    void (*table_lost)(learner_run *run);
    void (*published)(learner_run *run, const quantizer_publication *publication);
    // What an actor that has a version is to act with next; NULL: nothing newer.
    const quantizer_publication *(*newest)(learner_run *run, const learner_actor *actor,
                                           uint64_t have);
    // Of an actor that registers; of one that has not said its environment yet: NULL.
    uint32_t (*incarnation)(const learner_run *run, const learner_actor *actor);
    // The session of the actor with that index; 0: it is drawn.
    uint64_t (*session)(const learner_run *run, uint32_t actor_index);
    // The training thread's state, as learner_train_ask_state asked for.
    void (*state)(learner_run *run, learner_state_bytes *take);
    // Evaluations: whether one may be ordered now, the time that their screens are counted in, and
    // among how many evaluators one is split at most.
    bool (*may_evaluate)(const learner_run *run);
    uint64_t (*evaluation_now_ns)(const learner_run *run);
    uint32_t evaluators_max;
    // Fifty times a second while training: checkpoints and the end of the run.
    void (*tick)(learner_run *run, uint64_t now_ns);
    void (*checkpoint)(learner_run *run); // somebody asks for one
    // What a checkpoint of now says of turns.
    void (*place)(const learner_run *run, learner_turn_place *out);
    // Training is to end: solved, or the budget is spent.
    void (*finish)(learner_run *run, const char *reason);
    bool saves_at_end;     // a checkpoint of wherever training ended
    bool publishes_at_end; // what was learned since the last version
} learner_pace;

extern const learner_pace learner_pace_clock;
extern const learner_pace learner_pace_turns;

#endif // LEARNER_LEARNER_PACE_H
