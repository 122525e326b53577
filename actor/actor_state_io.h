#ifndef ACTOR_ACTOR_STATE_IO_H
#define ACTOR_ACTOR_STATE_IO_H

#include "actor/actor_io.h"
#include "actor/actor_measurements.h"
#include "actor/actor_outbox.h"
#include "actor/actor_resend.h"
#include "actor/actor_turns.h"
#include "actor/actor_watchdog.h"
#include "actor/actor_worker.h"
#include "config/config.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "policy/codec/codec_receiver.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

// State of the actor's network side, and the calls between its files:
//   actor_io.c  start, evaluations, watching, end
//   actor_join_io.c  registration with the learner
//   actor_links_io.c  the links to replay and the learner, or to a relay
//   actor_policy_io.c  policies
//   actor_send_io.c  batches, acknowledgements, reports
//   actor_prometheus_io.c  numbers
// No other file includes this header.
//
// Threads: the loop thread. Owns: see actor_io.h.

#define ACTOR_RPC_TIMEOUT_MS 3000 // of Register and ReportEpisodes
// For the answer to the last report. A learner that runs answers at once; a learner that ends
// together with its actors may not answer.
#define ACTOR_LEAVE_MS 300
#define ACTOR_DRAIN_MS 1500 // longest wait of an actor that ends for acknowledgements
#define ACTOR_LOOK_MS  20   // between two checks during that wait
// A complete policy over a narrow line takes long: 2 MiB at 2 Mbit/s are 9 s. A lost link ends the
// wait earlier.
#define ACTOR_POLICY_TIMEOUT_MS 60000
#define ACTOR_RETRY_MIN_MS      20
#define ACTOR_RETRY_MAX_MS      1000 // each retry doubles the wait, from MIN to MAX
#define ACTOR_ASK_AGAIN_MS      500  // while a relay is awaited: relays register once a second
// Policies that may wait to be read. Each is a change of the one before it, so with a shorter
// queue a loop that was busy for a moment would need a complete policy.
#define ACTOR_POLICY_QUEUE 16
#define ACTOR_UNACKED_S    10 // replay repeats an acknowledgement at least every 2 s

// What the daemon does next: register without an environment for the configuration; register with
// the environment's spec; fetch the first policy; run. Each step is repeated with back-off until
// it succeeds.
enum actor_step { STEP_CONFIG, STEP_SPEC, STEP_POLICY, STEP_RUN };

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
    bool start_over;  // the process is to start over with execv
    uint64_t label;   // random; the learner recognises repeated requests by it
    uint64_t session; // from the learner; 0: none yet

    net_rpc_client *rpc;
    wire_client *client;
    net_timer *retry; // of the next step or question; NULL: none
    uint32_t retry_ms;
    bool calling;             // a Register or GetPolicy is open
    bool learner_lost;        // logged that the learner does not answer
    uint64_t learner_down_ns; // since when it has no connection; 0: connected
    bool leaving;             // the slot at the learner is freed, or there is none to free
    net_timer *drain;         // checks for the last acknowledgements; NULL: not ending
    uint64_t drain_ns;        // when that began
    bool replay_lost;         // there is no connection for batches
    enum actor_step step;

    config_experiment config;
    env *e;               // until the worker takes it; an evaluator has none
    octet_env_spec *task; // a copy of the environment's spec
    // Without TLS the learner proves itself by signatures, with the key of --pin or else of the
    // first answer. has_key: learner_key is known.
    bool needs_signatures;
    bool has_key;
    uint8_t learner_key[WIRE_PUBLIC_KEY_BYTES];
    uint64_t run_id; // of the configuration in config
    uint32_t actor_id;
    uint32_t actor_index; // 0 … within the run; seeds and exploration depend on it
    uint32_t incarnation; // earlier registrations of this index
    uint64_t libm;        // lock-step: checksum of this machine's libm (oct_libm.h); else 0
    actor_turns turns;    // lock-step
    bool leaves_at_once;  // lock-step: a resumed run makes its rows again, so none are waited for
    uint8_t token[WIRE_TOKEN_BYTES];  // proves the session; the learner may renew it
    char policy_address[NET_URL_MAX]; // "": not known yet
    char replay_address[NET_URL_MAX];
    bool is_relayed;              // both are a relay's
    uint32_t shard;               // which of the replays, as the learner counts them
    bool own_relay_lost;          // the relay of --relay could not be used
    bool relay_silent;            // the relay acknowledges nothing; the learner has been asked
    uint64_t await_ns;            // when the wait of --await-relay began; 0: it did not
    char lost_relay[NET_URL_MAX]; // unusable relay, reported with each Register; "": none
    uint64_t link_down_ns;        // since when batches have no connection; 0: connected
    bool acks_up;      // the link for acknowledgements was connected once since it was opened
    uint64_t acked_ns; // last acknowledgement, or the last time that nothing was unacknowledged
    uint64_t heard_ns; // last acknowledgement, or the last time that nothing was on its way

    actor_worker *worker;     // NULL before the first policy
    actor_watchdog *watchdog; // NULL without --exit-when-stuck
    uint64_t answered_ns;     // last answer of a learner, or the start
    net_wakeup *wakeup;       // from the acting thread
    wire_arena *arena;        // for the message being unpacked

    uint32_t policy_topic; // of the policies for this actor, from the learner
    net_sub *policy_sub;
    codec_receiver *receiver;     // the newest policy, to which changes are applied
    const policy_image *received; // the receiver's, not packed yet; NULL: none
    net_wakeup *pack;             // packs received after all waiting policies were applied
    uint64_t policy_seen;         // newest version of which a change could not be applied
    uint64_t policy_least;        // older versions are refused; from the signed registration
    bool policy_gap;              // a version is missing, and no policy has closed the gap
    uint64_t policy_gaps;         // gaps so far
    uint64_t policies_taken, policies_packed; // versions
    uint64_t policies_old;                    // codec_receiver_older, when it was last read
    net_sub *ack_sub;
    net_push *push;
    actor_outbox outbox;
    actor_resend resend;
    uint64_t bytes_sent; // to replay, repeated batches included
    uint64_t report_sequence;
    uint64_t reported_ns;    // last report of the acting thread's numbers
    net_timer *tick;         // twice a second
    uint64_t last_policy_ns; // last policy that was taken, or question for one
    uint64_t rejected;       // malformed or unsigned messages
    uint32_t failed_evaluations;
    bool has_truncated;                       // logged that an evaluation truncated episodes
    bool unsound;                             // logged that an environment failed in an evaluation
    uint64_t failures_told, failures_told_ns; // failed steps in the last log line, and its time
    char failure[ENV_REASON_BYTES];           // cause of the last failed step
    bool stuck;                     // logged that a call of the environment does not return
    char trouble[NET_URL_MAX + 96]; // text of actor_io_trouble
    actor_shown shown;
};

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

// ---- actor_policy_io.c
void actor_policy_arrived(void *arg, net_msg *msg);
// Takes policies of this topic from now on, and no others.
void actor_policy_subscribe(actor_io *io, uint32_t topic);
// Asks the learner for the newest policy, if it is newer than the one held.
void actor_policy_ask(actor_io *io);
// Twice a second: asks if a version is missing, or if none has arrived for long, because messages
// can be lost.
void actor_policy_watch(actor_io *io);
// Packs the newest policy and hands it to the acting thread. A net_fn.
void actor_policy_pack(void *arg);
// Returns true if the learner made this policy. If not, counts and logs it.
bool actor_policy_is_authentic(actor_io *io, const wire_policy *policy);
// Returns a complete policy, packed, or NULL. A bad policy is counted and logged; a policy that
// does not fit ends the process.
policy_net *actor_policy_open(actor_io *io, const wire_policy *policy);

// Draws the label.
void actor_join_label(actor_io *io);
// Ends this session, so that the process starts over with execv.
void actor_join_start_over(actor_io *io);
// Takes the step that io->step names. A net_fn.
void actor_join_go(void *arg);
// Takes the step again after the back-off.
void actor_join_retry(actor_io *io);
// As actor_join_retry, and logs once why.
void actor_join_failed(actor_io *io, const char *detail);

// Opens the links to io's addresses. OCT_EIO: one cannot be dialed.
OCT_CHECKED oct_err actor_links_open(actor_io *io);
void actor_links_close(actor_io *io);
// Addresses of the links.
typedef struct actor_addresses {
    char policies[NET_URL_MAX], replay[NET_URL_MAX];
    bool is_relayed; // both addresses are a relay's
    uint32_t shard;  // number of the replay that gets the batches
} actor_addresses;
// Chooses the addresses from the answer to a Register. False: there are none that can be used. If
// they were a relay's, the learner is informed and asked again; if they were its own, the process
// ends.
bool actor_links_find(actor_io *io, const wire_registered *answer, actor_addresses *out);
// Returns true if the links use these addresses already.
bool actor_links_are(const actor_io *io, const actor_addresses *addresses);
// Sets the addresses of links that are not open yet.
void actor_links_set(actor_io *io, const actor_addresses *addresses);
// Moves open links to these addresses. Unacknowledged batches are sent again there.
void actor_links_move(actor_io *io, const actor_addresses *addresses);
// Finds the address for batches or acknowledgements that has no connection. False: both are
// connected, or no address is known yet.
bool actor_links_unreached(const actor_io *io, char out[NET_URL_MAX]);
// Returns the relay to report to the learner: the lost relay, else the relay in use or to be used;
// "": none.
const char *actor_links_relay(const actor_io *io);
// Twice a second: asks the learner for another way if the relay is unreachable or acknowledges
// nothing.
void actor_links_watch(actor_io *io);

// Returns for how many seconds the environments have been in a call that exceeds half of
// run.env_hang_s; else 0.
double actor_stuck_s(const actor_io *io);
// Returns the seconds since the last acknowledgement, while batches are unacknowledged; else 0.
double actor_unacked_s(const actor_io *io);
// Keeps the acting thread's report.
void actor_prometheus_numbers(actor_io *io, const actor_numbers *numbers);
// Adds an evaluation that was played.
void actor_prometheus_evaluation(actor_io *io, const actor_job *job);
// Fills now with current values and returns a registry over it; the caller destroys that.
oct_numbers *actor_prometheus_measure(const actor_io *io, actor_measurements *now);

// Sends batches from the outbox, as many as the resend window and the link allow. A net_fn.
void actor_send_batches(void *arg);
void actor_send_again(void *arg); // the connection to replay is up; a net_fn
void actor_send_lost(void *arg);  // the connection to replay was lost; a net_fn
// Takes an acknowledgement and gives acknowledged batches back to the worker.
void actor_send_acked(void *arg, net_msg *msg);
// Packs the message with which the actor asks replay for its session's acknowledgements. Returns
// its length.
size_t actor_send_ask(const actor_io *io, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX]);
// Twice a second: sends everything again if the batches on their way are late.
void actor_send_watch(actor_io *io);
// Reports the numbers of the acting thread.
void actor_send_numbers(actor_io *io, const actor_numbers *numbers);
// Reports in place of the acting thread while it is in a long call, so that the learner sees why
// it gets no steps.
void actor_send_standstill(actor_io *io);
// Reports an evaluation: its returns, or 0 episodes if it failed.
void actor_send_evaluation(actor_io *io, const actor_job *job);
// Reports that this session ends. The answer, or ACTOR_LEAVE_MS, stops the loop.
OCT_CHECKED oct_err actor_send_leave(actor_io *io);
// Reports the progress of the current evaluation, so that the learner does not take an evaluation
// of hours for a dead evaluator.
void actor_send_playing(actor_io *io);

#endif // ACTOR_ACTOR_STATE_IO_H
