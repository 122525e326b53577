// Packs, unpacks and checks the messages of the service Learner, and those that both services use.
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_metric.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// ---- RegisterActor

void
wire_register_to(Octet__Registration *out, const wire_register *in)
{
    *out = (Octet__Registration){
        PROTOBUF_C_MESSAGE_INIT(&octet__registration__descriptor),
        .role = (Octet__Role)in->role,
        .session = in->session,
        .token = WIRE_BYTES(in->token, in->session != 0 ? WIRE_TOKEN_BYTES : 0),
        .label = in->label,
        .host = WIRE_STRING(in->host),
        .pid = in->pid,
        .has_env = in->has_env,
        .env_id = WIRE_STRING(NULL),
        .place = in->place,
        .libm = in->libm,
        .relay_address = WIRE_STRING(in->relay_address),
        .relay_above = WIRE_STRING(in->relay_above),
        .relay_number = in->relay_number,
        .relay_above_number = in->relay_above_number,
        .relay_sessions = in->relay_sessions,
        .relay_lost = in->relay_lost,
        .knows_shards = in->knows_shards,
        .knows_newest = in->knows_newest,
        .run_id = in->run_id,
        WIRE_SPEAKS_TO,
    };
    if (!in->has_env) {
        return;
    }
    const wire_env_spec *env = &in->env;
    bool is_box = env->action_kind == OCTET__ACTION_KIND__ACTION_BOX;
    size_t bounds = is_box ? env->action_count : 0;
    out->env_id = WIRE_STRING(env->env_id);
    out->obs_dtype = (Octet__Dtype)env->obs_dtype;
    out->obs_count = env->obs_count;
    out->action_kind = (Octet__ActionKind)env->action_kind;
    out->action_count = env->action_count;
    out->n_action_low = bounds;
    out->action_low = WIRE_COLUMN(float, env->action_low);
    out->n_action_high = bounds;
    out->action_high = WIRE_COLUMN(float, env->action_high);
    out->max_episode_steps = env->max_episode_steps;
    out->reward_threshold = env->reward_threshold;
    out->n_obs_shape = env->obs_rank;
    out->obs_shape = WIRE_COLUMN(uint32_t, env->obs_shape);
    out->obs_high = env->obs_high;
    out->n_metric_name = env->metric_count;
    out->metric_name = WIRE_COLUMN(char *, env->metric_name);
}

static oct_err
metric_names_check(char **names, size_t count, wire_arena *arena)
{
    WIRE_REQUIRE(arena, count <= OCT_METRICS_MAX, "metric_name: more than 64");
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE(arena, oct_metric_is_name(names[i]),
                     "metric_name: not 1 to 63 printable characters of ASCII");
    }
    WIRE_REQUIRE(arena, oct_metric_names_differ((const char *const *)names, (uint32_t)count),
                 "metric_name: the same twice");
    return OCT_OK;
}

static oct_err
env_check_actions(const Octet__Registration *in, wire_arena *arena)
{
    bool is_box = in->action_kind == OCTET__ACTION_KIND__ACTION_BOX;
    WIRE_REQUIRE(arena, is_box || in->action_kind == OCTET__ACTION_KIND__ACTION_DISCRETE,
                 "register.action_kind: unknown");
    WIRE_REQUIRE(arena, in->action_count >= 1 && in->action_count <= WIRE_ACTIONS_MAX,
                 "register.action_count: outside 1 .. 256");
    size_t bounds = is_box ? in->action_count : 0;
    WIRE_REQUIRE(arena, in->n_action_low == bounds && in->n_action_high == bounds,
                 "register.action_low, action_high: one per dimension of a box, none otherwise");
    WIRE_REQUIRE(arena,
                 wire_check_finite(in->action_low, bounds) &&
                     wire_check_finite(in->action_high, bounds),
                 "register.action_low, action_high: not finite");
    for (size_t i = 0; i < bounds; i++) {
        WIRE_REQUIRE(arena, in->action_low[i] <= in->action_high[i],
                     "register.action_low: above action_high");
    }
    return OCT_OK;
}

static oct_err
env_check_shape(const Octet__Registration *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->n_obs_shape <= WIRE_RANK_MAX, "register.obs_shape: more than 6 sizes");
    uint64_t count = 1;
    for (size_t i = 0; i < in->n_obs_shape; i++) {
        count *= in->obs_shape[i];
        WIRE_REQUIRE(arena, count >= 1 && count <= in->obs_count,
                     "register.obs_shape: does not make obs_count");
    }
    WIRE_REQUIRE(arena, in->n_obs_shape == 0 || count == in->obs_count,
                 "register.obs_shape: does not make obs_count");
    return OCT_OK;
}

static oct_err
env_from(wire_env_spec *out, const Octet__Registration *in, wire_arena *arena)
{
    WIRE_REQUIRE_NAME(arena, in->env_id, "register.env_id: no name, or longer than 256 bytes");
    WIRE_REQUIRE(arena, in->env_id[0] != '\0', "register.env_id: is empty");
    WIRE_REQUIRE(
        arena, in->obs_dtype == OCTET__DTYPE__DTYPE_F32 || in->obs_dtype == OCTET__DTYPE__DTYPE_U8,
        "register.obs_dtype: unknown");
    uint32_t item_bytes = in->obs_dtype == OCTET__DTYPE__DTYPE_F32 ? 4 : 1;
    WIRE_REQUIRE(arena, in->obs_count >= 1 && in->obs_count <= WIRE_OBS_BYTES_MAX / item_bytes,
                 "register.obs_count: is 0, or more than an observation may hold");
    WIRE_REQUIRE(arena, in->obs_high <= (item_bytes == 1 ? UINT8_MAX : 0),
                 "register.obs_high: above 255, or not of bytes");
    OCT_TRY(env_check_shape(in, arena));
    OCT_TRY(env_check_actions(in, arena));
    OCT_TRY(metric_names_check(in->metric_name, in->n_metric_name, arena));
    WIRE_REQUIRE(arena, !isinf(in->reward_threshold), "register.reward_threshold: infinite");
    *out = (wire_env_spec){
        .env_id = in->env_id,
        .obs_dtype = in->obs_dtype,
        .obs_count = in->obs_count,
        .action_kind = in->action_kind,
        .action_count = in->action_count,
        .action_low = in->action_low,
        .action_high = in->action_high,
        .max_episode_steps = in->max_episode_steps,
        .reward_threshold = in->reward_threshold,
        .obs_rank = (uint32_t)in->n_obs_shape,
        .obs_shape = in->obs_shape,
        .obs_high = in->obs_high,
        .metric_count = (uint32_t)in->n_metric_name,
        .metric_name = (const char *const *)in->metric_name,
    };
    return OCT_OK;
}

oct_err
wire_register_from(wire_register *out, const Octet__Registration *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->role >= OCTET__ROLE__ROLE_ACTOR && in->role <= OCTET__ROLE__ROLE_RELAY,
                 "register.role: unknown");
    WIRE_REQUIRE_NAME(arena, in->host, "register.host: no name, or longer than 256 bytes");
    WIRE_REQUIRE(arena, strchr(in->host, '"') == NULL, "register.host: a quotation mark");
    WIRE_REQUIRE(arena, in->place <= WIRE_PLACES_MAX, "register.place: above 16384");
    WIRE_REQUIRE_NAME(arena, in->relay_address,
                      "register.relay_address: no name, or longer than 256 bytes");
    WIRE_REQUIRE_NAME(arena, in->relay_above,
                      "register.relay_above: no name, or longer than 256 bytes");
    WIRE_REQUIRE(arena, in->token.len == (in->session != 0 ? WIRE_TOKEN_BYTES : 0),
                 "register.token: not 16 bytes with a session, none without");
    wire_env_spec env = {.env_id = "", .reward_threshold = NAN};
    if (in->has_env) {
        OCT_TRY(env_from(&env, in, arena));
    }
    *out = (wire_register){
        .role = (wire_role)in->role,
        .label = in->label,
        .session = in->session,
        .host = in->host,
        .pid = in->pid,
        .has_env = in->has_env,
        .env = env,
        .place = in->place,
        .libm = in->libm,
        .relay_address = in->relay_address,
        .relay_above = in->relay_above,
        .relay_number = in->relay_number,
        .relay_above_number = in->relay_above_number,
        .relay_sessions = in->relay_sessions,
        .relay_lost = in->relay_lost,
        .knows_shards = in->knows_shards,
        .knows_newest = in->knows_newest,
        .run_id = in->run_id,
    };
    if (in->session != 0) {
        memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    }
    return OCT_OK;
}

void
wire_registered_to(Octet__Registered *out, const wire_registered *in)
{
    *out = (Octet__Registered){
        PROTOBUF_C_MESSAGE_INIT(&octet__registered__descriptor),
        .accepted = in->accepted,
        .reason = WIRE_STRING(in->reason),
        .run_id = in->run_id,
        .actor_id = in->actor_id,
        .actor_index = in->actor_index,
        .config = WIRE_STRING(in->config),
        .policy_address = WIRE_STRING(in->policy_address),
        .replay_address = WIRE_STRING(in->replay_address),
        .token = WIRE_BYTES(in->token, in->actor_id != 0 ? WIRE_TOKEN_BYTES : 0),
        .incarnation = in->incarnation,
        .policy_topic = in->policy_topic,
        .public_key = WIRE_BYTES(in->public_key, in->has_signature ? WIRE_PUBLIC_KEY_BYTES : 0),
        .signature = WIRE_BYTES(in->signature, in->has_signature ? WIRE_SIGNATURE_BYTES : 0),
        .session = in->session,
        .is_relayed = in->is_relayed,
        .shard = in->shard,
        .n_shard_address = in->shard_count,
        .shard_address = WIRE_COLUMN(char *, in->shard_address),
        .names_newest = in->names_newest,
        .newest_version = in->newest_version,
        WIRE_SPEAKS_TO,
    };
}

static oct_err
shards_check(const Octet__Registered *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->shard < WIRE_SHARDS_MAX, "registered.shard: above 15");
    WIRE_REQUIRE(arena, in->n_shard_address <= WIRE_SHARDS_MAX,
                 "registered.shard_address: more than 16");
    for (size_t i = 0; i < in->n_shard_address; i++) {
        WIRE_REQUIRE_NAME(arena, in->shard_address[i],
                          "registered.shard_address: no name, or longer than 256 bytes");
    }
    return OCT_OK;
}

oct_err
wire_registered_from(wire_registered *out, const Octet__Registered *in, wire_arena *arena)
{
    WIRE_REQUIRE_TEXT(arena, in->reason, "registered.reason: no text, or longer than 64 KiB");
    WIRE_REQUIRE_TEXT(arena, in->config, "registered.config: no text, or longer than 64 KiB");
    WIRE_REQUIRE_NAME(arena, in->policy_address,
                      "registered.policy_address: no name, or longer than 256 bytes");
    WIRE_REQUIRE_NAME(arena, in->replay_address,
                      "registered.replay_address: no name, or longer than 256 bytes");
    WIRE_REQUIRE(arena, in->token.len == (in->actor_id != 0 ? WIRE_TOKEN_BYTES : 0),
                 "registered.token: not 16 bytes with an actor_id, none without");
    WIRE_REQUIRE(arena, (in->session != 0) == (in->actor_id != 0),
                 "registered.session: 0 with an actor_id, or not 0 without");
    bool has_signature = in->signature.len > 0;
    WIRE_REQUIRE(arena, in->signature.len == (has_signature ? WIRE_SIGNATURE_BYTES : 0),
                 "registered.signature: neither 64 bytes nor none");
    WIRE_REQUIRE(arena, in->public_key.len == (has_signature ? WIRE_PUBLIC_KEY_BYTES : 0),
                 "registered.public_key: not 32 bytes with a signature, none without");
    WIRE_REQUIRE(arena, in->newest_version <= (in->names_newest ? WIRE_COUNT_MAX : 0),
                 "registered.newest_version: above 2^53, or not named");
    OCT_TRY(shards_check(in, arena));
    *out = (wire_registered){
        .accepted = in->accepted,
        .reason = in->reason,
        .run_id = in->run_id,
        .actor_id = in->actor_id,
        .actor_index = in->actor_index,
        .config = in->config,
        .policy_address = in->policy_address,
        .replay_address = in->replay_address,
        .incarnation = in->incarnation,
        .policy_topic = in->policy_topic,
        .session = in->session,
        .is_relayed = in->is_relayed,
        .shard = in->shard,
        .shard_count = (uint32_t)in->n_shard_address,
        .shard_address = (const char *const *)in->shard_address,
        .names_newest = in->names_newest,
        .newest_version = in->newest_version,
    };
    if (in->actor_id != 0) {
        memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    }
    out->has_signature = has_signature;
    if (has_signature) {
        memcpy(out->public_key, in->public_key.data, WIRE_PUBLIC_KEY_BYTES);
        memcpy(out->signature, in->signature.data, WIRE_SIGNATURE_BYTES);
    }
    return OCT_OK;
}

// ---- GetPolicy

void
wire_get_policy_to(Octet__PolicyRequest *out, const wire_get_policy *in)
{
    *out = (Octet__PolicyRequest){
        PROTOBUF_C_MESSAGE_INIT(&octet__policy_request__descriptor),
        .actor_id = in->actor_id,
        .purpose = (Octet__Purpose)in->purpose,
        .have_version = in->have_version,
        .token = WIRE_BYTES(in->token, WIRE_TOKEN_BYTES),
    };
}

oct_err
wire_get_policy_from(wire_get_policy *out, const Octet__PolicyRequest *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena,
                 in->purpose == OCTET__PURPOSE__PURPOSE_CATCH_UP ||
                     in->purpose == OCTET__PURPOSE__PURPOSE_EVALUATE,
                 "get_policy.purpose: unknown");
    WIRE_REQUIRE(arena, in->token.len == WIRE_TOKEN_BYTES, "get_policy.token: not 16 bytes");
    *out = (wire_get_policy){
        .actor_id = in->actor_id,
        .purpose = (wire_policy_purpose)in->purpose,
        .have_version = in->have_version,
    };
    memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    return OCT_OK;
}

void
wire_got_policy_to(Octet__GotPolicy *out, const wire_got_policy *in)
{
    *out = (Octet__GotPolicy){
        PROTOBUF_C_MESSAGE_INIT(&octet__got_policy__descriptor),
        .has_policy = in->has_policy,
        .ticket = in->ticket,
        .episodes = in->episodes,
        .seed = in->seed,
    };
    if (in->has_policy) {
        out->run_id = in->policy.run_id;
        out->version = in->policy.version;
        out->base_version = in->policy.base_version;
        out->updates = in->policy.updates;
        out->data.len = in->policy.length;
        out->data.data = WIRE_COLUMN(uint8_t, in->policy.bytes);
        out->signature.len = in->policy.has_signature ? WIRE_SIGNATURE_BYTES : 0;
        out->signature.data = WIRE_COLUMN(uint8_t, in->policy.signature);
    }
}

oct_err
wire_got_policy_from(wire_got_policy *out, const Octet__GotPolicy *in, wire_arena *arena)
{
    wire_policy policy = {.bytes = NULL};
    if (in->has_policy) {
        Octet__Policy inner = {
            .run_id = in->run_id,
            .version = in->version,
            .base_version = in->base_version,
            .updates = in->updates,
            .data = in->data,
            .signature = in->signature,
        };
        OCT_TRY(wire_policy_from(&policy, &inner, arena));
    }
    WIRE_REQUIRE(arena, in->episodes <= WIRE_EPISODES_MAX, "got_policy.episodes: too many");
    *out = (wire_got_policy){
        .has_policy = in->has_policy,
        .policy = policy,
        .ticket = in->ticket,
        .episodes = in->episodes,
        .seed = in->seed,
    };
    return OCT_OK;
}

// ---- ReportEpisodes, Status, Stop

// Named numbers: the columns have one length, and every name is one. The numbers may be NaN.
static oct_err
stats_check(char **names, size_t name_count, size_t value_count, wire_arena *arena)
{
    WIRE_REQUIRE(arena, name_count == value_count, "stats: not one value for each name");
    WIRE_REQUIRE(arena, name_count <= WIRE_STATS_MAX, "stats: too many");
    for (size_t i = 0; i < name_count; i++) {
        WIRE_REQUIRE_NAME(arena, names[i], "stats: no name, or longer than 256 bytes");
        WIRE_REQUIRE(arena, names[i][0] != '\0', "stats: a name is empty");
    }
    return OCT_OK;
}

void
wire_report_to(Octet__Report *out, const wire_report *in)
{
    *out = (Octet__Report){
        PROTOBUF_C_MESSAGE_INIT(&octet__report__descriptor),
        .actor_id = in->actor_id,
        .session = in->session,
        .report_sequence = in->report_sequence,
        .policy_version = in->policy_version,
        .env_steps = in->env_steps,
        .ticket = in->ticket,
        .n_episode_return = in->episode_count,
        .episode_return = WIRE_COLUMN(float, in->episode_return),
        .n_episode_length = in->episode_count,
        .episode_length = WIRE_COLUMN(uint32_t, in->episode_length),
        .n_stat_name = in->stat_count,
        .stat_name = WIRE_COLUMN(char *, in->stat_name),
        .n_stat_value = in->stat_count,
        .stat_value = WIRE_COLUMN(double, in->stat_value),
        .token = WIRE_BYTES(in->token, WIRE_TOKEN_BYTES),
        .leaves = in->leaves,
        .unreached = (char *)(uintptr_t)(in->unreached != NULL ? in->unreached : ""),
        .n_metric_name = in->metric_count,
        .metric_name = WIRE_COLUMN(char *, in->metric_name),
        .n_metric_sum = in->metric_count,
        .metric_sum = WIRE_COLUMN(double, in->metric_sum),
        .n_metric_episodes = in->metric_count,
        .metric_episodes = WIRE_COLUMN(uint32_t, in->metric_episodes),
    };
}

static oct_err
report_metrics_check(const Octet__Report *in, wire_arena *arena)
{
    OCT_TRY(metric_names_check(in->metric_name, in->n_metric_name, arena));
    WIRE_REQUIRE(
        arena, in->n_metric_sum == in->n_metric_name && in->n_metric_episodes == in->n_metric_name,
        "report.metric_sum, metric_episodes: not one for each name");
    for (size_t i = 0; i < in->n_metric_name; i++) {
        const oct_metric metric = {in->metric_sum[i], in->metric_episodes[i]};
        WIRE_REQUIRE(arena, oct_metric_is_sound(&metric, (uint32_t)in->n_episode_return),
                     "report.metric_sum, metric_episodes: not of these episodes");
    }
    return OCT_OK;
}

oct_err
wire_report_from(wire_report *out, const Octet__Report *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->n_episode_return <= WIRE_EPISODES_MAX, "report: too many episodes");
    WIRE_REQUIRE(arena, in->n_episode_return == in->n_episode_length,
                 "report: not one length for each return");
    WIRE_REQUIRE(arena, wire_check_finite(in->episode_return, in->n_episode_return),
                 "report.episode_return: not finite");
    WIRE_REQUIRE(arena, in->token.len == WIRE_TOKEN_BYTES, "report.token: not 16 bytes");
    WIRE_REQUIRE(arena,
                 in->report_sequence <= WIRE_COUNT_MAX && in->policy_version <= WIRE_COUNT_MAX &&
                     in->env_steps <= WIRE_COUNT_MAX && in->ticket <= WIRE_COUNT_MAX,
                 "report: a count beyond 2^53");
    OCT_TRY(stats_check(in->stat_name, in->n_stat_name, in->n_stat_value, arena));
    for (size_t i = 0; i < in->n_stat_value; i++) {
        WIRE_REQUIRE(arena,
                     isnan(in->stat_value[i]) || fabs(in->stat_value[i]) <= (double)WIRE_COUNT_MAX,
                     "report.stat_value: beyond 2^53");
    }
    OCT_TRY(report_metrics_check(in, arena));
    WIRE_REQUIRE_NAME(arena, in->unreached, "report.unreached: no name, or longer than 256 bytes");
    *out = (wire_report){
        .actor_id = in->actor_id,
        .session = in->session,
        .report_sequence = in->report_sequence,
        .policy_version = in->policy_version,
        .env_steps = in->env_steps,
        .ticket = in->ticket,
        .episode_count = (uint32_t)in->n_episode_return,
        .episode_return = in->episode_return,
        .episode_length = in->episode_length,
        .stat_count = (uint32_t)in->n_stat_name,
        .stat_name = (const char *const *)in->stat_name,
        .stat_value = in->stat_value,
        .metric_count = (uint32_t)in->n_metric_name,
        .metric_name = (const char *const *)in->metric_name,
        .metric_sum = in->metric_sum,
        .metric_episodes = in->metric_episodes,
        .leaves = in->leaves != 0,
        .unreached = in->unreached,
    };
    memcpy(out->token, in->token.data, WIRE_TOKEN_BYTES);
    return OCT_OK;
}

void
wire_empty_to(Octet__Empty *out, const wire_empty *in)
{
    (void)in;
    *out = (Octet__Empty){PROTOBUF_C_MESSAGE_INIT(&octet__empty__descriptor)};
}

oct_err
wire_empty_from(wire_empty *out, const Octet__Empty *in, wire_arena *arena)
{
    (void)in;
    (void)arena;
    *out = (wire_empty){0};
    return OCT_OK;
}

void
wire_status_to(Octet__Status *out, const wire_status *in)
{
    *out = (Octet__Status){
        PROTOBUF_C_MESSAGE_INIT(&octet__status__descriptor),
        .run_id = in->run_id,
        .state = WIRE_STRING(in->state),
        .n_stat_name = in->stat_count,
        .stat_name = WIRE_COLUMN(char *, in->stat_name),
        .n_stat_value = in->stat_count,
        .stat_value = WIRE_COLUMN(double, in->stat_value),
        .refused = WIRE_STRING(in->refused),
    };
}

oct_err
wire_status_from(wire_status *out, const Octet__Status *in, wire_arena *arena)
{
    WIRE_REQUIRE_NAME(arena, in->state, "status.state: no name, or longer than 256 bytes");
    WIRE_REQUIRE_NAME(arena, in->refused, "status.refused: no name, or longer than 256 bytes");
    OCT_TRY(stats_check(in->stat_name, in->n_stat_name, in->n_stat_value, arena));
    *out = (wire_status){
        .run_id = in->run_id,
        .state = in->state,
        .stat_count = (uint32_t)in->n_stat_name,
        .stat_name = (const char *const *)in->stat_name,
        .stat_value = in->stat_value,
        .refused = in->refused,
    };
    return OCT_OK;
}

void
wire_written_to(Octet__CheckpointWritten *out, const wire_written *in)
{
    *out = (Octet__CheckpointWritten){
        PROTOBUF_C_MESSAGE_INIT(&octet__checkpoint_written__descriptor),
        .updates = in->updates,
        .env_steps = in->env_steps,
    };
}

oct_err
wire_written_from(wire_written *out, const Octet__CheckpointWritten *in, wire_arena *arena)
{
    (void)arena;
    *out = (wire_written){.updates = in->updates, .env_steps = in->env_steps};
    return OCT_OK;
}

void
wire_stop_to(Octet__StopRequest *out, const wire_stop *in)
{
    *out = (Octet__StopRequest){
        PROTOBUF_C_MESSAGE_INIT(&octet__stop_request__descriptor),
        .reason = WIRE_STRING(in->reason),
    };
}

oct_err
wire_stop_from(wire_stop *out, const Octet__StopRequest *in, wire_arena *arena)
{
    WIRE_REQUIRE_TEXT(arena, in->reason, "stop.reason: no text, or longer than 64 KiB");
    *out = (wire_stop){.reason = in->reason};
    return OCT_OK;
}
