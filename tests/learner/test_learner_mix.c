// Batches of live windows and of a data set's: whose windows are where, whose weights, and that
// priorities go back to where their windows came from.
#include "tests/learner/learner_fixture.h"
#include "tests/support/oct_test.h"

#include "learner/learner_mix.h"

#define SECOND 1000000000u
#define LIVE   6u
#define DATA   2u

static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES] = {5};
static oct_config config;
static policy_spec spec;
static oct_rng rng;
static fixture_rows live_rows, data_rows;
static learner_source *live, *data;
static learner_mix *mix;

static learner_source *
source_make(uint32_t windows)
{
    const learner_source_options options = {
        .config = &config,
        .spec = &spec,
        .wants = {.window = ALGO_WINDOW_N_STEP, .steps = 3},
        .batch_size = windows,
        .run_id = 1,
        .token_key = token_key,
        .now_ns = SECOND,
    };
    return learner_source_create(&options);
}

static int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    config.replay.sampler = OCT_SAMPLER_PRIORITIZED;
    config.replay.importance_exponent = config.replay.importance_exponent_final = 0.5;
    oct_rng_init(&rng, 1, 0);
    spec = fixture_spec(FIXTURE_OBS, FIXTURE_ACTIONS);
    live = source_make(LIVE);
    data = source_make(DATA);
    const learner_mix_options options = {
        .spec = &spec, .live = live, .live_windows = LIVE, .data = data, .data_windows = DATA};
    mix = learner_mix_create(&options);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    learner_mix_destroy(mix);
    learner_source_destroy(live);
    learner_source_destroy(data);
    return 0;
}

// An answer with one batch of windows.
static void
fill(learner_source *source, fixture_rows *rows, uint32_t windows, uint64_t incarnation)
{
    wire_sample request;
    uint32_t promised = learner_source_request(source, 0, &request);
    assert_true(promised > 0);
    assert_int_equal(request.batch_size, windows);
    wire_sampled sampled = fixture_sampled(rows, windows, &rng);
    sampled.incarnation = incarnation;
    T_OK(learner_source_sampled(source, promised, &sampled, 0, 2 * SECOND));
}

static void
test_a_batch_waits_for_both(void **state)
{
    (void)state;
    assert_null(learner_mix_take(mix));
    fill(live, &live_rows, LIVE, 9);
    assert_null(learner_mix_take(mix));
    fill(data, &data_rows, DATA, 10);
    learner_batch *batch = learner_mix_take(mix);
    assert_non_null(batch);
    assert_null(learner_mix_take(mix));
    learner_mix_give(mix, batch, 3 * SECOND);
}

static void
test_windows_are_where_they_belong(void **state)
{
    (void)state;
    fill(live, &live_rows, LIVE, 9);
    fill(data, &data_rows, DATA, 10);
    learner_batch *batch = learner_mix_take(mix);
    assert_int_equal(batch->view.B, LIVE + DATA);
    for (uint32_t i = 0; i < LIVE + DATA; i++) {
        const fixture_rows *rows = i < LIVE ? &live_rows : &data_rows;
        uint32_t at = i < LIVE ? i : i - LIVE;
        assert_memory_equal(batch->obs + i * FIXTURE_OBS, rows->obs[at], sizeof(rows->obs[at]));
        assert_memory_equal(batch->next + i * FIXTURE_OBS, rows->next[at], sizeof(rows->next[at]));
        assert_memory_equal(batch->action + i * 4, &rows->action[at], 4);
        T_NEAR(batch->reward[i], (double)rows->reward[at], 0, 0);
        T_NEAR(batch->discount[i], (double)rows->discount[at], 0, 0);
        // Each source's weights are scaled by its own largest.
        float least = 1;
        for (uint32_t k = 0; k < (i < LIVE ? LIVE : DATA); k++) {
            least = OCT_MIN(least, rows->probability[k]);
        }
        T_NEAR(batch->weight[i], sqrt((double)least / (double)rows->probability[at]), 1e-6, 0);
    }
    learner_mix_give(mix, batch, 3 * SECOND);
}

static void
test_priorities_go_back_to_where_they_came_from(void **state)
{
    (void)state;
    wire_priorities priorities;
    fill(live, &live_rows, LIVE, 9);
    fill(data, &data_rows, DATA, 10);
    learner_batch *batch = learner_mix_take(mix);
    for (uint32_t i = 0; i < LIVE + DATA; i++) {
        batch->priority[i] = (float)i;
    }
    batch->learned = true;
    learner_mix_give(mix, batch, 3 * SECOND);
    assert_true(learner_source_priorities(live, &priorities));
    assert_int_equal(priorities.count, LIVE);
    assert_int_equal(priorities.incarnation, 9);
    assert_memory_equal(priorities.key, live_rows.key, LIVE * sizeof(uint64_t));
    T_NEAR(priorities.priority[LIVE - 1], LIVE - 1, 0, 0);
    assert_true(learner_source_priorities(data, &priorities));
    assert_int_equal(priorities.count, DATA);
    assert_int_equal(priorities.incarnation, 10);
    assert_memory_equal(priorities.key, data_rows.key, DATA * sizeof(uint64_t));
    T_NEAR(priorities.priority[0], LIVE, 0, 0);
    // What was refused has none.
    fill(live, &live_rows, LIVE, 9);
    fill(data, &data_rows, DATA, 10);
    batch = learner_mix_take(mix);
    batch->learned = false;
    learner_mix_give(mix, batch, 3 * SECOND);
    assert_false(learner_source_priorities(live, &priorities));
    assert_false(learner_source_priorities(data, &priorities));
}

// As many as there can be, given back in another order, again and again.
static void
test_nothing_is_lost_on_the_way(void **state)
{
    (void)state;
    learner_batch *out[64];
    uint32_t most = learner_mix_batches(mix);
    assert_true(most > 1 && most <= 64);
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < most; i++) {
            fill(live, &live_rows, LIVE, 9);
            fill(data, &data_rows, DATA, 10);
            out[i] = learner_mix_take(mix);
            assert_non_null(out[i]);
            assert_memory_equal(out[i]->obs + (LIVE + DATA - 1) * FIXTURE_OBS,
                                data_rows.obs[DATA - 1], sizeof(data_rows.obs[0]));
        }
        wire_sample request;
        assert_int_equal(learner_source_request(live, 0, &request), 0); // all are out
        for (uint32_t i = most; i > 0; i--) {
            learner_mix_give(mix, out[i - 1], 3 * SECOND);
        }
    }
}

static void
test_one_source_passes_as_it_is(void **state)
{
    (void)state;
    const learner_mix_options options = {.spec = &spec, .live = live, .live_windows = LIVE};
    learner_mix *alone = learner_mix_create(&options);
    assert_int_equal(learner_mix_batches(alone), learner_source_batches(live));
    fill(live, &live_rows, LIVE, 9);
    learner_batch *batch = learner_mix_take(alone);
    assert_int_equal(batch->view.B, LIVE);
    assert_null(learner_mix_take(alone));
    learner_mix_give(alone, batch, 3 * SECOND);
    learner_mix_destroy(alone);
}

// Sequences have more rows and other columns.
static void
test_sequences_are_placed_row_by_row(void **state)
{
    (void)state;
    enum { T = 3, B = 2 };
    spec.head = POLICY_HEAD_LOGITS;
    learner_batch *whole = learner_batch_create(&spec, 2 * B, T);
    learner_batch *part = learner_batch_create(&spec, B, T);
    for (uint32_t i = 0; i < B * (T + 1) * FIXTURE_OBS; i++) {
        part->obs[i] = 1 + (float)i;
    }
    for (uint32_t i = 0; i < B * T; i++) {
        part->reward[i] = 100 + (float)i;
        part->flags[i] = (uint8_t)(1 + i);
        part->version[i] = 200 + i;
    }
    part->weight[0] = 0.25f;
    learner_batch_place(whole, B, part);
    T_NEAR(whole->obs[B * (T + 1) * FIXTURE_OBS - 1], 0, 0, 0);
    assert_memory_equal(whole->obs + B * (T + 1) * FIXTURE_OBS, part->obs,
                        B * (T + 1) * FIXTURE_OBS * sizeof(float));
    assert_memory_equal(whole->reward + B * T, part->reward, B * T * sizeof(float));
    assert_memory_equal(whole->flags + B * T, part->flags, B * T);
    assert_memory_equal(whole->version + B * T, part->version, B * T * sizeof(uint32_t));
    T_NEAR(whole->weight[B], 0.25, 0, 0);
    assert_int_equal(whole->flags[B * T - 1], 0);
    learner_batch_destroy(whole);
    learner_batch_destroy(part);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_batch_waits_for_both),
        TEST(test_windows_are_where_they_belong),
        TEST(test_priorities_go_back_to_where_they_came_from),
        TEST(test_nothing_is_lost_on_the_way),
        TEST(test_one_source_passes_as_it_is),
        TEST(test_sequences_are_placed_row_by_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
