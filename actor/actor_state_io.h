#ifndef ACTOR_ACTOR_STATE_IO_H
#define ACTOR_ACTOR_STATE_IO_H

#include "actor/actor_io.h"
#include "actor/actor_measurements.h"
#include "actor/actor_outbox.h"
#include "actor/actor_resend.h"
#include "actor/actor_turns.h"
#include "actor/actor_watchdog.h"
#include "actor/actor_worker.h"
#include "codec/codec_receiver.h"
#include "common/oct_config.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

// What the parts of the actor's network side share: actor_io.c (evaluations, life),
// actor_links_io.c (where they lead), actor_policy_io.c (policies in), actor_join_io.c (registering
// with the learner), actor_send_io.c (batches, acknowledgements, reports), actor_prometheus_io.c
// (numbers). Nobody else includes this.
//
// Threads: the loop thread.

#define ACTOR_RPC_TIMEOUT_MS 3000
// A learner that is there answers at once; one that ends with its actors may not.
#define ACTOR_LEAVE_MS 300
#define ACTOR_DRAIN_MS 1500 // that an actor which is to end waits for acknowledgements
#define ACTOR_LOOK_MS  20   // of what it waits for
// A complete policy over a narrow line takes a while: 2 MiB at 2 Mbit/s are 9 s. A lost link ends
// the wait sooner.
#define ACTOR_POLICY_TIMEOUT_MS 60000
#define ACTOR_RETRY_MIN_MS      20
#define ACTOR_RETRY_MAX_MS      1000
#define ACTOR_ASK_AGAIN_MS      500 // for a relay: each registers once a second
// Policies that may wait to be read. Each is a change of the one before it: with fewer, a loop that
// was busy for a moment would have to ask for a complete one.
#define ACTOR_POLICY_QUEUE 16
#define ACTOR_UNACKED_S    10 // replay repeats an acknowledgement at least every 2 s

// What the daemon is about to do next about the learner; each step retries with back-off.
enum actor_step { STEP_CONFIG, STEP_SPEC, STEP_POLICY, STEP_RUN };

// What the acting thread last told, or an evaluator played, for who asks by HTTP.
typedef struct actor_shown {
    uint64_t env_steps, policy_version, rows, dropped, failures, episodes, evaluations;
    double infer_s, env_s, collect_s, wait_s, evaluation_s;
} actor_shown;

struct actor_io {
    net_loop *loop;
    actor_io_options options;
    int exit_code;
    bool start_over;
    uint64_t label;   // our own number: the learner tells requests that are repeated by it
    uint64_t session; // from the learner, 0: none yet

    net_rpc_client *rpc;
    wire_client *client;
    net_timer *retry;
    uint32_t retry_ms;
    bool calling;
    bool learner_lost;
    uint64_t learner_down_ns; // since when there is no connection to it; 0: there is one
    bool leaving;             // the learner has been told, or nobody has to be
    net_timer *drain;         // while it waits until all that was made is acknowledged
    uint64_t drain_ns;        // since when
    bool replay_lost;         // it is not connected
    enum actor_step step;

    oct_config config;
    env *e;               // until the worker has it; an evaluator has none
    octet_env_spec *task; // what of it this actor goes by
    // Without TLS nothing else tells a learner from a stranger: what it says must be signed, with
    // the key of the first answer or of --pin.
    bool needs_signatures;
    bool has_key;
    uint8_t learner_key[WIRE_PUBLIC_KEY_BYTES];
    uint64_t run_id;
    uint32_t actor_id;
    uint32_t actor_index;
    uint32_t incarnation;             // of that index
    uint64_t libm;                    // lock-step: of this machine (oct_libm.h); else 0
    actor_turns turns;                // of lock-step
    uint8_t token[WIRE_TOKEN_BYTES];  // of this session, as the learner last gave it
    char policy_address[NET_URL_MAX]; // "": not known yet
    char replay_address[NET_URL_MAX];
    bool is_relayed;              // both are a relay's
    uint32_t shard;               // which of the replays, as the learner counts them
    bool own_relay_lost;          // that of --relay could not be used
    bool relay_mute;              // it acknowledges nothing, and the learner is asked about it
    uint64_t await_ns;            // since when --await-relay waits; 0: it does not yet
    char lost_relay[NET_URL_MAX]; // the one that the learner is told cannot be used; "": none
    uint64_t link_down_ns;        // since when there is no connection for batches; 0: there is one
    bool acks_up;                 // acknowledgements had a connection since the links were opened
    uint64_t acked_ns;            // last acknowledgement, or when none was waited for
    uint64_t heard_ns;            // last acknowledgement, or when one was first waited for

    actor_worker *worker;
    actor_watchdog *watchdog; // NULL without --exit-when-stuck
    uint64_t answered_ns;     // last answer of a learner, or the beginning
    net_wakeup *wakeup;
    wire_arena *arena;

    uint32_t policy_topic; // of the policies that are for this actor, as the learner last gave it
    net_sub *policy_sub;
    codec_receiver *receiver;
    const policy_image *received; // newer than what acts, not packed yet; NULL: none
    net_wakeup *pack;
    uint64_t policy_seen;  // newest version heard of, held or not
    uint64_t policy_least; // newest version when the learner registered this actor
    bool policy_gap;       // a gap was logged, and no policy has closed it
    uint64_t policy_gaps;  // ever
    uint64_t policies_taken, policies_packed;
    uint64_t policies_old; // codec_receiver_older, as far as it was told
    net_sub *ack_sub;
    net_push *push;
    actor_outbox outbox;
    actor_resend resend;
    uint64_t bytes_sent;
    uint64_t report_sequence;
    uint64_t reported_ns; // last report of the acting thread's numbers
    net_timer *tick;
    uint64_t last_policy_ns;
    uint64_t rejected;
    uint32_t failed_evaluations;
    bool has_truncated;                       // an evaluation truncated episodes: logged
    bool unsound;                             // an environment failed in an evaluation: logged
    uint64_t failures_told, failures_told_ns; // steps of the environments, and when
    char failure[ENV_REASON_BYTES];           // the last of them
    bool stuck; // the environments are in a step that does not end: told
    char trouble[NET_URL_MAX + 96];
    actor_shown shown;
};

// Ends the process with this code.
void actor_io_fail(actor_io *io, int exit_code);
// The learner has answered a request, or (err) it has not: told when that changes.
void actor_learner_answered(actor_io *io, oct_err err, const char *detail);
// This session ends: gives up its place at the learner, then stops the loop.
void actor_io_leave(actor_io *io);
// The first policy brings the spec: makes the acting thread. Takes net.
void actor_worker_begin(actor_io *io, policy_net *net);
// Registered as an evaluator: asks for what to evaluate, again and again.
void actor_evaluator_begin(actor_io *io);

// ---- actor_policy_io.c
void actor_policy_arrived(void *arg, net_msg *msg);
// Takes policies of this topic from now on, and no others.
void actor_policy_subscribe(actor_io *io, uint32_t topic);
// Asks for the newest policy, if newer than the one held.
void actor_policy_ask(actor_io *io);
// Now and then: what must not wait for a message that may have been lost.
void actor_policy_watch(actor_io *io);
// Packs the newest policy and gives it to the acting thread. A net_fn.
void actor_policy_pack(void *arg);
// Whether a policy is the learner's; else it is told, and counted.
bool actor_policy_is_authentic(actor_io *io, const wire_policy *policy);
// A complete policy ready to act, or NULL: told, and counted or the process ends.
policy_net *actor_policy_open(actor_io *io, const wire_policy *policy);

// ---- actor_join_io.c
// Draws our label.
void actor_join_label(actor_io *io);
// The process begins anew: soon, by itself.
void actor_join_start_over(actor_io *io);
// Takes the step that io->step names. A net_fn.
void actor_join_go(void *arg);
void actor_join_retry(actor_io *io);
void actor_join_failed(actor_io *io, const char *detail);

// ---- actor_links_io.c: to where policies come from and batches go, which may be a relay
OCT_CHECKED oct_err actor_links_open(actor_io *io);
void actor_links_close(actor_io *io);
typedef struct actor_addresses {
    char policies[NET_URL_MAX], replay[NET_URL_MAX];
    bool is_relayed;
    uint32_t shard;
} actor_addresses;
// Where the answer to a Register says that they lead. False: to nothing that can be used (logged);
// of a relay's addresses the learner is told, and asked again, those of its own are the end.
bool actor_links_find(actor_io *io, const wire_registered *answer, actor_addresses *out);
bool actor_links_are(const actor_io *io, const actor_addresses *addresses);
void actor_links_set(actor_io *io, const actor_addresses *addresses);
// Leads elsewhere from now on; what is not acknowledged is sent again there.
void actor_links_move(actor_io *io, const actor_addresses *addresses);
// Gives the address for batches or acknowledgements to which there is no connection. False: there
// is none.
bool actor_links_unreached(const actor_io *io, char out[NET_URL_MAX]);
// The relay that the learner is told of: the one that is lost, else the one that is in use, or is
// to be; "": none.
const char *actor_links_relay(const actor_io *io);
// Now and then: a relay that has gone is gone round.
void actor_links_watch(actor_io *io);

// ---- actor_prometheus_io.c
// Seconds that the environments have been in a step that exceeds half of run.env_hang_s; else 0.
double actor_stuck_s(const actor_io *io);
// Seconds since an acknowledgement came or no batch was unacknowledged; 0: no batch is.
double actor_unacked_s(const actor_io *io);
void actor_prometheus_numbers(actor_io *io, const actor_numbers *numbers);
void actor_prometheus_evaluation(actor_io *io, const actor_job *job);
// The registry with the numbers of now; the caller destroys it.
oct_numbers *actor_prometheus_measure(const actor_io *io, actor_measurements *now);

// ---- actor_send_io.c
// Sends what waits in the outbox, as far as the link takes it. A net_fn.
void actor_send_batches(void *arg);
void actor_send_again(void *arg); // replay is there (again). A net_fn.
void actor_send_lost(void *arg);  // replay went. A net_fn.
void actor_send_acked(void *arg, net_msg *msg);
// What asks replay for the acks of our session. Gives the length.
size_t actor_send_ask(const actor_io *io, uint8_t out[WIRE_ACK_REQUEST_BYTES_MAX]);
void actor_send_watch(actor_io *io);
void actor_send_numbers(actor_io *io, const actor_numbers *numbers);
// Reports while the acting thread is in a long step and gives no numbers: the learner sees that no
// step was made, and why.
void actor_send_standstill(actor_io *io);
void actor_send_evaluation(actor_io *io, const actor_job *job);
// Tells the learner that this session ends, and then, or after ACTOR_LEAVE_MS, ends the loop.
OCT_CHECKED oct_err actor_send_leave(actor_io *io);
// How far the evaluation at work is: an evaluation of hours is not taken for a dead evaluator.
void actor_send_playing(actor_io *io);

#endif // ACTOR_ACTOR_STATE_IO_H
