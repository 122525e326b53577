#ifndef ACTOR_ACTOR_STATE_IO_H
#define ACTOR_ACTOR_STATE_IO_H

#include "actor/actor_batches_io.h"
#include "actor/actor_io.h"
#include "actor/actor_policies.h"
#include "actor/actor_reports.h"
#include "actor/actor_watchdog.h"
#include "actor/actor_worker.h"
#include "config/config.h"
#include "net/net_pub.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

// State of the actor's network side, and the calls between its files:
//   actor_io.c  start, watching, numbers, end
//   actor_join_io.c  registration with the learner, addresses
//   actor_policy_io.c  policies and evaluations from the learner
// No other file includes this header. Parts with headers of their own: actor_batches_io.h (batches
// on their way to replay), actor_policies.h (received policies), actor_reports.h (reports to the
// learner).
//
// Threads: the loop thread. Owns: see actor_io.h.

#define ACTOR_RPC_TIMEOUT_MS 3000 // of Register and ReportEpisodes
#define ACTOR_DRAIN_MS       1500 // longest wait of an actor that ends for acknowledgements
// A complete policy over a narrow line takes long: 2 MiB at 2 Mbit/s are 9 s. A lost link ends the
// wait earlier.
#define ACTOR_POLICY_TIMEOUT_MS 60000
#define ACTOR_RETRY_MIN_MS      20
#define ACTOR_RETRY_MAX_MS      1000 // each retry doubles the wait, from MIN to MAX
// Policies that may wait to be read. Each is a change of the one before it, so with a shorter
// queue a loop that was busy for a moment would need a complete policy.
#define ACTOR_POLICY_QUEUE 16
#define ACTOR_UNACKED_S    10 // replay repeats an acknowledgement at least every 2 s

// What the daemon does next: register without an environment for the configuration; register with
// the environment's spec; fetch the first policy; run. Each step is repeated with back-off until
// it succeeds.
enum actor_step { STEP_CONFIG, STEP_SPEC, STEP_POLICY, STEP_RUN };

// Addresses of the links.
typedef struct actor_addresses {
    char policies[NET_URL_MAX], replay[NET_URL_MAX]; // "": not known yet
    bool is_relayed;                                 // both addresses are a relay's
    uint32_t shard; // which of the replays gets the batches, as the learner counts them
} actor_addresses;

// Numbers for Prometheus: the last report of the acting thread, or sums over the evaluations
// played.
typedef struct actor_shown {
    uint64_t env_steps, policy_version, rows, dropped, failures, episodes, evaluations;
    double infer_s, env_s, collect_s, wait_s, evaluation_s;
} actor_shown;

struct actor_io {
    net_loop *loop;
    actor_io_options options;
    int exit_code;
    bool start_over; // the process is to start over with execv

    // Registration (actor_join_io.c).
    net_rpc_client *rpc;
    wire_client *client;
    net_timer *retry; // of the next step or question; NULL: none
    uint32_t retry_ms;
    bool calling;             // a Register or GetPolicy is open
    bool learner_lost;        // logged that the learner does not answer
    uint64_t learner_down_ns; // since when it has no connection; 0: connected
    uint64_t answered_ns;     // last answer of a learner, or the start
    enum actor_step step;
    uint64_t label;       // random; the learner recognises repeated requests by it
    wire_claim claim;     // the session, from the learner, which may renew the token; 0: none yet
    uint32_t actor_index; // 0 … within the run; seeds and exploration depend on it
    uint32_t incarnation; // earlier registrations of this index
    uint64_t libm;        // lock-step: checksum of this machine's libm (oct_libm.h); else 0
    bool leaves_at_once;  // lock-step: a resumed run makes its rows again, so none are waited for
    config_experiment config;
    env *e;               // until the worker takes it; an evaluator has none
    octet_env_spec *task; // a copy of the environment's spec
    actor_addresses addresses;
    bool own_relay_lost;          // the relay of --relay could not be used
    uint64_t await_ns;            // when the wait of --await-relay began; 0: it did not
    char lost_relay[NET_URL_MAX]; // unusable relay, reported with each Register; "": none

    // Acting.
    actor_worker *worker;     // NULL before the first policy
    actor_watchdog *watchdog; // NULL without --exit-when-stuck
    net_wakeup *wakeup;       // from the acting thread
    actor_batches *batches;   // NULL for an evaluator, and before the first policy
    actor_reports reports;
    bool leaving;      // the slot at the learner is freed, or there is none to free
    net_timer *drain;  // checks for the last acknowledgements; NULL: not ending
    uint64_t drain_ns; // when that began
    net_timer *tick;   // twice a second

    // Policies (actor_policy_io.c).
    actor_policies policies;
    wire_arena *arena;     // for the message being unpacked
    uint32_t policy_topic; // of the policies for this actor, from the learner
    net_sub *policy_sub;
    net_wakeup *pack; // packs the received policy after all waiting policies were applied

    // What was logged and shown.
    uint32_t failed_evaluations;
    bool has_truncated;                       // logged that an evaluation truncated episodes
    bool unsound;                             // logged that an environment failed in an evaluation
    uint64_t failures_told, failures_told_ns; // failed steps in the last log line, and its time
    char failure[ENV_REASON_BYTES];           // cause of the last failed step
    bool stuck;                     // logged that a call of the environment does not return
    char trouble[NET_URL_MAX + 96]; // text of actor_io_trouble
    actor_shown shown;
};

// ---- actor_io.c

// Stops the loop; the process then exits with this code.
void actor_io_fail(actor_io *io, int exit_code);
// Records the result of a request. Logs when the learner stops or starts to answer.
void actor_learner_answered(actor_io *io, oct_err err, const char *detail);
// Frees the session's slot at the learner, if it has one, and stops the loop.
void actor_io_leave(actor_io *io);
// Makes the acting thread for the first policy, whose spec it needs. Takes net. On an error the
// process ends.
void actor_worker_begin(actor_io *io, policy_net *net);
// Makes the evaluator's thread, if there is none, and asks the learner for evaluations from now
// on.
void actor_evaluator_begin(actor_io *io);
// Opens the links to io's addresses. False: logged, and the process ends.
bool actor_links_open(actor_io *io);

// ---- actor_policy_io.c

// Opens the link for policies. OCT_EIO: it cannot be dialed.
OCT_CHECKED oct_err actor_policy_link(actor_io *io);
// Takes policies of this topic from now on, and no others.
void actor_policy_subscribe(actor_io *io, uint32_t topic);
// Asks the learner for the newest policy, if it is newer than the one held.
void actor_policy_ask(actor_io *io);
// Twice a second: asks if a version is missing, or if none has arrived for long, because messages
// can be lost.
void actor_policy_watch(actor_io *io);
// Packs the newest policy and hands it to the acting thread. A net_fn.
void actor_policy_pack(void *arg);
// Asks the learner for an evaluation, now or later. A net_fn.
void actor_evaluation_ask(void *arg);
void actor_evaluation_ask_later(actor_io *io);

// ---- actor_join_io.c

// Draws the label.
void actor_join_label(actor_io *io);
// Ends this session, so that the process starts over with execv.
void actor_join_start_over(actor_io *io);
// Takes the step that io->step names. A net_fn.
void actor_join_go(void *arg);
// Registers again with the environment's spec, at once.
void actor_join_again(actor_io *io);
// Takes the step again after the back-off.
void actor_join_retry(actor_io *io);
// As actor_join_retry, and logs once why.
void actor_join_failed(actor_io *io, const char *detail);
// Twice a second: asks the learner for another way if the relay is unreachable or acknowledges
// nothing.
void actor_relay_watch(actor_io *io);

#endif // ACTOR_ACTOR_STATE_IO_H
