#include "replay/replay_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "replay/replay_select.h"
#include "replay/replay_store.h"

// Memory that a Sample reply is gathered into, for reply_rows transitions.
struct reply {
    uint32_t *slot;
    float *probability;
    replay_rows rows;
};

struct replay_table {
    wire_configure configure;
    replay_store *store;
    replay_dedupe *dedupe;
    replay_limiter limiter;
    const replay_select_ops *select_ops;
    void *select;
    oct_rng rng;
    uint64_t *obs_number; // [batch_rows] of the batch being inserted
    uint64_t *next_number;
    uint32_t batch_rows;
    uint32_t reply_rows;
    struct reply reply;
    uint32_t sample_wanted; // transitions that a waiting sample needs, 0 when none waits
    uint32_t last_count;    // of the batch inserted last: what credit is counted in
    uint32_t last_obs_count;
    replay_table_stats stats;
};

// Every byte is written before it is read, so the pages of replies larger than any asked for are
// never touched and cost nothing: hence not oct_alloc, which zeroes.
static void *
reply_alloc(size_t rows, size_t row_bytes)
{
    void *memory = malloc(OCT_MAX(rows * row_bytes, 1));
    OCT_ASSERT(memory);
    return memory;
}

static void
reply_init(struct reply *reply, const wire_configure *configure, uint32_t rows)
{
    reply->slot = reply_alloc(rows, sizeof(uint32_t));
    reply->probability = reply_alloc(rows, sizeof(float));
    reply->rows = (replay_rows){
        .obs = reply_alloc(rows, configure->obs_bytes),
        .next = reply_alloc(rows, configure->obs_bytes),
        .action = reply_alloc(rows, configure->action_bytes),
        .reward = reply_alloc(rows, sizeof(float)),
        .discount = reply_alloc(rows, sizeof(float)),
        .extra = reply_alloc(rows, configure->extra_dim * sizeof(float)),
        .key = reply_alloc(rows, sizeof(uint64_t)),
    };
}

static void
reply_fini(struct reply *reply)
{
    free(reply->slot);
    free(reply->probability);
    free(reply->rows.obs);
    free(reply->rows.next);
    free(reply->rows.action);
    free(reply->rows.reward);
    free(reply->rows.discount);
    free(reply->rows.extra);
    free(reply->rows.key);
}

replay_table *
replay_table_create(const wire_configure *configure)
{
    replay_table *table = oct_alloc(sizeof(*table));
    uint32_t capacity = (uint32_t)configure->capacity;
    table->configure = *configure;
    replay_store_spec spec = {
        .capacity = capacity,
        .obs_bytes = configure->obs_bytes,
        .action_bytes = configure->action_bytes,
        .extra_dim = configure->extra_dim,
    };
    table->store = replay_store_create(&spec);
    table->dedupe = replay_dedupe_create(REPLAY_SESSIONS_MAX);
    table->select_ops = replay_select_find((int)configure->sampler);
    OCT_ASSERT(table->select_ops);
    table->select = table->select_ops->create(capacity, configure->priority_exponent);
    replay_limiter_spec limiter = replay_config_limiter(configure);
    replay_limiter_init(&table->limiter, &limiter);
    oct_rng_init(&table->rng, configure->seed, configure->run_id);
    table->batch_rows = replay_config_batch_rows(configure);
    table->obs_number = oct_alloc(table->batch_rows * sizeof(uint64_t));
    table->next_number = oct_alloc(table->batch_rows * sizeof(uint64_t));
    table->reply_rows = replay_config_reply_rows(configure);
    reply_init(&table->reply, configure, table->reply_rows);
    table->last_count = 1;
    replay_budget_line budget[REPLAY_BUDGET_LINES];
    table->stats.memory_bytes = replay_config_budget(configure, budget);
    table->stats.capacity = capacity;
    return table;
}

void
replay_table_destroy(replay_table *table)
{
    if (!table) {
        return;
    }
    replay_store_destroy(table->store);
    replay_dedupe_destroy(table->dedupe);
    table->select_ops->destroy(table->select);
    free(table->obs_number);
    free(table->next_number);
    reply_fini(&table->reply);
    free(table);
}

const wire_configure *
replay_table_configure(const replay_table *table)
{
    return &table->configure;
}

replay_table_stats
replay_table_stats_get(const replay_table *table)
{
    replay_table_stats stats = table->stats;
    stats.size = replay_store_span(table->store).size;
    stats.inserts = table->limiter.inserts;
    stats.samples = table->limiter.samples;
    stats.sessions = replay_dedupe_count(table->dedupe);
    return stats;
}

const replay_limiter *
replay_table_limiter(const replay_table *table)
{
    return &table->limiter;
}

void
replay_table_set_limiter(replay_table *table, const wire_configure *configure)
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
    replay_limiter_set(&table->limiter, &spec);
}

const replay_session *
replay_table_session(const replay_table *table, uint32_t index)
{
    return replay_dedupe_session(table->dedupe, index);
}

// ---- insert

// float32 values, at any alignment: every exponent below all ones.
static bool
is_finite(const void *floats, size_t count)
{
    const uint8_t *at = floats;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
        bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    return bad == 0;
}

static const char *
header_fault(const wire_batch *batch)
{
    return batch->session == 0    ? "session is 0"
           : batch->sequence == 0 ? "sequence is 0"
           : batch->first_unacked == 0 || batch->first_unacked > batch->sequence
               ? "first_unacked is not within 1 .. sequence"
               : NULL;
}

static const char *
shape_fault(const replay_table *table, const replay_session *session, const wire_batch *batch)
{
    const wire_configure *configure = &table->configure;
    return batch->obs_bytes != configure->obs_bytes         ? "observations of another size"
           : batch->action_bytes != configure->action_bytes ? "actions of another size"
           : batch->extra_dim != configure->extra_dim       ? "another extra_dim"
           : batch->count > table->batch_rows ? "more transitions than the table holds"
           : batch->obs_count > replay_store_obs_capacity((uint32_t)configure->capacity)
               ? "more observations than the table holds"
           : batch->obs_first > INT64_MAX                        ? "obs_first is out of range"
           : batch->obs_first < replay_obsmap_end(&session->obs) ? "observations sent twice"
                                                                 : NULL;
}

static const char *
content_fault(const replay_table *table, const wire_batch *batch)
{
    const wire_configure *configure = &table->configure;
    size_t obs = (size_t)batch->obs_count * batch->obs_bytes;
    size_t action = (size_t)batch->count * batch->action_bytes;
    if (configure->obs_is_float && !is_finite(batch->obs, obs / sizeof(float))) {
        return "an observation is not finite";
    }
    if (configure->action_is_float && !is_finite(batch->action, action / sizeof(float))) {
        return "an action is not finite";
    }
    if (!is_finite(batch->reward, batch->count) || !is_finite(batch->discount, batch->count)) {
        return "a reward or discount is not finite";
    }
    if (!is_finite(batch->extra, (size_t)batch->count * batch->extra_dim)) {
        return "an extra value is not finite";
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->flags[i] & ~(WIRE_TERMINATED | WIRE_TRUNCATED)) {
            return "unknown flags";
        }
    }
    return NULL;
}

bool
replay_table_may_insert(const replay_table *table, uint32_t obs_count, uint32_t count)
{
    uint32_t size = replay_store_span(table->store).size;
    if (size == 0) {
        return true;
    }
    if (!table->select_ops->takes) {
        return replay_limiter_may_insert(&table->limiter, count);
    }
    // A sample that needs more than there is cannot make the room that this insert lacks.
    return replay_store_excess(table->store, obs_count, count) == 0 || table->sample_wanted > size;
}

uint32_t
replay_table_credit(const replay_table *table, uint32_t credit_max)
{
    uint32_t credit = 0;
    for (uint32_t step = credit_max; step > 0; step /= 2) { // the answer is monotone
        uint32_t more = credit + step;
        uint64_t count = (uint64_t)table->last_count * more;
        uint64_t obs_count = (uint64_t)table->last_obs_count * more;
        if (more <= credit_max && count <= table->batch_rows && obs_count <= table->batch_rows &&
            replay_table_may_insert(table, (uint32_t)obs_count, (uint32_t)count)) {
            credit = more;
        }
    }
    return OCT_MAX(credit,
                   replay_table_may_insert(table, table->last_obs_count, table->last_count));
}

// The store's number of the observation at offset, which lies in this batch or an earlier one.
static uint64_t
reference_find(const replay_session *session, const wire_batch *batch, uint64_t store_first,
               uint64_t floor, int32_t offset)
{
    uint64_t number = REPLAY_OBS_NONE;
    if (offset >= 0) {
        number =
            (uint32_t)offset < batch->obs_count ? store_first + (uint32_t)offset : REPLAY_OBS_NONE;
    } else if (batch->obs_first >= (uint64_t) - (int64_t)offset) {
        number = replay_obsmap_find(&session->obs, batch->obs_first - (uint64_t) - (int64_t)offset);
    }
    return number != REPLAY_OBS_NONE && number >= floor ? number : REPLAY_OBS_NONE;
}

// Tells the sampler about count slots from the slot-th of the ring on, which may wrap.
static void
select_tell(replay_table *table, void (*what)(void *, uint32_t, uint32_t), uint64_t slot,
            uint32_t count)
{
    uint32_t capacity = (uint32_t)table->configure.capacity;
    uint32_t first = (uint32_t)(slot >= capacity ? slot - capacity : slot);
    uint32_t before_end = OCT_MIN(count, capacity - first);
    what(table->select, first, before_end);
    what(table->select, 0, count - before_end);
}

static void
evict(replay_table *table, uint32_t count)
{
    select_tell(table, table->select_ops->removed, replay_store_span(table->store).first, count);
    replay_store_drop(table->store, count);
}

static void
batch_store(replay_insert *out, replay_table *table, replay_session *session,
            const wire_batch *batch)
{
    uint64_t store_first = replay_store_obs_next(table->store);
    uint64_t floor = replay_store_obs_floor(table->store, batch->obs_count);
    uint32_t known = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t obs = reference_find(session, batch, store_first, floor, batch->obs_offset[i]);
        uint64_t next = reference_find(session, batch, store_first, floor, batch->next_offset[i]);
        table->obs_number[i] = obs;
        table->next_number[i] = next;
        known += obs != REPLAY_OBS_NONE && next != REPLAY_OBS_NONE;
    }
    uint32_t excess = replay_store_excess(table->store, batch->obs_count, known);
    if (table->select_ops->takes) {
        table->stats.overrun += excess;
    }
    evict(table, excess);
    replay_store_add_obs(table->store, batch->obs, batch->obs_count);
    replay_obsmap_add(&session->obs, batch->obs_first, store_first, batch->obs_count);
    replay_span span = replay_store_span(table->store);
    uint32_t added = replay_store_add(table->store, batch, table->obs_number, table->next_number);
    OCT_ASSERT(added == known);
    select_tell(table, table->select_ops->inserted, (uint64_t)span.first + span.size, added);
    replay_limiter_inserted(&table->limiter, added);
    out->taken = added;
    out->orphaned = batch->count - added;
}

static replay_insert
insert_rejected(replay_table *table, uint32_t session, const char *reason)
{
    table->stats.rejected++;
    return (replay_insert){REPLAY_INSERT_REJECTED, session, 0, 0, reason};
}

oct_err
replay_table_insert(replay_insert *out, replay_table *table, const wire_batch *batch)
{
    const char *fault = header_fault(batch);
    if (fault) {
        *out = insert_rejected(table, REPLAY_SESSION_NONE, fault);
        return OCT_OK;
    }
    uint32_t index;
    replay_verdict verdict = replay_dedupe_look(table->dedupe, batch->actor_id, batch->session,
                                                batch->sequence, batch->first_unacked, &index);
    if (verdict != REPLAY_NEXT) {
        uint64_t *counter[] = {[REPLAY_DUPLICATE] = &table->stats.duplicates,
                               [REPLAY_GAP] = &table->stats.gaps,
                               [REPLAY_STALE] = &table->stats.stale};
        replay_insert_kind kind[] = {[REPLAY_DUPLICATE] = REPLAY_INSERT_DUPLICATE,
                                     [REPLAY_GAP] = REPLAY_INSERT_GAP,
                                     [REPLAY_STALE] = REPLAY_INSERT_STALE};
        (*counter[verdict])++;
        *out = (replay_insert){.kind = kind[verdict], .session = index};
        return OCT_OK;
    }
    replay_session *session = replay_dedupe_session(table->dedupe, index);
    fault = shape_fault(table, session, batch);
    if (!fault) {
        (void)replay_limiter_fit(&table->limiter, batch->count, 0);
        if (!replay_table_may_insert(table, batch->obs_count, batch->count)) {
            return OCT_EAGAIN;
        }
        fault = content_fault(table, batch);
    }
    if (fault) {
        *out = insert_rejected(table, index, fault);
    } else {
        *out = (replay_insert){.kind = REPLAY_INSERT_TAKEN, .session = index};
        batch_store(out, table, session, batch);
        table->stats.batches++;
        table->stats.orphaned += out->orphaned;
        table->last_count = OCT_MAX(batch->count, 1);
        table->last_obs_count = batch->obs_count;
    }
    replay_dedupe_advance(table->dedupe, index);
    return OCT_OK;
}

// ---- sample

uint32_t
replay_table_batch_max(const replay_table *table)
{
    return table->select_ops->takes
               ? (uint32_t)OCT_MIN(table->reply_rows, table->configure.capacity)
               : table->reply_rows;
}

uint32_t
replay_table_may_sample(replay_table *table, uint32_t batch_size, uint32_t batches)
{
    OCT_ASSERT(batch_size > 0 && batch_size <= replay_table_batch_max(table) && batches > 0);
    uint32_t size = replay_store_span(table->store).size;
    uint32_t most = OCT_MIN(batches, table->reply_rows / batch_size);
    uint32_t allowed;
    if (table->select_ops->takes) {
        allowed = OCT_MIN(most, size / batch_size);
    } else {
        (void)replay_limiter_fit(&table->limiter, 0, batch_size);
        allowed = size == 0 ? 0 : replay_limiter_may_sample(&table->limiter, batch_size, most);
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
replay_table_sample(wire_sampled *out, replay_table *table, uint32_t batch_size, uint32_t batches)
{
    uint32_t count = batch_size * batches;
    replay_span span = replay_store_span(table->store);
    struct reply *reply = &table->reply;
    OCT_ASSERT(count > 0 && count <= table->reply_rows && span.size > 0);
    OCT_ASSERT(!table->select_ops->takes || count <= span.size);
    table->select_ops->draw(table->select, &span, &table->rng, count, reply->slot,
                            reply->probability);
    replay_store_gather(table->store, reply->slot, count, &reply->rows);
    if (table->select_ops->takes) {
        evict(table, count);
    }
    replay_limiter_sampled(&table->limiter, count);
    *out = (wire_sampled){
        .configured = true,
        .count = count,
        .obs_bytes = table->configure.obs_bytes,
        .action_bytes = table->configure.action_bytes,
        .extra_dim = table->configure.extra_dim,
        .obs = reply->rows.obs,
        .next = reply->rows.next,
        .action = reply->rows.action,
        .reward = reply->rows.reward,
        .discount = reply->rows.discount,
        .probability = reply->probability,
        .key = reply->rows.key,
        .extra = reply->rows.extra,
        .size = replay_store_span(table->store).size,
        .inserts = table->limiter.inserts,
        .samples = table->limiter.samples,
    };
}

void
replay_table_update(replay_table *table, const wire_priorities *priorities)
{
    replay_span span = replay_store_span(table->store);
    uint64_t first = replay_store_key_first(table->store);
    for (uint32_t i = 0; i < priorities->count; i++) {
        float priority = priorities->priority[i];
        uint64_t place = priorities->key[i] - first; // a key that has left wraps to a huge one
        if (!isfinite(priority) || priority < 0) {
            table->stats.updates_bad++;
        } else if (place >= span.size) {
            table->stats.updates_late++;
        } else {
            uint64_t slot = span.first + place;
            slot -= slot >= span.capacity ? span.capacity : 0;
            table->select_ops->update(table->select, (uint32_t)slot, priority);
            table->stats.updates++;
        }
    }
}

// ---- why

void
replay_table_explain_insert(const replay_table *table, char *text, size_t text_size)
{
    if (table->select_ops->takes) {
        (void)snprintf(text, text_size,
                       "actors wait for the learner: all of %" PRIu64 " places hold transitions "
                       "that it has not fetched",
                       table->configure.capacity);
        return;
    }
    replay_limiter_explain_insert(&table->limiter, text, text_size);
}

void
replay_table_explain_sample(const replay_table *table, char *text, size_t text_size)
{
    uint32_t size = replay_store_span(table->store).size;
    if (table->select_ops->takes || size == 0) {
        (void)snprintf(text, text_size,
                       "learner waits for actors: %" PRIu32 " transitions held, %" PRIu32 " wanted",
                       size, table->sample_wanted);
        return;
    }
    replay_limiter_explain_sample(&table->limiter, text, text_size);
}
