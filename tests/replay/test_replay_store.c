#include "tests/replay/replay_test.h"

#include <stdlib.h>

#include "common/oct_rng.h"
#include "replay/replay_store.h"

// The table against a model that is too simple to be wrong: lists that are searched from end to
// end. Several actors with interleaved batches, final observations, references across batches,
// duplicates, gaps, restarts of actors, priorities, all three samplers.

#define ACTORS     5
#define MODEL_ROWS 200000

typedef struct model_row {
    uint32_t actor;
    uint64_t obs, next;             // numbers within the session
    uint64_t obs_store, next_store; // numbers within the store
    double weight;
    bool is_gone;
} model_row;

typedef struct model {
    uint64_t capacity, obs_capacity;
    uint64_t obs_count; // ever
    model_row *row;     // [rows], index = key
    uint64_t rows;
    uint64_t first; // no row below is there
    double weight_max;
    // Where the store put each observation of the current session of each actor.
    uint64_t *obs_store[ACTORS];
} model;

static test_actor actors[ACTORS];
static model m;

static uint64_t
model_size(void)
{
    return m.rows - m.first;
}

// Oldest first, until no transition needs an observation below floor and there is room.
static void
model_evict(uint64_t floor, uint64_t room)
{
    uint64_t first = model_size() + room > m.capacity ? m.rows + room - m.capacity : m.first;
    for (uint64_t i = m.first; i < m.rows; i++) {
        if (OCT_MIN(m.row[i].obs_store, m.row[i].next_store) < floor) {
            first = OCT_MAX(first, i + 1);
        }
    }
    for (uint64_t i = m.first; i < first; i++) {
        m.row[i].is_gone = true;
    }
    m.first = first;
}

static void
model_insert(uint32_t actor, const wire_batch *batch)
{
    uint64_t end = m.obs_count + batch->obs_count;
    uint64_t floor = end > m.obs_capacity ? end - m.obs_capacity : 0;
    for (uint32_t i = 0; i < batch->obs_count; i++) {
        m.obs_store[actor][batch->obs_first + i] = m.obs_count + i;
    }
    uint64_t kept = m.rows, room = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < batch->count; i++) {
            uint64_t obs = batch->obs_first + (uint64_t)(int64_t)batch->obs_offset[i];
            uint64_t next = batch->obs_first + (uint64_t)(int64_t)batch->next_offset[i];
            uint64_t obs_store = m.obs_store[actor][obs], next_store = m.obs_store[actor][next];
            if (obs_store == UINT64_MAX || next_store == UINT64_MAX || obs_store < floor ||
                next_store < floor) {
                continue;
            }
            if (pass == 0) {
                room++;
            } else {
                assert_true(kept < MODEL_ROWS);
                m.row[kept++] = (model_row){batch->actor_id, obs,          next, obs_store,
                                            next_store,      m.weight_max, false};
            }
        }
        if (pass == 0) {
            model_evict(floor, room);
        }
    }
    m.rows = kept;
    m.obs_count = end;
}

static void
session_begin(uint32_t actor, uint64_t session)
{
    test_actor_init(&actors[actor], actor + 1, session);
    for (uint64_t i = 0; i < MODEL_ROWS; i++) {
        m.obs_store[actor][i] = UINT64_MAX;
    }
}

// Observations, some of them never sent (a hole the size of a rejected batch), and transitions that
// look back up to 40 observations.
static const wire_batch *
batch_make(uint32_t actor, oct_rng *rng)
{
    test_actor *a = &actors[actor];
    a->obs_sent += oct_rng_below(rng, 20) == 0 ? 7 : 0;
    (void)test_batch_begin(a, oct_rng_below(rng, 12));
    uint32_t count = a->obs_sent == 0 ? 0 : oct_rng_below(rng, 14);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t back = OCT_MIN(a->obs_sent, 40);
        uint64_t next = a->obs_sent - 1 - oct_rng_below(rng, (uint32_t)back);
        uint64_t before = OCT_MIN(next, 5);
        test_batch_add(a, next - oct_rng_below(rng, (uint32_t)before + 1), next);
    }
    return &a->batch;
}

static void
sample_check(replay_table *table, wire_sampler sampler, oct_rng *rng)
{
    uint32_t size = 1 + oct_rng_below(rng, OCT_MIN(20, replay_table_batch_max(table)));
    if (replay_table_may_sample(table, size, 1) == 0) {
        replay_table_sample_cancelled(table);
        assert_true(model_size() < size);
        return;
    }
    wire_sampled sampled;
    replay_table_sample(&sampled, table, size, 1);
    test_check_rows(&sampled);
    double total = 0;
    for (uint64_t i = m.first; i < m.rows; i++) {
        total += m.row[i].weight;
    }
    for (uint32_t i = 0; i < size; i++) {
        assert_true(sampled.key[i] >= m.first && sampled.key[i] < m.rows);
        const model_row *row = &m.row[sampled.key[i]];
        float obs[TEST_OBS_FLOATS];
        memcpy(obs, sampled.obs + i * sizeof(obs), sizeof(obs));
        assert_true(obs[0] == (float)row->actor && obs[1] == (float)row->obs);
        assert_true(sampled.discount[i] == (float)row->next * TEST_DISCOUNT);
        if (sampler == WIRE_SAMPLER_PRIORITIZED) {
            T_NEAR(sampled.probability[i], row->weight / total, 0, 1e-5);
        }
        assert_true(sampler != WIRE_SAMPLER_FIFO || sampled.key[i] == m.first + i);
    }
    m.first += sampler == WIRE_SAMPLER_FIFO ? size : 0;
}

static void
update_check(replay_table *table, oct_rng *rng)
{
    uint64_t key[30];
    float priority[30];
    for (int i = 0; i < 30; i++) {
        key[i] = oct_rng_below64(rng, m.rows + 10);
        priority[i] = (float)oct_rng_below(rng, 50) / 8;
    }
    wire_priorities update = {.count = 30, .key = key, .priority = priority};
    replay_table_update(table, &update);
    for (int i = 0; i < 30; i++) {
        if (key[i] >= m.first && key[i] < m.rows) {
            m.row[key[i]].weight = (double)priority[i];
            m.weight_max = fmax(m.weight_max, (double)priority[i]);
        }
    }
}

static void
operations_run(wire_sampler sampler, uint64_t capacity, uint64_t seed, int steps)
{
    oct_rng rng;
    oct_rng_init(&rng, seed, 0);
    m.capacity = capacity;
    m.obs_capacity = replay_store_obs_capacity((uint32_t)capacity);
    m.obs_count = m.rows = m.first = 0;
    m.weight_max = 1;
    uint64_t session = 1;
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(i, session++);
    }
    wire_configure configure = test_configure(capacity, sampler);
    replay_table *table = replay_table_create(&configure);
    for (int step = 0; step < steps; step++) {
        uint32_t actor = oct_rng_below(&rng, ACTORS);
        const wire_batch *batch = batch_make(actor, &rng);
        bool is_too_large = batch->count > capacity || batch->obs_count > m.obs_capacity;
        replay_insert result;
        while (replay_table_insert(&result, table, batch) == OCT_EAGAIN) {
            assert_int_equal(sampler, WIRE_SAMPLER_FIFO);
            sample_check(table, sampler, &rng);
        }
        assert_int_equal(result.kind, is_too_large ? REPLAY_INSERT_REJECTED : REPLAY_INSERT_TAKEN);
        if (!is_too_large) {
            model_insert(actor, batch);
        }
        if (oct_rng_below(&rng, 10) == 0) {
            assert_int_equal(test_insert(table, batch).kind, REPLAY_INSERT_DUPLICATE);
            wire_batch later = *batch;
            later.sequence += 2;
            assert_int_equal(test_insert(table, &later).kind, REPLAY_INSERT_GAP);
        }
        replay_table_stats stats = replay_table_stats_get(table);
        assert_int_equal(stats.size, model_size());
        assert_int_equal(stats.inserts, m.rows);
        assert_int_equal(stats.overrun, 0);
        if (m.rows > 0) {
            update_check(table, &rng);
        }
        sample_check(table, sampler, &rng);
        if (oct_rng_below(&rng, 300) == 0) {
            session_begin(actor, session++);
        }
    }
    replay_table_destroy(table);
}

static void
test_store_equals_the_model(void **state)
{
    (void)state;
    m.row = malloc(MODEL_ROWS * sizeof(m.row[0]));
    for (int i = 0; i < ACTORS; i++) {
        m.obs_store[i] = malloc(MODEL_ROWS * sizeof(uint64_t));
    }
    static const uint64_t capacities[] = {14, 15, 64, 333};
    for (size_t i = 0; i < OCT_COUNTOF(capacities); i++) {
        operations_run(WIRE_SAMPLER_UNIFORM, capacities[i], 100 + i, 1500);
        operations_run(WIRE_SAMPLER_PRIORITIZED, capacities[i], 200 + i, 1500);
        operations_run(WIRE_SAMPLER_FIFO, capacities[i], 300 + i, 1500);
    }
    operations_run(WIRE_SAMPLER_UNIFORM, 5, 400, 1500);
    operations_run(WIRE_SAMPLER_PRIORITIZED, 1, 401, 1500);
    for (int i = 0; i < ACTORS; i++) {
        free(m.obs_store[i]);
    }
    free(m.row);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_store_equals_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
