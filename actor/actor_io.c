#include "actor/actor_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "actor/actor_outbox.h"
#include "actor/actor_spec.h"
#include "actor/actor_worker.h"
#include "common/oct_clock.h"
#include "common/oct_config.h"
#include "common/oct_log.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"

#define RPC_TIMEOUT_MS   3000
#define RPC_RESEND_MS    1000
#define RPC_INFLIGHT_MAX 8
#define RETRY_MIN_MS     20
#define RETRY_MAX_MS     1000
#define CATCH_UP_MS      2000
#define STALL_NS         1000000000u
#define ACK_BYTES_MAX    4096
#define ARENA_BYTES      (WIRE_MESSAGE_BYTES_MAX + (1u << 20))
#define EXIT_FAILED      1
#define EXIT_REFUSED     3

// What the daemon is about to do next about the learner; each step retries with back-off.
enum step { STEP_CONFIG, STEP_SPEC, STEP_POLICY, STEP_RUN };

struct actor_io {
    net_loop *loop;
    actor_io_options options;
    int exit_code;
    bool start_over;
    uint64_t session;

    net_rpc_client *rpc;
    wire_client *client;
    net_timer *retry;
    uint32_t retry_ms;
    bool calling;
    bool learner_lost;
    enum step step;

    oct_config config;
    env *e;     // until the worker has it
    env *facts; // keeps the spec's strings alive
    uint64_t run_id;
    uint32_t actor_id;
    uint32_t actor_index;
    char policy_address[NET_URL_MAX];
    char replay_address[NET_URL_MAX];

    actor_worker *worker;
    net_wakeup *wakeup;
    uint64_t policy_version;
    wire_arena *arena;

    net_sub *policy_sub;
    net_sub *ack_sub;
    net_push *push;
    actor_outbox outbox;
    uint64_t progress_ns; // last time an acknowledgement moved on, or a batch was sent first
    uint64_t bytes_sent;
    uint64_t report_sequence;
    net_timer *tick;
    uint64_t last_policy_ns;
    uint64_t rejected;
};

static void step_go(actor_io *io);

static void
io_fail(actor_io *io, int exit_code)
{
    io->exit_code = exit_code;
    net_loop_stop(io->loop);
}

// ---- policies

static policy_net *
policy_open(actor_io *io, const wire_policy *policy)
{
    char reason[256];
    policy_image *image;
    oct_err err = policy_decode(&image, policy->bytes, policy->length, reason, sizeof(reason));
    if (err != OCT_OK) {
        if (io->rejected++ == 0) {
            oct_log_warn("ACTOR-BAD-POLICY", "version=%" PRIu64 " %s", policy->version, reason);
        }
        return NULL;
    }
    policy_net *net = NULL;
    err = policy_net_create(&net, image, POLICY_ISA_BEST);
    policy_image_destroy(image);
    if (err != OCT_OK) {
        oct_log_error("ACTOR-ISA", "no kernel for this policy: %s (OCTET_ISA?)", oct_strerror(err));
        io_fail(io, EXIT_FAILED);
        return NULL;
    }
    if (actor_fits(policy_net_spec(net), io->facts, reason, sizeof(reason)) != OCT_OK) {
        oct_log_error("ACTOR-POLICY-UNFIT", "%s", reason);
        policy_net_destroy(net);
        io_fail(io, EXIT_REFUSED);
        return NULL;
    }
    return net;
}

static void worker_begin(actor_io *io, policy_net *net);

// Contract 1: never back, never the same twice.
static void
policy_take(actor_io *io, const wire_policy *policy)
{
    if (policy->run_id != io->run_id || policy->version <= io->policy_version) {
        return;
    }
    policy_net *net = policy_open(io, policy);
    if (net == NULL) {
        return;
    }
    io->policy_version = policy->version;
    io->last_policy_ns = oct_clock_ns();
    if (io->worker == NULL) {
        worker_begin(io, net);
    } else {
        actor_worker_put_policy(io->worker, net);
    }
}

static void
policy_arrived(void *arg, net_msg *msg)
{
    actor_io *io = arg;
    wire_policy policy;
    wire_arena_reset(io->arena);
    oct_err err = wire_policy_unpack(&policy, io->arena, net_msg_body(msg), net_msg_length(msg));
    if (err != OCT_OK) {
        if (io->rejected++ == 0) {
            oct_log_warn("ACTOR-BAD-MESSAGE", "policy: %s", oct_strerror(err));
        }
        return;
    }
    policy_take(io, &policy);
}

// ---- batches

static void
outbox_send(void *arg)
{
    actor_io *io = arg;
    actor_batch *batch;
    while ((batch = actor_outbox_next(&io->outbox)) != NULL) {
        wire_batch view =
            actor_batch_view(batch, io->actor_id, io->session, actor_outbox_first(&io->outbox));
        net_msg *msg = net_msg_create(wire_batch_size(&view));
        wire_batch_pack(&view, net_msg_body(msg));
        size_t length = net_msg_length(msg);
        if (net_push_send(io->push, msg) != OCT_OK) {
            net_msg_destroy(msg);
            return;
        }
        io->bytes_sent += length;
        if (io->outbox.sent == 0) {
            io->progress_ns = oct_clock_ns();
        }
        actor_outbox_sent(&io->outbox);
    }
}

static void
replay_connected(void *arg)
{
    actor_io *io = arg;
    actor_outbox_go_back(&io->outbox);
    outbox_send(io);
}

static void
replay_gone(void *arg)
{
    (void)arg;
    oct_log_notice("ACTOR-REPLAY-LOST", "the connection to replay ended; dialing again");
}

static void
ack_arrived(void *arg, net_msg *msg)
{
    actor_io *io = arg;
    wire_ack ack;
    if (wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)) != OCT_OK) {
        io->rejected++;
        return;
    }
    if (ack.actor_id != io->actor_id || ack.session != io->session) {
        return;
    }
    uint64_t before = io->outbox.acked;
    actor_outbox_ack(&io->outbox, &ack);
    if (io->outbox.acked != before || ack.credit == 0) {
        io->progress_ns = oct_clock_ns();
    }
    actor_batch *batch;
    while ((batch = actor_outbox_take(&io->outbox)) != NULL) {
        actor_worker_return_batch(io->worker, batch);
    }
    outbox_send(io);
}

// PUSH loses what the kernel held when replay died, and replay drops what it cannot take yet: with
// room there and no progress here, everything held is sent again.
static void
outbox_watch(actor_io *io)
{
    if (io->outbox.sent > 0 && oct_clock_ns() - io->progress_ns > STALL_NS) {
        actor_outbox_go_back(&io->outbox);
        io->progress_ns = oct_clock_ns();
    }
    outbox_send(io);
}

// ---- reports

static void
report_done(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    actor_io *io = arg;
    (void)answer;
    if (err == OCT_ENOTFOUND && io->step != STEP_RUN) {
        return; // a second report to a learner that does not know us: registering is under way
    }
    if (err == OCT_ENOTFOUND) {
        oct_log_notice("ACTOR-REGISTER-AGAIN", "the learner does not know this actor: %s", detail);
        io->step = STEP_SPEC;
        io->retry_ms = RETRY_MIN_MS;
        step_go(io);
        return;
    }
    if (err != OCT_OK && !io->learner_lost) {
        io->learner_lost = true;
        oct_log_warn("ACTOR-LEARNER-LOST", "%s; going on with version=%" PRIu64, detail,
                     io->policy_version);
    } else if (err == OCT_OK && io->learner_lost) {
        io->learner_lost = false;
        oct_log_notice("ACTOR-LEARNER-BACK", "version=%" PRIu64, io->policy_version);
    }
}

static void
report_send(actor_io *io, wire_report *report)
{
    report->actor_id = io->actor_id;
    report->session = io->session;
    report->report_sequence = ++io->report_sequence;
    oct_err err = wire_call_report_episodes(io->client, report, RPC_TIMEOUT_MS, report_done, io);
    (void)err; // too many in flight: the next report says it all again, but for these episodes
}

static void
news_send(actor_io *io, const actor_news *news)
{
    static const char *const names[] = {"infer_s",  "env_s",  "collect_s", "wait_s", "dropped",
                                        "failures", "resent", "unacked",   "bytes",  "cpu_s"};
    const double values[] = {
        news->infer_s,
        news->env_s,
        news->collect_s,
        news->wait_s,
        (double)news->dropped,
        (double)news->failures,
        (double)io->outbox.resent,
        io->outbox.count,
        (double)io->bytes_sent,
        (double)oct_clock_process_cpu_ns() * 1e-9,
    };
    wire_report report = {
        .policy_version = news->policy_version,
        .env_steps = news->env_steps,
        .episode_count = news->episode_count,
        .episode_return = news->episode_return,
        .episode_length = news->episode_length,
        .stat_count = OCT_COUNTOF(names),
        .stat_name = names,
        .stat_value = values,
    };
    report_send(io, &report);
}

static void evaluation_ask(void *arg);
static void evaluation_ask_later(actor_io *io);

static void
evaluation_report(actor_io *io, const actor_job *job)
{
    static const char *const names[] = {"evaluation_s", "evaluation_steps", "cpu_s"};
    const double values[] = {job->result.seconds, (double)job->result.env_steps,
                             (double)oct_clock_process_cpu_ns() * 1e-9};
    wire_report report = {
        .ticket = job->ticket,
        .policy_version = policy_net_origin(job->net)->version,
        .episode_count = job->episodes,
        .episode_return = job->result.returns,
        .episode_length = job->result.lengths,
        .stat_count = OCT_COUNTOF(names),
        .stat_name = names,
        .stat_value = values,
    };
    report_send(io, &report);
}

static void
evaluation_done(actor_io *io, const actor_job *job)
{
    if (job->err == OCT_OK) {
        evaluation_report(io, job);
        evaluation_ask(io);
    } else if (job->err != OCT_ECLOSED) {
        oct_log_error("ACTOR-EVALUATION", "%s", job->reason);
        evaluation_ask_later(io); // it is likely to fail again at once
    }
}

// The acting thread has something for us.
static void
worker_woke(void *arg)
{
    actor_io *io = arg;
    if (io->worker == NULL) {
        return;
    }
    if (io->options.evaluate) {
        actor_job *job = actor_worker_take_job(io->worker);
        if (job == NULL) {
            return;
        }
        evaluation_done(io, job);
        actor_job_destroy(job);
        return;
    }
    actor_batch *batch;
    while ((batch = actor_worker_take_batch(io->worker)) != NULL) {
        actor_outbox_put(&io->outbox, batch);
    }
    outbox_send(io);
    const actor_news *news;
    while ((news = actor_worker_take_news(io->worker)) != NULL) {
        news_send(io, news);
        actor_worker_return_news(io->worker, news);
    }
    const char *failed = actor_worker_failed(io->worker);
    if (failed != NULL) {
        oct_log_error("ACTOR-ENV-FAILED", "%s: %s", io->config.env.id, failed);
        io_fail(io, EXIT_FAILED);
    }
}

static void
worker_notify(void *arg)
{
    net_wakeup_send(arg);
}

static void
session_draw(actor_io *io)
{
    if (getrandom(&io->session, sizeof(io->session), 0) != sizeof(io->session)) {
        io->session = oct_clock_wall_us() ^ ((uint64_t)getpid() << 40);
    }
    io->session |= 1; // the actor's id is made of it and must not be 0
}

// ---- joining

static void
step_retry(actor_io *io)
{
    net_timer_stop(io->retry);
    io->retry = net_timer_start(io->loop, io->retry_ms, 0, (net_fn)step_go, io);
    io->retry_ms = OCT_MIN(io->retry_ms * 2, (uint32_t)RETRY_MAX_MS);
}

static void
step_failed(actor_io *io, const char *detail)
{
    if (!io->learner_lost) {
        io->learner_lost = true;
        oct_log_notice("ACTOR-WAIT-LEARNER", "learner=%s %s; trying again", io->options.learner,
                       detail);
    }
    step_retry(io);
}

static void
policy_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    actor_io *io = arg;
    io->calling = false;
    if (err != OCT_OK) {
        if (err == OCT_ENOTFOUND) {
            io->step = STEP_SPEC;
        }
        step_failed(io, detail);
        return;
    }
    if (answer->has_policy) {
        policy_take(io, &answer->policy);
    }
    if (io->step == STEP_SPEC) {
        step_go(io); // a report was told meanwhile that the learner does not know us
    } else if (io->step == STEP_POLICY) {
        io->retry_ms = RETRY_MIN_MS; // soon: the learner is about to publish its first
        step_retry(io);
    }
}

static void
policy_ask(actor_io *io)
{
    wire_get_policy request = {
        .actor_id = io->actor_id,
        .purpose = WIRE_PURPOSE_CATCH_UP,
        .have_version = io->policy_version,
    };
    io->calling = true;
    if (wire_call_get_policy(io->client, &request, RPC_TIMEOUT_MS, policy_got, io) != OCT_OK) {
        io->calling = false;
        step_retry(io);
    }
}

static void
evaluation_ask_later(actor_io *io)
{
    net_timer_stop(io->retry);
    double pause_ms = OCT_MIN(io->config.evaluation.period_s * 250 + 1, (double)RETRY_MAX_MS);
    io->retry = net_timer_start(io->loop, (uint32_t)pause_ms, 0, evaluation_ask, io);
}

static void
evaluation_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    actor_io *io = arg;
    io->calling = false;
    if (err == OCT_ENOTFOUND) {
        io->step = STEP_SPEC;
        step_failed(io, detail);
        return;
    }
    if (io->step != STEP_RUN) {
        step_go(io); // a report was told meanwhile that the learner does not know us
        return;
    }
    policy_net *net = NULL;
    if (err == OCT_OK && answer->has_policy && answer->episodes > 0 &&
        answer->episodes <= WIRE_EPISODES_MAX) {
        net = policy_open(io, &answer->policy);
    }
    if (net == NULL) {
        evaluation_ask_later(io);
        return;
    }
    actor_job *job = actor_job_create(net, answer->ticket, answer->seed, answer->episodes);
    if (actor_worker_put_job(io->worker, job) != OCT_OK) {
        actor_job_destroy(job);
    }
}

static void
evaluation_ask(void *arg)
{
    actor_io *io = arg;
    if (io->calling || io->step != STEP_RUN) {
        return;
    }
    wire_get_policy request = {.actor_id = io->actor_id, .purpose = WIRE_PURPOSE_EVALUATE};
    io->calling = true;
    if (wire_call_get_policy(io->client, &request, RPC_TIMEOUT_MS, evaluation_got, io) != OCT_OK) {
        io->calling = false;
        net_timer_stop(io->retry);
        io->retry = net_timer_start(io->loop, RETRY_MAX_MS, 0, evaluation_ask, io);
    }
}

// Twice a second: what must not wait for an event that may have been lost.
static void
tick(void *arg)
{
    actor_io *io = arg;
    if (io->worker == NULL || io->options.evaluate) {
        return;
    }
    actor_worker_collect(io->worker);
    worker_woke(io);
    outbox_watch(io);
    if (!io->calling && io->step == STEP_RUN &&
        oct_clock_ns() - io->last_policy_ns > CATCH_UP_MS * 1000000ull) {
        io->last_policy_ns = oct_clock_ns();
        policy_ask(io);
    }
}

static oct_err
links_open(actor_io *io)
{
    char url[NET_URL_MAX];
    uint8_t topic[WIRE_FRAME_BYTES];
    net_push_events events = {
        .on_ready = outbox_send,
        .on_connected = replay_connected,
        .on_disconnected = replay_gone,
        .arg = io,
    };
    OCT_TRY(net_url_offset(io->replay_address, 2, url));
    wire_ack_topic(io->actor_id, topic);
    OCT_TRY(net_sub_open(&io->ack_sub, io->loop, url, topic, sizeof(topic), 16, ACK_BYTES_MAX,
                         ack_arrived, NULL, io));
    OCT_TRY(net_url_offset(io->replay_address, 1, url));
    OCT_TRY(net_push_open(&io->push, io->loop, url, &events));
    static const uint8_t policy_topic[] = {'O', 'C', 'T', WIRE_POLICY};
    return net_sub_open(&io->policy_sub, io->loop, io->policy_address, policy_topic,
                        sizeof(policy_topic), 1, WIRE_MESSAGE_BYTES_MAX, policy_arrived, NULL, io);
}

// The first policy brings the spec: now the acting thread can be made.
static void
worker_begin(actor_io *io, policy_net *net)
{
    actor_run *run;
    oct_err err = actor_run_create(&run, io->e, &io->config, policy_net_spec(net), io->actor_index,
                                   io->session);
    if (err != OCT_OK) {
        oct_log_error("ACTOR-UNSUITED",
                      "%s: no exploration for its kind of action, or actor.envs=%u times "
                      "algo.n_step=%u is more than a batch can hold",
                      io->config.env.id, io->config.actor.envs, io->config.algo.n_step);
        policy_net_destroy(net);
        io_fail(io, EXIT_REFUSED);
        return;
    }
    io->e = NULL;
    io->worker = actor_worker_create(run, &io->config, worker_notify, io->wakeup);
    actor_outbox_init(&io->outbox, actor_worker_batches(io->worker));
    const actor_batch_shape *shape = actor_run_shape(run);
    oct_log_notice(
        "ACTOR-START", "env=%s envs=%u index=%u kernel=%s precision=%s batches=%u batch_bytes=%zu",
        io->config.env.id, shape->envs, io->actor_index, policy_isa_name(policy_net_isa(net)),
        policy_net_precision(net) == POLICY_INT8 ? "int8" : "fp32",
        actor_worker_batches(io->worker), actor_batch_bytes(shape));
    actor_worker_put_policy(io->worker, net);
    if (links_open(io) != OCT_OK || actor_worker_start(io->worker) != OCT_OK) {
        oct_log_error("ACTOR-LINKS", "cannot reach replay=%s or policies=%s", io->replay_address,
                      io->policy_address);
        io_fail(io, EXIT_FAILED);
        return;
    }
    io->step = STEP_RUN;
}

static void
evaluator_begin(actor_io *io)
{
    if (io->worker == NULL) {
        io->worker = actor_worker_create_evaluator(&io->config, worker_notify, io->wakeup);
        if (actor_worker_start(io->worker) != OCT_OK) {
            io_fail(io, EXIT_FAILED);
            return;
        }
        oct_log_notice("ACTOR-EVALUATOR", "env=%s episodes=%u", io->config.env.id,
                       io->config.evaluation.episodes);
    }
    io->step = STEP_RUN;
    evaluation_ask(io);
}

static bool
config_take(actor_io *io, const char *text)
{
    char message[1024];
    oct_config_default(&io->config);
    oct_err err = oct_config_parse(&io->config, "the learner's configuration", text, strlen(text),
                                   message, sizeof(message));
    if (err != OCT_OK) {
        oct_log_error("ACTOR-CONFIG", "%s", message);
        return false;
    }
    uint64_t seed = io->config.run.seed * 1000003u + (io->session & 0xffffffffu);
    env_request request = {
        .id = io->config.env.id,
        .options = io->config.env.options,
        .count = io->options.evaluate ? 1 : io->config.actor.envs,
        .seed = seed,
        .autoreset = true,
    };
    env_request single = request;
    single.count = 1;
    if (env_open(&io->e, &request, message, sizeof(message)) != OCT_OK ||
        env_open(&io->facts, &single, message, sizeof(message)) != OCT_OK) {
        oct_log_error("ACTOR-ENV", "%s", message);
        return false;
    }
    return true;
}

// Called for the answer to the second Register. False: start over or give up.
static bool
registration_take(actor_io *io, const wire_registered *answer)
{
    if (io->run_id != 0 && io->run_id != answer->run_id) {
        oct_log_notice("ACTOR-NEW-RUN", "the learner runs another experiment now; starting over");
        io->start_over = true;
        net_loop_stop(io->loop);
        return false;
    }
    bool first = io->policy_address[0] == '\0';
    io->actor_id = answer->actor_id;
    if (!first) {
        return true;
    }
    io->actor_index = answer->actor_index;
    if (net_url_as_seen_from(answer->policy_address, io->options.learner, io->policy_address) !=
            OCT_OK ||
        net_url_as_seen_from(answer->replay_address, io->options.learner, io->replay_address) !=
            OCT_OK) {
        oct_log_error("ACTOR-ADDRESS", "the learner named policies=%s replay=%s",
                      answer->policy_address, answer->replay_address);
        io_fail(io, EXIT_FAILED);
        return false;
    }
    char reason[256];
    bool insecure = io->options.insecure;
    if (net_url_check(io->policy_address, insecure, reason, sizeof(reason)) != OCT_OK ||
        net_url_check(io->replay_address, insecure, reason, sizeof(reason)) != OCT_OK) {
        oct_log_error("ACTOR-ADDRESS", "the learner named policies=%s replay=%s: %s",
                      io->policy_address, io->replay_address, reason);
        io_fail(io, EXIT_REFUSED);
        return false;
    }
    return true;
}

static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    actor_io *io = arg;
    io->calling = false;
    if (err == OCT_EINVAL || (err == OCT_OK && !answer->accepted)) {
        oct_log_error("ACTOR-REFUSED", "%s", err == OCT_OK ? answer->reason : detail);
        io_fail(io, EXIT_REFUSED);
        return;
    }
    if (err == OCT_EAGAIN && io->worker == NULL) {
        session_draw(io); // the id that is made of it may be another actor's
    }
    if (err != OCT_OK) {
        step_failed(io, detail);
        return;
    }
    io->learner_lost = false;
    io->retry_ms = RETRY_MIN_MS;
    if (io->step == STEP_CONFIG) {
        io->run_id = answer->run_id; // a learner with another configuration has another
        if (!config_take(io, answer->config)) {
            io_fail(io, EXIT_REFUSED);
            return;
        }
        io->step = STEP_SPEC;
        step_go(io);
        return;
    }
    if (!registration_take(io, answer)) {
        return;
    }
    if (io->options.evaluate) {
        evaluator_begin(io);
    } else if (io->worker != NULL) {
        io->step = STEP_RUN;
    } else {
        io->step = STEP_POLICY;
        step_go(io);
    }
}

static void
register_send(actor_io *io)
{
    char host[WIRE_NAME_MAX] = "";
    (void)gethostname(host, sizeof(host) - 1);
    wire_register request = {
        .role = io->options.evaluate ? WIRE_ROLE_EVALUATOR : WIRE_ROLE_ACTOR,
        .session = io->session,
        .host = host,
        .pid = (uint32_t)getpid(),
        .has_env = io->step != STEP_CONFIG,
        .env = {.env_id = ""},
    };
    actor_spec spec;
    if (request.has_env) {
        if (actor_spec_init(&spec, env_spec(io->facts)) != OCT_OK) {
            oct_log_error("ACTOR-UNSUITED", "%s: more than %d actions", io->config.env.id,
                          POLICY_ACTIONS_MAX);
            io_fail(io, EXIT_REFUSED);
            return;
        }
        request.env = spec.wire;
    }
    io->calling = true;
    if (wire_call_register_actor(io->client, &request, RPC_TIMEOUT_MS, registered, io) != OCT_OK) {
        io->calling = false;
        step_retry(io);
    }
}

static void
step_go(actor_io *io)
{
    net_timer_stop(io->retry);
    io->retry = NULL;
    if (io->calling) {
        return;
    }
    switch (io->step) {
    case STEP_CONFIG:
    case STEP_SPEC:
        register_send(io);
        return;
    case STEP_POLICY:
        policy_ask(io);
        return;
    case STEP_RUN:
        break;
    }
}

// ---- life

oct_err
actor_io_open(actor_io **out, net_loop *loop, const actor_io_options *options)
{
    actor_io *io = oct_alloc(sizeof(*io));
    io->loop = loop;
    io->options = *options;
    io->retry_ms = RETRY_MIN_MS;
    session_draw(io);
    oct_err err = net_rpc_client_open(&io->rpc, loop, options->learner, RPC_INFLIGHT_MAX,
                                      RPC_RESEND_MS, WIRE_MESSAGE_BYTES_MAX);
    if (err != OCT_OK) {
        free(io);
        return err;
    }
    io->client = wire_client_create(net_rpc_call, io->rpc, ARENA_BYTES);
    io->arena = wire_arena_create(ARENA_BYTES);
    io->wakeup = net_wakeup_create(loop, worker_woke, io);
    io->tick = net_timer_start(loop, 500, 500, tick, io);
    step_go(io);
    *out = io;
    return OCT_OK;
}

void
actor_io_close(actor_io *io)
{
    if (io->worker != NULL) {
        actor_worker_stop(io->worker);
    }
    net_timer_stop(io->tick);
    net_timer_stop(io->retry);
    io->retry = NULL;
    if (io->push != NULL) {
        net_push_close(io->push);
    }
    if (io->ack_sub != NULL) {
        net_sub_close(io->ack_sub);
    }
    if (io->policy_sub != NULL) {
        net_sub_close(io->policy_sub);
    }
    io->step = STEP_RUN; // answers of closing calls must not begin anything
    net_rpc_client_close(io->rpc);
    net_timer_stop(io->retry);
    net_wakeup_destroy(io->wakeup);
    wire_client_destroy(io->client);
    wire_arena_destroy(io->arena);
    actor_worker_destroy(io->worker);
    actor_outbox_fini(&io->outbox);
    env_close(io->e);
    env_close(io->facts);
    free(io);
}

int
actor_io_exit_code(const actor_io *io)
{
    return io->exit_code;
}

bool
actor_io_start_over(const actor_io *io)
{
    return io->start_over;
}
