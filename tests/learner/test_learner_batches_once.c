// Batches of several FIFO tables: each window once and in its actor's order, none that is too old,
// nobody who waits for a shard without windows or one that does not answer.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/learner/learner_fixture.h"
#include "tests/replay/replay_test.h"

#include "learner/learner_batches.h"

#define SECOND  1000000000u
#define SHARDS  3u
#define BATCH   8u
#define STEPS   4u
#define IN_WORK 3u    // prefetch, and one request
#define WINDOWS 4000u // of an actor, at most
#define NOBODY  SHARDS

static const uint8_t token_key[WIRE_TOKEN_KEY_BYTES] = {5};
static config_experiment config;
static policy_spec spec;
static replay_table *table[SHARDS]; // one for each actor
static test_actor actor[SHARDS];
static uint64_t next[SHARDS]; // row of the actor
static learner_source *source[SHARDS];
static learner_batches *batches;
static uint32_t requested[SHARDS]; // by a request that is held, 0: none
static wire_sample held[SHARDS];
static uint64_t now_ns, newest;
static uint32_t seen[SHARDS][WINDOWS], last[SHARDS];
static uint64_t learned, learned_of[SHARDS];

static void
begin(uint32_t lag_max)
{
    config = fixture_config();
    config.replay.shards = SHARDS;
    config.learner.batch_size = BATCH;
    spec = fixture_spec(TEST_OBS_FLOATS, 1u << 20);
    config.learner.prefetch = 2;
    config.learner.batches_per_request = 1;
    static const learner_source_place place[SHARDS];
    const learner_batches_options options = {.source = {.config = &config,
                                                        .spec = &spec,
                                                        .wants = {.window = ALGO_WINDOW_SEQUENCE,
                                                                  .steps = STEPS,
                                                                  .stride = STEPS,
                                                                  .each_once = true,
                                                                  .lag_max = lag_max},
                                                        .run_id = 7,
                                                        .token_key = token_key},
                                             .place = place,
                                             .now_ns = SECOND};
    batches = learner_batches_create(&options);
    memset(seen, 0, sizeof(seen));
    memset(last, 0, sizeof(last));
    memset(next, 0, sizeof(next));
    memset(requested, 0, sizeof(requested));
    memset(learned_of, 0, sizeof(learned_of));
    learned = newest = 0;
    now_ns = SECOND;
    for (uint32_t s = 0; s < SHARDS; s++) {
        source[s] = learner_batches_source(batches, s);
        wire_configure configure = test_configure(4096, WIRE_SAMPLER_FIFO);
        configure.window = WIRE_WINDOW_SEQUENCE;
        configure.window_steps = configure.window_stride = STEPS;
        table[s] = replay_table_create(&configure);
        test_actor_init(&actor[s], s, 100 + s);
        assert_true(learner_source_needs_configure(source[s], now_ns));
        learner_batches_configured(batches, s, OCT_OK,
                                   &(wire_configured){.incarnation = 50 + s, .table = 50 + s});
    }
}

static int
stop(void **state)
{
    (void)state;
    learner_batches_destroy(batches);
    for (uint32_t s = 0; s < SHARDS; s++) {
        replay_table_destroy(table[s]);
    }
    return 0;
}

// So many more windows of an actor, by the newest policy.
static void
act(uint32_t s, uint32_t windows)
{
    (void)test_batch_begin(&actor[s]);
    uint32_t rows = windows * STEPS + (next[s] == 0);
    test_batch_run(&actor[s], 0, next[s], (uint32_t)newest);
    for (uint32_t i = 0; i < rows; i++) {
        test_batch_row(&actor[s], next[s] + i == 0 ? WIRE_FIRST : 0);
    }
    next[s] += rows;
    (void)test_insert(table[s], &actor[s].batch);
}

static uint64_t
made(uint32_t s)
{
    return next[s] > 0 ? (next[s] - 1) / STEPS : 0;
}

// What a shard's daemon does: answers when it has something.
static void
serve(uint32_t s)
{
    wire_sampled answer;
    if (requested[s] == 0) {
        return;
    }
    uint32_t allowed =
        replay_table_may_sample(table[s], held[s].batch_size, held[s].batches, held[s].version_min);
    if (allowed > 0) {
        uint32_t was = requested[s];
        replay_table_sample(&answer, table[s], held[s].batch_size, allowed);
        answer.incarnation = 50 + s;
        requested[s] = 0;
        T_OK(learner_batches_sampled(batches, s, was, &answer, now_ns));
    }
}

static void
ask(uint32_t s)
{
    wire_sample request;
    wire_sampled counters;
    if (learner_batches_tell(batches, s, false, now_ns, &request)) {
        replay_table_counters(&counters, table[s]);
        counters.incarnation = 50 + s;
        T_OK(learner_source_heard(source[s], &counters));
    }
    if (requested[s] == 0) {
        requested[s] = learner_batches_request(batches, s, newest, now_ns, &held[s]);
        assert_int_equal(requested[s], held[s].batch_size * held[s].batches * (requested[s] > 0));
    }
}

// All are asked, and all but one answer.
static void
round_without(uint32_t silent)
{
    now_ns += SECOND / 5;
    for (uint32_t s = 0; s < SHARDS; s++) {
        ask(s);
    }
    for (uint32_t s = 0; s < SHARDS; s++) {
        if (s != silent) {
            serve(s);
        }
    }
}

// Each window for the first time, in the order of its actor, and young enough.
static void
learn(const learner_batch *batch, uint32_t lag_max)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        const float *obs = batch->obs + (size_t)i * (STEPS + 1) * TEST_OBS_FLOATS;
        uint32_t s = (uint32_t)obs[0], window = (uint32_t)obs[1] / STEPS;
        assert_true(s < SHARDS && window < WINDOWS && (uint32_t)obs[1] % STEPS == 0);
        assert_int_equal(seen[s][window]++, 0);
        assert_true(window + 1 > last[s]);
        last[s] = window + 1;
        T_NEAR(batch->weight[i], 1, 0, 0);
        T_NEAR(batch->reward[(size_t)i * STEPS], obs[1], 0, 0);
        assert_int_equal(batch->flags[(size_t)i * STEPS] & WIRE_FIRST,
                         window == 0 ? WIRE_FIRST : 0);
        assert_true(lag_max == 0 || learner_batch_version(batch, i) + lag_max >= newest);
        learned_of[s]++;
        learned++;
    }
}

static uint32_t
learn_all(uint32_t lag_max)
{
    uint32_t count = 0;
    learner_batch *batch;
    while ((batch = learner_batches_take(batches, 0, true)) != NULL) {
        learn(batch, lag_max);
        learner_batches_give(batches, batch, now_ns);
        count++;
    }
    return count;
}

static uint64_t
all_made(void)
{
    uint64_t all = 0;
    for (uint32_t s = 0; s < SHARDS; s++) {
        all += made(s);
    }
    return all;
}

// Windows that were given up after they had come.
static uint64_t
given_up_here(void)
{
    uint64_t given_up = learner_batches_counts(batches, now_ns).given_up;
    for (uint32_t s = 0; s < SHARDS; s++) {
        given_up -= learner_source_count(source[s]).given_up;
    }
    return given_up;
}

static void
test_each_window_comes_once_and_in_order(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    begin(0);
    for (uint32_t turn = 0; turn < 400; turn++) {
        for (uint32_t s = 0; s < SHARDS; s++) { // the third one has a tenth of what the first has
            uint32_t windows = (uint32_t)(oct_rng_double(&rng) * (s == 2 ? 2 : 10 / (s + 1)));
            if (windows > 0) {
                act(s, windows);
            }
        }
        round_without(NOBODY);
        (void)learn_all(0);
    }
    for (uint32_t turn = 0; turn < 400; turn++) {
        round_without(NOBODY);
        (void)learn_all(0);
    }
    // What is left is less than a batch; of each actor the first ones were learned from.
    assert_true(all_made() > 2000);
    assert_int_equal(learned, all_made() / BATCH * BATCH);
    for (uint32_t s = 0; s < SHARDS; s++) {
        assert_true(made(s) > 0 && last[s] + BATCH > made(s));
        for (uint32_t window = 0; window < last[s]; window++) {
            assert_int_equal(seen[s][window], 1);
        }
        assert_int_equal(learner_batches_place_after(batches, s, learned / BATCH).samples, last[s]);
        assert_int_equal(learner_source_configure(source[s]).samples,
                         replay_table_stats_get(table[s]).samples);
    }
    assert_int_equal(given_up_here(), 0);
}

static void
test_one_shard_has_all_windows_and_nobody_waits_for_the_others(void **state)
{
    (void)state;
    begin(0);
    act(1, 10 * BATCH);
    for (uint32_t turn = 0; learned < 10 * (uint64_t)BATCH; turn++) {
        assert_true(turn < 100);
        round_without(NOBODY);
        (void)learn_all(0);
    }
    assert_int_equal(last[1], 10 * BATCH);
}

static void
test_a_batch_is_made_of_what_each_shard_has(void **state)
{
    (void)state;
    begin(0);
    for (uint32_t s = 0; s < SHARDS; s++) {
        act(s, s == 0 ? BATCH - 2 : 1);
    }
    for (uint32_t turn = 0; turn < 3; turn++) {
        round_without(NOBODY);
    }
    assert_int_equal(learn_all(0), 1);
    assert_int_equal(learned, BATCH);
}

static void
test_a_shard_that_is_away_holds_nobody_up_and_its_windows_come_later(void **state)
{
    (void)state;
    wire_sampled counters;
    begin(0);
    round_without(NOBODY);
    for (uint32_t s = 0; s < SHARDS; s++) {
        act(s, 3 * BATCH);
    }
    for (uint32_t turn = 0; turn < 50; turn++) { // asked, and silent
        round_without(0);
        (void)learn_all(0);
    }
    assert_int_equal(learned, 6 * BATCH);
    assert_true(requested[0] > 0);
    learner_batches_missed(batches, 0, requested[0], now_ns);
    requested[0] = 0;
    assert_true(learner_source_lost(source[0]));
    assert_false(learner_batches_is_used(batches, 0));
    act(1, 2 * BATCH);
    for (uint32_t turn = 0; turn < 50; turn++) {
        for (uint32_t s = 1; s < SHARDS; s++) {
            ask(s);
            serve(s);
        }
        assert_int_equal(learner_batches_request(batches, 0, newest, now_ns, &held[0]), 0);
        (void)learn_all(0);
    }
    assert_int_equal(learned, 8 * BATCH);
    replay_table_counters(&counters, table[0]);
    counters.incarnation = 50;
    T_OK(learner_source_heard(source[0], &counters));
    assert_true(learner_source_back(source[0]));
    T_NEAR(learner_batches_missing(batches), 0, 0, 0);
    for (uint32_t turn = 0; turn < 50; turn++) {
        round_without(NOBODY);
        (void)learn_all(0);
    }
    assert_int_equal(learned, all_made());
}

// What one replay has in work, and no more, goes to training: the rest may become too old.
static void
test_no_more_batches_are_learned_from_than_of_one_replay(void **state)
{
    (void)state;
    learner_batch *batch[IN_WORK];
    begin(0);
    for (uint32_t s = 0; s < SHARDS; s++) {
        act(s, 10 * BATCH);
    }
    for (uint32_t turn = 0; turn < 50; turn++) {
        round_without(NOBODY);
    }
    for (uint32_t i = 0; i < IN_WORK; i++) {
        batch[i] = learner_batches_take(batches, 0, true);
        assert_non_null(batch[i]);
        learn(batch[i], 0);
    }
    learner_batches_give(batches, batch[0], now_ns);
    round_without(NOBODY); // all send what one of them could
    batch[0] = learner_batches_take(batches, 0, true);
    assert_non_null(batch[0]);
    for (uint32_t turn = 0; turn < 50; turn++) {
        round_without(NOBODY);
        assert_null(learner_batches_take(batches, 0, true));
    }
    uint64_t drawn = 0;
    for (uint32_t s = 0; s < SHARDS; s++) {
        drawn += replay_table_stats_get(table[s]).samples;
    }
    assert_true(drawn <= BATCH * (1 + learner_batches_count(batches)));
    learner_batches_give(batches, batch[0], now_ns);
    assert_non_null(learner_batches_take(batches, 0, true));
    assert_null(learner_batches_take(batches, 0, true));
}

// On the way, in a batch that is not full, in one that waits: each is given up where it has become
// too old, and counted; everything else is learned from once.
static void
test_windows_that_are_too_old_are_given_up_wherever_they_are(void **state)
{
    (void)state;
    enum { LAG = 1 };
    oct_rng rng;
    oct_rng_init(&rng, 9, 1);
    begin(LAG);
    for (uint32_t turn = 0; turn < 300; turn++) { // more than can be learned from
        uint32_t silent = (uint32_t)(oct_rng_double(&rng) * (SHARDS + 2));
        for (uint32_t s = 0; s < SHARDS; s++) {
            act(s, 1 + (uint32_t)(oct_rng_double(&rng) * 20));
        }
        round_without(silent);
        if (turn % 3 == 0) {
            newest++;
            round_without(silent); // what is kept fits the new version
        }
        (void)learn_all(LAG);
    }
    uint64_t given_up = given_up_here(), waiting = 0;
    assert_true(given_up > 0 && learned > 0);
    for (uint32_t s = 0; s < SHARDS; s++) {
        replay_table_stats stats = replay_table_stats_get(table[s]);
        given_up += stats.given_up;
        waiting += stats.size;
        assert_true(stats.given_up > 0 && last[s] > 0);
        assert_int_equal(learner_batches_place_after(batches, s, learned / BATCH).samples,
                         learned_of[s]);
    }
    // Less than a batch has come and is not full.
    uint64_t gone = learned + given_up + waiting;
    assert_true(gone <= all_made() && all_made() - gone < BATCH);
}

// It is none of ours, or is broken: there would be no room for more.
static void
test_no_more_windows_are_taken_than_were_asked_for(void **state)
{
    (void)state;
    wire_sampled answer;
    begin(0);
    act(0, BATCH);
    ask(0);
    assert_true(requested[0] >= BATCH);
    replay_table_sample(&answer, table[0], 1, BATCH);
    answer.incarnation = 50;
    T_OK(learner_batches_sampled(batches, 0, 2, &answer, now_ns));
    assert_int_equal(learner_source_configure(source[0]).samples, 2);
    assert_null(learner_batches_take(batches, 0, true));
}

// A batch that was whole, and has become too old before it was taken, ends nobody's wait for good.
static void
test_what_is_given_up_is_waited_for_again(void **state)
{
    (void)state;
    enum { LAG = 1 };
    begin(LAG);
    act(0, BATCH);
    round_without(NOBODY); // after 0.2 s
    T_NEAR(learner_batches_counts(batches, now_ns + SECOND).waiting_s, 0.2, 1e-9, 0);
    newest += 1 + LAG;
    round_without(NOBODY); // asks for windows of the new version: 0.4 s
    assert_int_equal(given_up_here(), BATCH);
    T_NEAR(learner_batches_counts(batches, now_ns + SECOND).waiting_s, 1.2, 1e-9, 0);
    act(0, 1 + BATCH);     // one begins with a row of the old version
    round_without(NOBODY); // 0.6 s
    T_NEAR(learner_batches_counts(batches, now_ns + SECOND).waiting_s, 0.4, 1e-9, 0);
    assert_int_equal(learn_all(LAG), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_each_window_comes_once_and_in_order, stop),
        cmocka_unit_test_teardown(test_one_shard_has_all_windows_and_nobody_waits_for_the_others,
                                  stop),
        cmocka_unit_test_teardown(test_a_batch_is_made_of_what_each_shard_has, stop),
        cmocka_unit_test_teardown(
            test_a_shard_that_is_away_holds_nobody_up_and_its_windows_come_later, stop),
        cmocka_unit_test_teardown(test_no_more_batches_are_learned_from_than_of_one_replay, stop),
        cmocka_unit_test_teardown(test_windows_that_are_too_old_are_given_up_wherever_they_are,
                                  stop),
        cmocka_unit_test_teardown(test_no_more_windows_are_taken_than_were_asked_for, stop),
        cmocka_unit_test_teardown(test_what_is_given_up_is_waited_for_again, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
