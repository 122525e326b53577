#ifndef LEARNER_LEARNER_PACE_H
#define LEARNER_LEARNER_PACE_H

#include "learner/learner_folder.h"
#include "learner/learner_progress.h"
#include "learner/learner_run.h"

// The pace decides when a run acts: by the clock and arrivals (learner_pace_clock.c), or by turns
// (run.deterministic: learner_pace_turns.c, docs/determinism.md). The run has one path for both; it
// asks its pace wherever time would decide.
//
// Threads: the loop thread.

typedef struct learner_pacer learner_pacer; // the state of a pace: each file has its own

// What a pace works with, borrowed for as long as its state.
typedef struct learner_pace_parts {
    learner_run *run; // asked by the functions below, and by those of learner_run.h
    const config_experiment *config;
    const char *path; // of the run folder
    uint64_t epoch;
    learner_progress *progress;
    learner_folder *folder;
    learner_actors *actors;
    learner_evals *evals;
    learner_publisher *publisher;
} learner_pace_parts;

// What a pace asks of its run.
// Ends the run if its budget or time is spent, or if it cannot learn any more. It fails if too many
// updates in a row were refused, or at its end all were, or if no external learner connected.
void learner_run_check_budget(learner_run *run);
// Writes a checkpoint of the state, which is taken, and the present counters. async: a thread
// writes it.
void learner_run_store(learner_run *run, learner_state_bytes *take, bool async);
void learner_run_fail(learner_run *run, const char *reason);       // ends the run as failed
void learner_run_start_over(learner_run *run, const char *reason); // abandons it: it is resumed

// The decisions of a pace. request, learned, returned, published, place, resume_check and the three
// for hashes are NULL in a pace without turns: then nothing happens.
typedef struct learner_pace {
    learner_pacer *(*create)(const learner_pace_parts *parts);
    void (*destroy)(learner_pacer *pacer); // NULL is a no-op
    // Training begins. train and batches are borrowed.
    void (*begin)(learner_pacer *pacer, learner_train *train, learner_batches *batches);
    // Batches: whether a request may be sent, what it says about the turn, and its answer: sampled
    // is NULL if there was no answer.
    bool (*may_request)(learner_pacer *pacer);
    void (*request)(learner_pacer *pacer, wire_sample *out);
    void (*answered)(learner_pacer *pacer, const wire_sampled *sampled, uint32_t batches);
    void (*learned)(learner_pacer *pacer); // the training thread has learned from a batch
    // Share of the budget that schedules use now, 0 to 1.
    double (*share)(const learner_pacer *pacer);
    // Priorities: whether they may be sent (if so, the caller sends them), and the result of
    // sending.
    bool (*may_return)(learner_pacer *pacer);
    void (*returned)(learner_pacer *pacer, oct_err err, const char *detail);
    // Replay no longer has a table of this run.
    void (*table_lost)(learner_pacer *pacer);
    void (*published)(learner_pacer *pacer, const quantizer_publication *publication);
    // Next publication for an actor that has a version; NULL: nothing is newer.
    const quantizer_publication *(*newest)(learner_pacer *pacer, const learner_actor *actor,
                                           uint64_t have);
    // Incarnation of an actor that registers; actor is NULL before it has sent its environment.
    uint32_t (*incarnation)(const learner_pacer *pacer, const learner_actor *actor);
    // Session of the actor with that index; 0: the caller draws one.
    uint64_t (*session)(const learner_pacer *pacer, uint32_t actor_index);
    // Hashes: as learner_run_digest, learner_run_digested and learner_run_unkept.
    bool (*digest)(learner_pacer *pacer, wire_digest_request *out);
    void (*digested)(learner_pacer *pacer, oct_err err, const char *detail,
                     const wire_digest *digest);
    const char *(*unkept)(const learner_pacer *pacer);
    // Takes the training thread's state, which learner_train_ask_state requested.
    void (*state)(learner_pacer *pacer, learner_state_bytes *take);
    // Evaluations: whether one may be ordered now, the time used to schedule short evaluations, and
    // the largest number of evaluators that share an evaluation.
    bool (*may_evaluate)(const learner_pacer *pacer);
    uint64_t (*evaluation_now_ns)(const learner_pacer *pacer);
    uint32_t evaluators_max;
    // Runs fifty times a second while training, for checkpoints and the end of the run.
    void (*tick)(learner_pacer *pacer, uint64_t now_ns);
    void (*checkpoint)(learner_pacer *pacer); // a checkpoint was requested
    // What a checkpoint written now records about turns. The caller fills in refused and libm.
    void (*place)(const learner_pacer *pacer, learner_turn_place *out);
    // Checks that the run can continue from the checkpoint that was read. OCT_EINVAL: it could not.
    oct_err (*resume_check)(const learner_pacer *pacer, oct_reason *why);
    // Training must end: the return is reached, or the budget is spent.
    void (*finish)(learner_pacer *pacer, const char *reason);
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
