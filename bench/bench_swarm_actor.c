// The simulated actors of bench_swarm: real connections and protocol, made-up rows at a
// fixed rate.
#include "bench/bench_swarm_actor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_must.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "config/config.h"
#include "net/net_pub.h"
#include "net/net_push.h"
#include "net/net_rpc.h"
#include "proto/wire_rpc.h"
#include "proto/wire_token.h"

#define TICK_MS        2
#define TICK_MANY_MS   10   // where there are more than
#define TICK_MANY      1000 // actors: looking at each of them is work that hosts of their own do
#define WINDOW         16   // unacknowledged batches: actor.ring_batches
#define FIRST_PER_S    50.0 // batches of the first actor, until others join
#define STALL_NS       1000000000u
#define RETRY_NS       20000000u
#define RPC_TIMEOUT_MS 3000
#define POLICY_QUEUE   16
#define ACK_QUEUE      16
#define ACK_BYTES_MAX  4096

enum swarm_step { STEP_OUT, STEP_CONFIG, STEP_SPEC, STEP_POLICY, STEP_RUN };

typedef struct swarm_actor {
    swarm *all;
    uint32_t index;
    uint64_t label, session;
    uint8_t token[WIRE_TOKEN_BYTES];
    uint32_t id;
    enum swarm_step step;
    bool calling;
    uint64_t retry_ns; // not before
    net_rpc_client *rpc;
    wire_client *client;
    net_sub *policy_sub, *ack_sub;
    net_push *push;
    uint64_t made, sent, acked; // sequences: last made, last sent since going back, last held
    uint64_t sent_ever;
    uint64_t sent_ns[WINDOW]; // of sequence % WINDOW, the first time
    uint64_t incarnation;
    uint32_t credit;
    uint64_t progress_ns;
    bool is_busy;
    double owed; // batches
    uint64_t report_ns, report_sequence;
    uint64_t version; // of the policy held
} swarm_actor;

struct swarm {
    net_loop *loop;
    net_timer *timer;
    swarm_plan plan;
    uint64_t tick_ns, report_ns;
    double batches_per_s; // of each, now
    bool is_pushing, is_measuring;
    env *described; // NULL until the first actor has the configuration
    actor_spec spec;
    uint64_t run_id;
    char policies[NET_URL_MAX], replay[NET_URL_MAX], batches[NET_URL_MAX], acks[NET_URL_MAX];
    uint32_t relayed;
    wire_batch batch; // columns that all share
    wire_arena *arena;
    oct_rng rng;
    swarm_counts counts;
    swarm_samples ack_s;
    swarm_version version[SWARM_VERSIONS_MAX];
    swarm_actor actor[]; // plan.actors
};

// ---- steps

// Every batch is one episode of as many steps, cut, in one run of one stream.
static void
columns_make(swarm *self)
{
    static const uint32_t stream;
    static const uint64_t first;
    const octet_env_spec *task = env_spec(self->described);
    uint32_t steps = self->plan.rows, rows = steps + 1, obs_bytes = env_space_bytes(&task->obs);
    uint32_t action_bytes = env_space_bytes(&task->action), dims = action_bytes / 4;
    uint8_t *obs = oct_alloc((size_t)rows * obs_bytes);
    uint8_t *action = oct_alloc((size_t)rows * action_bytes);
    float *reward = oct_alloc((size_t)rows * sizeof(float));
    uint8_t *flags = oct_alloc(rows);
    for (uint32_t i = 0; i < rows * (obs_bytes / 4); i++) {
        float value = 2 * oct_rng_float(&self->rng) - 1;
        memcpy(obs + (size_t)4 * i, &value, sizeof(value)); // of bytes: any are an image
    }
    for (uint32_t i = 0; i < steps * dims; i++) {
        int32_t choice = (int32_t)(self->spec.wire.action_low ? 0 : i % task->action.n);
        float value = self->spec.wire.action_low ? self->spec.wire.action_low[i % dims] : 0;
        memcpy(action + (size_t)4 * i, self->spec.wire.action_low ? (void *)&value : &choice, 4);
    }
    for (uint32_t i = 0; i < steps; i++) {
        reward[i] = 1;
    }
    flags[0] |= WIRE_FIRST;
    flags[steps - 1] |= WIRE_TRUNCATED;
    flags[steps] = WIRE_END;
    self->batch = (wire_batch){
        .run_count = 1,
        .run_stream = &stream,
        .run_first = &first,
        .run_rows = &self->batch.count,
        .run_version = &stream,
        .count = rows,
        .obs_bytes = obs_bytes,
        .obs = obs,
        .action_bytes = action_bytes,
        .action = action,
        .reward = reward,
        .flags = flags,
    };
}

static void
batches_send(swarm_actor *actor)
{
    swarm *self = actor->all;
    if (actor->is_busy || actor->sent == actor->made) {
        return;
    }
    uint64_t sequence = ++actor->sent;
    wire_batch batch = self->batch;
    batch.actor_id = actor->id;
    batch.session = actor->session;
    memcpy(batch.token, actor->token, sizeof(batch.token));
    batch.sequence = sequence;
    batch.first_unacked = actor->acked + 1;
    batch.env_steps = sequence * self->plan.rows;
    const uint32_t version = (uint32_t)actor->version;
    const uint64_t first = (sequence - 1) * batch.count;
    batch.run_first = &first;
    batch.run_version = &version;
    net_msg *msg = net_msg_create(wire_batch_size(&batch));
    wire_batch_pack(&batch, net_msg_body(msg));
    self->counts.sent++;
    self->counts.sent_bytes += net_msg_length(msg);
    if (sequence > actor->sent_ever) {
        actor->sent_ever = sequence;
        actor->sent_ns[sequence % WINDOW] = oct_clock_ns();
    } else {
        self->counts.resent++;
    }
    if (actor->sent == actor->acked + 1) {
        actor->progress_ns = oct_clock_ns();
    }
    actor->is_busy = true;
    bench_must(net_push_send(actor->push, msg), "push");
}

static void
push_ready(void *arg)
{
    swarm_actor *actor = arg;
    actor->is_busy = false;
    batches_send(actor);
}

// Replay is there (again): PUSH may have lost what was on its way.
static void
push_connected(void *arg)
{
    swarm_actor *actor = arg;
    actor->sent = actor->acked;
    batches_send(actor);
}

static void
ack_arrived(void *arg, net_msg *msg)
{
    swarm_actor *actor = arg;
    swarm *self = actor->all;
    wire_ack ack;
    bench_must(wire_ack_unpack(&ack, net_msg_body(msg), net_msg_length(msg)), "acknowledgement");
    if (ack.actor_id != actor->id || ack.session != actor->session || ack.sequence > actor->made) {
        return;
    }
    uint64_t now_ns = oct_clock_ns();
    self->counts.acks++;
    self->counts.ack_bytes += net_msg_length(msg);
    if (actor->incarnation != 0 && actor->incarnation != ack.incarnation) {
        actor->sent = actor->acked;
    }
    actor->incarnation = ack.incarnation;
    actor->credit = ack.credit;
    while (actor->acked < ack.sequence) {
        actor->acked++;
        actor->progress_ns = now_ns;
        self->counts.acked++;
        if (self->is_measuring) {
            uint64_t took_ns = now_ns - actor->sent_ns[actor->acked % WINDOW];
            swarm_samples_add(&self->ack_s, (double)took_ns * 1e-9);
        }
    }
    actor->sent = OCT_MAX(actor->sent, actor->acked);
    batches_send(actor);
}

static void
batches_make(swarm_actor *actor, double seconds, uint64_t now_ns)
{
    swarm *self = actor->all;
    uint64_t window = OCT_MIN((uint64_t)WINDOW, (uint64_t)actor->credit);
    if (self->is_pushing) {
        actor->owed += seconds * self->batches_per_s;
    }
    for (; self->is_pushing && actor->owed >= 1; actor->owed -= 1) {
        bool fits = actor->made - actor->acked < window;
        self->counts.offered++;
        self->counts.held_back += !fits;
        actor->made += fits;
    }
    if (actor->acked < actor->sent && now_ns - actor->progress_ns > STALL_NS) {
        actor->sent = actor->acked;
        actor->progress_ns = now_ns;
    }
    batches_send(actor);
}

// ---- policies

static void
policy_got(void *arg, oct_err err, const char *detail, const wire_got_policy *answer)
{
    swarm_actor *actor = arg;
    (void)detail;
    actor->calling = false;
    actor->retry_ns = oct_clock_ns() + RETRY_NS;
    if (err == OCT_OK && answer->has_policy) {
        actor->version = OCT_MAX(actor->version, answer->policy.version);
        actor->step = actor->step == STEP_POLICY ? STEP_RUN : actor->step;
    }
}

static void
policy_ask(swarm_actor *actor)
{
    wire_get_policy request = {
        .actor_id = actor->id, .purpose = WIRE_PURPOSE_CATCH_UP, .have_version = actor->version};
    memcpy(request.token, actor->token, sizeof(request.token));
    actor->all->counts.asked++;
    actor->calling =
        wire_call_get_policy(actor->client, &request, RPC_TIMEOUT_MS, policy_got, actor) == OCT_OK;
}

static void
version_note(swarm *self, const wire_policy *policy, uint64_t now_us)
{
    swarm_version *place = &self->version[policy->version % SWARM_VERSIONS_MAX];
    uint32_t check;
    if (policy->length < sizeof(check)) {
        self->counts.mismatches++;
        return;
    }
    memcpy(&check, policy->bytes + policy->length - sizeof(check), sizeof(check));
    if (place->version != policy->version) {
        *place = (swarm_version){policy->version, now_us, now_us, 0, check};
    }
    self->counts.mismatches += place->check != check;
    place->last_us = now_us;
    place->seen++;
}

static void
policy_arrived(void *arg, net_msg *msg)
{
    swarm_actor *actor = arg;
    swarm *self = actor->all;
    wire_policy policy;
    wire_arena_reset(self->arena);
    bench_must(wire_policy_unpack(&policy, self->arena, net_msg_body(msg), net_msg_length(msg)),
               "policy");
    if (policy.run_id != self->run_id) {
        return;
    }
    self->counts.policies++;
    self->counts.policy_bytes += net_msg_length(msg);
    if (self->is_measuring) {
        version_note(self, &policy, oct_clock_wall_us());
    }
    if (policy.version <= actor->version) {
        return;
    }
    if (policy.base_version == 0 || policy.base_version == actor->version) {
        actor->version = policy.version;
        actor->step = actor->step == STEP_POLICY ? STEP_RUN : actor->step;
    } else if (!actor->calling && actor->step == STEP_RUN) {
        self->counts.gaps++;
        policy_ask(actor);
    }
}

// ---- control

static void
links_open(swarm_actor *actor)
{
    swarm *self = actor->all;
    static const uint8_t policies[] = {'O', 'C', 'T', WIRE_POLICY};
    uint8_t acks[WIRE_ACK_REQUEST_BYTES_MAX];
    if (actor->index < self->plan.subscribers) {
        bench_must(net_sub_open(
                       &actor->policy_sub, self->loop,
                       &(net_endpoint){self->policies, OCT_ROLES_ANY, WIRE_MESSAGE_BYTES_MAX,
                                       POLICY_QUEUE},
                       &(net_sub_options){policies, sizeof(policies), policy_arrived, NULL, actor}),
                   "subscribe to policies");
    }
    if (actor->index < self->plan.pushers) {
        wire_claim claim = {.actor_id = actor->id, .session = actor->session};
        memcpy(claim.token, actor->token, sizeof(claim.token));
        bench_must(
            net_post_dial(&actor->ack_sub, self->loop,
                          &(net_endpoint){self->acks, OCT_ROLES_ANY, ACK_BYTES_MAX, ACK_QUEUE},
                          &(net_sub_options){acks, wire_ack_request_pack(&claim, acks), ack_arrived,
                                             NULL, actor}),
            "subscribe to acknowledgements");
        net_push_events events = {
            .on_ready = push_ready, .on_connected = push_connected, .arg = actor};
        bench_must(net_push_open(&actor->push, self->loop, self->batches, OCT_ROLES_ANY, &events),
                   "push");
    }
}

// What a real actor finds out from the learner's configuration, once for all.
static void
config_take(swarm *self, const wire_registered *answer)
{
    oct_reason message;
    config_experiment *config = oct_alloc(sizeof(*config));
    config_default(config);
    if (config_parse(config, "the learner's configuration", answer->config, strlen(answer->config),
                     message.text, sizeof(message.text)) != OCT_OK) {
        bench_give_up("configuration", message.text);
    }
    env_request request = {
        .id = config->env.id,
        .options = config->env.options,
        .mjcf_dir = config->env.mjcf_dir,
        .count = 1,
        .seed = 1,
    };
    if (env_open(&self->described, &request, &message) != OCT_OK) {
        bench_give_up("environment", message.text);
    }
    free(config);
    if (actor_spec_init(&self->spec, env_spec(self->described), &message) != OCT_OK) {
        bench_give_up("environment", message.text);
    }
    columns_make(self);
    self->run_id = answer->run_id;
}

static void
registered(void *arg, oct_err err, const char *detail, const wire_registered *answer)
{
    swarm_actor *actor = arg;
    swarm *self = actor->all;
    actor->calling = false;
    actor->retry_ns = oct_clock_ns() + RETRY_NS;
    if (err != OCT_OK) {
        return;
    }
    if (!answer->accepted) {
        bench_give_up("the learner refuses", answer->reason);
    }
    actor->retry_ns = 0;
    if (actor->step == STEP_CONFIG) {
        if (!self->described) {
            config_take(self, answer);
        }
        actor->step = STEP_SPEC;
        return;
    }
    bool is_first = actor->id == 0;
    actor->id = answer->actor_id;
    actor->session = answer->session;
    memcpy(actor->token, answer->token, sizeof(actor->token));
    actor->step = is_first ? STEP_POLICY : STEP_RUN;
    const char *reached = answer->is_relayed ? "" : self->plan.learner;
    self->relayed += is_first && answer->is_relayed;
    bench_must(net_url_as_seen_from(answer->policy_address, reached, self->policies), detail);
    bench_must(net_url_as_seen_from(answer->replay_address, reached, self->replay), detail);
    bench_must(net_url_offset(self->replay, 1, self->batches), "address");
    bench_must(net_url_offset(self->replay, 2, self->acks), "address");
    if (is_first) {
        links_open(actor);
    }
}

static void
register_send(swarm_actor *actor)
{
    char host[WIRE_NAME_MAX] = "";
    (void)gethostname(host, sizeof(host) - 1); // a relay at a local socket is for its own host
    wire_register request = {
        .role = WIRE_ROLE_ACTOR,
        .label = actor->label,
        .session = actor->session,
        .host = host,
        .pid = (uint32_t)getpid(),
        .has_env = actor->step == STEP_SPEC,
        .env = {.env_id = ""},
        .knows_shards = true,
    };
    memcpy(request.token, actor->token, sizeof(request.token));
    if (request.has_env) {
        request.env = actor->all->spec.wire;
    }
    actor->calling = wire_call_register_actor(actor->client, &request, RPC_TIMEOUT_MS, registered,
                                              actor) == OCT_OK;
}

static void
reported(void *arg, oct_err err, const char *detail, const wire_empty *answer)
{
    swarm_actor *actor = arg;
    (void)detail;
    (void)answer;
    if (err == OCT_ENOTFOUND && actor->step == STEP_RUN) {
        actor->step = STEP_SPEC; // the learner does not know us
    }
}

// The numbers that a real actor tells, most of them zero.
static void
report_send(swarm_actor *actor)
{
    static const char *const names[] = {
        "infer_s",     "env_s",          "collect_s",       "wait_s",  "dropped",
        "failures",    "resent",         "unacked",         "bytes",   "cpu_s",
        "policy_gaps", "policies_taken", "policies_packed", "rejected"};
    double values[OCT_COUNTOF(names)] = {0};
    wire_report report = {
        .actor_id = actor->id,
        .session = actor->session,
        .report_sequence = ++actor->report_sequence,
        .policy_version = actor->version,
        .env_steps = actor->acked * actor->all->plan.rows,
        .stat_count = OCT_COUNTOF(names),
        .stat_name = names,
        .stat_value = values,
    };
    memcpy(report.token, actor->token, sizeof(report.token));
    actor->all->counts.reports++;
    oct_err err =
        wire_call_report_episodes(actor->client, &report, RPC_TIMEOUT_MS, reported, actor);
    (void)err; // too many in flight: the next one says it again
}

// ---- the swarm

static void
actor_tick(swarm_actor *actor, double seconds, uint64_t now_ns)
{
    switch (actor->step) {
    case STEP_OUT:
        return;
    case STEP_CONFIG:
    case STEP_SPEC:
        if (!actor->calling && now_ns >= actor->retry_ns) {
            register_send(actor);
        }
        return;
    case STEP_POLICY:
        if (!actor->calling && now_ns >= actor->retry_ns) {
            policy_ask(actor);
        }
        break;
    case STEP_RUN:
        break;
    }
    if (now_ns >= actor->report_ns) {
        actor->report_ns = OCT_MAX(actor->report_ns + actor->all->report_ns, now_ns);
        report_send(actor);
    }
    // The first policy comes after the first batches.
    if (actor->push) {
        batches_make(actor, seconds, now_ns);
    }
}

static void
swarm_tick(void *arg)
{
    swarm *self = arg;
    uint64_t now_ns = oct_clock_ns();
    double seconds = (double)(now_ns - self->tick_ns) * 1e-9;
    self->tick_ns = now_ns;
    for (uint32_t i = 0; i < self->plan.actors; i++) {
        actor_tick(&self->actor[i], seconds, now_ns);
    }
}

swarm *
swarm_create(net_loop *loop, const swarm_plan *plan)
{
    swarm *self = oct_alloc(sizeof(*self) + plan->actors * sizeof(self->actor[0]));
    self->loop = loop;
    self->plan = *plan;
    self->tick_ns = oct_clock_ns();
    self->report_ns = (uint64_t)(plan->report_s * 1e9);
    self->arena = wire_arena_create(WIRE_MESSAGE_BYTES_MAX);
    oct_rng_init(&self->rng, oct_clock_wall_us(), (uint64_t)getpid());
    for (uint32_t i = 0; i < plan->actors; i++) {
        swarm_actor *actor = &self->actor[i];
        actor->all = self;
        actor->index = i;
        actor->label = oct_rng_u64(&self->rng) | 1;
        actor->credit = WINDOW;
        actor->owed = oct_rng_double(&self->rng); // not all at once
        actor->report_ns =
            self->tick_ns + (uint64_t)(oct_rng_double(&self->rng) * (double)self->report_ns);
    }
    uint32_t tick_ms = plan->actors > TICK_MANY ? TICK_MANY_MS : TICK_MS;
    self->timer = net_timer_start(loop, tick_ms, tick_ms, swarm_tick, self);
    return self;
}

void
swarm_join(swarm *self, uint32_t count)
{
    // The first alone is to fill what the learner waits for, soon.
    self->batches_per_s = self->plan.batches_per_s;
    if (count == 1 && self->plan.actors > 1) {
        self->batches_per_s = OCT_MAX(self->batches_per_s, FIRST_PER_S);
    }
    for (uint32_t i = 0; i < count; i++) {
        swarm_actor *actor = &self->actor[i];
        if (actor->step == STEP_OUT) {
            bench_must(net_rpc_client_open(&actor->rpc, self->loop,
                                           &(net_endpoint){self->plan.learner, OCT_ROLES_ANY,
                                                           WIRE_MESSAGE_BYTES_MAX, 8},
                                           1000),
                       "dial");
            actor->client = wire_client_create(net_rpc_call, actor->rpc, WIRE_MESSAGE_BYTES_MAX);
            actor->step = STEP_CONFIG;
        }
    }
}

uint32_t
swarm_running(const swarm *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->plan.actors; i++) {
        count += self->actor[i].step == STEP_RUN;
    }
    return count;
}

void
swarm_push(swarm *self, bool on)
{
    self->is_pushing = on;
}

bool
swarm_is_quiet(const swarm *self)
{
    for (uint32_t i = 0; i < self->plan.actors; i++) {
        if (self->actor[i].acked != self->actor[i].made) {
            return false;
        }
    }
    return true;
}

void
swarm_measure(swarm *self, bool measuring)
{
    self->is_measuring = measuring;
    if (measuring) {
        self->counts = (swarm_counts){0};
        swarm_samples_clear(&self->ack_s);
        memset(self->version, 0, sizeof(self->version));
    }
}

const swarm_counts *
swarm_counts_get(const swarm *self)
{
    return &self->counts;
}

swarm_samples *
swarm_ack_seconds(swarm *self)
{
    return &self->ack_s;
}

const swarm_version *
swarm_versions(const swarm *self)
{
    return self->version;
}

uint64_t
swarm_made(const swarm *self)
{
    uint64_t batches = 0;
    for (uint32_t i = 0; i < self->plan.actors; i++) {
        batches += self->actor[i].made;
    }
    return batches * self->plan.rows;
}

uint32_t
swarm_batch_bytes(const swarm *self)
{
    return (uint32_t)wire_batch_size(&self->batch);
}

uint32_t
swarm_relayed(const swarm *self)
{
    return self->relayed;
}

const char *
swarm_replay_address(const swarm *self)
{
    return self->replay;
}
