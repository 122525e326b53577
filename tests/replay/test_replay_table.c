#include "tests/replay/replay_test.h"

#include "common/oct_rng.h"

static test_actor actor; // large: not on the stack

static replay_table *
table_for(const wire_configure *configure)
{
    char reason[256] = "";
    T_OK(replay_config_check(configure, reason, sizeof(reason)));
    test_actor_init(&actor, 3, 30);
    return replay_table_create(configure);
}

static replay_table *
table_of(uint64_t capacity, wire_sampler sampler)
{
    wire_configure configure = test_configure(capacity, sampler);
    return table_for(&configure);
}

static wire_sampled
sample(replay_table *table, uint32_t batch_size)
{
    wire_sampled sampled;
    assert_int_equal(replay_table_may_sample(table, batch_size, 1), 1);
    replay_table_sample(&sampled, table, batch_size, 1);
    test_check_rows(&sampled);
    return sampled;
}

// ---- forbidden

static void
assert_rejected(replay_table *table, const wire_batch *batch, const char *reason)
{
    uint64_t before = replay_table_stats_get(table).rejected;
    uint64_t size = replay_table_stats_get(table).size;
    replay_insert result = test_insert(table, batch);
    assert_int_equal(result.kind, REPLAY_INSERT_REJECTED);
    assert_string_equal(result.reason, reason);
    assert_int_equal(replay_table_stats_get(table).rejected, before + 1);
    assert_int_equal(replay_table_stats_get(table).size, size);
}

static void
test_table_rejects_batches_whose_header_makes_no_sense(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    wire_batch batch = *test_batch_steps(&actor, 4);
    batch.session = 0;
    assert_rejected(table, &batch, "session is 0");
    batch = actor.batch;
    batch.sequence = 0;
    assert_rejected(table, &batch, "sequence is 0");
    batch = actor.batch;
    batch.first_unacked = 2;
    assert_rejected(table, &batch, "first_unacked is not within 1 .. sequence");
    assert_int_equal(replay_table_stats_get(table).sessions, 0);
    replay_table_destroy(table);
}

static void
test_table_rejects_shapes_of_another_table(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    wire_batch batch = *test_batch_steps(&actor, 4);
    batch.obs_bytes = 8;
    assert_rejected(table, &batch, "observations of another size");
    batch = *test_batch_steps(&actor, 4);
    batch.action_bytes = 8;
    assert_rejected(table, &batch, "actions of another size");
    batch = *test_batch_steps(&actor, 4);
    batch.extra_dim = 1;
    assert_rejected(table, &batch, "another extra_dim");
    assert_rejected(table, test_batch_steps(&actor, 101), "more transitions than the table holds");
    batch = *test_batch_begin(&actor, 4);
    batch.obs_first = UINT64_MAX - 2;
    assert_rejected(table, &batch, "obs_first is out of range");
    replay_table_destroy(table);
}

static void
test_table_rejects_numbers_that_are_not_finite_whole(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    (void)test_batch_steps(&actor, 4);
    actor.obs[3][2] = NAN;
    assert_rejected(table, &actor.batch, "an observation is not finite");
    actor.obs[3][2] = 0;
    (void)test_batch_steps(&actor, 4);
    actor.reward[0] = -INFINITY;
    assert_rejected(table, &actor.batch, "a reward or discount is not finite");
    (void)test_batch_steps(&actor, 4);
    actor.discount[3] = NAN;
    assert_rejected(table, &actor.batch, "a reward or discount is not finite");
    (void)test_batch_steps(&actor, 4);
    actor.flags[1] = 4;
    assert_rejected(table, &actor.batch, "unknown flags");
    // The observations of a rejected batch are unknown: the first step of the next is an orphan.
    replay_insert next = test_insert(table, test_batch_steps(&actor, 4));
    assert_int_equal(next.taken, 3);
    assert_int_equal(next.orphaned, 1);
    replay_table_destroy(table);
}

static void
test_table_checks_float_actions_and_extras_only_where_they_are_floats(void **state)
{
    (void)state;
    wire_configure configure = test_configure(100, WIRE_SAMPLER_UNIFORM);
    configure.action_is_float = true;
    configure.extra_dim = 1;
    replay_table *table = table_for(&configure);
    actor.batch.extra_dim = 1;
    (void)test_batch_steps(&actor, 4);
    actor.action[2] = 0x7f800000; // infinity as a float32
    assert_rejected(table, &actor.batch, "an action is not finite");
    (void)test_batch_steps(&actor, 4);
    actor.extra[2] = NAN;
    assert_rejected(table, &actor.batch, "an extra value is not finite");
    replay_table_destroy(table);

    table = table_of(100, WIRE_SAMPLER_UNIFORM); // int actions: any bits
    (void)test_batch_steps(&actor, 4);
    actor.action[2] = 0x7f800000;
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    replay_table_destroy(table);
}

static void
test_table_rejects_observations_sent_twice(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    (void)test_insert(table, test_batch_steps(&actor, 10));
    actor.obs_sent -= 1;
    assert_rejected(table, test_batch_steps(&actor, 4), "observations sent twice");
    replay_table_destroy(table);
}

static void
test_table_orphans_transitions_with_unknown_observations(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    (void)test_insert(table, test_batch_begin(&actor, 4)); // 0 .. 3, no transitions
    (void)test_batch_begin(&actor, 4);                     // 4 .. 7
    test_batch_add(&actor, 3, 4);
    test_batch_add(&actor, 7, 8); // not sent
    test_batch_add(&actor, 2, 9);
    test_batch_add(&actor, 0, 7);
    actor.obs_offset[3] = INT32_MIN;
    test_batch_add(&actor, 0, 7);
    actor.next_offset[4] = INT32_MAX;
    test_batch_add(&actor, 0, 7);
    replay_insert result = test_insert(table, &actor.batch);
    assert_int_equal(result.taken, 2);
    assert_int_equal(result.orphaned, 4);
    assert_int_equal(replay_table_stats_get(table).orphaned, 4);
    wire_sampled sampled = sample(table, 64);
    for (uint32_t i = 0; i < sampled.count; i++) {
        assert_true(sampled.reward[i] == 3 || sampled.reward[i] == 0);
    }
    replay_table_destroy(table);
}

static void
test_table_ignores_bad_and_late_priorities(void **state)
{
    (void)state;
    replay_table *table = table_of(8, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 8));
    (void)test_insert(table, test_batch_steps(&actor, 4)); // keys 0 .. 3 are gone
    uint64_t key[] = {4, 5, 6, 3, 12, UINT64_MAX};
    float priority[] = {NAN, -1, INFINITY, 1e9f, 1e9f, 1e9f};
    wire_priorities bad = {.count = 6, .key = key, .priority = priority};
    replay_table_update(table, &bad);
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.updates_bad, 3);
    assert_int_equal(stats.updates_late, 3);
    assert_int_equal(stats.updates, 0);
    wire_sampled sampled = sample(table, 64);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], 1.0 / 8, 0, 1e-6);
    }
    replay_table_destroy(table);
}

// ---- edges

static void
test_table_of_one_transition_works(void **state)
{
    (void)state;
    replay_table *table = table_of(1, WIRE_SAMPLER_PRIORITIZED);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(test_insert(table, test_batch_steps(&actor, 1)).taken, 1);
        wire_sampled sampled = sample(table, 3);
        assert_int_equal(sampled.key[2], i);
        T_NEAR(sampled.probability[0], 1, 0, 0);
    }
    replay_table_destroy(table);
}

static void
test_table_takes_an_empty_batch(void **state)
{
    (void)state;
    replay_table *table = table_of(10, WIRE_SAMPLER_PRIORITIZED);
    actor.batch.obs = NULL;
    assert_int_equal(test_insert(table, test_batch_begin(&actor, 0)).kind, REPLAY_INSERT_TAKEN);
    assert_int_equal(replay_table_may_sample(table, 1, 1), 0);
    replay_table_destroy(table);
}

static void
test_table_never_samples_what_was_overwritten(void **state)
{
    (void)state;
    static const wire_sampler samplers[] = {WIRE_SAMPLER_UNIFORM, WIRE_SAMPLER_PRIORITIZED};
    for (size_t s = 0; s < OCT_COUNTOF(samplers); s++) {
        replay_table *table = table_of(50, samplers[s]);
        uint64_t sent = 0;
        for (uint32_t round = 0; round < 60; round++) {
            sent += test_insert(table, test_batch_steps(&actor, 1 + round % 17)).taken;
            wire_sampled sampled = sample(table, 100);
            for (uint32_t i = 0; i < sampled.count; i++) {
                assert_true(sampled.key[i] < sent && sampled.key[i] + 50 >= sent);
                T_NEAR(sampled.reward[i], (double)sampled.key[i], 0, 0); // one obs per key here
            }
        }
        replay_table_destroy(table);
    }
}

// Observations without transitions push the oldest observations out; what needs them leaves first.
static void
test_table_evicts_transitions_before_their_observations(void **state)
{
    (void)state;
    replay_table *table = table_of(40, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 40)); // observations 0 .. 40
    (void)test_insert(table, test_batch_begin(&actor, 50)); // 41 .. 90: the ring holds 92
    assert_int_equal(replay_table_stats_get(table).size, 40);
    (void)test_insert(table, test_batch_begin(&actor, 11)); // overwrites 0 .. 9
    assert_int_equal(replay_table_stats_get(table).size, 30);
    assert_true(sample(table, 64).reward[0] >= 10);
    (void)test_insert(table, test_batch_begin(&actor, 92)); // and all the rest
    assert_int_equal(replay_table_stats_get(table).size, 0);
    assert_int_equal(replay_table_may_sample(table, 1, 1), 0);
    assert_true(replay_table_may_insert(table, 1, 1));
    replay_table_destroy(table);
}

static void
test_table_keeps_final_observations_and_references_across_batches(void **state)
{
    (void)state;
    replay_table *table = table_of(64, WIRE_SAMPLER_UNIFORM);
    // Episodes of 3 steps, 2-step returns, cut into batches of 5 observations wherever they fall.
    for (int round = 0; round < 40; round++) {
        (void)test_batch_begin(&actor, 5);
        for (uint64_t at = actor.batch.obs_first; at < actor.obs_sent; at++) {
            uint64_t step = at % 4; // 0 .. 2 and the final observation
            if (step >= 2) {
                test_batch_add(&actor, at - 2, at);
            }
            if (step == 3) {
                test_batch_add(&actor, at - 1, at);
                actor.flags[actor.batch.count - 1] = WIRE_TERMINATED;
            }
        }
        replay_insert result = test_insert(table, &actor.batch);
        assert_int_equal(result.orphaned, 0);
    }
    assert_int_equal(replay_table_stats_get(table).size, 64);
    (void)sample(table, 512);
    replay_table_destroy(table);
}

static void
test_table_gives_credit_while_it_takes_inserts(void **state)
{
    (void)state;
    wire_configure configure = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    configure.min_size = 10;
    configure.samples_per_insert = 1;
    configure.tolerance = 10; // band 200: -90 .. 110
    replay_table *table = table_for(&configure);
    (void)test_insert(table, test_batch_steps(&actor, 10));
    assert_int_equal(replay_table_credit(table, 64), 10);
    assert_int_equal(replay_table_credit(table, 4), 4);
    for (int i = 0; i < 10; i++) {
        (void)test_insert(table, test_batch_steps(&actor, 10));
    }
    assert_int_equal(replay_table_credit(table, 64), 0);
    replay_insert result;
    T_ERR(replay_table_insert(&result, table, test_batch_steps(&actor, 10)), OCT_EAGAIN);
    (void)sample(table, 10);
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    replay_table_destroy(table);
}

// ---- ordinary

static void
test_table_acknowledges_exactly_once(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_UNIFORM);
    replay_insert first = test_insert(table, test_batch_steps(&actor, 5));
    assert_int_equal(first.kind, REPLAY_INSERT_TAKEN);
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_DUPLICATE);
    assert_int_equal(replay_table_session(table, first.session)->sequence, 1);
    actor.batch.sequence = 3;
    assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_GAP);
    assert_int_equal(replay_table_session(table, first.session)->sequence, 1);
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.duplicates, 1);
    assert_int_equal(stats.gaps, 1);
    assert_int_equal(stats.inserts, 5);
    replay_table_destroy(table);
}

static void
test_table_fifo_returns_each_once_in_order(void **state)
{
    (void)state;
    replay_table *table = table_of(20, WIRE_SAMPLER_FIFO);
    uint64_t next = 0;
    uint32_t sent = 0;
    bool is_offered = false;
    while (next < 1000) {
        if (!is_offered) {
            (void)test_batch_steps(&actor, 1 + sent++ % 9);
            is_offered = true;
        }
        replay_insert result;
        oct_err err = replay_table_insert(&result, table, &actor.batch);
        if (err == OCT_OK) {
            assert_int_equal(result.kind, REPLAY_INSERT_TAKEN);
            is_offered = false;
            continue;
        }
        T_ERR(err, OCT_EAGAIN);
        wire_sampled sampled;
        uint32_t batches = replay_table_may_sample(table, 4, 3);
        assert_true(batches >= 2);
        replay_table_sample(&sampled, table, 4, batches);
        test_check_rows(&sampled);
        for (uint32_t i = 0; i < sampled.count; i++) {
            assert_int_equal(sampled.key[i], next);
            T_NEAR(sampled.reward[i], (double)next, 0, 0);
            T_NEAR(sampled.probability[i], 1, 0, 0);
            next++;
        }
    }
    assert_int_equal(replay_table_stats_get(table).overrun, 0);
    replay_table_destroy(table);
}

static void
test_table_fifo_whose_learner_wants_more_than_there_is_takes_inserts(void **state)
{
    (void)state;
    replay_table *table = table_of(20, WIRE_SAMPLER_FIFO);
    (void)test_insert(table, test_batch_steps(&actor, 15));
    (void)test_batch_steps(&actor, 10);
    replay_insert result;
    T_ERR(replay_table_insert(&result, table, &actor.batch), OCT_EAGAIN);
    assert_int_equal(replay_table_may_sample(table, 16, 1), 0); // both would wait for ever
    assert_int_equal(test_insert(table, &actor.batch).taken, 10);
    assert_int_equal(replay_table_stats_get(table).overrun, 5);
    assert_int_equal(replay_table_may_sample(table, 16, 1), 1);
    replay_table_destroy(table);
}

// 5 sigma of a binomial with share 1/size, for every transition.
static void
test_table_uniform_draws_all_alike(void **state)
{
    (void)state;
    enum { SIZE = 60, ROUNDS = 400, BATCH = 500 };
    replay_table *table = table_of(SIZE, WIRE_SAMPLER_UNIFORM);
    for (int i = 0; i < 4; i++) {
        (void)test_insert(table, test_batch_steps(&actor, 25)); // wrapped: keys 40 .. 99
    }
    uint32_t drawn[SIZE] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        wire_sampled sampled = sample(table, BATCH);
        for (uint32_t k = 0; k < sampled.count; k++) {
            drawn[sampled.key[k] - 40]++;
            T_NEAR(sampled.probability[k], 1.0 / SIZE, 0, 1e-6);
        }
    }
    double n = ROUNDS * BATCH, p = 1.0 / SIZE;
    for (int i = 0; i < SIZE; i++) {
        T_NEAR(drawn[i], n * p, 5 * sqrt(n * p * (1 - p)), 0);
    }
    replay_table_destroy(table);
}

static void
test_table_prioritized_draws_by_priority(void **state)
{
    (void)state;
    enum { SIZE = 30, ROUNDS = 400, BATCH = 500 };
    wire_configure configure = test_configure(SIZE, WIRE_SAMPLER_PRIORITIZED);
    configure.priority_exponent = 0.5;
    replay_table *table = table_for(&configure);
    (void)test_insert(table, test_batch_steps(&actor, 20));
    (void)test_insert(table, test_batch_steps(&actor, 20)); // wrapped: keys 10 .. 39
    uint64_t key[SIZE];
    float priority[SIZE];
    double weight[SIZE], total = 0;
    for (int i = 0; i < SIZE; i++) {
        key[i] = 10 + (uint64_t)i;
        priority[i] = (float)(i % 7);
        weight[i] = sqrt(i % 7);
        total += weight[i];
    }
    wire_priorities update = {.count = SIZE, .key = key, .priority = priority};
    replay_table_update(table, &update);
    uint32_t drawn[SIZE] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        wire_sampled sampled = sample(table, BATCH);
        for (uint32_t k = 0; k < sampled.count; k++) {
            uint64_t at = sampled.key[k] - 10;
            drawn[at]++;
            T_NEAR(sampled.probability[k], weight[at] / total, 0, 1e-6);
        }
    }
    for (int i = 0; i < SIZE; i++) {
        double n = ROUNDS * BATCH, p = weight[i] / total;
        T_NEAR(drawn[i], n * p, 5 * sqrt(n * p * (1 - p)), 0);
    }
    replay_table_destroy(table);
}

static void
test_table_new_transitions_get_the_largest_priority(void **state)
{
    (void)state;
    replay_table *table = table_of(100, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 2));
    uint64_t key[] = {0, 1};
    float priority[] = {8, 0.5f};
    wire_priorities update = {.count = 2, .key = key, .priority = priority};
    replay_table_update(table, &update);
    (void)test_insert(table, test_batch_steps(&actor, 1));
    wire_sampled sampled = sample(table, 200);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], (sampled.key[i] == 1 ? 0.5 : 8) / 16.5, 0, 1e-6);
    }
    replay_table_destroy(table);
}

static void
test_table_with_all_priorities_zero_draws_uniformly(void **state)
{
    (void)state;
    replay_table *table = table_of(4, WIRE_SAMPLER_PRIORITIZED);
    (void)test_insert(table, test_batch_steps(&actor, 4));
    uint64_t key[] = {0, 1, 2, 3};
    float priority[] = {0, 0, 0, 0};
    wire_priorities update = {.count = 4, .key = key, .priority = priority};
    replay_table_update(table, &update);
    wire_sampled sampled = sample(table, 64);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.probability[i], 0.25, 0, 0);
        seen |= 1u << sampled.key[i];
    }
    assert_int_equal(seen, 15);
    replay_table_destroy(table);
}

static void
test_table_gives_the_same_samples_for_the_same_seed(void **state)
{
    (void)state;
    uint64_t key[2][64];
    for (int run = 0; run < 2; run++) {
        replay_table *table = table_of(100, WIRE_SAMPLER_PRIORITIZED);
        (void)test_insert(table, test_batch_steps(&actor, 90));
        wire_sampled sampled = sample(table, 64);
        memcpy(key[run], sampled.key, sizeof(key[run]));
        replay_table_destroy(table);
    }
    assert_memory_equal(key[0], key[1], sizeof(key[0]));
}

static void
test_table_sample_reports_sizes_and_extras(void **state)
{
    (void)state;
    wire_configure configure = test_configure(100, WIRE_SAMPLER_UNIFORM);
    configure.extra_dim = 1;
    replay_table *table = table_for(&configure);
    actor.batch.extra_dim = 1;
    (void)test_batch_steps(&actor, 30);
    for (uint32_t i = 0; i < 30; i++) {
        actor.extra[i] = actor.reward[i] * 2;
    }
    (void)test_insert(table, &actor.batch);
    wire_sampled sampled = sample(table, 20);
    assert_true(sampled.configured);
    assert_int_equal(sampled.count, 20);
    assert_int_equal(sampled.size, 30);
    assert_int_equal(sampled.inserts, 30);
    assert_int_equal(sampled.samples, 20);
    for (uint32_t i = 0; i < sampled.count; i++) {
        T_NEAR(sampled.extra[i], 2 * sampled.reward[i], 0, 0);
    }
    replay_table_destroy(table);
}

#define TEST(name) cmocka_unit_test(test_table_##name)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rejects_batches_whose_header_makes_no_sense),
        TEST(rejects_shapes_of_another_table),
        TEST(rejects_numbers_that_are_not_finite_whole),
        TEST(checks_float_actions_and_extras_only_where_they_are_floats),
        TEST(rejects_observations_sent_twice),
        TEST(orphans_transitions_with_unknown_observations),
        TEST(ignores_bad_and_late_priorities),
        TEST(of_one_transition_works),
        TEST(takes_an_empty_batch),
        TEST(never_samples_what_was_overwritten),
        TEST(evicts_transitions_before_their_observations),
        TEST(keeps_final_observations_and_references_across_batches),
        TEST(gives_credit_while_it_takes_inserts),
        TEST(acknowledges_exactly_once),
        TEST(fifo_returns_each_once_in_order),
        TEST(fifo_whose_learner_wants_more_than_there_is_takes_inserts),
        TEST(uniform_draws_all_alike),
        TEST(prioritized_draws_by_priority),
        TEST(new_transitions_get_the_largest_priority),
        TEST(with_all_priorities_zero_draws_uniformly),
        TEST(gives_the_same_samples_for_the_same_seed),
        TEST(sample_reports_sizes_and_extras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
