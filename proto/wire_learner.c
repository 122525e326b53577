// Tables and checks of the messages of service Learner, and of the messages of both services.
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_metric.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

static oct_err
metric_names_check(char **names, size_t count, wire_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE(arena, oct_metric_is_name(names[i]),
                     "metric_name: not 1 to 63 printable characters of ASCII");
    }
    WIRE_REQUIRE(arena, oct_metric_names_differ((const char *const *)names, (uint32_t)count),
                 "metric_name: the same twice");
    return OCT_OK;
}

// ---- RegisterActor

static const wire_member register_rows[] = {
    VALUE(register, role, WHOLE(WIRE_ROLE_ACTOR, WIRE_ROLE_RELAY), WHY("unknown")),
    FIELDS_2(register, label, session),
    ARRAY_WITH(register, token, session),
    FIELDS_4(register, host, pid, has_env, run_id),
    VALUE(register, place, WHOLE(0, WIRE_PLACES_MAX)),
    FIELDS_5(register, libm, relay_address, relay_above, relay_number, relay_above_number),
    FIELDS_4(register, relay_sessions, relay_lost, knows_shards, knows_newest),
};

static const wire_member register_env_rows[] = {
    FIELD_AS(register, env.env_id, env_id),
    VALUE_AS(register, env.obs_dtype, obs_dtype,
             WHOLE(OCTET__DTYPE__DTYPE_F32, OCTET__DTYPE__DTYPE_U8), WHY("unknown")),
    FIELD_AS(register, env.obs_count, obs_count),
    VALUE_AS(register, env.action_kind, action_kind,
             WHOLE(OCTET__ACTION_KIND__ACTION_DISCRETE, OCTET__ACTION_KIND__ACTION_BOX),
             WHY("unknown")),
    VALUE_AS(register, env.action_count, action_count, WHOLE(1, WIRE_ACTIONS_MAX)),
    VIEW_AS(register, env.action_low, action_low, FINITE_FLOAT),
    VIEW_AS(register, env.action_high, action_high, FINITE_FLOAT),
    FIELD_AS(register, env.max_episode_steps, max_episode_steps),
    VALUE_AS(register, env.reward_threshold, reward_threshold, NOT_INFINITE),
    LIST_AS(register, env.obs_shape, obs_shape, env.obs_rank, WIRE_RANK_MAX, ANY),
    FIELD_AS(register, env.obs_high, obs_high),
    LIST_AS(register, env.metric_name, metric_name, env.metric_count, OCT_METRICS_MAX, UNCHECKED),
};

static size_t
bounds_count(const wire_register *in)
{
    bool is_box = in->has_env && in->env.action_kind == OCTET__ACTION_KIND__ACTION_BOX;
    return is_box ? in->env.action_count : 0;
}

static void
register_to(void *generated, const void *plain)
{
    Octet__Registration *out = generated;
    out->n_action_low = out->n_action_high = bounds_count(plain);
}

static oct_err
env_check_shape(const wire_env_spec *env, wire_arena *arena)
{
    uint64_t count = 1;
    for (size_t i = 0; i < env->obs_rank; i++) {
        count *= env->obs_shape[i];
        WIRE_REQUIRE(arena, count >= 1 && count <= env->obs_count,
                     "register.obs_shape: does not make obs_count");
    }
    WIRE_REQUIRE(arena, env->obs_rank == 0 || count == env->obs_count,
                 "register.obs_shape: does not make obs_count");
    return OCT_OK;
}

static oct_err
env_check(const wire_env_spec *env, const Octet__Registration *in, size_t bounds, wire_arena *arena)
{
    WIRE_REQUIRE(arena, env->env_id[0] != '\0', "register.env_id: is empty");
    uint32_t item_bytes = env->obs_dtype == OCTET__DTYPE__DTYPE_F32 ? 4 : 1;
    WIRE_REQUIRE(arena, env->obs_count >= 1 && env->obs_count <= WIRE_OBS_BYTES_MAX / item_bytes,
                 "register.obs_count: is 0, or more than an observation may hold");
    WIRE_REQUIRE(arena, env->obs_high <= (item_bytes == 1 ? UINT8_MAX : 0),
                 "register.obs_high: above 255, or not of bytes");
    OCT_TRY(env_check_shape(env, arena));
    WIRE_REQUIRE(arena, in->n_action_low == bounds && in->n_action_high == bounds,
                 "register.action_low, action_high: one per dimension of a box, none otherwise");
    for (size_t i = 0; i < bounds; i++) {
        WIRE_REQUIRE(arena, env->action_low[i] <= env->action_high[i],
                     "register.action_low: above action_high");
    }
    return metric_names_check(in->metric_name, in->n_metric_name, arena);
}

static oct_err
register_from(void *plain, const void *generated, wire_arena *arena)
{
    wire_register *out = plain;
    WIRE_REQUIRE(arena, strchr(out->host, '"') == NULL, "register.host: a quotation mark");
    if (out->has_env) {
        return env_check(&out->env, generated, bounds_count(out), arena);
    }
    out->env = (wire_env_spec){.env_id = "", .reward_threshold = NAN};
    return OCT_OK;
}

MESSAGE_WITH(register, octet__registration__descriptor, register_rows, .part = register_env_rows,
             .part_count = OCT_COUNTOF(register_env_rows),
             .has_part = offsetof(wire_register, has_env), .speaks = true, .to = register_to,
             .from = register_from);

static const wire_member registered_rows[] = {
    FIELD(registered, accepted),
    VALUE(registered, reason, TEXT),
    FIELDS_3(registered, run_id, actor_id, actor_index),
    VALUE(registered, config, TEXT),
    FIELDS_2(registered, policy_address, replay_address),
    ARRAY_WITH(registered, token, actor_id),
    FIELDS_2(registered, incarnation, policy_topic),
    ARRAY_MAYBE(registered, signature, signature, has_signature),
    ARRAY_WITH(registered, public_key, has_signature),
    FIELDS_2(registered, session, is_relayed),
    VALUE(registered, shard, WHOLE(0, WIRE_SHARDS_MAX - 1)),
    LIST(registered, shard_address, shard_count, WIRE_SHARDS_MAX, ANY),
    FIELDS_2(registered, names_newest, newest_version),
};

static oct_err
registered_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_registered *out = plain;
    WIRE_REQUIRE(arena, (out->session != 0) == (out->actor_id != 0),
                 "registered.session: 0 with an actor_id, or not 0 without");
    WIRE_REQUIRE(arena, out->newest_version <= (out->names_newest ? WIRE_COUNT_MAX : 0),
                 "registered.newest_version: above 2^53, or not named");
    return OCT_OK;
}

MESSAGE_WITH(registered, octet__registered__descriptor, registered_rows, .speaks = true,
             .from = registered_from);

// ---- GetPolicy

static const wire_member get_policy_rows[] = {
    FIELD(get_policy, actor_id),
    VALUE(get_policy, purpose, WHOLE(WIRE_PURPOSE_CATCH_UP, WIRE_PURPOSE_EVALUATE), WHY("unknown")),
    FIELD(get_policy, have_version),
    ARRAY(get_policy, token),
};
MESSAGE(get_policy, octet__policy_request__descriptor, get_policy_rows);

static const wire_member got_policy_rows[] = {
    FIELDS_2(got_policy, has_policy, ticket),
    VALUE(got_policy, episodes, WHOLE(0, WIRE_EPISODES_MAX)),
    FIELD(got_policy, seed),
};
static const wire_member got_policy_policy_rows[] = {
    FIELD_AS(got_policy, policy.run_id, run_id),
    FIELD_AS(got_policy, policy.version, version),
    FIELD_AS(got_policy, policy.base_version, base_version),
    FIELD_AS(got_policy, policy.updates, updates),
    BYTES_VIEW(got_policy, policy.bytes, data),
    ARRAY_MAYBE(got_policy, policy.signature, signature, policy.has_signature),
};

static void
got_policy_to(void *generated, const void *plain)
{
    const wire_got_policy *in = plain;
    ((Octet__GotPolicy *)generated)->data.len = in->has_policy ? in->policy.length : 0;
}

static oct_err
got_policy_from(void *plain, const void *generated, wire_arena *arena)
{
    wire_got_policy *out = plain;
    out->policy.length = out->has_policy ? ((const Octet__GotPolicy *)generated)->data.len : 0;
    return out->has_policy ? wire_policy_check(&out->policy, arena) : OCT_OK;
}

MESSAGE_WITH(got_policy, octet__got_policy__descriptor, got_policy_rows,
             .part = got_policy_policy_rows, .part_count = OCT_COUNTOF(got_policy_policy_rows),
             .has_part = offsetof(wire_got_policy, has_policy), .to = got_policy_to,
             .from = got_policy_from);

// ---- ReportEpisodes, Status, Checkpoint, Stop

static oct_err
stat_names_check(const char *const *names, size_t count, wire_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        WIRE_REQUIRE(arena, names[i][0] != '\0', "stats: a name is empty");
    }
    return OCT_OK;
}

static const wire_member report_rows[] = {
    FIELDS_2(report, actor_id, session),
    VALUE(report, report_sequence, COUNTED),
    VALUE(report, policy_version, COUNTED),
    VALUE(report, env_steps, COUNTED),
    VALUE(report, ticket, COUNTED),
    LIST(report, episode_return, episode_count, WIRE_EPISODES_MAX, FINITE_FLOAT),
    COLUMN(report, episode_length, episode_count, ANY),
    LIST(report, stat_name, stat_count, WIRE_STATS_MAX, ANY),
    COLUMN(report, stat_value, stat_count, REAL(-(double)WIRE_COUNT_MAX, (double)WIRE_COUNT_MAX),
           .or_nan = true, WHY("beyond 2^53")),
    ARRAY(report, token),
    FIELD(report, leaves),
    LIST(report, metric_name, metric_count, OCT_METRICS_MAX, UNCHECKED),
    COLUMN(report, metric_sum, metric_count, ANY),
    COLUMN(report, metric_episodes, metric_count, ANY),
    FIELD(report, unreached),
};

static oct_err
report_from(void *plain, const void *generated, wire_arena *arena)
{
    const wire_report *out = plain;
    OCT_TRY(stat_names_check(out->stat_name, out->stat_count, arena));
    OCT_TRY(metric_names_check(((const Octet__Report *)generated)->metric_name, out->metric_count,
                               arena));
    for (size_t i = 0; i < out->metric_count; i++) {
        const oct_metric metric = {out->metric_sum[i], out->metric_episodes[i]};
        WIRE_REQUIRE(arena, oct_metric_is_sound(&metric, out->episode_count),
                     "report.metric_sum, metric_episodes: not of these episodes");
    }
    return OCT_OK;
}

MESSAGE_WITH(report, octet__report__descriptor, report_rows, .from = report_from);

const wire_message wire_empty_message = {
    .name = "empty", .descriptor = &octet__empty__descriptor, .plain_bytes = sizeof(wire_empty)};

// The numbers may be NaN.
static const wire_member status_rows[] = {
    FIELDS_2(status, run_id, state),
    LIST(status, stat_name, stat_count, WIRE_STATS_MAX, ANY),
    COLUMN(status, stat_value, stat_count, ANY),
    FIELD(status, refused),
};

static oct_err
status_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_status *out = plain;
    return stat_names_check(out->stat_name, out->stat_count, arena);
}

MESSAGE_WITH(status, octet__status__descriptor, status_rows, .from = status_from);

static const wire_member written_rows[] = {FIELD(written, updates), FIELD(written, env_steps)};
MESSAGE(written, octet__checkpoint_written__descriptor, written_rows);

static const wire_member stop_rows[] = {VALUE(stop, reason, TEXT)};
MESSAGE(stop, octet__stop_request__descriptor, stop_rows);
