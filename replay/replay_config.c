// Checks a Configure request, and computes the layout, the memory and the message sizes of its
// table.
#include "replay/replay_config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"
#include "common/oct_fifo.h"
#include "common/oct_reason.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_items.h"

// Windows of the largest reply, the largest learner.batch_size; several batches come in several
// replies.
#define REPLY_WINDOWS 65536
// Windows of a reply that the budget counts. The pages for more of them are not written to, and so
// take no memory, until a learner asks for that many.
#define REPLY_WINDOWS_USUAL 8192
// Leaves space for the frame and the field headers around the columns.
#define REPLY_BYTES_MAX   (WIRE_MESSAGE_BYTES_MAX - (1u << 20))
#define REPLAY_STRIDE_MAX (1 << 20)   // rows
#define RNG_STREAM        0x736d7000u // stream of the samples' generator ("smp")

static oct_err
check_limiter(const wire_configure *wanted, oct_reason *why)
{
    if (!wanted->limiter_only && wanted->min_size > wanted->capacity) {
        return oct_refuse(why, "min_size %" PRIu64 " is above capacity %" PRIu64, wanted->min_size,
                          wanted->capacity);
    }
    if (!isfinite(wanted->samples_per_insert) || wanted->samples_per_insert < 0 ||
        wanted->samples_per_insert > 1e9) {
        return oct_refuse(why, "samples_per_insert %g; allowed are 0 (no limit) to 1e9",
                          wanted->samples_per_insert);
    }
    if (!isfinite(wanted->tolerance) || wanted->tolerance < 0 || wanted->tolerance > 1e9) {
        return oct_refuse(why, "tolerance %g; allowed are 0 to 1e9", wanted->tolerance);
    }
    return OCT_OK;
}

static oct_err
check_table(const wire_configure *wanted, oct_reason *why)
{
    if (wanted->capacity < 1 || wanted->capacity > REPLAY_CAPACITY_MAX) {
        return oct_refuse(why, "capacity %" PRIu64 "; allowed are 1 to %u rows", wanted->capacity,
                          REPLAY_CAPACITY_MAX);
    }
    if (wanted->obs_bytes < 1 || wanted->obs_bytes > WIRE_OBS_BYTES_MAX ||
        (wanted->obs_is_float && wanted->obs_bytes % sizeof(float) != 0)) {
        return oct_refuse(why,
                          "obs_bytes %" PRIu32 "; allowed are 1 to %u, for floats a multiple of 4",
                          wanted->obs_bytes, WIRE_OBS_BYTES_MAX);
    }
    if (wanted->action_bytes < 4 || wanted->action_bytes > 4 * WIRE_ACTIONS_MAX ||
        wanted->action_bytes % 4 != 0) {
        return oct_refuse(why, "action_bytes %" PRIu32 "; allowed are multiples of 4 up to %d",
                          wanted->action_bytes, 4 * WIRE_ACTIONS_MAX);
    }
    if (wanted->action_count > 0 && (wanted->action_count > WIRE_ACTIONS_MAX ||
                                     wanted->action_bytes != 4 || wanted->action_is_float)) {
        return oct_refuse(why,
                          "action_count %" PRIu32
                          "; allowed are at most %d, and actions of one int32 (action_bytes 4)",
                          wanted->action_count, WIRE_ACTIONS_MAX);
    }
    if (wanted->streams < 1 || wanted->streams > REPLAY_STREAMS_MAX) {
        return oct_refuse(why, "streams %" PRIu32 "; allowed are 1 to %d", wanted->streams,
                          REPLAY_STREAMS_MAX);
    }
    if (wanted->extra_dim > WIRE_EXTRA_MAX) {
        return oct_refuse(why, "extra_dim %" PRIu32 "; allowed are at most %d", wanted->extra_dim,
                          WIRE_EXTRA_MAX);
    }
    if (!replay_select_find((int)wanted->sampler)) {
        return oct_refuse(why, "sampler %d is not known", (int)wanted->sampler);
    }
    if (!isfinite(wanted->priority_exponent) || wanted->priority_exponent < 0 ||
        wanted->priority_exponent > 10) {
        return oct_refuse(why, "priority_exponent %g; allowed are 0 to 10",
                          wanted->priority_exponent);
    }
    return OCT_OK;
}

const char *
replay_config_window_name(int window)
{
    static const char *const names[] = {
        [WIRE_WINDOW_N_STEP] = "n_step",
        [WIRE_WINDOW_SEQUENCE] = "sequence",
        [WIRE_WINDOW_ROLLOUT] = "rollout",
    };
    return window >= 0 && (size_t)window < OCT_COUNTOF(names) ? names[window] : NULL;
}

static oct_err
check_window(const wire_configure *wanted, oct_reason *why)
{
    if (replay_config_window_name((int)wanted->window) == NULL) {
        return oct_refuse(why, "window %d is not known", (int)wanted->window);
    }
    if (wanted->window_steps < 1 || wanted->window_steps > WIRE_WINDOW_STEPS_MAX) {
        return oct_refuse(why, "window_steps %" PRIu32 "; allowed are 1 to %d",
                          wanted->window_steps, WIRE_WINDOW_STEPS_MAX);
    }
    if (wanted->window_stride > REPLAY_STRIDE_MAX) {
        return oct_refuse(why, "window_stride %" PRIu32 "; allowed are 0 to %d",
                          wanted->window_stride, REPLAY_STRIDE_MAX);
    }
    if (!(wanted->discount >= 0 && wanted->discount <= 1)) {
        return oct_refuse(why, "discount %g; allowed are 0 to 1", wanted->discount);
    }
    if (!isfinite(wanted->reward_clip) || wanted->reward_clip < 0) {
        return oct_refuse(why, "reward_clip %g; allowed are 0 (none) and more",
                          wanted->reward_clip);
    }
    if (replay_config_window_bytes(wanted) > REPLY_BYTES_MAX) {
        return oct_refuse(why,
                          "a window of %" PRIu32 " steps takes %" PRIu64
                          " bytes, more than a message can hold",
                          wanted->window_steps, replay_config_window_bytes(wanted));
    }
    return OCT_OK;
}

// Returns the number of blocks of this many rows that each stream needs: REPLAY_STREAM_BLOCKS, or
// the blocks that a window covers plus the block being filled and the block being dropped.
static uint64_t
stream_blocks(const wire_configure *wanted, uint32_t rows)
{
    uint64_t window = ((uint64_t)wanted->window_steps + 1 + rows - 1) / rows + 2;
    return OCT_MAX(window, REPLAY_STREAM_BLOCKS);
}

static bool
blocks_suffice(const wire_configure *wanted, const replay_config_blocks *blocks)
{
    return blocks->count / wanted->streams >= stream_blocks(wanted, blocks->rows);
}

replay_config_blocks
replay_config_layout(const wire_configure *configure)
{
    replay_config_blocks blocks;
    for (uint32_t rows = REPLAY_BLOCK_ROWS_MAX;; rows /= 2) {
        blocks.rows = rows;
        blocks.count = (uint32_t)((configure->capacity + rows - 1) / rows);
        if (rows == REPLAY_BLOCK_ROWS_MIN || blocks_suffice(configure, &blocks)) {
            return blocks;
        }
    }
}

// Checks that the blocks of a table, new or present, suffice for the streams and the window.
static oct_err
check_blocks(const wire_configure *wanted, const replay_config_blocks *blocks, oct_reason *why)
{
    if (blocks_suffice(wanted, blocks)) {
        return OCT_OK;
    }
    return oct_refuse(why,
                      "replay.capacity: %" PRIu32 " streams and windows of %" PRIu32
                      " steps need %" PRIu64 " rows (blocks of %" PRIu32
                      " rows, at least %d for each stream); the table holds %" PRIu64,
                      wanted->streams, wanted->window_steps,
                      stream_blocks(wanted, blocks->rows) * blocks->rows * wanted->streams,
                      blocks->rows, REPLAY_STREAM_BLOCKS, (uint64_t)blocks->count * blocks->rows);
}

oct_err
replay_config_check(const wire_configure *wanted, oct_reason *why)
{
    if (!wanted->limiter_only) {
        OCT_TRY(check_table(wanted, why));
        OCT_TRY(check_window(wanted, why));
        replay_config_blocks blocks = replay_config_layout(wanted);
        OCT_TRY(check_blocks(wanted, &blocks, why));
    }
    return check_limiter(wanted, why);
}

// Returns the name of the first number in which the tables differ, NULL if they are the same table.
// The seed belongs to the run: a learner that resumes may bring another.
static const char *
table_difference(const wire_configure *a, const wire_configure *b)
{
    bool has_exponent = a->sampler == WIRE_SAMPLER_PRIORITIZED;
    return a->capacity != b->capacity                                     ? "capacity"
           : a->obs_bytes != b->obs_bytes                                 ? "obs_bytes"
           : a->obs_is_float != b->obs_is_float                           ? "obs_is_float"
           : a->action_bytes != b->action_bytes                           ? "action_bytes"
           : a->action_is_float != b->action_is_float                     ? "action_is_float"
           : a->extra_dim != b->extra_dim                                 ? "extra_dim"
           : a->sampler != b->sampler                                     ? "sampler"
           : has_exponent && a->priority_exponent != b->priority_exponent ? "priority_exponent"
                                                                          : NULL;
}

replay_config_action
replay_config_decide(const wire_configure *current, const replay_config_blocks *blocks,
                     const wire_configure *wanted, oct_reason *why)
{
    bool is_same_run = current && current->run_id == wanted->run_id;
    if (wanted->limiter_only && !is_same_run) {
        (void)oct_refuse(why,
                         "limiter_only, but run %016" PRIx64
                         " has no table here: send the whole configuration",
                         wanted->run_id);
        return REPLAY_CONFIG_REFUSE;
    }
    if (!current) {
        return REPLAY_CONFIG_CREATE;
    }
    if (!is_same_run) {
        return REPLAY_CONFIG_REPLACE;
    }
    const char *difference = wanted->limiter_only ? NULL : table_difference(current, wanted);
    if (difference) {
        (void)oct_refuse(why,
                         "run %016" PRIx64
                         " already has a table with another %s; only the limiter and the "
                         "window may change within a run",
                         wanted->run_id, difference);
        return REPLAY_CONFIG_REFUSE;
    }
    if (!wanted->limiter_only && blocks && check_blocks(wanted, blocks, why) != OCT_OK) {
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

oct_rng
replay_config_rng(uint64_t seed)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, RNG_STREAM);
    return rng;
}

uint64_t
replay_config_window_bytes(const wire_configure *configure)
{
    uint64_t row = configure->action_bytes + configure->extra_dim * sizeof(float) + sizeof(float);
    uint64_t item = sizeof(float) + sizeof(uint64_t); // probability and key
    uint64_t steps = configure->window_steps;
    return configure->window == WIRE_WINDOW_N_STEP
               ? item + row + 2 * (uint64_t)configure->obs_bytes + sizeof(float)
               : item + (steps + 1) * configure->obs_bytes + steps * (row + sizeof(uint32_t) + 1);
}

uint32_t
replay_config_reply_windows(const wire_configure *configure)
{
    uint64_t rows = configure->window == WIRE_WINDOW_N_STEP ? 1 : configure->window_steps + 1;
    uint64_t most = OCT_MIN(REPLY_BYTES_MAX / replay_config_window_bytes(configure),
                            WIRE_SAMPLE_COUNT_MAX / rows);
    return (uint32_t)OCT_MIN(REPLY_WINDOWS, most);
}

// The windows that a FIFO table with these blocks comes to hold. Of each stream one block is being
// filled and one is being dropped, and the window under way may cover both.
static oct_fifo
fifo_of(const wire_configure *configure, const replay_config_blocks *blocks)
{
    uint64_t streams = configure->streams;
    uint32_t T = configure->window_steps;
    oct_fifo fifo = configure->window == WIRE_WINDOW_N_STEP ? oct_fifo_of_steps(streams, T)
                    : configure->window == WIRE_WINDOW_ROLLOUT
                        ? oct_fifo_of_rollouts(streams, T)
                        : oct_fifo_of_sequences(streams, T, configure->window_stride);
    fifo.open = OCT_MAX(fifo.open, 2 * blocks->rows);
    return fifo;
}

uint32_t
replay_config_batch_windows(const wire_configure *configure, const replay_config_blocks *blocks)
{
    uint32_t windows = replay_config_reply_windows(configure);
    if (!replay_select_find((int)configure->sampler)->takes) {
        return windows;
    }
    oct_fifo fifo = fifo_of(configure, blocks);
    uint64_t held = oct_fifo_windows(&fifo, (uint64_t)blocks->count * blocks->rows);
    return (uint32_t)OCT_MIN(windows, OCT_MAX(held, 1));
}

static bool
capacity_suffices(wire_configure configure, uint64_t capacity, uint32_t windows)
{
    configure.capacity = capacity;
    replay_config_blocks blocks = replay_config_layout(&configure);
    return replay_config_batch_windows(&configure, &blocks) >= windows;
}

// Doubles the capacity until it suffices, then searches for the smallest one by bisection.
uint64_t
replay_config_capacity_for(const wire_configure *configure, uint32_t windows)
{
    uint64_t few = configure->capacity, most = few;
    while (!capacity_suffices(*configure, most, windows)) {
        if (most == REPLAY_CAPACITY_MAX) {
            return 0;
        }
        few = most;
        most = OCT_MIN(2 * most, REPLAY_CAPACITY_MAX);
    }
    while (most - few > 1) {
        uint64_t middle = few + (most - few) / 2;
        if (capacity_suffices(*configure, middle, windows)) {
            most = middle;
        } else {
            few = middle;
        }
    }
    return most;
}

uint32_t
replay_config_batch_rows(const wire_configure *configure)
{
    return (uint32_t)OCT_MIN(configure->capacity, WIRE_BATCH_COUNT_MAX);
}

uint64_t
replay_config_budget(const wire_configure *wanted, replay_config_blocks blocks,
                     replay_budget_line out[REPLAY_BUDGET_LINES])
{
    replay_layout layout =
        replay_layout_make(blocks.rows, wanted->obs_bytes, wanted->action_bytes, wanted->extra_dim);
    const replay_select_ops *select = replay_select_find((int)wanted->sampler);
    uint64_t reply_windows = OCT_MIN(replay_config_reply_windows(wanted), REPLY_WINDOWS_USUAL);
    const replay_budget_line lines[REPLAY_BUDGET_LINES] = {
        {"blocks", replay_store_block_bytes(&layout, blocks.count)},
        {"streams", replay_store_stream_bytes(blocks.count) +
                        sizeof(uint32_t) * (uint64_t)replay_config_batch_rows(wanted)},
        {"windows", replay_items_mask_bytes(blocks.count)},
        {"sampler", select->bytes(blocks.count * blocks.rows)},
        {"sessions", replay_dedupe_bytes(REPLAY_SESSIONS_MAX)},
        {"reply", reply_windows * (replay_config_window_bytes(wanted) + sizeof(uint32_t))},
    };
    uint64_t total = 0;
    for (size_t i = 0; i < REPLAY_BUDGET_LINES; i++) {
        out[i] = lines[i];
        total += lines[i].bytes;
    }
    return total;
}

uint64_t
replay_config_kept(const wire_configure *wanted)
{
    replay_config_blocks blocks = replay_config_layout(wanted);
    replay_layout layout =
        replay_layout_make(blocks.rows, wanted->obs_bytes, wanted->action_bytes, wanted->extra_dim);
    replay_region_bytes bytes =
        replay_regions_measure(&layout, blocks.count, replay_select_find((int)wanted->sampler));
    return bytes.blocks + bytes.used + bytes.select;
}
