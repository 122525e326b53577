// Tables and checks of the messages of service Replay.
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// Rows of wire_others, for both messages that contain it.
#define OTHERS_ROWS(m)                                                                             \
    VALUE_AS(m, others.inserts, others_inserts, COUNTED),                                          \
        VALUE_AS(m, others.samples, others_samples, COUNTED),                                      \
        VALUE_AS(m, others.balance, others_balance, FINITE),                                       \
        VALUE_AS(m, others.insert_chunk, others_insert_chunk, WHOLE(0, WIRE_SAMPLE_COUNT_MAX)),    \
        VALUE_AS(m, others.sample_chunk, others_sample_chunk, WHOLE(0, WIRE_SAMPLE_COUNT_MAX))

// Checks the sizes of one row; a table and a reply have the same bounds.
static oct_err
sizes_check(uint32_t obs_bytes, uint32_t action_bytes, uint32_t extra_dim, wire_arena *arena)
{
    WIRE_REQUIRE(arena, obs_bytes >= 1 && obs_bytes <= WIRE_OBS_BYTES_MAX,
                 "obs_bytes: is 0, or too large");
    WIRE_REQUIRE(arena,
                 action_bytes >= 4 && action_bytes <= 4 * WIRE_ACTIONS_MAX && action_bytes % 4 == 0,
                 "action_bytes: not a multiple of 4 within bounds");
    WIRE_REQUIRE(arena, extra_dim <= WIRE_EXTRA_MAX, "extra_dim: too large");
    return OCT_OK;
}

// ---- Configure

static const wire_member configure_rows[] = {
    FIELDS_6(configure, run_id, capacity, streams, obs_bytes, obs_is_float, action_bytes),
    FIELDS_2(configure, action_is_float, action_count),
    OTHER(configure, action_low),
    OTHER(configure, action_high),
    FIELDS_6(configure, extra_dim, sampler, priority_exponent, window, window_steps, window_stride),
    FIELDS_3(configure, discount, reward_clip, min_size),
    VALUE(configure, samples_per_insert, AT_LEAST_0),
    VALUE(configure, tolerance, AT_LEAST_0),
    FIELDS_5(configure, seed, limiter_only, keep_samples_per_insert, keep_tolerance, limiter_parts),
    OTHERS_ROWS(configure),
    FIELDS_6(configure, release, epoch, table, samples, turn_actors, turn),
    ARRAY_WITH(configure, turn_digest, turn),
    OTHER(configure, token_key),
};

static bool
has_table(const wire_configure *configure)
{
    return !configure->limiter_only && !configure->release;
}

static void
configure_to(void *generated, const void *plain)
{
    const wire_configure *in = plain;
    Octet__Configuration *out = generated;
    out->n_action_low = out->n_action_high = in->action_bounds;
    out->action_low = (float *)(uintptr_t)in->action_low;
    out->action_high = (float *)(uintptr_t)in->action_high;
    out->token_key = WIRE_BYTES(in->token_key, has_table(in) ? WIRE_TOKEN_KEY_BYTES : 0);
}

static oct_err
window_check(const wire_configure *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->window >= WIRE_WINDOW_N_STEP && in->window <= WIRE_WINDOW_ROLLOUT,
                 "configure.window: unknown");
    WIRE_REQUIRE(arena, in->window_steps >= 1 && in->window_steps <= WIRE_WINDOW_STEPS_MAX,
                 "configure.window_steps: outside 1 .. 16384");
    WIRE_REQUIRE(arena, in->window_stride <= WIRE_WINDOW_STEPS_MAX,
                 "configure.window_stride: above 16384");
    WIRE_REQUIRE(arena, in->discount >= 0.0 && in->discount <= 1.0,
                 "configure.discount: outside 0 .. 1");
    WIRE_REQUIRE(arena, isfinite(in->reward_clip) && in->reward_clip >= 0.0,
                 "configure.reward_clip: not a number of at least 0");
    return OCT_OK;
}

static oct_err
table_check(const wire_configure *in, wire_arena *arena)
{
    OCT_TRY(sizes_check(in->obs_bytes, in->action_bytes, in->extra_dim, arena));
    WIRE_REQUIRE(arena, in->capacity >= 1, "configure.capacity: is 0");
    WIRE_REQUIRE(arena, in->streams >= 1, "configure.streams: is 0");
    WIRE_REQUIRE(arena, !in->obs_is_float || in->obs_bytes % 4 == 0,
                 "configure.obs_bytes: not a whole number of floats");
    WIRE_REQUIRE(arena,
                 in->action_count == 0 || (in->action_count <= WIRE_ACTIONS_MAX &&
                                           in->action_bytes == 4 && !in->action_is_float),
                 "configure.action_count: above 256, or of actions that are not one int32");
    WIRE_REQUIRE(arena, in->sampler >= WIRE_SAMPLER_UNIFORM && in->sampler <= WIRE_SAMPLER_FIFO,
                 "configure.sampler: unknown");
    WIRE_REQUIRE(arena, isfinite(in->priority_exponent) && in->priority_exponent >= 0.0,
                 "configure.priority_exponent: not a number of at least 0");
    WIRE_REQUIRE(arena, in->turn_actors <= WIRE_TURN_ACTORS_MAX && in->turn <= WIRE_COUNT_MAX,
                 "configure.turn_actors, turn: too many");
    WIRE_REQUIRE(arena, in->turn_actors == 0 || in->sampler != WIRE_SAMPLER_FIFO,
                 "configure.turn_actors: not with sampler FIFO");
    return window_check(in, arena);
}

static oct_err
bounds_from(wire_configure *out, const Octet__Configuration *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena,
                 in->n_action_low == in->n_action_high &&
                     (in->n_action_low == 0 ||
                      (in->action_is_float && in->n_action_low == in->action_bytes / 4)),
                 "configure.action_low, action_high: not one for each number of an action");
    out->action_bounds = (uint32_t)in->n_action_low;
    for (size_t i = 0; i < in->n_action_low; i++) {
        WIRE_REQUIRE(arena, in->action_low[i] <= in->action_high[i], // false with NaN
                     "configure.action_low: above action_high, or not a number");
        out->action_low[i] = in->action_low[i];
        out->action_high[i] = in->action_high[i];
    }
    return OCT_OK;
}

static oct_err
configure_from(void *plain, const void *generated, wire_arena *arena)
{
    wire_configure *out = plain;
    const Octet__Configuration *in = generated;
    WIRE_REQUIRE(arena, in->token_key.len == (has_table(out) ? WIRE_TOKEN_KEY_BYTES : 0),
                 "configure.token_key: not 32 bytes with a table, none without");
    if (has_table(out)) {
        OCT_TRY(table_check(out, arena));
        OCT_TRY(bounds_from(out, in, arena));
        memcpy(out->token_key, in->token_key.data, WIRE_TOKEN_KEY_BYTES);
    }
    return OCT_OK;
}

MESSAGE_WITH(configure, octet__configuration__descriptor, configure_rows, .speaks = true,
             .to = configure_to, .from = configure_from);

static const wire_member configured_rows[] = {
    FIELDS_6(configured, incarnation, table, steps, inserts, samples, returned),
    FIELD(configured, libm),
    VALUE(configured, balance, FINITE),
};

static oct_err
configured_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_configured *out = plain;
    WIRE_REQUIRE(arena, out->returned <= out->samples, "configured.returned: more than samples");
    return OCT_OK;
}

MESSAGE_WITH(configured, octet__configured__descriptor, configured_rows, .speaks = true,
             .from = configured_from);

// ---- Sample

static const wire_member sample_rows[] = {
    FIELD(sample, run_id),
    VALUE(sample, batch_size, WHOLE(1, UINT32_MAX), WHY("is 0")),
    FIELDS_4(sample, batches, timeout_ms, version_min, epoch),
    VALUE(sample, turn, WHOLE(0, UINT32_MAX)),
    FIELD(sample, turn_first),
    LIST(sample, turn_actor, turn_actor_count, WIRE_TURN_ACTORS_MAX, ANY),
    OTHERS_ROWS(sample),
};

static oct_err
sample_from(void *plain, const void *generated, wire_arena *arena)
{
    (void)generated;
    const wire_sample *out = plain;
    WIRE_REQUIRE(arena, (uint64_t)out->batch_size * out->batches <= WIRE_SAMPLE_COUNT_MAX,
                 "sample.batch_size * batches: too many");
    WIRE_REQUIRE(arena, out->batches >= 1 || out->turn == 0, "sample.batches: is 0 in a turn");
    return OCT_OK;
}

MESSAGE_WITH(sample, octet__sample_request__descriptor, sample_rows, .from = sample_from);

static const wire_member sampled_rows[] = {
    FIELDS_2(sampled, incarnation, configured),
    VALUE(sampled, count, WHOLE(0, WIRE_SAMPLE_COUNT_MAX)),
    VALUE(sampled, window_steps, WHOLE(0, WIRE_WINDOW_STEPS_MAX)),
    FIELDS_3(sampled, obs_bytes, action_bytes, extra_dim),
    BYTES_VIEW(sampled, obs, obs),
    BYTES_VIEW(sampled, next, next),
    BYTES_VIEW(sampled, action, action),
    VIEW(sampled, reward, FINITE_FLOAT),
    VIEW(sampled, discount, REAL(0, 1), WHY("outside 0 .. 1")),
    BYTES_VIEW(sampled, flags, flags),
    VIEW(sampled, version, ANY),
    VIEW(sampled, extra, FINITE_FLOAT),
    // The learner divides by probability, so 0 and subnormal numbers are refused.
    COLUMN(sampled, probability, count, REAL(FLT_MIN, 1), WHY("not above 0 and at most 1")),
    COLUMN(sampled, key, count, ANY),
    VALUE(sampled, size, COUNTED),
    VALUE(sampled, inserts, COUNTED),
    VALUE(sampled, samples, COUNTED),
    VALUE(sampled, given_up, COUNTED),
    VALUE(sampled, steps, COUNTED),
    VALUE(sampled, turn, WHOLE(0, UINT32_MAX)),
    VALUE(sampled, turn_batches, WHOLE(0, INT32_MAX)),
    VALUE(sampled, mass, AT_LEAST_0),
    VALUE(sampled, balance, FINITE),
    VALUE(sampled, insert_chunk, WHOLE(0, WIRE_SAMPLE_COUNT_MAX)),
    VALUE(sampled, sample_chunk, WHOLE(0, WIRE_SAMPLE_COUNT_MAX)),
};

// Entries of a reply's columns for each window; 0 for a column that the kind of window lacks.
typedef struct window_shape {
    size_t obs, next, discount;
    size_t rows;      // of action, reward and extra
    size_t flag_rows; // of flags and version
} window_shape;

static window_shape
window_shape_of(uint32_t window_steps)
{
    size_t steps = window_steps;
    return steps == 0 ? (window_shape){.obs = 1, .next = 1, .discount = 1, .rows = 1}
                      : (window_shape){.obs = steps + 1, .rows = steps, .flag_rows = steps};
}

static void
sampled_to(void *generated, const void *plain)
{
    const wire_sampled *in = plain;
    Octet__Sampled *out = generated;
    window_shape shape = window_shape_of(in->window_steps);
    size_t count = in->count, rows = count * shape.rows;
    out->obs.len = count * shape.obs * in->obs_bytes;
    out->next.len = count * shape.next * in->obs_bytes;
    out->action.len = rows * in->action_bytes;
    out->n_reward = rows;
    out->n_discount = count * shape.discount;
    out->flags.len = out->n_version = count * shape.flag_rows;
    out->n_extra = rows * in->extra_dim;
}

static oct_err
sampled_check_lengths(const Octet__Sampled *in, wire_arena *arena)
{
    window_shape shape = window_shape_of(in->window_steps);
    uint64_t count = in->count, rows = count * shape.rows;
    WIRE_REQUIRE(arena, rows <= WIRE_SAMPLE_COUNT_MAX, "sampled.count: too large");
    WIRE_REQUIRE(arena, count == 0 || in->configured, "sampled: windows without a table");
    if (count != 0) {
        OCT_TRY(sizes_check(in->obs_bytes, in->action_bytes, in->extra_dim, arena));
    }
    WIRE_REQUIRE(arena, in->obs.len == count * shape.obs * in->obs_bytes,
                 "sampled.obs: length is not that of the windows");
    WIRE_REQUIRE(arena, in->next.len == count * shape.next * in->obs_bytes,
                 "sampled.next: length is not that of the windows");
    WIRE_REQUIRE(arena, in->action.len == rows * in->action_bytes,
                 "sampled.action: length is not that of the windows");
    WIRE_REQUIRE(arena,
                 in->n_reward == rows && in->n_discount == count * shape.discount &&
                     in->flags.len == count * shape.flag_rows &&
                     in->n_version == count * shape.flag_rows,
                 "sampled: a column's length is not that of the windows");
    WIRE_REQUIRE(arena, in->n_extra == rows * in->extra_dim,
                 "sampled.extra: length is not that of the windows");
    return OCT_OK;
}

static oct_err
sampled_from(void *plain, const void *generated, wire_arena *arena)
{
    const wire_sampled *out = plain;
    const Octet__Sampled *in = generated;
    OCT_TRY(sampled_check_lengths(in, arena));
    WIRE_REQUIRE(arena, wire_check_flags(out->flags, out->reward, in->flags.len),
                 "sampled.flags: unknown bits, or an end row with others or a reward");
    WIRE_REQUIRE(arena, wire_check_windows(out->flags, out->count, out->window_steps),
                 "sampled.flags: no end row after an episode's last action");
    return OCT_OK;
}

MESSAGE_WITH(sampled, octet__sampled__descriptor, sampled_rows, .to = sampled_to,
             .from = sampled_from);

// ---- UpdatePriorities, TableDigest, InsertedSessions

static const wire_member priorities_rows[] = {
    FIELD(priorities, incarnation),
    LIST(priorities, key, count, WIRE_SAMPLE_COUNT_MAX, ANY),
    COLUMN(priorities, priority, count, REAL(0, FLT_MAX), WHY("not a number of at least 0")),
    FIELDS_2(priorities, run_id, epoch),
};
MESSAGE(priorities, octet__priorities__descriptor, priorities_rows);

static const wire_member digest_request_rows[] = {
    FIELDS_4(digest_request, run_id, epoch, turn, keep),
};
MESSAGE(digest_request, octet__digest_request__descriptor, digest_request_rows);

static const wire_member digest_rows[] = {FIELD(digest, turn), ARRAY(digest, sha256)};
MESSAGE(digest, octet__digest__descriptor, digest_rows);

static const wire_member sessions_rows[] = {
    FIELD(sessions, run_id),
    LIST(sessions, session, count, WIRE_PLACES_MAX, ANY),
    COLUMN(sessions, actor_id, count, ANY),
};
MESSAGE(sessions, octet__sessions__descriptor, sessions_rows);
