#ifndef LEARNER_LEARNER_RUN_H
#define LEARNER_LEARNER_RUN_H

#include "common/oct_prometheus.h"
#include "common/oct_reason.h"
#include "learner/learner_actors.h"
#include "learner/learner_admission.h"
#include "learner/learner_batches.h"
#include "learner/learner_evals.h"
#include "learner/learner_progress.h"
#include "learner/learner_relays.h"
#include "learner/learner_report.h"
#include "learner/learner_train.h"
#include "proto/wire_peers.h"

// One experiment: everything in the learner except its sockets. Phases: waiting for the first actor
// (which brings the environment's spec) -> training -> final evaluation -> done. learner_run.c
// explains how the parts work together.
//
// Threads: the loop thread calls every function. The run contains the training thread and the
// quantizer stage, which call notify when they have a result.
// Owns: the algorithm, batches, publications, the run folder's files.
typedef struct learner_run learner_run;

typedef struct learner_run_options {
    const config_experiment *config; // borrowed
    const char *folder;              // exists
    bool resume;                     // continue from the newest complete checkpoint if there is one
    uint64_t epoch; // number of this learner among the learners of the folder (learner_lock.h)
    // Spec of the environment (learner_environment.h). NULL: a resumed run reads it from the
    // folder, and a new run takes it from the first actor that registers.
    const char *environment;
    // How long a run that has ended training without a connected evaluator waits for one before it
    // ends without a final evaluation. 0: it does not wait.
    double evaluator_wait_s;
    // How long the run is without an actor, or trains without an evaluator (also after the last one
    // left), before a line in the log says so.
    double missed_s;
    learner_group *lg; // borrowed; NULL: the run has one learner
    learner_notify_fn notify;
    void *arg;
} learner_run_options;

// Reads the folder and, if the environment is known, builds the algorithm. Errors, each with one
// line in why:
//   OCT_EIO       the folder cannot be written
//   OCT_ENOTFOUND options.environment does not exist
//   OCT_EPROTO    the checkpoint or the environment file is damaged or from another release
//   OCT_EINVAL    the same; or the experiment cannot be trained on the known environment
OCT_CHECKED oct_err learner_run_create(learner_run **out, const learner_run_options *options,
                                       oct_reason *why);
void learner_run_destroy(learner_run *run); // NULL is a no-op; stops the threads

learner_phase learner_run_phase(const learner_run *run);
uint64_t learner_run_id(const learner_run *run);
learner_actors *learner_run_actors(learner_run *run);
learner_admission *learner_run_admission(learner_run *run);
const policy_spec *learner_run_spec(const learner_run *run); // NULL while waiting
// Takes an actor's environment: the first starts training, and all others must equal it. Errors,
// each with one line in why:
//   OCT_EINVAL the actor's environment is refused, and nothing has changed
//   OCT_EAGAIN the run has ended, or it has just failed because the experiment cannot be trained on
//   this environment (then the cause is logged, too)
OCT_CHECKED oct_err learner_run_begin(learner_run *run, const wire_env_spec *env, oct_reason *why);
// Registers an actor or evaluator and gives it a slot after learner_run_begin has taken its
// environment. holder is its certificate, or NULL where the transport uses none. Errors, each with
// one line in why:
//   OCT_ESTALE the peer has another run's configuration, so its environment may not fit this run;
//   nothing has changed, and the caller sends this run's configuration first
//   OCT_EAGAIN no slot is free, or as learner_run_begin
//   Others     as learner_run_begin
OCT_CHECKED oct_err learner_run_register(learner_run *run, const wire_register *request,
                                         const oct_holder *holder, learner_actor **out,
                                         oct_reason *why);

// ---- the replays that the run learns from: members of learner_batches.h, by their index

// Returns the source of a member, for its link. NULL: training has not begun.
learner_source *learner_run_source(learner_run *run, uint32_t member);
// Returns learner_batches_configure of the run's batches.
wire_configure learner_run_configure(const learner_run *run, uint32_t member, bool limiter_only);
// Calls learner_batches_configured, and logs what a resumed run finds in replay.
void learner_run_configured(learner_run *run, uint32_t member, oct_err err,
                            const wire_configured *answer);
// Checks whether a replay may have this table. OCT_EINVAL with a reason: the table is or was
// another shard's, where its steps are counted.
OCT_CHECKED oct_err learner_run_table(const learner_run *run, uint32_t member, uint64_t table,
                                      oct_reason *why);
// Calls learner_batches_request if the run may ask now. The member owes the windows until
// learner_run_sampled or learner_run_missed.
uint32_t learner_run_request(learner_run *run, uint32_t member, wire_sample *out);
// learner_run_tell returns true if replay has to be asked for its counters (learner_batches_tell),
// with the request in out. learner_run_counters takes the answer. OCT_EAGAIN: configure replay
// first.
bool learner_run_tell(learner_run *run, uint32_t member, bool is_late, wire_sample *out);
OCT_CHECKED oct_err learner_run_counters(learner_run *run, uint32_t member,
                                         const wire_sampled *sampled);
// Takes an answer, and passes complete batches to the training thread. OCT_EAGAIN: configure replay
// first.
OCT_CHECKED oct_err learner_run_sampled(learner_run *run, uint32_t member, uint32_t requested,
                                        const wire_sampled *sampled);
// Notes that a request got no answer.
void learner_run_missed(learner_run *run, uint32_t member, uint32_t requested);
// Gives priorities to be sent now, valid until the next collect; false: there are none. The caller
// then reports with learner_run_returned whether replay took them, and an error's detail. In
// lock-step a run fails if replay refuses them (OCT_EPROTO, OCT_EINVAL), and starts over after any
// other error.
bool learner_run_priorities(learner_run *run, uint32_t member, wire_priorities *out);
void learner_run_returned(learner_run *run, oct_err err, const char *detail);
// Lock-step: returns true if the caller has to ask replay for the hash of its table, with the
// request in out. The caller passes on the answer or the error. OCT_EINVAL means that the table is
// at another turn, and the run starts over; after any other error the run asks again.
bool learner_run_digest(learner_run *run, wire_digest_request *out);
void learner_run_digested(learner_run *run, oct_err err, const char *detail,
                          const wire_digest *digest);
// Returns true if the caller has to ask replay which sessions have inserted, with the request in
// out. The caller passes on the answer.
bool learner_run_asks_sessions(learner_run *run, wire_sessions *out);
void learner_run_inserted(learner_run *run, const wire_sessions *answer);
// Counts a request that was refused because its peers do not read their answers, and logs the
// first.
void learner_run_count_unread(learner_run *run);
// Gives the window of a refused update for which this member has to name the session
// (window_origins); false: there is none. The caller passes on the answer; NULL: replay has none.
bool learner_run_asks_origin(learner_run *run, uint32_t member, wire_priorities *out);
void learner_run_origin(learner_run *run, const wire_sessions *answer);
// Returns true if the run ended so that this process resumes it from the last checkpoint.
bool learner_run_starts_over(const learner_run *run);
// Returns why no relay may register; NULL: relays may.
const char *learner_run_no_relay(const learner_run *run);
// Returns how long replay may take to answer priorities.
uint32_t learner_run_return_timeout_ms(const learner_run *run);
// Lock-step: checks that a machine with this checksum of math functions (oct_libm.h) computes the
// same bits as this machine. OCT_EINVAL with a reason: it does not.
OCT_CHECKED oct_err learner_run_machine(const learner_run *run, const char *where, uint64_t libm,
                                        oct_reason *why);
// Takes the results of the threads. Call when notified.
void learner_run_collect(learner_run *run);
// Returns the next version to publish, borrowed until the next call. NULL: there is none, or its
// number could not be reserved on disk yet.
const quantizer_publication *learner_run_publish(learner_run *run);
// Like learner_run_publish, for versions that no actor receives, after training: also returns a
// version that is not reserved.
const quantizer_publication *learner_run_publish_to_evaluators(learner_run *run);
const quantizer_publication *learner_run_latest(const learner_run *run); // NULL: none yet
// Returns what an actor that has version `have` (0: none) acts with next. NULL: nothing is newer.
const quantizer_publication *learner_run_newest(learner_run *run, const learner_actor *actor,
                                                uint64_t have);
// Returns how often the actor's index was assigned before. actor is NULL if it has no index yet.
uint32_t learner_run_incarnation(const learner_run *run, const learner_actor *actor);
// Returns the topic under which an audience's policies are published (wire_policy), and the
// audience that an actor belongs to.
uint32_t learner_run_topic(const learner_run *run, uint32_t audience);
uint32_t learner_run_audience(const learner_run *run, const learner_actor *actor);

// Gives the next evaluation for this evaluator. OCT_ENOTFOUND: it is not registered. OCT_EINVAL: it
// registered as an actor, which is counted and logged once. OCT_EAGAIN: there is none now.
OCT_CHECKED oct_err learner_run_order(learner_run *run, uint32_t evaluator,
                                      learner_eval_order *out);
// Takes a report. OCT_ENOTFOUND: the actor is unknown, or the token is not its own. OCT_EINVAL: a
// value is impossible; the report is dropped and counted, and the first is logged.
OCT_CHECKED oct_err learner_run_report(learner_run *run, const wire_report *report);

// Does the periodic work (budgets, metrics, checkpoints). Call fifty times a second.
void learner_run_tick(learner_run *run);
// Ends training. evaluate: a final evaluation follows if an evaluator is connected or awaited;
// without it the run is done at once. A second call during the final evaluation ends that
// evaluation.
void learner_run_finish(learner_run *run, const char *reason, bool evaluate);
// Ends the run and writes nothing in the folder from now on, because another learner has the run.
void learner_run_abandon(learner_run *run, const char *reason);
// Writes everything: checkpoint, policies, curve, summary. Call when the run is done. A resumed run
// that no actor could join leaves the folder unchanged.
void learner_run_save(learner_run *run);
// Returns why no checkpoint can be requested now; NULL: one can.
const char *learner_run_no_checkpoint(const learner_run *run);
// Requests a checkpoint of the present state, which another thread writes; does nothing if none can
// be written. Returns its number for learner_run_checkpointed.
uint64_t learner_run_checkpoint(learner_run *run);
// Returns the result of that checkpoint or a later one; out is what a resumed run would continue
// from. OCT_EAGAIN: it is not written yet. OCT_EIO: it could not be written; why has one line.
OCT_CHECKED oct_err learner_run_checkpointed(learner_run *run, uint64_t number, wire_written *out,
                                             oct_reason *why);
// Sets the bytes of frames so far, for the status.
void learner_run_set_traffic(learner_run *run, const learner_traffic *traffic);
// Sets the number of live relays, for the status.
void learner_run_set_relays(learner_run *run, uint32_t count);
// Counts a request that the caller refused, for the status.
void learner_run_count_refused(learner_run *run);
// Returns the run's status, borrowed until the next call.
const wire_status *learner_run_status(learner_run *run);
// Lists registered actors and evaluators, count_max entries at most (1 .. WIRE_PEERS_MAX). relays
// is NULL or has the actors of each relay counted. Borrowed until the next call.
const wire_peers *learner_run_peers(learner_run *run, const learner_relays *relays,
                                    uint32_t count_max);
// Writes the run's numbers for Prometheus.
void learner_run_prometheus(learner_run *run, oct_prometheus *text);
// Lock-step: returns why replay cannot copy its table while the run waits for that copy; NULL: the
// run does not wait for a copy.
const char *learner_run_unkept(const learner_run *run);
// Returns one sentence, valid until the next call: the file that cannot be written and why, or
// learner_run_unkept, or that no actor acts and why the last one was refused. NULL: none of these.
const char *learner_run_trouble(learner_run *run);
// Returns true if the run failed, or learned everything but could not save it (no space): the exit
// code must not be 0.
bool learner_run_failed(const learner_run *run);

#endif // LEARNER_LEARNER_RUN_H
