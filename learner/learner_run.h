#ifndef LEARNER_LEARNER_RUN_H
#define LEARNER_LEARNER_RUN_H

#include "common/oct_prometheus.h"
#include "learner/learner_actors.h"
#include "learner/learner_evals.h"
#include "learner/learner_relays.h"
#include "learner/learner_source.h"
#include "learner/learner_train.h"
#include "proto/wire_peers.h"

// One experiment: everything of the learner but its sockets. Phases: waiting for the first actor
// (which brings the environment's spec) -> training -> final evaluation -> done.
//
// Threads: the loop thread; it contains the training thread and the quantizer stage, which call
// notify when they have something.
// Owns: the algorithm, batches, publications, the run folder's files.
typedef struct learner_run learner_run;

typedef enum learner_phase {
    LEARNER_WAITING,
    LEARNER_TRAINING,
    LEARNER_FINAL,
    LEARNER_DONE,
} learner_phase;

typedef struct learner_run_options {
    const oct_config *config; // borrowed
    const char *folder;       // exists
    bool resume;              // go on from the newest whole checkpoint if there is one
    uint64_t epoch;           // of this learner among those of the folder (learner_lock.h)
    // What the environment is (learner_environment.h); NULL: as the folder has it when resuming,
    // else as the first to register.
    const char *environment;
    // When training ends and no evaluator is there, how long to wait for one before it is given up
    // to know what was learned. 0: not at all.
    double evaluator_wait_s;
    // Without an actor, or in training without an evaluator, until that is said in the log; also
    // since the last evaluator left.
    double missed_s;
    learner_group *lg; // borrowed; NULL: the run has one learner
    learner_notify_fn notify;
    void *arg;
} learner_run_options;

// OCT_EIO: the folder cannot be written; OCT_ENOTFOUND: options.environment; OCT_EPROTO /
// OCT_EINVAL: the checkpoint or environment is damaged or of another release, or the environment is
// known and the experiment cannot be trained on it; each with one line in reason.
OCT_CHECKED oct_err learner_run_create(learner_run **out, const learner_run_options *options,
                                       char *reason, size_t reason_size);
void learner_run_destroy(learner_run *run); // NULL is a no-op; stops the threads

learner_phase learner_run_phase(const learner_run *run);
uint64_t learner_run_id(const learner_run *run);
learner_actors *learner_run_actors(learner_run *run);
// Whether the log may have a line more of who comes and goes with that certificate; zeros: it was
// asked for none. Lines that were left out before are counted in one.
bool learner_run_may_tell(learner_run *run, const oct_holder *holder);
// The token of a registered session (wire_token.h).
void learner_run_token(const learner_run *run, const learner_actor *actor,
                       uint8_t out[WIRE_TOKEN_BYTES]);
// Whether a token is that of a session, of this process or of one before.
bool learner_run_is_token_of(const learner_run *run, uint64_t session,
                             const uint8_t token[WIRE_TOKEN_BYTES]);
// Who has this id and this token; NULL: nobody who is registered here.
learner_actor *learner_run_known(learner_run *run, uint32_t actor_id,
                                 const uint8_t token[WIRE_TOKEN_BYTES]);
const policy_spec *learner_run_spec(const learner_run *run); // NULL while waiting
// An actor's environment: the first starts training, all must be alike. With one line in reason:
// OCT_EINVAL: it is refused, for what lies in the actor, and nothing has changed; OCT_EAGAIN: the
// run is over, also because the experiment cannot be trained on this environment, which is logged:
// then the run has failed.
OCT_CHECKED oct_err learner_run_join(learner_run *run, const wire_env_spec *env, char *reason,
                                     size_t reason_size);
// Registers an actor or evaluator: with a place for it once learner_run_join has taken its
// environment. holder: its certificate, NULL: it was asked for none. OCT_ESTALE: it has the
// configuration of another run, whose environment says nothing of this one's, and nothing has
// changed: it is to have this run's first. Other errors as of learner_run_join; OCT_EAGAIN also
// without a place; always with one line in reason.
OCT_CHECKED oct_err learner_run_register(learner_run *run, const wire_register *request,
                                         const oct_holder *holder, learner_actor **out,
                                         char *reason, size_t reason_size);
// Who registered was refused for what lies in it, and why: counted, and told by status and trouble.
void learner_run_refuse(learner_run *run, const wire_register *request, const char *why);
// Where windows of a batch come from: the replay that actors insert into, or the shards that they
// do, LEARNER_LIVE + 0, 1, …; and that of a data set.
typedef enum learner_origin {
    LEARNER_LIVE,
    LEARNER_DATA = LEARNER_LIVE + OCT_SHARDS_MAX,
    LEARNER_ORIGINS,
} learner_origin;
// Its link, requests that were missed and priorities are the caller's business. NULL while waiting,
// and where the run has no such.
learner_source *learner_run_source(learner_run *run, learner_origin origin);

// learner_source_configure, or learner_source_limiter, with what is said of other shards.
wire_configure learner_run_configure(const learner_run *run, learner_origin origin,
                                     bool limiter_only);
// learner_source_configured; what a resumed run finds in replay is logged.
void learner_run_configured(learner_run *run, learner_origin origin, oct_err err,
                            const wire_configured *answer);
// Whether a replay may have this table. OCT_EINVAL with a reason: it is another shard's, now or
// earlier, and what it took has been counted there.
OCT_CHECKED oct_err learner_run_table(const learner_run *run, learner_origin origin, uint64_t table,
                                      char *reason, size_t reason_size);
// Batches that may be asked for now, as the request; promised to it until learner_run_sampled or
// learner_run_missed. 0: none.
uint32_t learner_run_request(learner_run *run, learner_origin origin, wire_sample *out);
// A request for counters alone, if one is due: of a shard, with those of the others; of another
// replay, when a sample is late. Then its answer. OCT_EAGAIN: replay is to be configured first.
bool learner_run_tell(learner_run *run, learner_origin origin, bool is_late, wire_sample *out);
OCT_CHECKED oct_err learner_run_told(learner_run *run, learner_origin origin,
                                     const wire_sampled *sampled);
// OCT_EAGAIN: replay is to be configured first.
OCT_CHECKED oct_err learner_run_sampled(learner_run *run, learner_origin origin, uint32_t promised,
                                        const wire_sampled *sampled);
// A request without an answer.
void learner_run_missed(learner_run *run, learner_origin origin, uint32_t promised);
// Priorities to be sent now; false: none. Valid until the next collect. Then what became of them,
// and why. In lock-step a run whose replay refuses them (OCT_EPROTO, OCT_EINVAL) has failed, and
// any other error has it start over.
bool learner_run_priorities(learner_run *run, learner_origin origin, wire_priorities *out);
void learner_run_returned(learner_run *run, oct_err err, const char *detail);
// Lock-step: whether replay is to be asked for the hash of its table, and how; then its answer,
// or why none came: OCT_EINVAL, the table is at another turn; else it is asked for again.
bool learner_run_digest(learner_run *run, wire_digest_request *out);
void learner_run_digested(learner_run *run, oct_err err, const char *detail,
                          const wire_digest *digest);
// Whether replay is to be asked which sessions have inserted, and about whom; then its answer.
bool learner_run_asks_sessions(learner_run *run, wire_sessions *out);
void learner_run_inserted(learner_run *run, const wire_sessions *answer);
// Evaluations that the evaluators of one certificate may have without an answer: those that they
// play, and those that they lost. One of the lost comes back in a minute.
#define LEARNER_TICKETS_MAX      32
#define LEARNER_TICKETS_A_SECOND (1.0 / 60)
// A request was refused because its peers do not read their answers: counted, and logged once.
void learner_run_count_unread(learner_run *run);
// A window of a refused update whose session replay is to name (window_origins); NULL: it does not.
bool learner_run_asks_origin(learner_run *run, wire_priorities *out);
void learner_run_origin(learner_run *run, const wire_sessions *answer);
// It ended so that this process resumes it from the last checkpoint.
bool learner_run_starts_over(const learner_run *run);
// Lock-step: whether a machine with this sum (oct_libm.h) does the same as this one. OCT_EINVAL
// with a reason: what it works out would differ.
OCT_CHECKED oct_err learner_run_machine(const learner_run *run, const char *where, uint64_t libm,
                                        char *reason, size_t reason_size);
// Looks at what the threads have done. Call when notified.
void learner_run_collect(learner_run *run);
// The next version to publish, borrowed until the next call; NULL: none, or its number could not be
// reserved on disk yet.
const quantizer_publication *learner_run_publish(learner_run *run);
// The same where no actor gets it, after training: whether its number is reserved or not.
const quantizer_publication *learner_run_publish_to_evaluators(learner_run *run);
const quantizer_publication *learner_run_latest(const learner_run *run); // NULL: none yet
// What an actor that has a version (0: none) is to act with next. NULL: nothing newer.
const quantizer_publication *learner_run_newest(learner_run *run, const learner_actor *actor,
                                                uint64_t have);
// How often the index of an actor was given before; actor NULL: it has none yet.
uint32_t learner_run_incarnation(const learner_run *run, const learner_actor *actor);
// Under which topic an audience's policies go (wire_policy), and whose audience an actor is.
uint32_t learner_run_topic(const learner_run *run, uint32_t audience);
uint32_t learner_run_audience(const learner_run *run, const learner_actor *actor);

// The next evaluation for this evaluator. OCT_EAGAIN: none now. OCT_EINVAL: it did not register as
// one, which is counted and logged once.
OCT_CHECKED oct_err learner_run_order(learner_run *run, uint32_t evaluator,
                                      learner_eval_order *out);
// OCT_ENOTFOUND: unknown actor, or not its token. OCT_EINVAL: it says what cannot be; nothing of it
// is taken, it is counted and logged once.
OCT_CHECKED oct_err learner_run_report(learner_run *run, const wire_report *report);

// Fifty times a second: budgets, metrics, checkpoints.
void learner_run_tick(learner_run *run);
// Ends training. evaluate: with a final evaluation if an evaluator is there or awaited, else done
// at once. Again while that goes on: it is given up.
void learner_run_finish(learner_run *run, const char *reason, bool evaluate);
// Ends it, and nothing is written in the folder any more: another learner has the run.
void learner_run_abandon(learner_run *run, const char *reason);
// Writes everything: checkpoint, policies, curve, summary. When done. A resumed run that no actor
// could join leaves the folder as it was.
void learner_run_save(learner_run *run);
// Whether nobody can have a checkpoint now, and why; NULL: one can be asked for.
const char *learner_run_no_checkpoint(const learner_run *run);
// Asks for a checkpoint of now, which another thread writes; does nothing when there can be none.
// Its number is for learner_run_checkpointed.
uint64_t learner_run_checkpoint(learner_run *run);
// What became of it, or of a later one; out is what a resumed run would go on from. OCT_EAGAIN: it
// is not written yet. OCT_EIO: it could not be, with one line in reason.
OCT_CHECKED oct_err learner_run_checkpointed(learner_run *run, uint64_t number, wire_written *out,
                                             char *reason, size_t reason_size);
// Bytes of frames so far, by arrow, told by the caller who has the sockets.
typedef struct learner_traffic {
    uint64_t to_replay, from_replay;
    uint64_t to_data, from_data;
    uint64_t published;                // each publication counted once
    uint64_t from_callers, to_callers; // requests of actors, evaluators and operators, and answers
} learner_traffic;
void learner_run_set_traffic(learner_run *run, const learner_traffic *traffic);
// How many relays live, for the status.
void learner_run_set_relays(learner_run *run, uint32_t count);
// A request that the caller refused, for the status.
void learner_run_count_refused(learner_run *run);
// Borrowed until the next call.
const wire_status *learner_run_status(learner_run *run);
// Who has registered, count_max entries at most (1 .. WIRE_PEERS_MAX), and the relays, with the
// actors of each counted (NULL: none). Borrowed until the next call.
const wire_peers *learner_run_peers(learner_run *run, const learner_relays *relays,
                                    uint32_t count_max);
// Whether replay has the run's table and answers, told by the caller.
// The run's numbers for Prometheus.
void learner_run_prometheus(learner_run *run, oct_prometheus *text);
// In lock-step: why replay cannot copy its table, for which the run waits; NULL: it waits for no
// such thing.
const char *learner_run_unkept(const learner_run *run);
// A file of the folder could not be written the last time (no space, say).
bool learner_run_unsaved(const learner_run *run);
// Which one, and why, in words until the next call, or what is unkept, or that no actor acts and
// the last one was refused; NULL: none.
const char *learner_run_trouble(learner_run *run);
// Everything is learned but could not be saved (no space): exit code must not be 0.
bool learner_run_failed(const learner_run *run);

#endif // LEARNER_LEARNER_RUN_H
