// Packs, unpacks and checks the messages of the service Replay.
#include <float.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/octet.pb-c.h"
#include "proto/wire_check.h"
#include "proto/wire_convert.h"

// ---- Configure

void
wire_configure_to(Octet__Configuration *out, const wire_configure *in)
{
    *out = (Octet__Configuration){
        PROTOBUF_C_MESSAGE_INIT(&octet__configuration__descriptor),
        .run_id = in->run_id,
        .capacity = in->capacity,
        .obs_bytes = in->obs_bytes,
        .obs_is_float = in->obs_is_float,
        .action_bytes = in->action_bytes,
        .action_is_float = in->action_is_float,
        .action_count = in->action_count,
        .n_action_low = in->action_bounds,
        .action_low = (float *)(uintptr_t)in->action_low,
        .n_action_high = in->action_bounds,
        .action_high = (float *)(uintptr_t)in->action_high,
        .limiter_parts = in->limiter_parts,
        .others_inserts = in->others.inserts,
        .others_samples = in->others.samples,
        .others_balance = in->others.balance,
        .others_insert_chunk = in->others.insert_chunk,
        .others_sample_chunk = in->others.sample_chunk,
        .extra_dim = in->extra_dim,
        .sampler = (Octet__Sampler)in->sampler,
        .priority_exponent = in->priority_exponent,
        .min_size = in->min_size,
        .samples_per_insert = in->samples_per_insert,
        .tolerance = in->tolerance,
        .seed = in->seed,
        .limiter_only = in->limiter_only,
        .keep_samples_per_insert = in->keep_samples_per_insert,
        .keep_tolerance = in->keep_tolerance,
        .streams = in->streams,
        .window = (Octet__Window)in->window,
        .window_steps = in->window_steps,
        .window_stride = in->window_stride,
        .discount = in->discount,
        .reward_clip = in->reward_clip,
        .epoch = in->epoch,
        .release = in->release,
        .table = in->table,
        .samples = in->samples,
        .turn_actors = in->turn_actors,
        .turn = in->turn,
        .token_key =
            WIRE_BYTES(in->token_key, in->limiter_only || in->release ? 0 : WIRE_TOKEN_KEY_BYTES),
        .turn_digest = WIRE_BYTES(in->turn_digest, in->turn > 0 ? WIRE_HASH_BYTES : 0),
        WIRE_SPEAKS_TO,
    };
}

// The same in both messages that have it.
static oct_err
others_check(const wire_others *others, wire_arena *arena)
{
    WIRE_REQUIRE(arena,
                 others->inserts <= WIRE_COUNT_MAX && others->samples <= WIRE_COUNT_MAX &&
                     isfinite(others->balance),
                 "others_inserts, samples, balance: too many, or not finite");
    WIRE_REQUIRE(arena,
                 others->insert_chunk <= WIRE_SAMPLE_COUNT_MAX &&
                     others->sample_chunk <= WIRE_SAMPLE_COUNT_MAX,
                 "others_insert_chunk, sample_chunk: too large");
    return OCT_OK;
}

// Sizes of one row: the same bounds for a table and for a reply.
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

static oct_err
window_check(const Octet__Configuration *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena,
                 in->window == OCTET__WINDOW__WINDOW_N_STEP ||
                     in->window == OCTET__WINDOW__WINDOW_SEQUENCE ||
                     in->window == OCTET__WINDOW__WINDOW_ROLLOUT,
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
table_check(const Octet__Configuration *in, wire_arena *arena)
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
    WIRE_REQUIRE(arena,
                 in->n_action_low == in->n_action_high &&
                     (in->n_action_low == 0 ||
                      (in->action_is_float && in->n_action_low == in->action_bytes / 4)),
                 "configure.action_low, action_high: not one for each number of an action");
    for (size_t i = 0; i < in->n_action_low; i++) {
        WIRE_REQUIRE(arena, in->action_low[i] <= in->action_high[i], // or NaN
                     "configure.action_low: above action_high, or not a number");
    }
    WIRE_REQUIRE(arena,
                 in->sampler >= OCTET__SAMPLER__SAMPLER_UNIFORM &&
                     in->sampler <= OCTET__SAMPLER__SAMPLER_FIFO,
                 "configure.sampler: unknown");
    WIRE_REQUIRE(arena, isfinite(in->priority_exponent) && in->priority_exponent >= 0.0,
                 "configure.priority_exponent: not a number of at least 0");
    WIRE_REQUIRE(arena, in->turn_actors <= WIRE_TURN_ACTORS_MAX && in->turn <= WIRE_COUNT_MAX,
                 "configure.turn_actors, turn: too many");
    WIRE_REQUIRE(arena, in->turn_actors == 0 || in->sampler != OCTET__SAMPLER__SAMPLER_FIFO,
                 "configure.turn_actors: not with sampler FIFO");
    WIRE_REQUIRE(arena, in->turn_digest.len == (in->turn > 0 ? WIRE_HASH_BYTES : 0),
                 "configure.turn_digest: not 32 bytes with a turn, none without");
    return window_check(in, arena);
}

oct_err
wire_configure_from(wire_configure *out, const Octet__Configuration *in, wire_arena *arena)
{
    bool has_table = !in->limiter_only && !in->release;
    if (has_table) {
        OCT_TRY(table_check(in, arena));
    }
    WIRE_REQUIRE(arena, in->token_key.len == (has_table ? WIRE_TOKEN_KEY_BYTES : 0),
                 "configure.token_key: not 32 bytes with a table, none without");
    WIRE_REQUIRE(arena, isfinite(in->samples_per_insert) && in->samples_per_insert >= 0.0,
                 "configure.samples_per_insert: not a number of at least 0");
    WIRE_REQUIRE(arena, isfinite(in->tolerance) && in->tolerance >= 0.0,
                 "configure.tolerance: not a number of at least 0");
    const wire_others others = {in->others_inserts, in->others_samples, in->others_balance,
                                in->others_insert_chunk, in->others_sample_chunk};
    OCT_TRY(others_check(&others, arena));
    *out = (wire_configure){
        .run_id = in->run_id,
        .capacity = in->capacity,
        .obs_bytes = in->obs_bytes,
        .obs_is_float = in->obs_is_float,
        .action_bytes = in->action_bytes,
        .action_is_float = in->action_is_float,
        .action_count = in->action_count,
        .action_bounds = has_table ? (uint32_t)in->n_action_low : 0,
        .limiter_parts = in->limiter_parts,
        .others = others,
        .extra_dim = in->extra_dim,
        .sampler = (wire_sampler)in->sampler,
        .priority_exponent = in->priority_exponent,
        .min_size = in->min_size,
        .samples_per_insert = in->samples_per_insert,
        .tolerance = in->tolerance,
        .seed = in->seed,
        .limiter_only = in->limiter_only,
        .keep_samples_per_insert = in->keep_samples_per_insert,
        .keep_tolerance = in->keep_tolerance,
        .streams = in->streams,
        .window = (wire_window)in->window,
        .window_steps = in->window_steps,
        .window_stride = in->window_stride,
        .discount = in->discount,
        .reward_clip = in->reward_clip,
        .epoch = in->epoch,
        .release = in->release,
        .table = in->table,
        .samples = in->samples,
        .turn_actors = in->turn_actors,
        .turn = in->turn,
    };
    for (uint32_t i = 0; i < out->action_bounds; i++) {
        out->action_low[i] = in->action_low[i];
        out->action_high[i] = in->action_high[i];
    }
    if (has_table) {
        memcpy(out->token_key, in->token_key.data, WIRE_TOKEN_KEY_BYTES);
    }
    if (has_table && in->turn > 0) {
        memcpy(out->turn_digest, in->turn_digest.data, WIRE_HASH_BYTES);
    }
    return OCT_OK;
}

void
wire_configured_to(Octet__Configured *out, const wire_configured *in)
{
    *out = (Octet__Configured){
        PROTOBUF_C_MESSAGE_INIT(&octet__configured__descriptor),
        .incarnation = in->incarnation,
        .table = in->table,
        .steps = in->steps,
        .inserts = in->inserts,
        .samples = in->samples,
        .returned = in->returned,
        .libm = in->libm,
        .balance = in->balance,
        WIRE_SPEAKS_TO,
    };
}

oct_err
wire_configured_from(wire_configured *out, const Octet__Configured *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->returned <= in->samples, "configured.returned: more than samples");
    WIRE_REQUIRE(arena, isfinite(in->balance), "configured.balance: not finite");
    *out = (wire_configured){
        .incarnation = in->incarnation,
        .table = in->table,
        .steps = in->steps,
        .inserts = in->inserts,
        .samples = in->samples,
        .returned = in->returned,
        .libm = in->libm,
        .balance = in->balance,
    };
    return OCT_OK;
}

// ---- Sample

void
wire_sample_to(Octet__SampleRequest *out, const wire_sample *in)
{
    *out = (Octet__SampleRequest){
        PROTOBUF_C_MESSAGE_INIT(&octet__sample_request__descriptor),
        .run_id = in->run_id,
        .batch_size = in->batch_size,
        .batches = in->batches,
        .timeout_ms = in->timeout_ms,
        .version_min = in->version_min,
        .epoch = in->epoch,
        .turn = in->turn,
        .turn_first = in->turn_first,
        .n_turn_actor = in->turn_actor_count,
        .turn_actor = WIRE_COLUMN(uint32_t, in->turn_actor),
        .others_inserts = in->others.inserts,
        .others_samples = in->others.samples,
        .others_balance = in->others.balance,
        .others_insert_chunk = in->others.insert_chunk,
        .others_sample_chunk = in->others.sample_chunk,
    };
}

oct_err
wire_sample_from(wire_sample *out, const Octet__SampleRequest *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->batch_size >= 1, "sample.batch_size: is 0");
    WIRE_REQUIRE(arena, (uint64_t)in->batch_size * in->batches <= WIRE_SAMPLE_COUNT_MAX,
                 "sample.batch_size * batches: too many");
    WIRE_REQUIRE(arena, in->turn <= UINT32_MAX && in->n_turn_actor <= WIRE_TURN_ACTORS_MAX,
                 "sample.turn, turn_actor: too many");
    WIRE_REQUIRE(arena, in->batches >= 1 || in->turn == 0, "sample.batches: is 0 in a turn");
    const wire_others others = {in->others_inserts, in->others_samples, in->others_balance,
                                in->others_insert_chunk, in->others_sample_chunk};
    OCT_TRY(others_check(&others, arena));
    *out = (wire_sample){
        .run_id = in->run_id,
        .batch_size = in->batch_size,
        .batches = in->batches,
        .timeout_ms = in->timeout_ms,
        .version_min = in->version_min,
        .epoch = in->epoch,
        .turn = in->turn,
        .turn_first = in->turn_first,
        .turn_actor_count = (uint32_t)in->n_turn_actor,
        .turn_actor = in->turn_actor,
        .others = others,
    };
    return OCT_OK;
}

// A reply's columns have so many entries for each window; those that its kind does not have are 0.
typedef struct window_shape {
    size_t obs, next, discount; // a window
    size_t rows;                // of action, reward and extra
    size_t flag_rows;           // of flags and version
} window_shape;

static window_shape
window_shape_of(uint32_t window_steps)
{
    size_t steps = window_steps;
    return steps == 0 ? (window_shape){.obs = 1, .next = 1, .discount = 1, .rows = 1}
                      : (window_shape){.obs = steps + 1, .rows = steps, .flag_rows = steps};
}

void
wire_sampled_to(Octet__Sampled *out, const wire_sampled *in)
{
    window_shape shape = window_shape_of(in->window_steps);
    size_t count = in->count, rows = count * shape.rows;
    *out = (Octet__Sampled){
        PROTOBUF_C_MESSAGE_INIT(&octet__sampled__descriptor),
        .incarnation = in->incarnation,
        .configured = in->configured,
        .count = in->count,
        .window_steps = in->window_steps,
        .obs_bytes = in->obs_bytes,
        .action_bytes = in->action_bytes,
        .extra_dim = in->extra_dim,
        .obs = WIRE_BYTES(in->obs, count * shape.obs * in->obs_bytes),
        .next = WIRE_BYTES(in->next, count * shape.next * in->obs_bytes),
        .action = WIRE_BYTES(in->action, rows * in->action_bytes),
        .n_reward = rows,
        .reward = WIRE_COLUMN(float, in->reward),
        .n_discount = count * shape.discount,
        .discount = WIRE_COLUMN(float, in->discount),
        .flags = WIRE_BYTES(in->flags, count * shape.flag_rows),
        .n_version = count * shape.flag_rows,
        .version = WIRE_COLUMN(uint32_t, in->version),
        .n_extra = rows * in->extra_dim,
        .extra = WIRE_COLUMN(float, in->extra),
        .n_probability = count,
        .probability = WIRE_COLUMN(float, in->probability),
        .n_key = count,
        .key = WIRE_COLUMN(uint64_t, in->key),
        .size = in->size,
        .inserts = in->inserts,
        .samples = in->samples,
        .given_up = in->given_up,
        .steps = in->steps,
        .turn = in->turn,
        .turn_batches = in->turn_batches,
        .mass = in->mass,
        .balance = in->balance,
        .insert_chunk = in->insert_chunk,
        .sample_chunk = in->sample_chunk,
    };
}

static oct_err
sampled_check_lengths(const Octet__Sampled *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->window_steps <= WIRE_WINDOW_STEPS_MAX,
                 "sampled.window_steps: too large");
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
                     in->n_version == count * shape.flag_rows && in->n_probability == count &&
                     in->n_key == count,
                 "sampled: a column's length is not that of the windows");
    WIRE_REQUIRE(arena, in->n_extra == rows * in->extra_dim,
                 "sampled.extra: length is not that of the windows");
    return OCT_OK;
}

oct_err
wire_sampled_from(wire_sampled *out, const Octet__Sampled *in, wire_arena *arena)
{
    OCT_TRY(sampled_check_lengths(in, arena));
    WIRE_REQUIRE(arena, wire_check_finite(in->reward, in->n_reward), "sampled.reward: not finite");
    WIRE_REQUIRE(arena, wire_check_range(in->discount, in->n_discount, 0.0f, 1.0f),
                 "sampled.discount: outside 0 .. 1");
    WIRE_REQUIRE(arena, wire_check_flags(in->flags.data, in->reward, in->flags.len),
                 "sampled.flags: unknown bits, or an end row with others or a reward");
    WIRE_REQUIRE(arena, wire_check_windows(in->flags.data, in->count, in->window_steps),
                 "sampled.flags: no end row after an episode's last action");
    WIRE_REQUIRE(arena, wire_check_finite(in->extra, in->n_extra), "sampled.extra: not finite");
    WIRE_REQUIRE(arena,
                 in->size <= WIRE_COUNT_MAX && in->inserts <= WIRE_COUNT_MAX &&
                     in->samples <= WIRE_COUNT_MAX && in->given_up <= WIRE_COUNT_MAX &&
                     in->steps <= WIRE_COUNT_MAX,
                 "sampled: a count beyond 2^53");
    WIRE_REQUIRE(arena, in->turn <= UINT32_MAX && in->turn_batches <= INT32_MAX,
                 "sampled.turn, turn_batches: too many");
    WIRE_REQUIRE(arena, isfinite(in->mass) && in->mass >= 0 && isfinite(in->balance),
                 "sampled.mass, balance: not finite, or below 0");
    WIRE_REQUIRE(arena,
                 in->insert_chunk <= WIRE_SAMPLE_COUNT_MAX &&
                     in->sample_chunk <= WIRE_SAMPLE_COUNT_MAX,
                 "sampled.insert_chunk, sample_chunk: too large");
    // It becomes a divisor: 0 is refused, and what divides like 0.
    WIRE_REQUIRE(arena, wire_check_range(in->probability, in->n_probability, FLT_MIN, 1.0f),
                 "sampled.probability: not above 0 and at most 1");
    *out = (wire_sampled){
        .incarnation = in->incarnation,
        .configured = in->configured,
        .count = in->count,
        .window_steps = in->window_steps,
        .obs_bytes = in->obs_bytes,
        .action_bytes = in->action_bytes,
        .extra_dim = in->extra_dim,
        .obs = in->obs.data,
        .next = in->next.data,
        .action = in->action.data,
        .reward = in->reward,
        .discount = in->discount,
        .flags = in->flags.data,
        .version = in->version,
        .extra = in->extra,
        .probability = in->probability,
        .key = in->key,
        .size = in->size,
        .inserts = in->inserts,
        .samples = in->samples,
        .given_up = in->given_up,
        .steps = in->steps,
        .turn = in->turn,
        .turn_batches = in->turn_batches,
        .mass = in->mass,
        .balance = in->balance,
        .insert_chunk = in->insert_chunk,
        .sample_chunk = in->sample_chunk,
    };
    return OCT_OK;
}

// ---- UpdatePriorities

void
wire_priorities_to(Octet__Priorities *out, const wire_priorities *in)
{
    *out = (Octet__Priorities){
        PROTOBUF_C_MESSAGE_INIT(&octet__priorities__descriptor),
        .incarnation = in->incarnation,
        .n_key = in->count,
        .key = WIRE_COLUMN(uint64_t, in->key),
        .n_priority = in->count,
        .priority = WIRE_COLUMN(float, in->priority),
        .run_id = in->run_id,
        .epoch = in->epoch,
    };
}

oct_err
wire_priorities_from(wire_priorities *out, const Octet__Priorities *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->n_key <= WIRE_SAMPLE_COUNT_MAX, "priorities: too many");
    WIRE_REQUIRE(arena, in->n_key == in->n_priority, "priorities: not one priority for each key");
    WIRE_REQUIRE(arena, wire_check_range(in->priority, in->n_priority, 0.0f, FLT_MAX),
                 "priorities.priority: not a number of at least 0");
    *out = (wire_priorities){
        .incarnation = in->incarnation,
        .count = (uint32_t)in->n_key,
        .key = in->key,
        .priority = in->priority,
        .run_id = in->run_id,
        .epoch = in->epoch,
    };
    return OCT_OK;
}

// ---- TableDigest

void
wire_digest_request_to(Octet__DigestRequest *out, const wire_digest_request *in)
{
    *out = (Octet__DigestRequest){
        PROTOBUF_C_MESSAGE_INIT(&octet__digest_request__descriptor),
        .run_id = in->run_id,
        .epoch = in->epoch,
        .turn = in->turn,
        .keep = in->keep,
    };
}

oct_err
wire_digest_request_from(wire_digest_request *out, const Octet__DigestRequest *in,
                         wire_arena *arena)
{
    (void)arena;
    *out = (wire_digest_request){
        .run_id = in->run_id, .epoch = in->epoch, .turn = in->turn, .keep = in->keep};
    return OCT_OK;
}

void
wire_digest_to(Octet__Digest *out, const wire_digest *in)
{
    *out = (Octet__Digest){
        PROTOBUF_C_MESSAGE_INIT(&octet__digest__descriptor),
        .turn = in->turn,
        .sha256 = WIRE_BYTES(in->sha256, WIRE_HASH_BYTES),
    };
}

oct_err
wire_digest_from(wire_digest *out, const Octet__Digest *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->sha256.len == WIRE_HASH_BYTES, "digest.sha256: not 32 bytes");
    out->turn = in->turn;
    memcpy(out->sha256, in->sha256.data, WIRE_HASH_BYTES);
    return OCT_OK;
}

// ---- InsertedSessions

void
wire_sessions_to(Octet__Sessions *out, const wire_sessions *in)
{
    *out = (Octet__Sessions){
        PROTOBUF_C_MESSAGE_INIT(&octet__sessions__descriptor),
        .run_id = in->run_id,
        .n_actor_id = in->count,
        .actor_id = WIRE_COLUMN(uint32_t, in->actor_id),
        .n_session = in->count,
        .session = WIRE_COLUMN(uint64_t, in->session),
    };
}

oct_err
wire_sessions_from(wire_sessions *out, const Octet__Sessions *in, wire_arena *arena)
{
    WIRE_REQUIRE(arena, in->n_session <= WIRE_PLACES_MAX, "sessions: too many");
    WIRE_REQUIRE(arena, in->n_session == in->n_actor_id, "sessions: not one actor for each");
    *out = (wire_sessions){
        .run_id = in->run_id,
        .count = (uint32_t)in->n_session,
        .actor_id = in->actor_id,
        .session = in->session,
    };
    return OCT_OK;
}
