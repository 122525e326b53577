// The table: inserts batches, samples windows and updates priorities, within the limiter's bounds
// and with a commit after each change (replay_table.h says how the parts work together).
#include "replay/replay_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "replay/replay_data.h"
#include "replay/replay_digest.h"
#include "replay/replay_file.h"
#include "replay/replay_gather.h"
#include "replay/replay_items.h"
#include "replay/replay_journal.h"
#include "replay/replay_plan.h"
#include "replay/replay_range.h"
#include "replay/replay_reply.h"

// How much of the table a batch needs.
struct demand {
    uint32_t windows; // estimated count of the windows that the batch completes
    uint32_t blocks;  // to open
};

struct replay_table {
    uint64_t id; // of a table in memory; 0: over a data set, or the file keeps it
    wire_configure configure;
    replay_config_blocks blocks;
    replay_file *file;       // NULL: the table is in memory only
    replay_regions regions;  // of a table without a file; over a data set, blocks is the data set's
    const replay_data *data; // NULL: the rows come from actors
    replay_items *items;
    replay_gather gather;
    replay_dedupe *dedupe;
    replay_range range;
    replay_limiter limiter;
    wire_others others;
    bool takes; // the sampler gives each window once (FIFO)
    oct_rng rng;
    uint32_t batch_rows; // the most rows of one batch
    replay_plan plan;
    replay_reply reply;
    uint32_t sample_wanted; // windows that a waiting sample needs; 0: no sample waits
    struct demand refused;  // of the batch that got OCT_EAGAIN last
    struct demand last;     // of the batch inserted last; credit counts in this unit
    uint64_t turn;          // lock-step: the last turn that is stored
    uint32_t turn_batches;
    replay_table_stats stats;
};

// Regions over the blocks of a data set, which are never written to.
static replay_regions
regions_over(const replay_data *data, const replay_region_bytes *bytes)
{
    return (replay_regions){
        .blocks = (uint8_t *)(uintptr_t)data->blocks,
        .used = oct_alloc(bytes->used),
        .select = oct_alloc(OCT_MAX(bytes->select, 1)),
    };
}

// file, data: both NULL for a table in memory.
static replay_table *
table_make(const wire_configure *configure, const replay_config_blocks *blocks, replay_file *file,
           const replay_data *data)
{
    replay_table *table = oct_alloc(sizeof(*table));
    const replay_select_ops *select = replay_select_find((int)configure->sampler);
    OCT_ASSERT(select);
    table->configure = *configure;
    table->blocks = *blocks;
    table->file = file;
    table->data = data;
    table->takes = select->takes;
    replay_layout layout = data ? replay_data_layout(data, configure->extra_dim)
                                : replay_layout_make(table->blocks.rows, configure->obs_bytes,
                                                     configure->action_bytes, configure->extra_dim);
    replay_window window = replay_window_of(configure);
    replay_region_bytes bytes = replay_regions_measure(&layout, table->blocks.count, select);
    if (!file) {
        table->regions = data ? regions_over(data, &bytes) : replay_regions_reserve(&bytes);
    }
    table->items =
        replay_items_create(&layout, table->blocks.count, select, configure->priority_exponent,
                            &window, configure->streams, file ? &file->regions : &table->regions);
    replay_gather_init(&table->gather, configure);
    table->dedupe = replay_dedupe_create(file ? file->header->sessions : REPLAY_SESSIONS_MAX);
    replay_limiter_spec limiter = replay_config_limiter(configure);
    replay_limiter_init(&table->limiter, &limiter);
    table->rng = replay_config_rng(configure->seed);
    table->batch_rows = replay_config_batch_rows(configure);
    replay_plan_init(&table->plan, table->batch_rows);
    replay_reply_init(&table->reply, configure);
    table->last = (struct demand){1, 1};
    replay_budget_line budget[REPLAY_BUDGET_LINES];
    uint64_t all = replay_config_budget(configure, *blocks, budget);
    uint64_t held = file ? bytes.blocks + bytes.used + bytes.select : data ? budget[0].bytes : 0;
    table->stats.memory_bytes = all - held; // the file holds its regions, the data set its blocks
    table->stats.capacity = (uint64_t)table->blocks.count * table->blocks.rows;
    return table;
}

// Never returns 0.
static uint64_t
id_draw(void)
{
    uint64_t id;
    if (getrandom(&id, sizeof(id), 0) != sizeof(id)) {
        id = oct_clock_wall_us(); // later than any earlier table's
    }
    return id | 1;
}

replay_table *
replay_table_create(const wire_configure *configure)
{
    replay_config_blocks blocks = replay_config_layout(configure);
    replay_table *table = table_make(configure, &blocks, NULL, NULL);
    table->id = id_draw();
    return table;
}

replay_table *
replay_table_create_over(const wire_configure *configure, const replay_data *data)
{
    replay_config_blocks blocks = {data->header->block_rows, data->header->blocks};
    replay_table *table = table_make(configure, &blocks, NULL, data);
    const replay_items_left left = {.next = blocks.count, .select = {.weight_max = 1}};
    replay_items_restore(table->items, &left);
    replay_limiter_inserted(&table->limiter, replay_items_count(table->items));
    return table;
}

void
replay_table_destroy(replay_table *table)
{
    if (!table) {
        return;
    }
    replay_items_destroy(table->items);
    replay_gather_fini(&table->gather);
    replay_dedupe_destroy(table->dedupe);
    replay_plan_fini(&table->plan);
    replay_reply_fini(&table->reply);
    if (table->data) {
        table->regions.blocks = NULL;
    }
    replay_regions_release(&table->regions);
    free(table);
}

const wire_configure *
replay_table_configure(const replay_table *table)
{
    return &table->configure;
}

uint64_t
replay_table_id(const replay_table *table)
{
    return table->file ? table->file->live->table_id : table->id;
}

replay_config_blocks
replay_table_blocks(const replay_table *table)
{
    return table->blocks;
}

replay_table_stats
replay_table_stats_get(const replay_table *table)
{
    replay_table_stats stats = table->stats;
    const replay_store *store = replay_items_store(table->items);
    replay_items_stats items = replay_items_stats_get(table->items);
    stats.size = replay_items_count(table->items);
    stats.rows = replay_store_rows(store);
    stats.blocks = replay_store_next(store) - replay_store_oldest(store);
    stats.streams = replay_streams_count(replay_store_streams(store));
    stats.inserts = table->limiter.inserts;
    stats.samples = table->limiter.samples;
    stats.cut = items.cut;
    stats.overrun = items.overrun;
    stats.given_up = items.given_up;
    stats.sessions = replay_dedupe_count(table->dedupe);
    return stats;
}

// ---- what a durable table keeps

static void
head_write(const replay_table *table, replay_head *head)
{
    const replay_store *store = replay_items_store(table->items);
    head->configure = replay_kept_of(&table->configure);
    head->oldest = replay_store_oldest(store);
    head->next = replay_store_next(store);
    head->rng = table->rng;
    head->limiter = table->limiter;
    replay_items_save(table->items, &head->select);
    head->items = replay_items_stats_get(table->items);
    head->stats = table->stats;
    head->last_windows = table->last.windows;
    head->last_blocks = table->last.blocks;
    head->turn = table->turn;
    head->turn_batches = table->turn_batches;
}

// Makes everything that changed since the last commit durable. index: the session that changed;
// REPLAY_SESSION_NONE: none did.
static void
table_commit(replay_table *table, uint32_t index)
{
    replay_file *file = table->file;
    if (!file) {
        return;
    }
    replay_head *head = replay_journal_head(file);
    head_write(table, head);
    head->session_index = index;
    if (index != REPLAY_SESSION_NONE) {
        head->session = (replay_kept_session){*replay_dedupe_session(table->dedupe, index),
                                              file->live->commits + 1};
    }
    replay_journal_commit(file);
}

replay_table *
replay_table_create_in(const wire_configure *configure, replay_file *file)
{
    replay_config_blocks blocks = {file->header->block_rows, file->header->blocks};
    replay_table *table = table_make(configure, &blocks, file, NULL);
    file->live->table_id = id_draw();
    table_commit(table, REPLAY_SESSION_NONE);
    replay_file_expect_samples(file);
    return table;
}

struct use {
    uint64_t used;
    uint32_t index;
};

static int
use_order(const void *a, const void *b) // the latest first
{
    const struct use *x = a, *y = b;
    return (x->used < y->used) - (x->used > y->used);
}

static bool
sessions_restore(replay_table *table)
{
    replay_kept_session *kept = table->file->sessions;
    uint32_t room = table->file->header->sessions, count = 0;
    struct use *use = oct_alloc(room * sizeof(*use));
    uint32_t *order = oct_alloc(room * sizeof(*order));
    replay_session *sessions = oct_alloc(room * sizeof(*sessions));
    for (; count < room && kept[count].session.session != 0; count++) {
        sessions[count] = kept[count].session;
        use[count] = (struct use){kept[count].used, count};
    }
    // Slots after the last session are cleared: none of them may become a session when the list
    // grows.
    memset(kept + count, 0, (room - count) * sizeof(*kept));
    qsort(use, count, sizeof(*use), use_order);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = use[i].index;
    }
    bool is_good = replay_dedupe_restore(table->dedupe, sessions, order, count);
    free(use);
    free(order);
    free(sessions);
    return is_good;
}

oct_err
replay_table_restore(replay_table **out, replay_file *file, bool is_exact)
{
    const replay_head *head = replay_journal_held(file);
    replay_config_blocks blocks = {file->header->block_rows, file->header->blocks};
    wire_configure configure;
    OCT_ASSERT(replay_kept_give(&head->configure, &configure)); // recovery has checked it
    replay_table *table = table_make(&configure, &blocks, file, NULL);
    replay_table_stats now = table->stats;
    if (!sessions_restore(table)) {
        replay_table_destroy(table);
        return OCT_EINVAL;
    }
    const replay_items_left left = {head->oldest, head->next, head->items, head->select, is_exact};
    replay_items_restore(table->items, &left);
    table->rng = head->rng;
    table->limiter = head->limiter;
    table->last = (struct demand){head->last_windows, head->last_blocks};
    table->turn = head->turn;
    table->turn_batches = head->turn_batches;
    table->stats = head->stats;
    table->stats.capacity = now.capacity;
    table->stats.memory_bytes = now.memory_bytes;
    if (file->live->table_id == 0) { // the page that held the id was lost
        file->live->table_id = id_draw();
    }
    table_commit(table, REPLAY_SESSION_NONE);
    // Last: a restore that is interrupted is repeated from the beginning.
    replay_file_set_live(file);
    replay_file_expect_samples(file);
    *out = table;
    return OCT_OK;
}

const replay_limiter *
replay_table_limiter(const replay_table *table)
{
    return &table->limiter;
}

replay_limiter
replay_table_joined(const replay_table *table)
{
    return replay_limiter_joined(&table->limiter, &table->others);
}

void
replay_table_set_others(replay_table *table, const wire_others *others)
{
    table->others = *others;
}

static void
set_limiter(replay_table *table, const wire_configure *configure)
{
    replay_limiter_spec spec = replay_config_limiter(configure);
    const replay_limiter_spec *now = &table->limiter.spec;
    if (spec.min_size == now->min_size && spec.samples_per_insert == now->samples_per_insert &&
        spec.tolerance == now->tolerance) {
        return;
    }
    table->configure.min_size = configure->min_size;
    table->configure.samples_per_insert = configure->samples_per_insert;
    table->configure.tolerance = configure->tolerance;
    replay_limiter_set_joined(&table->limiter, &spec, &table->others,
                              OCT_MAX(configure->limiter_parts, 1));
}

static void
set_window(replay_table *table, const wire_configure *configure)
{
    wire_configure *now = &table->configure;
    bool is_other = configure->window != now->window ||
                    configure->window_steps != now->window_steps ||
                    (configure->window == WIRE_WINDOW_SEQUENCE &&
                     configure->window_stride != now->window_stride);
    now->epoch = configure->epoch;
    now->action_count = configure->action_count;
    now->action_bounds = configure->action_bounds;
    memcpy(now->action_low, configure->action_low, sizeof(now->action_low));
    memcpy(now->action_high, configure->action_high, sizeof(now->action_high));
    now->turn_actors = configure->turn_actors;
    now->streams = configure->streams;
    now->window = configure->window;
    now->window_steps = configure->window_steps;
    now->window_stride = configure->window_stride;
    now->discount = configure->discount;
    now->reward_clip = configure->reward_clip;
    replay_items_set_streams(table->items, now->streams);
    replay_gather_fini(&table->gather);
    replay_gather_init(&table->gather, now);
    if (!is_other) {
        return;
    }
    replay_reply_fini(&table->reply);
    replay_reply_init(&table->reply, now);
    replay_window window = replay_window_of(now);
    uint64_t before = replay_items_stats_get(table->items).inserted;
    replay_items_set_window(table->items, &window);
    replay_limiter_found(&table->limiter, replay_items_stats_get(table->items).inserted - before);
}

void
replay_table_set(replay_table *table, const wire_configure *configure)
{
    if (!configure->limiter_only) {
        set_window(table, configure);
        replay_table_set_others(table, &configure->others);
    }
    set_limiter(table, configure);
    table_commit(table, REPLAY_SESSION_NONE);
}

const replay_block *
replay_table_origin(const replay_table *table, uint64_t key)
{
    uint32_t slot;
    replay_blocks blocks = replay_store_view(replay_items_store(table->items));
    bool is_held = replay_blocks_slot(&blocks, key, &slot);
    return is_held ? replay_blocks_at(&blocks, slot >> blocks.layout.shift) : NULL;
}

replay_dedupe *
replay_table_dedupe(const replay_table *table)
{
    return table->dedupe;
}

// ---- insert

// Returns how many blocks a sampler that takes can open, at most blocks; 0 for other samplers.
static uint32_t
room_for(const replay_table *table, uint32_t blocks)
{
    return table->takes ? replay_items_room(table->items, &table->plan, blocks) : 0;
}

static bool
fits(const replay_table *table, const struct demand *demand, uint32_t room)
{
    uint32_t size = replay_items_count(table->items);
    if (size == 0 || table->configure.turn_actors > 0) {
        return true; // in lock-step only the turn decides
    }
    if (!table->takes) {
        replay_limiter limiter = replay_table_joined(table);
        return replay_limiter_may_insert(&limiter, demand->windows);
    }
    // A sample that needs more windows than there are cannot make the room that this insert lacks.
    return table->sample_wanted > size || demand->blocks <= room;
}

static bool
may_insert(const replay_table *table, const struct demand *demand)
{
    return fits(table, demand, room_for(table, demand->blocks));
}

bool
replay_table_may_insert(const replay_table *table)
{
    return may_insert(table, &table->refused);
}

uint32_t
replay_table_credit(const replay_table *table, uint32_t credit_max)
{
    uint64_t most = (uint64_t)table->last.blocks * credit_max;
    uint32_t room = room_for(table, (uint32_t)OCT_MIN(most, table->blocks.count));
    uint32_t credit = 0;
    // Binary search: if n batches fit, so does any smaller number.
    for (uint32_t step = credit_max; step > 0; step /= 2) {
        uint32_t more = credit + step;
        uint64_t windows = (uint64_t)table->last.windows * more;
        uint64_t blocks = (uint64_t)table->last.blocks * more;
        struct demand demand = {(uint32_t)windows, (uint32_t)blocks};
        if (more <= credit_max && windows <= table->batch_rows && blocks <= table->blocks.count &&
            fits(table, &demand, room)) {
            credit = more;
        }
    }
    return OCT_MAX(credit, fits(table, &table->last, room));
}

static void
rows_count(replay_table *table, const wire_batch *batch)
{
    uint32_t ends = 0, failed = 0, random = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        ends += (batch->flags[i] & WIRE_END) != 0;
        failed += (batch->flags[i] & WIRE_FAILED) != 0;
        random += (batch->flags[i] & WIRE_RANDOM) != 0;
    }
    table->stats.batches++;
    table->stats.rows_taken += batch->count;
    table->stats.rows_random += random;
    table->stats.ends += ends;
    table->stats.failed += failed;
}

static void
batch_store(replay_insert *out, replay_table *table, const wire_batch *batch,
            const struct demand *demand)
{
    if (table->file) {
        replay_journal_begin(table->file, replay_items_store(table->items), &table->plan);
    }
    uint64_t overrun = replay_items_stats_get(table->items).overrun;
    out->rows = batch->count;
    out->windows = replay_items_add(table->items, &table->plan, batch);
    out->overrun = (uint32_t)(replay_items_stats_get(table->items).overrun - overrun);
    replay_limiter_inserted(&table->limiter, out->windows);
    rows_count(table, batch);
    // A batch that only continues open blocks needs no new ones; a series of such batches does.
    uint32_t filled = (batch->count + table->blocks.rows - 1) / table->blocks.rows;
    table->last = (struct demand){OCT_MAX(demand->windows, 1),
                                  OCT_MAX(OCT_MAX(table->plan.blocks, filled), 1)};
}

// Plans, checks and stores the next batch of a session. OCT_EAGAIN: it must wait. OCT_OK: it was
// stored if fault->reason is NULL; otherwise the reason says what is wrong with it.
static oct_err
batch_take(replay_insert *out, replay_table *table, const wire_batch *batch, replay_fault *fault)
{
    oct_err err = OCT_OK;
    *fault = (replay_fault){.number = NAN};
    fault->reason = table->data
                        ? "a data set accepts no steps"
                        : replay_plan_check_shape(&table->configure, batch, table->batch_rows);
    if (fault->reason) {
        return OCT_OK;
    }
    replay_store *store = replay_items_store(table->items);
    fault->reason = replay_plan_make(&table->plan, store, batch);
    if (!fault->reason) {
        struct demand demand = {
            replay_window_estimate(replay_items_window(table->items), batch->count,
                                   table->plan.ends),
            table->plan.blocks,
        };
        (void)replay_limiter_fit(&table->limiter, demand.windows, 0);
        if (!may_insert(table, &demand)) {
            table->refused = demand;
            err = OCT_EAGAIN;
        } else {
            *fault = replay_range_judge(&table->range, &table->configure, batch);
            if (!fault->reason) {
                batch_store(out, table, batch, &demand);
            }
        }
    }
    replay_plan_close(&table->plan, store);
    return err;
}

static replay_insert
insert_rejected(replay_table *table, uint32_t session, const replay_fault *fault)
{
    table->stats.rejected++;
    return (replay_insert){.kind = REPLAY_INSERT_REJECTED,
                           .session = session,
                           .reason = fault->reason,
                           .number = fault->number,
                           .is_aside = fault->is_aside};
}

oct_err
replay_table_insert(replay_insert *out, replay_table *table, const wire_batch *batch)
{
    if (batch->session == 0) {
        *out = insert_rejected(table, REPLAY_SESSION_NONE,
                               &(replay_fault){.reason = "session is 0", .number = NAN});
        table_commit(table, REPLAY_SESSION_NONE);
        return OCT_OK;
    }
    uint32_t index;
    replay_verdict verdict = replay_dedupe_look(table->dedupe, batch->actor_id, batch->session,
                                                batch->sequence, batch->first_unacked, &index);
    if (verdict != REPLAY_NEXT) {
        uint64_t *counter[] = {[REPLAY_DUPLICATE] = &table->stats.duplicates,
                               [REPLAY_GAP] = &table->stats.gaps,
                               [REPLAY_STALE] = &table->stats.stale,
                               [REPLAY_REFUSED] = &table->stats.refused};
        replay_insert_kind kind[] = {[REPLAY_DUPLICATE] = REPLAY_INSERT_DUPLICATE,
                                     [REPLAY_GAP] = REPLAY_INSERT_GAP,
                                     [REPLAY_STALE] = REPLAY_INSERT_STALE,
                                     [REPLAY_REFUSED] = REPLAY_INSERT_REFUSED};
        (*counter[verdict])++;
        *out = (replay_insert){.kind = kind[verdict], .session = index};
        table_commit(table, verdict == REPLAY_STALE ? REPLAY_SESSION_NONE : index);
        return OCT_OK;
    }
    replay_fault fault;
    replay_insert taken = {.kind = REPLAY_INSERT_TAKEN, .session = index};
    oct_err err = batch_take(&taken, table, batch, &fault);
    if (err == OCT_OK) {
        *out = fault.reason ? insert_rejected(table, index, &fault) : taken;
        replay_dedupe_advance(table->dedupe, index);
    }
    table_commit(table, index);
    return err;
}

// ---- sample

uint32_t
replay_table_batch_max(const replay_table *table)
{
    return replay_config_batch_windows(&table->configure, &table->blocks);
}

uint32_t
replay_table_may_sample(replay_table *table, uint32_t batch_size, uint32_t batches,
                        uint32_t version_min)
{
    OCT_ASSERT(batch_size > 0 && batch_size <= replay_table_batch_max(table) && batches > 0);
    uint32_t most = OCT_MIN(batches, table->reply.windows_max / batch_size);
    uint32_t allowed;
    if (table->takes) {
        allowed = replay_items_filter(table->items, batch_size * most, version_min) / batch_size;
        if (version_min > 0) { // it may have given up windows
            table_commit(table, REPLAY_SESSION_NONE);
        }
    } else {
        (void)replay_limiter_fit(&table->limiter, 0, batch_size);
        replay_limiter limiter = replay_table_joined(table);
        allowed = replay_items_count(table->items) == 0
                      ? 0
                      : replay_limiter_may_sample(&limiter, batch_size, most);
    }
    table->sample_wanted = allowed == 0 ? batch_size : 0;
    return allowed;
}

void
replay_table_sample_cancelled(replay_table *table)
{
    table->sample_wanted = 0;
}

void
replay_table_counters(wire_sampled *out, const replay_table *table)
{
    const wire_configure *configure = &table->configure;
    *out = (wire_sampled){
        .configured = true,
        .window_steps = configure->window == WIRE_WINDOW_N_STEP ? 0 : configure->window_steps,
        .obs_bytes = configure->obs_bytes,
        .action_bytes = configure->action_bytes,
        .extra_dim = configure->extra_dim,
        .size = replay_items_count(table->items),
        .inserts = table->limiter.inserts,
        .samples = table->limiter.samples,
        .given_up = replay_items_stats_get(table->items).given_up,
        .mass = replay_items_mass(table->items),
        .balance = replay_limiter_balance(&table->limiter),
        .insert_chunk = table->limiter.insert_chunk,
        .sample_chunk = table->limiter.sample_chunk,
    };
}

// Fills the answer with the count windows whose slots are in the reply.
static void
sample_gather(wire_sampled *out, replay_table *table, uint32_t count)
{
    replay_reply *reply = &table->reply;
    const replay_columns *columns = &reply->columns;
    replay_gather_rows(&table->gather, replay_items_store(table->items), reply->slot, count,
                       columns);
    replay_table_counters(out, table);
    out->count = count;
    out->obs = columns->obs;
    out->next = columns->next;
    out->action = columns->action;
    out->reward = columns->reward;
    out->discount = columns->discount;
    out->flags = columns->flags;
    out->version = columns->version;
    out->extra = columns->extra;
    out->probability = reply->probability;
    out->key = columns->key;
}

void
replay_table_sample(wire_sampled *out, replay_table *table, uint32_t batch_size, uint32_t batches)
{
    uint32_t count = batch_size * batches;
    OCT_ASSERT(count > 0 && count <= table->reply.windows_max);
    const replay_draws to = {count, table->reply.slot, table->reply.probability};
    replay_items_draw(table->items, &table->rng, to);
    replay_limiter_sampled(&table->limiter, count);
    sample_gather(out, table, count);
    table_commit(table, REPLAY_SESSION_NONE);
}

uint64_t
replay_table_return(replay_table *table, uint64_t samples)
{
    uint64_t drawn = table->limiter.samples;
    if (table->takes || samples >= drawn) {
        return 0;
    }
    replay_limiter_returned(&table->limiter, drawn - samples);
    table_commit(table, REPLAY_SESSION_NONE);
    return drawn - samples;
}

// ---- lock-step

uint64_t
replay_table_turn(const replay_table *table)
{
    return table->turn;
}

void
replay_table_end_turn(replay_table *table, uint32_t batch_size)
{
    (void)replay_limiter_fit(&table->limiter, 0, batch_size);
    table->turn_batches = replay_items_count(table->items) == 0
                              ? 0
                              : replay_limiter_may_sample(&table->limiter, batch_size, UINT32_MAX);
    table->turn++;
    replay_limiter_sampled(&table->limiter, (uint64_t)table->turn_batches * batch_size);
    table_commit(table, REPLAY_SESSION_NONE);
}

uint32_t
replay_table_turn_batches(const replay_table *table)
{
    return table->turn_batches;
}

// Each batch has a generator of its own. So it has the same windows in however many requests the
// turn's batches are fetched, and however often.
void
replay_table_sample_turn(wire_sampled *out, replay_table *table, uint32_t batch_size,
                         uint32_t first, uint32_t batches)
{
    replay_reply *reply = &table->reply;
    OCT_ASSERT(first < table->turn_batches && batches <= table->turn_batches - first);
    OCT_ASSERT(batches > 0 && batches <= reply->windows_max / batch_size);
    uint64_t seed = oct_rng_mix(oct_rng_mix(0, table->configure.seed), table->turn);
    for (uint32_t b = 0; b < batches; b++) {
        oct_rng rng = replay_config_rng(oct_rng_mix(seed, first + b));
        size_t at = (size_t)b * batch_size;
        const replay_draws to = {batch_size, reply->slot + at, reply->probability + at};
        replay_items_draw(table->items, &rng, to);
    }
    sample_gather(out, table, batch_size * batches);
}

void
replay_table_digest(const replay_table *table, uint8_t out[WIRE_HASH_BYTES])
{
    replay_head head;
    memset(&head, 0, sizeof(head));
    head_write(table, &head);
    replay_digest(replay_items_store(table->items),
                  table->file ? &table->file->regions : &table->regions,
                  replay_select_find((int)table->configure.sampler), &head, out);
}

void
replay_table_update(replay_table *table, const wire_priorities *priorities)
{
    replay_items_updates updates =
        replay_items_update(table->items, priorities->count, priorities->key, priorities->priority);
    table->stats.updates += updates.taken;
    table->stats.updates_late += updates.late;
    table_commit(table, REPLAY_SESSION_NONE);
}

// ---- why

void
replay_table_explain_insert(const replay_table *table, char *text, size_t text_size)
{
    if (table->takes) {
        (void)snprintf(text, text_size,
                       "inserts wait for samples: all %" PRIu32
                       " blocks hold windows that were not sampled yet, %" PRIu32 " in all",
                       table->blocks.count, replay_items_count(table->items));
        return;
    }
    replay_limiter limiter = replay_table_joined(table);
    replay_limiter_explain_insert(&limiter, text, text_size);
}

bool
replay_table_is_short(const replay_table *table)
{
    replay_limiter limiter = replay_table_joined(table);
    return replay_items_count(table->items) == 0 ||
           (!table->takes && replay_limiter_may_sample(&limiter, 1, 1) == 0);
}

void
replay_table_explain_sample(const replay_table *table, char *text, size_t text_size)
{
    uint32_t size = replay_items_count(table->items);
    replay_items_stats stats = replay_items_stats_get(table->items);
    replay_limiter limiter = replay_table_joined(table);
    if (table->takes || (size == 0 && replay_limiter_is_warm(&limiter))) {
        char wanted[32] = "";
        if (table->sample_wanted > 0) {
            (void)snprintf(wanted, sizeof(wanted), ", %" PRIu32 " wanted", table->sample_wanted);
        }
        (void)snprintf(text, text_size,
                       "samples wait for inserts: %" PRIu32 " windows held%s; %" PRIu64
                       " dropped as too old, %" PRIu64 " for lack of room",
                       size, wanted, stats.given_up, stats.overrun);
        return;
    }
    replay_limiter_explain_sample(&limiter, text, text_size);
}
