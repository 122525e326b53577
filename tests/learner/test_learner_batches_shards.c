// Batches of several replay tables against those of one that holds everything: how often each
// window comes, its importance weight, the limiter over the sum; and shards that go and come.
#include <math.h>

#include "tests/learner/shards_fixture.h"

// Which of all windows a row is, and its priority, which has a thousandfold range.
static uint32_t
window_of(const learner_batch *batch, uint32_t i)
{
    const float *obs = batch->obs + (size_t)i * TEST_OBS_FLOATS;
    uint32_t before = 0;
    for (uint32_t s = 0; s < (uint32_t)obs[0]; s++) {
        before += ROWS[s];
    }
    return before + (uint32_t)obs[1];
}

static double
priority_of(uint32_t window)
{
    return pow(10, (double)(window * 37 % WINDOWS) / WINDOWS * 3);
}

static void
learn(learner_batch *batch)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        batch->priority[i] = (float)priority_of(window_of(batch, i));
    }
    batch->learned = true;
}

static void
priorities_pass(void)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        wire_priorities priorities;
        if (learner_source_priorities(source[s], &priorities)) {
            assert_int_equal(priorities.incarnation, 50 + s);
            replay_table_update(table[s], &priorities);
        }
    }
}

// The sum over all windows of (seen - expected)^2 / expected: about WINDOWS - 1, with a deviation
// of sqrt(2 (WINDOWS - 1)).
static double
chi_square(const uint64_t seen[WINDOWS], const double p[WINDOWS], uint64_t all)
{
    double sum = 0;
    for (uint32_t w = 0; w < WINDOWS; w++) {
        double expected = p[w] * (double)all;
        sum += ((double)seen[w] - expected) * ((double)seen[w] - expected) / expected;
    }
    return sum;
}

#define CHI_MOST (WINDOWS - 1 + 5 * sqrt(2.0 * (WINDOWS - 1)))

// Every weight is (size p)^-BETA / max of the batch, of the whole.
static void
weights_check(const learner_batch *batch, const double p[WINDOWS])
{
    double weight[BATCH], most = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        weight[i] = pow(WINDOWS * p[window_of(batch, i)], -BETA);
        most = fmax(most, weight[i]);
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        T_NEAR(batch->weight[i], weight[i] / most, 1e-5, 1e-4);
    }
}

static void
probabilities(double p[WINDOWS], bool is_prioritized)
{
    double sum = 0;
    for (uint32_t w = 0; w < WINDOWS; w++) {
        p[w] = is_prioritized ? priority_of(w) : 1;
        sum += p[w];
    }
    for (uint32_t w = 0; w < WINDOWS; w++) {
        p[w] /= sum;
    }
}

// Batches of the shards, once each window has its priority.
static void
shards_compare(const double p[WINDOWS], uint32_t warm_up)
{
    enum { BATCHES = 6000 };
    uint64_t seen[WINDOWS] = {0};
    for (uint32_t taken = 0; taken < warm_up + BATCHES;) {
        round_of(0, SHARDS - 1);
        learner_batch *batch;
        while ((batch = learner_batches_take(batches, 0, true)) != NULL) {
            for (uint32_t i = 0; taken >= warm_up && i < BATCH; i++) {
                seen[window_of(batch, i)]++;
            }
            if (taken++ >= warm_up) {
                weights_check(batch, p);
            }
            learn(batch);
            learner_batches_give(batches, batch, now_ns);
        }
        priorities_pass();
    }
    uint64_t all = 0;
    for (uint32_t w = 0; w < WINDOWS; w++) {
        all += seen[w];
    }
    assert_true(chi_square(seen, p, all) < CHI_MOST);
}

// One table that holds everything: what the shards have to agree with.
static void
union_compare(const double p[WINDOWS])
{
    enum { DRAWS = 200000, EACH = 200 };
    uint64_t seen[WINDOWS] = {0};
    replay_table *all = table_make();
    wire_sampled sampled;
    for (uint32_t s = 0; s < SHARDS; s++) {
        test_actor_init(&actor[s], s, 200 + s);
        (void)test_insert(all, test_batch_steps(&actor[s], ROWS[s]));
    }
    for (uint32_t drawn = 0; drawn < 2 * DRAWS; drawn += EACH) {
        float priority[EACH];
        assert_int_equal(replay_table_may_sample(all, EACH, 1, 0), 1);
        replay_table_sample(&sampled, all, EACH, 1);
        const learner_batch rows = {.obs = (float *)(uintptr_t)sampled.obs};
        for (uint32_t i = 0; i < EACH; i++) {
            uint32_t window = window_of(&rows, i);
            priority[i] = (float)priority_of(window);
            if (drawn >= DRAWS) { // each window has its priority
                seen[window]++;
                T_NEAR(sampled.probability[i], p[window], 0, 1e-4);
            }
        }
        replay_table_update(
            all, &(wire_priorities){.count = EACH, .key = sampled.key, .priority = priority});
    }
    assert_true(chi_square(seen, p, DRAWS) < CHI_MOST);
    replay_table_destroy(all);
}

static void
test_shards_draw_uniformly_as_one_replay_does(void **state)
{
    (void)state;
    double p[WINDOWS];
    begin(CONFIG_SAMPLER_UNIFORM);
    config.replay.importance_exponent = config.replay.importance_exponent_final = 0;
    start();
    probabilities(p, false);
    shards_compare(p, 0);
    union_compare(p);
}

static void
test_shards_draw_by_priority_as_one_replay_does(void **state)
{
    (void)state;
    double p[WINDOWS];
    begin(CONFIG_SAMPLER_PRIORITIZED);
    start();
    probabilities(p, true);
    shards_compare(p, 2000);
    union_compare(p);
}

// ---- the limiter

// Inserts come to one shard alone, samples of all: neither is held back for what its shard has.
static void
test_shards_keep_the_ratio_over_the_sum(void **state)
{
    (void)state;
    begin(CONFIG_SAMPLER_UNIFORM);
    config.replay.min_size = 100;
    config.replay.samples_per_insert = 4;
    config.replay.tolerance = 0.1;
    start();
    uint64_t inserts = WINDOWS, samples = 0;
    round_of(0, SHARDS - 1);
    for (uint32_t i = 0; i < 20; i++) { // fewer than min_size in all
        round_of(0, SHARDS - 1);
        assert_null(learner_batches_take(batches, 0, true));
    }
    for (uint32_t turn = 0; turn < 3000; turn++) {
        inserts += rows_insert(0, 4);
    }
    for (uint32_t s = 0; s < SHARDS; s++) {
        samples += replay_table_stats_get(table[s]).samples;
    }
    double balance = 4.0 * (double)inserts - (double)samples;
    T_NEAR(balance, 400, 400 * 0.1 + learner_batches_count(batches) * BATCH, 0);
    assert_true(replay_table_stats_get(table[1]).samples > 4 * ROWS[1]); // more than its own
}

// An actor of one shard with small batches, then one of another shard with large ones: the band of
// each table holds the batches of both. Or the large ones would wait for samples, and the samples
// of the other shards, whose band reaches less far down, for inserts.
static void
test_shards_whose_batches_differ_in_size_go_on(void **state)
{
    (void)state;
    wire_sampled sampled;
    begin(CONFIG_SAMPLER_UNIFORM);
    config.replay.min_size = 100;
    config.replay.samples_per_insert = 8;
    config.replay.tolerance = 0.1;
    start();
    for (uint32_t turn = 0; turn < 100; turn++) {
        (void)rows_insert(0, 4);
    }
    for (uint32_t turn = 0; turn < 100; turn++) {
        (void)rows_insert(1, 500);
    }
    const replay_limiter first = replay_table_joined(table[0]);
    for (uint32_t s = 0; s < SHARDS; s++) {
        const replay_limiter limiter = replay_table_joined(table[s]);
        assert_int_equal(limiter.insert_chunk, 500);
        T_NEAR(limiter.balance_min, first.balance_min, 0, 0);
        T_NEAR(limiter.balance_max, first.balance_max, 0, 0);
        replay_table_counters(&sampled, table[s]); // of each its own
        assert_int_equal(sampled.insert_chunk == 500, s == 1);
    }
}

static uint32_t
batches_drain(uint32_t without)
{
    learner_batch *batch;
    uint32_t count = 0;
    while ((batch = learner_batches_take(batches, 0, true)) != NULL) {
        for (uint32_t i = 0; i < BATCH; i++) {
            assert_true((uint32_t)batch->obs[(size_t)i * TEST_OBS_FLOATS] != without);
        }
        count++;
        learner_batches_give(batches, batch, now_ns);
    }
    return count;
}

// Windows of shard 1 are wanted, and inserts come to shard 0, of which none may be planned: it is
// asked for its counters soon, the more seldom the longer the request is held, and shard 1 hears.
static void
test_shards_are_asked_for_what_a_held_request_waits_for(void **state)
{
    (void)state;
    wire_sample request;
    wire_sampled answer;
    begin(CONFIG_SAMPLER_UNIFORM);
    config.replay.min_size = WINDOWS;
    config.replay.samples_per_insert = 1;
    start();
    for (uint32_t rounds = 0; rounds < 20; rounds++) { // until no more samples are allowed
        round_of(0, SHARDS - 1);
        (void)batches_drain(SHARDS);
    }
    round_of(0, 0);
    uint32_t requested = learner_batches_request(batches, 1, newest, now_ns, &request);
    assert_true(requested > 0);
    assert_false(serve(1, &request, &answer)); // held
    assert_false(learner_batches_tell(batches, 0, false, now_ns, &request));
    uint32_t asked = 0, since_ms = 0;
    for (uint32_t ms = 1; ms <= 80; ms++) {
        now_ns += SECOND / 1000;
        since_ms++;
        bool is_due = since_ms >= OCT_MAX(1u, (ms + 3) / 4);
        assert_int_equal(learner_batches_tell(batches, 0, false, now_ns, &request), is_due);
        if (is_due) {
            (void)serve(0, &request, &answer);
            T_OK(learner_source_heard(source[0], &answer));
            since_ms = 0;
            asked++;
        }
    }
    assert_in_range(asked, 10, 20);
    (void)test_insert(table[0], test_batch_steps(&actor[0], BATCH));
    now_ns += SECOND / 40;
    tell(0);
    assert_true(learner_batches_tell(batches, 1, false, now_ns, &request));
    T_NEAR(request.others.inserts, ROWS[0] + ROWS[2] + BATCH, 0, 0);
    learner_batches_missed(batches, 1, requested, now_ns);
}

// ---- shards that go and come

static void
test_shards_go_on_without_one_that_is_away_and_take_it_back(void **state)
{
    (void)state;
    wire_sample request;
    wire_sampled answer;
    begin(CONFIG_SAMPLER_UNIFORM);
    start();
    round_of(0, SHARDS - 1);
    (void)batches_drain(SHARDS);
    round_of(0, 0); // the others are asked, and shard 1 does not answer
    uint32_t requested = learner_batches_request(batches, 1, newest, now_ns, &request);
    assert_true(requested > 0);
    round_of(2, 2);
    assert_int_equal(batches_drain(SHARDS), 0);
    T_NEAR(learner_batches_missing(batches), 0, 0, 0);
    learner_batches_missed(batches, 1, requested, now_ns);
    assert_true(learner_source_lost(source[1]));
    assert_false(learner_batches_is_used(batches, 1));
    T_NEAR(learner_batches_missing(batches), (double)ROWS[1] / WINDOWS, 1e-9, 0);
    uint32_t count = 0;
    for (uint32_t rounds = 0; count < learner_batches_count(batches); rounds++) {
        assert_true(rounds < 1000); // these batches may have some of it
        round_of(0, 0);
        round_of(2, 2);
        count += batches_drain(SHARDS);
    }
    round_of(0, 0);
    round_of(2, 2);
    assert_true(batches_drain(1) > 0);
    assert_int_equal(learner_batches_request(batches, 1, newest, now_ns, &request), 0);
    // It is asked for its counters, though, seldom; then it is there.
    now_ns += SECOND;
    assert_true(learner_batches_tell(batches, 1, false, now_ns, &request));
    assert_false(learner_batches_tell(batches, 1, false, now_ns + SECOND / 20, &request));
    (void)serve(1, &request, &answer);
    T_OK(learner_source_heard(source[1], &answer));
    assert_true(learner_source_back(source[1]));
    T_NEAR(learner_batches_missing(batches), 0, 0, 0);
    for (uint32_t rounds = 0; rounds < 4; rounds++) {
        round_of(0, SHARDS - 1);
        (void)batches_drain(SHARDS);
    }
    assert_true(learner_batches_request(batches, 1, newest, now_ns, &request) > 0);
}

// A request costs replay as much as hundreds of windows, and a shard sleeps more often.
static void
test_shards_are_asked_for_twice_as_much_as_one_replay(void **state)
{
    (void)state;
    begin(CONFIG_SAMPLER_UNIFORM);
    config.learner.prefetch = 2;
    config.learner.batches_per_request = 8;
    start();
    wire_sample request;
    uint32_t most = learner_source_windows_max(source[1]);
    assert_int_equal(most, 2 * 8 * BATCH);
    for (uint32_t s = 0; s < SHARDS; s++) {
        tell(s);
    }
    assert_in_range(learner_batches_request(batches, 1, newest, now_ns, &request), most - BATCH,
                    most);
}

// A shard without a table is configured anew; keys of the process before name other windows, and
// their priorities go nowhere.
static void
test_shards_forget_keys_of_another_process(void **state)
{
    (void)state;
    wire_priorities priorities;
    begin(CONFIG_SAMPLER_PRIORITIZED);
    start();
    round_of(0, SHARDS - 1);
    learner_batch *batch = learner_batches_take(batches, 0, true);
    assert_non_null(batch);
    learn(batch);
    assert_int_equal(learner_source_heard(source[1], &(wire_sampled){.incarnation = 8}),
                     OCT_EAGAIN);
    assert_false(learner_batches_is_used(batches, 1));
    now_ns += SECOND;
    connect(1, 99);
    assert_false(learner_batches_is_used(batches, 1)); // it has not said what it has
    learner_batches_give(batches, batch, now_ns);
    assert_true(learner_source_priorities(source[2], &priorities));
    assert_false(learner_source_priorities(source[1], &priorities));
}

// Windows of both processes in one batch: the priorities of the second one's go to it alone.
static void
test_shards_return_priorities_to_the_process_that_is_there(void **state)
{
    (void)state;
    wire_sample request;
    wire_sampled answer;
    wire_priorities priorities;
    begin(CONFIG_SAMPLER_PRIORITIZED);
    start();
    for (uint32_t s = 0; s < SHARDS; s++) {
        tell(s);
    }
    uint32_t requested = learner_batches_request(batches, 1, newest, now_ns, &request);
    request.batch_size = 5; // of the first batch, and no more yet
    request.batches = 1;
    (void)serve(1, &request, &answer);
    T_OK(learner_batches_sampled(batches, 1, requested, &answer, now_ns));
    assert_int_equal(learner_source_heard(source[1], &(wire_sampled){.incarnation = 8}),
                     OCT_EAGAIN);
    now_ns += SECOND;
    connect(1, 99);
    wire_sampled counters = {0};
    replay_table_counters(&counters, table[1]);
    counters.incarnation = 99;
    T_OK(learner_source_heard(source[1], &counters));
    requested = learner_batches_request(batches, 1, newest, now_ns, &request);
    (void)serve(1, &request, &answer);
    answer.incarnation = 99;
    T_OK(learner_batches_sampled(batches, 1, requested, &answer, now_ns));
    round_of(0, 0);
    round_of(2, 2);
    learner_batch *batch = learner_batches_take(batches, 0, true);
    assert_non_null(batch);
    uint32_t of_shard = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
        of_shard += batch->obs[(size_t)i * TEST_OBS_FLOATS] == 1;
    }
    assert_true(of_shard > 5);
    learn(batch);
    learner_batches_give(batches, batch, now_ns);
    assert_true(learner_source_priorities(source[1], &priorities));
    assert_int_equal(priorities.incarnation, 99);
    assert_int_equal(priorities.count, of_shard - 5);
}

// Windows of each shard in the batches that were learned from, for the checkpoint.
static void
test_shards_count_windows_by_batches(void **state)
{
    (void)state;
    begin(CONFIG_SAMPLER_UNIFORM);
    start();
    uint64_t count[50][SHARDS] = {{0}};
    uint32_t taken = 0;
    while (taken + 1 < OCT_COUNTOF(count)) {
        round_of(0, SHARDS - 1);
        learner_batch *batch = learner_batches_take(batches, 0, true);
        if (batch != NULL) {
            taken++;
            memcpy(count[taken], count[taken - 1], sizeof(count[taken]));
            for (uint32_t i = 0; i < BATCH; i++) {
                count[taken][(uint32_t)batch->obs[(size_t)i * TEST_OBS_FLOATS]]++;
            }
            learner_batches_give(batches, batch, now_ns);
        }
    }
    for (uint32_t s = 0; s < SHARDS; s++) {
        assert_int_equal(learner_batches_place_after(batches, s, 0).samples, 0);
        for (uint32_t n = taken - 2 * learner_batches_count(batches); n <= taken; n++) {
            assert_int_equal(learner_batches_place_after(batches, s, n).samples, count[n][s]);
        }
        assert_int_equal(learner_batches_place_after(batches, s, taken).inserts, ROWS[s]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_shards_draw_uniformly_as_one_replay_does, stop_all),
        cmocka_unit_test_teardown(test_shards_draw_by_priority_as_one_replay_does, stop_all),
        cmocka_unit_test_teardown(test_shards_keep_the_ratio_over_the_sum, stop_all),
        cmocka_unit_test_teardown(test_shards_whose_batches_differ_in_size_go_on, stop_all),
        cmocka_unit_test_teardown(test_shards_are_asked_for_what_a_held_request_waits_for,
                                  stop_all),
        cmocka_unit_test_teardown(test_shards_go_on_without_one_that_is_away_and_take_it_back,
                                  stop_all),
        cmocka_unit_test_teardown(test_shards_are_asked_for_twice_as_much_as_one_replay, stop_all),
        cmocka_unit_test_teardown(test_shards_forget_keys_of_another_process, stop_all),
        cmocka_unit_test_teardown(test_shards_return_priorities_to_the_process_that_is_there,
                                  stop_all),
        cmocka_unit_test_teardown(test_shards_count_windows_by_batches, stop_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
