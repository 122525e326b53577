// The network side of the learner daemon: links to replay, publishes policies, answers requests.
#include "learner/learner_io.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "learner/learner_key.h"
#include "learner/learner_links_io.h"
#include "learner/learner_relays.h"
#include "learner/learner_run.h"
#include "learner/learner_shard.h"
#include "net/net_pub.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"

#define CALLERS                                                                                    \
    (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_EVALUATOR) |                             \
     OCT_ROLE_BIT(OCT_ROLE_OPERATOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define SUBSCRIBERS      (OCT_ROLE_BIT(OCT_ROLE_ACTOR) | OCT_ROLE_BIT(OCT_ROLE_RELAY))
#define TICK_MS          20
#define SERVER_CONTEXTS  64
#define SERVER_BYTES_MAX (8u << 20)
#define PUBLISH_QUEUE    16 // versions that an actor holds, too: each is a change to the one before
#define EXIT_REFUSED     3
#define MISSED_S         5
#define COMPLAIN_NS      UINT64_C(10000000000)
#define LOCK_LOOK_TICKS  50 // fifty ticks are a second
#define SAVERS_MAX       16 // calls that wait for a checkpoint

static_assert(WIRE_SHARDS_MAX == CONFIG_SHARDS_MAX, "a relay has a line to each shard");
static_assert(WIRE_TURN_ACTORS_MAX == CONFIG_TURN_ACTORS_MAX, "a turn has room for all actors");
static_assert(WIRE_SAMPLE_COUNT_MAX == CONFIG_SAMPLE_MAX, "a batch fits into a reply");
static_assert(WIRE_BATCH_COUNT_MAX == CONFIG_BATCH_MAX, "a rollout fits into a message");

struct learner_io {
    net_loop *loop;
    learner_io_options options;
    learner_run *run;
    char *config_text;
    int exit_code;
    bool stopping;

    net_rpc_server *server_link;
    wire_server *server;
    net_pub *publisher;
    wire_signer *signer; // NULL: no signatures; actors connect through local sockets
    // Policies are signed: without TLS always; with TLS from the first registration through a
    // relay, because TLS authenticates only the relay there.
    bool signs;
    struct {
        uint64_t version; // 0: none yet
        uint8_t signature[WIRE_SIGNATURE_BYTES];
    } answered;
    char policy_address[NET_URL_MAX];
    learner_relays *relays;

    learner_links_io *replays;
    uint32_t shards;
    uint64_t bad_requests, bad_request_ns; // count, and when one was last logged
    uint32_t ticks;
    struct saver {
        wire_call *call;
        uint64_t number; // of the checkpoint that the call waits for
    } savers[SAVERS_MAX];
    uint32_t saver_count;

    net_wakeup *wakeup;
    net_timer *tick;
};

// ---- replay

// Ends this learner without a write: it was suspended or cut off, and another learner continues the
// run, which further writes would damage.
static void
taken_over(learner_io *io, const char *how)
{
    if (learner_run_phase(io->run) == LEARNER_DONE) {
        return;
    }
    oct_log_error("LEARNER-TAKEN-OVER", "%s; this learner ends and writes nothing more to %s", how,
                  io->options.folder);
    io->exit_code = EXIT_REFUSED;
    learner_run_abandon(io->run, "another learner has taken over");
}

static void
replay_ended(void *arg, oct_err err, const char *how)
{
    learner_io *io = arg;
    if (err == OCT_ESTALE) {
        taken_over(io, how);
    } else {
        io->exit_code = EXIT_REFUSED;
        learner_io_stop(io, how);
    }
}

// ---- publishing

// Describes a complete policy, for an actor that may have no version or any version.
static wire_policy
policy_envelope(const learner_io *io, const quantizer_publication *publication)
{
    return (wire_policy){
        .run_id = learner_run_id(io->run),
        .version = publication->version,
        .updates = publication->updates,
        .bytes = publication->bytes,
        .length = publication->length,
    };
}

// Logs a publication. at_us: wall clock time when it was passed to the socket. send_us: how long
// that took (one write per subscriber).
static void
publication_tell(const quantizer_publication *publication, const wire_policy *policy,
                 uint64_t at_us, uint64_t send_us)
{
    uint32_t check; // checksum at the end of the complete policy
    memcpy(&check, publication->bytes + publication->length - sizeof(check), sizeof(check));
    oct_log_debug("LEARNER-PUBLISH",
                  "version=%" PRIu64 " check=%08" PRIx32 " bytes=%zu base=%" PRIu64
                  " delta_bytes=%zu codes=%" PRIu64 " scales=%" PRIu64 " topic=%08" PRIx32
                  " noisy=%d at_us=%" PRIu64 " send_us=%" PRIu64,
                  publication->version, check, publication->length, publication->base_version,
                  publication->delta_length, publication->changes.codes,
                  publication->changes.scales, policy->topic, publication->noisy, at_us, send_us);
}

static void
policy_sign(const learner_io *io, wire_policy *policy)
{
    if (io->signs) {
        wire_sign_policy(io->signer, policy);
    }
}

// Answers with a complete policy. Many actors ask for the newest at once, so the last signed one is
// kept.
static wire_policy
policy_answer(learner_io *io, const quantizer_publication *publication)
{
    wire_policy policy = policy_envelope(io, publication);
    if (io->signs && io->answered.version == policy.version) {
        policy.has_signature = true;
        memcpy(policy.signature, io->answered.signature, sizeof(policy.signature));
    } else {
        policy_sign(io, &policy);
        io->answered.version = io->signs ? policy.version : 0;
        memcpy(io->answered.signature, policy.signature, sizeof(policy.signature));
    }
    return policy;
}

static void
publish_all(learner_io *io)
{
    const quantizer_publication *publication;
    while ((publication = learner_run_publish(io->run)) != NULL) {
        wire_policy policy = policy_envelope(io, publication);
        policy.topic = learner_run_topic(io->run, publication->audience);
        if (publication->delta != NULL) {
            policy.base_version = publication->base_version;
            policy.bytes = publication->delta;
            policy.length = publication->delta_length;
        }
        policy_sign(io, &policy);
        net_msg *msg = net_msg_create(wire_policy_size(&policy));
        wire_policy_pack(&policy, net_msg_body(msg));
        uint64_t at_us = oct_clock_wall_us();
        net_pub_send(io->publisher, msg);
        publication_tell(publication, &policy, at_us, oct_clock_wall_us() - at_us);
    }
}

// ---- serving

// Returns the caller's certificate; zeros if the transport uses none, or the connection is closed.
static oct_holder
holder_of(void *call)
{
    oct_holder holder;
    return net_rpc_caller(call, &holder) == OCT_OK ? holder : (oct_holder){.name = ""};
}

static oct_err
actor_register(learner_io *io, const wire_register *request, const oct_holder *holder,
               learner_actor **out, oct_reason *why)
{
    if (io->shards > 1 && request->relay_address[0] != '\0' && !request->knows_shards) {
        return oct_refuse(why,
                          "--relay: this actor's release supports only one replay behind a relay, "
                          "but this run has %" PRIu32
                          "; upgrade the actor, or start it without --relay",
                          io->shards);
    }
    return learner_run_register(io->run, request, holder, out, why);
}

static void
relay_tell(learner_io *io, const wire_call *call, const wire_register *request)
{
    oct_holder holder = holder_of(wire_call_transport(call));
    if (learner_admission_may_tell(learner_run_admission(io->run), &holder)) {
        const char *address = request->relay_address;
        oct_log_notice("LEARNER-RELAY", "relay=%s host=\"%s\" pid=%" PRIu32 " certificate=\"%s\"",
                       address[0] != '\0' ? address : "none", request->host, request->pid,
                       holder.name);
    }
}

// Takes a relay's registration. OCT_EAGAIN: no slot is free now; OCT_EINVAL: this run uses no
// relays.
static oct_err
relay_register(learner_io *io, const wire_call *call, const wire_register *request,
               oct_reason *reason)
{
    bool is_new = false;
    io->signs = io->signer != NULL;
    if (learner_run_no_relay(io->run) != NULL) {
        return oct_refuse(reason, "%s", learner_run_no_relay(io->run));
    }
    if (io->shards > 1 && !request->knows_shards) {
        return oct_refuse(
            reason,
            "net.replay: this relay's release supports only one replay, but this run has %" PRIu32
            "; upgrade the relay",
            io->shards);
    }
    oct_reason why;
    const char *address = request->relay_address, *listen = io->options.config->net.learner;
    if (address[0] != '\0' && net_url_check_relay(address, listen, io->shards, &why) != OCT_OK) {
        return oct_refuse(reason, "--announce %.*s: %s", (int)oct_text_cut(address, 100), address,
                          why.text);
    }
    uint64_t now_ns = oct_clock_ns();
    if (learner_relays_is_loop(io->relays, request, now_ns)) {
        return oct_refuse(
            reason, "--relay: %s leads back to this relay, so its batches would never reach replay",
            request->relay_above);
    }
    oct_err err = learner_relays_note(io->relays, request, now_ns, &is_new);
    if (err == OCT_EAGAIN) {
        oct_reason_set(reason, "no room for another relay: all %d slots are taken",
                       LEARNER_RELAYS_MAX);
    } else if (err != OCT_OK) {
        oct_reason_set(reason, "a relay needs a label");
    } else if (is_new) {
        relay_tell(io, call, request);
    }
    return err;
}

static uint32_t
actors_of_relay(void *arg, uint64_t key, uint64_t now_ns)
{
    learner_io *io = arg;
    return learner_actors_relayed(learner_run_actors(io->run), key, now_ns);
}

// Chooses the relay of an actor. There is none where the run has none, and none for an actor of a
// release that cannot choose between several replays behind a relay.
static void
relay_choose(learner_io *io, const wire_register *request, learner_actor *actor,
             wire_registered *answer)
{
    uint64_t now_ns = oct_clock_ns();
    io->signs = io->signer != NULL && (io->signs || request->relay_address[0] != '\0');
    if (learner_run_no_relay(io->run) != NULL || request->role != WIRE_ROLE_ACTOR ||
        (io->shards > 1 && !request->knows_shards)) {
        return;
    }
    learner_actors *actors = learner_run_actors(io->run);
    learner_actors_set_relay(actors, actor, 0); // it must not count
    learner_relays_count(io->relays, now_ns, actors_of_relay, io);
    const char *relay = learner_relays_choose(io->relays, request, now_ns);
    learner_actors_set_relay(actors, actor, learner_relays_key(relay));
    if (relay[0] != '\0') {
        answer->is_relayed = true;
        answer->policy_address = answer->replay_address = relay;
    }
}

// Fills in the session of an actor or evaluator, and the address for its batches.
static void
actor_place(learner_io *io, const wire_register *request, learner_actor *actor,
            wire_registered *answer)
{
    uint32_t shard = learner_shard_of(actor->session, io->shards);
    learner_actor_introduce(actor, request->host, request->pid);
    answer->actor_id = actor->id;
    answer->session = actor->session;
    answer->replay_address = learner_links_io_address(io->replays, shard);
    answer->shard = request->knows_shards ? shard : 0;
    learner_admission_token(learner_run_admission(io->run), actor, answer->token);
    answer->actor_index = actor->index;
    answer->incarnation = learner_run_incarnation(io->run, actor);
    answer->policy_topic = learner_run_topic(io->run, learner_run_audience(io->run, actor));
    const quantizer_publication *newest = learner_run_newest(io->run, actor, 0);
    answer->names_newest = request->knows_newest;
    answer->newest_version = request->knows_newest && newest != NULL ? newest->version : 0;
    relay_choose(io, request, actor, answer);
    if (!learner_admission_may_tell(learner_run_admission(io->run), &actor->holder)) {
        return;
    }
    oct_log_info("LEARNER-JOINED",
                 "%s=%08x index=%u host=\"%s\" pid=%u topic=%08" PRIx32 " shard=%" PRIu32
                 " certificate=\"%s\" relay=%s",
                 request->role == WIRE_ROLE_EVALUATOR ? "evaluator" : "actor", actor->id,
                 actor->index, request->host, request->pid, answer->policy_topic, shard,
                 actor->holder.name, answer->is_relayed ? answer->replay_address : "none");
}

// Answers an actor or evaluator that has an environment. OCT_EAGAIN with a reason: there is no
// answer, and the peer retries.
static oct_err
actor_answer(learner_io *io, const wire_call *call, const wire_register *request,
             wire_registered *answer, oct_reason *why)
{
    learner_actor *actor;
    oct_holder holder = {.name = ""};
    oct_err shown = net_rpc_caller(wire_call_transport(call), &holder);
    if (shown == OCT_ECLOSED) { // the slot could not be charged to a certificate
        return oct_fail(why, OCT_EAGAIN, "its connection is closed");
    }
    oct_err err = actor_register(io, request, shown == OCT_OK ? &holder : NULL, &actor, why);
    if (err == OCT_OK) {
        actor_place(io, request, actor, answer);
    } else if (err == OCT_ESTALE) { // the answer is this run's configuration
        if (learner_admission_may_tell(learner_run_admission(io->run), &holder)) {
            oct_log_info("LEARNER-OTHER-RUN", "host=\"%s\" pid=%u certificate=\"%s\" %s",
                         request->host, request->pid, holder.name, why->text);
        }
        why->text[0] = '\0';
    } else if (err != OCT_EAGAIN) {
        answer->accepted = false;
        if (learner_admission_may_tell(learner_run_admission(io->run), &holder)) {
            oct_log_warn("LEARNER-REFUSED", "host=\"%s\" pid=%u certificate=\"%s\" %s",
                         request->host, request->pid, holder.name, why->text);
        }
        learner_admission_refuse(learner_run_admission(io->run), request, why->text);
    }
    return err;
}

static void
serve_register(void *arg, wire_call *call, const wire_register *request)
{
    learner_io *io = arg;
    oct_reason why = {""};
    const char *shard_address[CONFIG_SHARDS_MAX];
    wire_registered answer = {
        .accepted = true,
        .reason = why.text,
        .run_id = learner_run_id(io->run),
        .config = io->config_text,
        .incarnation = learner_run_incarnation(io->run, NULL),
        .policy_address = io->policy_address,
        .replay_address = learner_links_io_address(io->replays, 0),
    };
    if (request->role == WIRE_ROLE_RELAY) {
        oct_err err = relay_register(io, call, request, &why);
        if (err == OCT_EAGAIN) {
            wire_reply_error(call, err, why.text);
            return;
        }
        answer.accepted = err == OCT_OK;
        answer.shard_address = shard_address;
        answer.shard_count = io->shards;
        for (uint32_t i = 0; i < io->shards; i++) {
            shard_address[i] = learner_links_io_address(io->replays, i);
        }
    } else if (request->has_env && request->role != WIRE_ROLE_TOOL) { // a tool has no environment
        if (actor_answer(io, call, request, &answer, &why) == OCT_EAGAIN) {
            wire_reply_error(call, OCT_EAGAIN, why.text);
            return;
        }
    }
    if (io->signer != NULL && answer.accepted) {
        wire_sign_registered(io->signer, request->label, &answer);
    }
    wire_reply_register_actor(call, &answer);
}

static learner_actor *
known_actor(learner_io *io, const wire_get_policy *request)
{
    learner_actor *actor =
        learner_admission_find(learner_run_admission(io->run), request->actor_id, request->token);
    if (actor != NULL) {
        learner_actors_heard(learner_run_actors(io->run), actor, oct_clock_ns());
    }
    return actor;
}

// Checks a request that has a large answer. False: it was refused, because its peers do not read
// their answers.
static bool
may_answer(learner_io *io, wire_call *call)
{
    bool may = net_rpc_may_answer(wire_call_transport(call));
    if (!may) {
        learner_run_count_unread(io->run);
        wire_reply_error(call, OCT_EAGAIN,
                         "this certificate's peers, or all together, have not read the answers "
                         "that they asked for");
    }
    return may;
}

static void
serve_get_policy(void *arg, wire_call *call, const wire_get_policy *request)
{
    learner_io *io = arg;
    wire_got_policy answer = {.policy = {.bytes = NULL}};
    const learner_actor *actor = known_actor(io, request);
    if (actor == NULL) {
        wire_reply_error(call, OCT_ENOTFOUND, "unknown actor; register first");
        return;
    }
    if (!may_answer(io, call)) {
        return;
    }
    learner_eval_order order;
    const quantizer_publication *newest = learner_run_newest(io->run, actor, request->have_version);
    if (request->purpose == WIRE_PURPOSE_EVALUATE) {
        oct_err err = learner_run_order(io->run, request->actor_id, &order);
        if (err == OCT_EINVAL) {
            wire_reply_error(call, err, "only registered evaluators may ask for evaluations");
            return;
        }
        if (err == OCT_OK) {
            answer.has_policy = true;
            answer.policy = policy_answer(io, order.publication);
            answer.ticket = order.ticket;
            answer.episodes = order.episodes;
            answer.seed = order.seed;
        }
    } else if (newest != NULL) {
        answer.has_policy = true;
        answer.policy = policy_answer(io, newest);
    }
    wire_reply_get_policy(call, &answer);
}

static void
serve_report(void *arg, wire_call *call, const wire_report *report)
{
    learner_io *io = arg;
    static const wire_empty empty;
    oct_err err = learner_run_report(io->run, report);
    if (err == OCT_OK) {
        wire_reply_report_episodes(call, &empty);
    } else {
        wire_reply_error(
            call, err,
            err == OCT_ENOTFOUND
                ? "unknown actor; register first"
                : "the report has impossible values, or values that this sender may not report");
    }
}

static void
serve_status(void *arg, wire_call *call, const wire_empty *request)
{
    learner_io *io = arg;
    (void)request;
    wire_reply_learner_status(call, learner_run_status(io->run));
}

static void
serve_peers(void *arg, wire_call *call, const wire_get_peers *request)
{
    learner_io *io = arg;
    learner_relays_count(io->relays, oct_clock_ns(), actors_of_relay, io);
    if (may_answer(io, call)) {
        wire_reply_learner_peers(call, learner_run_peers(io->run, io->relays, request->count_max));
    }
}

static void
serve_checkpoint(void *arg, wire_call *call, const wire_empty *request)
{
    learner_io *io = arg;
    (void)request;
    const char *why = io->saver_count == SAVERS_MAX
                          ? "too many callers are already waiting for a checkpoint"
                          : learner_run_no_checkpoint(io->run);
    if (why != NULL) {
        wire_reply_error(call, OCT_EAGAIN, why);
        return;
    }
    io->savers[io->saver_count++] = (struct saver){call, learner_run_checkpoint(io->run)};
}

// Answers the calls that wait for a checkpoint that is now on disk, or could not be written.
static void
savers_answer(learner_io *io)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < io->saver_count; i++) {
        struct saver saver = io->savers[i];
        wire_written written;
        oct_reason why;
        oct_err err = learner_run_checkpointed(io->run, saver.number, &written, &why);
        if (err == OCT_OK) {
            wire_reply_checkpoint(saver.call, &written);
        } else if (err == OCT_EIO) {
            wire_reply_error(saver.call, OCT_EAGAIN, why.text);
        } else {
            io->savers[left++] = saver;
        }
    }
    io->saver_count = left;
}

static void
serve_stop(void *arg, wire_call *call, const wire_stop *request)
{
    learner_io *io = arg;
    static const wire_empty empty;
    wire_reply_stop(call, &empty);
    learner_io_stop(io, request->reason);
}

static const wire_learner_handlers handlers = {
    .register_actor = serve_register,
    .get_policy = serve_get_policy,
    .report_episodes = serve_report,
    .learner_status = serve_status,
    .checkpoint = serve_checkpoint,
    .stop = serve_stop,
    .learner_peers = serve_peers,
};

static void
request_arrived(void *arg, void *call, oct_role role, const uint8_t *frame, size_t length)
{
    learner_io *io = arg;
    oct_err err = wire_server_handle(io->server, call, role, frame, length);
    if (err == OCT_OK) {
        return;
    }
    learner_run_count_refused(io->run);
    uint64_t now_ns = oct_clock_ns();
    if (io->bad_requests++ > 0 && now_ns - io->bad_request_ns < COMPLAIN_NS) {
        return;
    }
    oct_log_warn("LEARNER-BAD-REQUEST", "count=%" PRIu64 " certificate=\"%s\" reason=\"%s\"",
                 io->bad_requests, holder_of(call).name, wire_server_reason(io->server));
    io->bad_request_ns = now_ns;
}

// ---- time

// Runs when the training thread or the quantizer stage has a result.
static void
run_woke(void *arg)
{
    learner_io *io = arg;
    learner_run_collect(io->run);
    publish_all(io);
    learner_links_io_woke(io->replays);
}

static void
run_notify(void *arg)
{
    net_wakeup_send(arg);
}

// Passes the sockets' byte counts to the run, by direction.
static void
traffic_tell(learner_io *io)
{
    net_traffic replay, data;
    learner_links_io_traffic(io->replays, &replay, &data);
    net_traffic calls = net_rpc_server_traffic(io->server_link);
    learner_run_set_traffic(io->run, &(learner_traffic){
                                         .to_replay = replay.sent_bytes,
                                         .from_replay = replay.received_bytes,
                                         .to_data = data.sent_bytes,
                                         .from_data = data.received_bytes,
                                         .published = net_pub_sent_bytes(io->publisher),
                                         .from_callers = calls.received_bytes,
                                         .to_callers = calls.sent_bytes,
                                     });
}

static void
tick(void *arg)
{
    learner_io *io = arg;
    if (io->options.lock != NULL && io->ticks++ % LOCK_LOOK_TICKS == 0 &&
        learner_lock_lost(io->options.lock)) {
        taken_over(io, "another learner has started in the run folder");
    }
    run_woke(io);
    traffic_tell(io);
    learner_run_set_relays(io->run, learner_relays_live(io->relays, oct_clock_ns()));
    learner_run_tick(io->run);
    savers_answer(io);
    learner_phase phase = learner_run_phase(io->run);
    learner_links_io_tick(io->replays);
    if (phase == LEARNER_DONE && !io->stopping) {
        io->stopping = true;
        learner_run_save(io->run);
        savers_answer(io);
        if (learner_run_failed(io->run) && io->exit_code == 0) {
            io->exit_code = EXIT_REFUSED; // a restart would not help
        }
        net_loop_stop(io->loop);
    }
}

// ---- life

static oct_err
links_open(learner_io *io)
{
    const config_experiment *config = io->options.config;
    OCT_TRY(net_url_offset(config->net.learner, 1, io->policy_address));
    OCT_TRY(net_pub_open(&io->publisher, io->loop, io->policy_address, SUBSCRIBERS, PUBLISH_QUEUE));
    const learner_links_io_options replays = {
        .loop = io->loop,
        .run = io->run,
        .config = config,
        .ended = replay_ended,
        .arg = io,
    };
    OCT_TRY(learner_links_io_open(&io->replays, &replays));
    io->server = wire_server_create_learner(&handlers, io, &net_rpc_responder, SERVER_BYTES_MAX);
    return net_rpc_server_open(
        &io->server_link, io->loop,
        &(net_endpoint){config->net.learner, CALLERS, SERVER_BYTES_MAX, SERVER_CONTEXTS},
        request_arrived, io);
}

// Opens the signing key where it is needed. Over TLS and at local sockets actors can authenticate
// the learner, except through relays.
static oct_err
signer_open(learner_io *io, oct_reason *why)
{
    const char *url = io->options.config->net.learner;
    char key[LEARNER_KEY_TEXT_BYTES];
    if (!net_url_is_tcp(url)) {
        return OCT_OK;
    }
    OCT_TRY(learner_key_open(&io->signer, io->options.folder, why));
    io->signs = !net_url_is_tls(url);
    if (!io->signs) {
        return OCT_OK;
    }
    learner_key_print(io->signer, key);
    oct_log_notice("LEARNER-SIGNS", "key=%s", key);
    return OCT_OK;
}

oct_err
learner_io_open(learner_io **out, net_loop *loop, const learner_io_options *options,
                oct_reason *why)
{
    learner_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->options = *options;
    io->shards = config_shards(options->config);
    io->wakeup = net_wakeup_create(loop, run_woke, io);
    learner_run_options run = {
        .config = options->config,
        .folder = options->folder,
        .resume = options->resume,
        .environment = options->environment,
        .epoch = options->lock != NULL ? learner_lock_epoch(options->lock) : 0,
        .evaluator_wait_s = options->evaluator_wait_s,
        .lg = options->lg,
        .missed_s = MISSED_S,
        .notify = run_notify,
        .arg = io->wakeup,
    };
    oct_err err = learner_run_create(&io->run, &run, why);
    if (err != OCT_OK) {
        net_wakeup_destroy(io->wakeup);
        free(io);
        return err;
    }
    io->config_text = config_print_for_peers(options->config);
    io->relays = learner_relays_create(oct_clock_ns());
    err = signer_open(io, why);
    if (err == OCT_OK && (err = links_open(io)) != OCT_OK) {
        oct_reason_set(why, "cannot listen on %s", options->config->net.learner);
        err = err == OCT_EIO ? OCT_EAGAIN : err;
    }
    if (err != OCT_OK) {
        learner_io_close(io);
        return err;
    }
    io->tick = net_timer_start(loop, TICK_MS, TICK_MS, tick, io);
    *out = io;
    return OCT_OK;
}

void
learner_io_stop(learner_io *io, const char *reason)
{
    learner_run_finish(io->run, reason, false);
}

void
learner_io_close(learner_io *io)
{
    net_timer_stop(io->tick);
    if (io->server_link != NULL) {
        net_rpc_server_close(io->server_link);
    }
    learner_links_io_close(io->replays);
    if (io->publisher != NULL) {
        net_pub_close(io->publisher);
    }
    learner_run_destroy(io->run);
    net_wakeup_destroy(io->wakeup);
    if (io->server != NULL) {
        wire_server_destroy(io->server);
    }
    free(io->config_text);
    learner_relays_destroy(io->relays);
    wire_signer_destroy(io->signer);
    free(io);
}

bool
learner_io_starts_over(const learner_io *io)
{
    return learner_run_starts_over(io->run);
}

int
learner_io_exit_code(const learner_io *io)
{
    return io->exit_code;
}

// ---- for net_metrics

void
learner_io_prometheus(void *arg, oct_prometheus *text)
{
    learner_io *io = arg;
    traffic_tell(io);
    learner_run_prometheus(io->run, text);
}

const char *
learner_io_trouble(void *arg)
{
    learner_io *io = arg;
    learner_phase phase = learner_run_phase(io->run);
    if (phase == LEARNER_DONE) {
        return "the run is over";
    }
    const learner_source *source;
    for (uint32_t i = 0;
         phase == LEARNER_TRAINING && (source = learner_run_source(io->run, i)) != NULL; i++) {
        if (learner_source_is_lost(source)) {
            return i == io->shards  ? "the replay of the data set does not answer"
                   : io->shards > 1 ? "a shard of replay does not answer"
                                    : "replay does not answer";
        }
    }
    return learner_run_trouble(io->run);
}
