#include "replay/replay_config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_store.h"

// A reply this large answers a learner that asks for many batches at once.
#define REPLY_ROWS 8192
// Room for the frame and the field headers around the columns.
#define REPLY_BYTES_MAX (WIRE_MESSAGE_BYTES_MAX - (1u << 20))

static oct_err
check_limiter(const wire_configure *wanted, char *reason, size_t reason_size)
{
    if (!wanted->limiter_only && wanted->min_size > wanted->capacity) {
        return oct_refuse(reason, reason_size, "min_size %" PRIu64 " is above capacity %" PRIu64,
                          wanted->min_size, wanted->capacity);
    }
    if (!isfinite(wanted->samples_per_insert) || wanted->samples_per_insert < 0 ||
        wanted->samples_per_insert > 1e9) {
        return oct_refuse(reason, reason_size,
                          "samples_per_insert %g: 0 (no limit) to 1e9 is allowed",
                          wanted->samples_per_insert);
    }
    if (!isfinite(wanted->tolerance) || wanted->tolerance < 0 || wanted->tolerance > 1e9) {
        return oct_refuse(reason, reason_size, "tolerance %g: 0 to 1e9 is allowed",
                          wanted->tolerance);
    }
    return OCT_OK;
}

static oct_err
check_table(const wire_configure *wanted, char *reason, size_t reason_size)
{
    if (wanted->capacity < 1 || wanted->capacity > REPLAY_CAPACITY_MAX) {
        return oct_refuse(reason, reason_size,
                          "capacity %" PRIu64 ": 1 to %u transitions are allowed", wanted->capacity,
                          REPLAY_CAPACITY_MAX);
    }
    if (wanted->obs_bytes < 1 || wanted->obs_bytes > WIRE_OBS_BYTES_MAX ||
        (wanted->obs_is_float && wanted->obs_bytes % sizeof(float) != 0)) {
        return oct_refuse(reason, reason_size,
                          "obs_bytes %" PRIu32 ": 1 to %u is allowed, a multiple of 4 for floats",
                          wanted->obs_bytes, WIRE_OBS_BYTES_MAX);
    }
    if (wanted->action_bytes < 4 || wanted->action_bytes > 4 * WIRE_ACTIONS_MAX ||
        wanted->action_bytes % 4 != 0) {
        return oct_refuse(reason, reason_size,
                          "action_bytes %" PRIu32 ": a multiple of 4 up to %d is allowed",
                          wanted->action_bytes, 4 * WIRE_ACTIONS_MAX);
    }
    if (wanted->extra_dim > WIRE_EXTRA_MAX) {
        return oct_refuse(reason, reason_size, "extra_dim %" PRIu32 ": at most %d is allowed",
                          wanted->extra_dim, WIRE_EXTRA_MAX);
    }
    if (!replay_select_find((int)wanted->sampler)) {
        return oct_refuse(reason, reason_size, "sampler %d is not known", (int)wanted->sampler);
    }
    if (!isfinite(wanted->priority_exponent) || wanted->priority_exponent < 0 ||
        wanted->priority_exponent > 10) {
        return oct_refuse(reason, reason_size, "priority_exponent %g: 0 to 10 is allowed",
                          wanted->priority_exponent);
    }
    return OCT_OK;
}

oct_err
replay_config_check(const wire_configure *wanted, char *reason, size_t reason_size)
{
    if (!wanted->limiter_only) {
        OCT_TRY(check_table(wanted, reason, reason_size));
    }
    return check_limiter(wanted, reason, reason_size);
}

// The first number in which the tables differ, NULL when they are the same table. The seed is of
// the run, not of the table's shape: a learner that resumes may bring another.
static const char *
table_difference(const wire_configure *a, const wire_configure *b)
{
    return a->capacity != b->capacity                     ? "capacity"
           : a->obs_bytes != b->obs_bytes                 ? "obs_bytes"
           : a->obs_is_float != b->obs_is_float           ? "obs_is_float"
           : a->action_bytes != b->action_bytes           ? "action_bytes"
           : a->action_is_float != b->action_is_float     ? "action_is_float"
           : a->extra_dim != b->extra_dim                 ? "extra_dim"
           : a->sampler != b->sampler                     ? "sampler"
           : a->priority_exponent != b->priority_exponent ? "priority_exponent"
                                                          : NULL;
}

replay_config_action
replay_config_decide(const wire_configure *current, const wire_configure *wanted, char *reason,
                     size_t reason_size)
{
    bool is_same_run = current && current->run_id == wanted->run_id;
    if (wanted->limiter_only && !is_same_run) {
        (void)oct_refuse(reason, reason_size,
                         "limiter_only, but run %016" PRIx64 " has no table here: send it whole",
                         wanted->run_id);
        return REPLAY_CONFIG_REFUSE;
    }
    if (!current) {
        return REPLAY_CONFIG_CREATE;
    }
    if (!is_same_run) {
        return REPLAY_CONFIG_REPLACE;
    }
    if (wanted->limiter_only && wanted->min_size > current->capacity) {
        (void)oct_refuse(reason, reason_size,
                         "min_size %" PRIu64 " is above the table's capacity %" PRIu64,
                         wanted->min_size, current->capacity);
        return REPLAY_CONFIG_REFUSE;
    }
    const char *difference = wanted->limiter_only ? NULL : table_difference(current, wanted);
    if (difference) {
        (void)oct_refuse(reason, reason_size,
                         "run %016" PRIx64
                         " already has a table with another %s; only the limiter may "
                         "change within a run",
                         wanted->run_id, difference);
        return REPLAY_CONFIG_REFUSE;
    }
    return REPLAY_CONFIG_KEEP;
}

replay_limiter_spec
replay_config_limiter(const wire_configure *configure)
{
    return (replay_limiter_spec){
        .min_size = OCT_MAX(configure->min_size, 1),
        .samples_per_insert = configure->samples_per_insert,
        .tolerance = configure->tolerance,
    };
}

uint64_t
replay_config_row_bytes(const wire_configure *configure)
{
    return 2 * (uint64_t)configure->obs_bytes + configure->action_bytes +
           configure->extra_dim * sizeof(float) + 3 * sizeof(float) + sizeof(uint64_t);
}

uint32_t
replay_config_reply_rows(const wire_configure *configure)
{
    return (uint32_t)OCT_MIN(REPLY_ROWS, REPLY_BYTES_MAX / replay_config_row_bytes(configure));
}

uint32_t
replay_config_batch_rows(const wire_configure *configure)
{
    return (uint32_t)OCT_MIN(configure->capacity, WIRE_BATCH_COUNT_MAX);
}

uint64_t
replay_config_budget(const wire_configure *wanted, replay_budget_line out[REPLAY_BUDGET_LINES])
{
    uint32_t capacity = (uint32_t)wanted->capacity;
    replay_store_spec store = {capacity, wanted->obs_bytes, wanted->action_bytes,
                               wanted->extra_dim};
    uint64_t reply_rows = replay_config_reply_rows(wanted);
    const replay_budget_line lines[REPLAY_BUDGET_LINES] = {
        {"observations", replay_store_obs_ring_bytes(&store)},
        {"transitions", replay_store_column_bytes(&store)},
        {"sampler", replay_select_find((int)wanted->sampler)->bytes(capacity)},
        {"sessions", replay_dedupe_bytes(REPLAY_SESSIONS_MAX)},
        {"reply", reply_rows * (replay_config_row_bytes(wanted) + sizeof(uint32_t))},
        {"references", 2 * sizeof(uint64_t) * replay_config_batch_rows(wanted)},
    };
    uint64_t total = 0;
    for (size_t i = 0; i < REPLAY_BUDGET_LINES; i++) {
        out[i] = lines[i];
        total += lines[i].bytes;
    }
    return total;
}
