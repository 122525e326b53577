// The rate limiter follows a table of cases, keeps its ratio, and never blocks both sides.
#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "replay/replay_limiter.h"

static replay_limiter
limiter_at(uint64_t min_size, double ratio, double tolerance, uint64_t inserts, uint64_t samples)
{
    replay_limiter limiter;
    replay_limiter_spec spec = {min_size, ratio, tolerance};
    replay_limiter_init(&limiter, &spec);
    (void)replay_limiter_fit(&limiter, 1, 1);
    replay_limiter_inserted(&limiter, inserts);
    replay_limiter_sampled(&limiter, samples);
    return limiter;
}

// min_size 100, 4 samples per insert, tolerance 0.5: the balance is held in 400 -+ 200.
static void
test_limiter_follows_the_table_of_cases(void **state)
{
    (void)state;
    static const struct {
        uint64_t inserts, samples;
        uint32_t insert_count, sample_count;
        bool may_insert, may_sample;
    } cases[] = {
        {0, 0, 1, 1, true, false},        // empty
        {99, 0, 1, 1, true, false},       // one short of min_size
        {99, 0, 1000, 1, true, false},    // warm-up takes any chunk
        {100, 0, 1, 1, true, true},       // in the middle
        {100, 0, 50, 200, true, true},    // exactly to both edges
        {100, 0, 51, 201, false, false},  // one beyond each
        {150, 0, 1, 1, false, true},      // balance 600: the upper edge
        {100, 200, 1, 1, true, false},    // balance 200: the lower edge
        {100, 199, 1, 1, true, true},     // 201
        {1000, 3600, 50, 200, true, true} // far on, in the middle again
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        replay_limiter limiter = limiter_at(100, 4, 0.5, cases[i].inserts, cases[i].samples);
        assert_int_equal(replay_limiter_may_insert(&limiter, cases[i].insert_count),
                         cases[i].may_insert);
        assert_int_equal(replay_limiter_may_sample(&limiter, cases[i].sample_count, 1),
                         cases[i].may_sample);
    }
}

static void
test_limiter_gives_as_many_batches_as_the_balance_holds(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(100, 4, 0.5, 100, 0); // 200 samples above the lower edge
    assert_int_equal(replay_limiter_may_sample(&limiter, 64, 8), 3);
    assert_int_equal(replay_limiter_may_sample(&limiter, 64, 2), 2);
    assert_int_equal(replay_limiter_may_sample(&limiter, 200, 8), 1);
}

static void
test_limiter_without_a_ratio_has_only_min_size(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(10, 0, 0, 9, 0);
    assert_int_equal(replay_limiter_may_sample(&limiter, 1, 1), 0);
    replay_limiter_inserted(&limiter, 1);
    replay_limiter_sampled(&limiter, 1000000);
    assert_int_equal(replay_limiter_may_sample(&limiter, 256, 5), 5);
    assert_true(replay_limiter_may_insert(&limiter, UINT32_MAX));
}

static void
test_limiter_widens_a_band_that_could_block_both(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(100, 4, 0, 100, 0); // no band at all
    assert_true(replay_limiter_fit(&limiter, 64, 0));
    assert_true(replay_limiter_fit(&limiter, 0, 256));
    assert_false(replay_limiter_fit(&limiter, 64, 256));
    assert_true(limiter.is_widened);
    assert_true(limiter.balance_max - limiter.balance_min >= 64 * 4 + 256);
    T_NEAR(limiter.balance_max + limiter.balance_min, 2 * 400, 1e-9, 0);
}

static void
test_limiter_that_is_wide_enough_is_not_widened(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(1000, 8, 0.1, 0, 0); // 1600 wide
    assert_false(replay_limiter_fit(&limiter, 64, 256));
    assert_false(limiter.is_widened);
}

// The proof by trial: whatever sizes are asked for, in whatever order, one side may go on.
static void
test_limiter_never_blocks_both_sides(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 11, 0);
    for (int round = 0; round < 200; round++) {
        double ratio = 0.01 * oct_rng_below(&rng, 3000);
        replay_limiter limiter =
            limiter_at(1 + oct_rng_below(&rng, 2000), ratio, oct_rng_double(&rng) * 0.2, 0, 0);
        uint32_t insert_max = 1 + oct_rng_below(&rng, 3000);
        uint32_t sample_max = 1 + oct_rng_below(&rng, 3000);
        for (int step = 0; step < 300; step++) {
            uint32_t inserts = 1 + oct_rng_below(&rng, insert_max);
            uint32_t samples = 1 + oct_rng_below(&rng, sample_max);
            (void)replay_limiter_fit(&limiter, inserts, samples);
            bool may_insert = replay_limiter_may_insert(&limiter, inserts);
            bool may_sample = replay_limiter_may_sample(&limiter, samples, 1) > 0;
            assert_true(may_insert || may_sample);
            if (may_insert && (!may_sample || oct_rng_below(&rng, 2))) {
                replay_limiter_inserted(&limiter, inserts);
            } else {
                replay_limiter_sampled(&limiter, samples);
            }
        }
    }
}

static void
test_limiter_keeps_the_ratio_in_the_long_run(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(1000, 4, 0.1, 0, 0);
    for (int step = 0; step < 100000; step++) { // inserts as fast as it may, samples after
        if (replay_limiter_may_insert(&limiter, 16)) {
            replay_limiter_inserted(&limiter, 16);
        } else if (replay_limiter_may_sample(&limiter, 64, 1)) {
            replay_limiter_sampled(&limiter, 64);
        }
    }
    double late = (double)limiter.inserts - 1000; // the warm-up is not sampled for
    T_NEAR((double)limiter.samples / late, 4, 0, 0.01);
}

static void
test_limiter_set_in_mid_run_does_not_charge_for_the_past(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(100, 8, 0.5, 1000000, 7200100 + 800000);
    replay_limiter_spec slower = {100, 2, 0.5};
    assert_int_equal(replay_limiter_may_sample(&limiter, 1, 1), 0); // at the lower edge
    replay_limiter_set(&limiter, &slower);
    assert_true(replay_limiter_may_insert(&limiter, 1));
    assert_int_equal(replay_limiter_may_sample(&limiter, 1, 1), 0);
    replay_limiter_inserted(&limiter, 200); // 400 samples' worth: the whole way back and more
    assert_true(replay_limiter_may_sample(&limiter, 1, 1000) > 100);
}

static void
test_limiter_set_before_the_warm_up_ends_reaches_the_middle(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(100, 1, 0.5, 60, 0);
    replay_limiter_spec spec = {200, 4, 0.5};
    replay_limiter_set(&limiter, &spec);
    replay_limiter_inserted(&limiter, 140);
    T_NEAR(replay_limiter_balance(&limiter), 800, 1e-9, 0);
}

// Windows that were there already count for min_size, and allow no samples.
static void
test_limiter_takes_what_was_found_without_a_debt(void **state)
{
    (void)state;
    replay_limiter limiter = limiter_at(100, 4, 0.5, 90, 0);
    double balance = replay_limiter_balance(&limiter);
    assert_int_equal(replay_limiter_may_sample(&limiter, 1, 1), 0);
    replay_limiter_found(&limiter, 1000);
    assert_int_equal(limiter.inserts, 1090);
    T_NEAR(replay_limiter_balance(&limiter), balance, 1e-9, 0);
    assert_int_equal(replay_limiter_may_sample(&limiter, 1, 1000), 160); // 360 down to 200
}

static void
test_limiter_explains_who_waits(void **state)
{
    (void)state;
    char text[256];
    replay_limiter limiter = limiter_at(100, 4, 0.5, 60, 0);
    replay_limiter_explain_sample(&limiter, text, sizeof(text));
    assert_non_null(strstr(text, "60 of the first 100"));
    replay_limiter_inserted(&limiter, 90);
    replay_limiter_explain_insert(&limiter, text, sizeof(text));
    assert_non_null(strstr(text, "inserts wait for samples: "));
    assert_non_null(strstr(text, "at most 600"));
}

// What was drawn for nothing is drawn again before more is inserted.
static void
test_limiter_returned_samples_come_first(void **state)
{
    (void)state;
    const replay_limiter_spec spec = {.min_size = 10, .samples_per_insert = 2, .tolerance = 0.5};
    replay_limiter limiter;
    replay_limiter_init(&limiter, &spec);
    (void)replay_limiter_fit(&limiter, 1, 4);
    replay_limiter_inserted(&limiter, 100);
    while (replay_limiter_may_sample(&limiter, 4, 1) > 0) {
        replay_limiter_sampled(&limiter, 4);
    }
    uint64_t drawn = limiter.samples;
    assert_true(replay_limiter_may_insert(&limiter, 1));
    replay_limiter_returned(&limiter, 80);
    assert_false(replay_limiter_may_insert(&limiter, 1));
    uint32_t again = 0;
    for (; replay_limiter_may_sample(&limiter, 4, 1) > 0; again++) {
        replay_limiter_sampled(&limiter, 4);
    }
    assert_int_equal(again, 80 / 4);
    assert_int_equal(limiter.samples, drawn);
    assert_true(replay_limiter_may_insert(&limiter, 1));
}

// Of several tables each has its own counters, and what is allowed follows from all: as one limiter
// would with their sums, whatever the single ones have.
static void
test_limiters_that_are_joined_do_as_one(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 9, 1);
    for (uint32_t round = 0; round < 2000; round++) {
        uint64_t inserts[3], samples[3], all_inserts = 0, all_samples = 0;
        replay_limiter part[3];
        for (int i = 0; i < 3; i++) {
            all_inserts += inserts[i] = oct_rng_below(&rng, 90);
            all_samples += samples[i] = oct_rng_below(&rng, 400);
            part[i] = limiter_at(100, 4, 0.5, inserts[i], samples[i]);
        }
        replay_limiter one = limiter_at(100, 4, 0.5, all_inserts, all_samples);
        for (int i = 0; i < 3; i++) {
            wire_others others = {.inserts = all_inserts - inserts[i],
                                  .samples = all_samples - samples[i]};
            for (int k = 0; k < 3; k++) {
                others.balance += k != i ? replay_limiter_balance(&part[k]) : 0;
            }
            replay_limiter joined = replay_limiter_joined(&part[i], &others);
            T_NEAR(replay_limiter_balance(&joined), replay_limiter_balance(&one), 1e-9, 0);
            uint32_t count = 1 + oct_rng_below(&rng, 60);
            assert_int_equal(replay_limiter_may_insert(&joined, count),
                             replay_limiter_may_insert(&one, count));
            assert_int_equal(replay_limiter_may_sample(&joined, count, 9),
                             replay_limiter_may_sample(&one, count, 9));
        }
    }
}

// Other numbers in mid-run: the balance of all keeps its distance from the middle.
static void
test_limiter_set_among_others_keeps_the_distance_of_all(void **state)
{
    (void)state;
    replay_limiter own = limiter_at(100, 4, 0.5, 5000, 1000); // far above on its own
    const wire_others others = {700, 300, 400 + 50 - replay_limiter_balance(&own), 50, 90};
    const replay_limiter_spec spec = {.min_size = 100, .samples_per_insert = 8, .tolerance = 0.5};
    replay_limiter_set_joined(&own, &spec, &others, 1);
    replay_limiter joined = replay_limiter_joined(&own, &others);
    T_NEAR(replay_limiter_balance(&joined), 800 + 50, 1e-6, 0); // 50 above the middle, as before
    assert_int_equal(own.inserts, 5000);
    assert_int_equal(own.samples, 1000);
    assert_int_equal(own.insert_chunk, 1);
    assert_int_equal(own.sample_chunk, 1);
}

enum { TABLES = 3 };

static wire_others
others_of(const replay_limiter table[TABLES], int own)
{
    wire_others others = {0};
    for (int i = 0; i < TABLES; i++) {
        if (i != own) {
            others.inserts += table[i].inserts;
            others.samples += table[i].samples;
            others.balance += replay_limiter_balance(&table[i]);
        }
    }
    return others;
}

// Other numbers for all tables at once, of which each counts with what it last heard of the others,
// and then with what they have: the balance of all is that of one limiter with the sums, whatever
// the single ones have.
static void
test_limiters_that_are_set_together_make_one_change(void **state)
{
    (void)state;
    static const struct {
        replay_limiter_spec was, now;
        uint64_t inserts[TABLES], samples[TABLES];
    } cases[] = {
        {{2000, 32, 0.1}, {2000, 1, 0.1}, {90000, 10000, 0}, {1000000, 1000000, 1136000}},
        {{2000, 1, 0.1}, {2000, 32, 0.1}, {90000, 10000, 0}, {1000, 90000, 7000}},
        {{2000, 4, 0.1}, {5000, 4, 0.1}, {90000, 10000, 0}, {0, 0, 392000}},
        {{2000, 4, 0.5}, {2000, 4, 0.01}, {90000, 10000, 0}, {100000, 200000, 90000}},
        {{2000, 0, 0.1}, {2000, 4, 0.1}, {90000, 10000, 0}, {5000000, 3000000, 1000000}},
        {{2000, 4, 0.1}, {2000, 0, 0.1}, {90000, 10000, 0}, {100000, 200000, 92000}},
        {{2000, 4, 0.1}, {2000, 32, 0.1}, {500, 1000, 0}, {0, 0, 0}},          // warm-up
        {{2000, 4, 0.1}, {200000, 8, 0.1}, {90000, 10000, 0}, {0, 0, 392000}}, // and again
    };
    for (size_t i = 0; i < 2 * OCT_COUNTOF(cases); i++) {
        const replay_limiter_spec was = cases[i / 2].was, now = cases[i / 2].now;
        uint64_t inserts = 0, samples = 0, late = i % 2 == 0 ? 0 : 10; // stale by so many
        replay_limiter table[TABLES];
        wire_others heard[TABLES];
        for (int t = 0; t < TABLES; t++) {
            inserts += cases[i / 2].inserts[t];
            samples += cases[i / 2].samples[t];
            table[t] = limiter_at(was.min_size, was.samples_per_insert, was.tolerance,
                                  cases[i / 2].inserts[t], cases[i / 2].samples[t]);
        }
        for (int t = 0; t < TABLES; t++) {
            heard[t] = others_of(table, t);
        }
        for (int t = 0; t < TABLES; t++) {
            replay_limiter_inserted(&table[t], late);
        }
        replay_limiter one = limiter_at(was.min_size, was.samples_per_insert, was.tolerance,
                                        inserts + TABLES * late, samples);
        replay_limiter_set(&one, &now);
        for (int t = 0; t < TABLES; t++) {
            replay_limiter_set_joined(&table[t], &now, &heard[t], TABLES);
        }
        double near = (double)(TABLES * late) * (was.samples_per_insert + now.samples_per_insert);
        for (int t = 0; t < TABLES; t++) {
            const wire_others others = others_of(table, t);
            replay_limiter joined = replay_limiter_joined(&table[t], &others);
            T_NEAR(replay_limiter_balance(&joined), replay_limiter_balance(&one), near + 1e-6, 0);
        }
    }
}

// The band holds the largest insert and sample of any table, and so is the same in all.
static void
test_limiters_that_are_joined_have_one_band(void **state)
{
    (void)state;
    replay_limiter small = limiter_at(100, 8, 0.1, 50, 0), large = limiter_at(100, 8, 0.1, 50, 0);
    (void)replay_limiter_fit(&small, 4, 128);
    (void)replay_limiter_fit(&large, 500, 64);
    const wire_others of_small = {.insert_chunk = 500, .sample_chunk = 64};
    const wire_others of_large = {.insert_chunk = 4, .sample_chunk = 128};
    replay_limiter a = replay_limiter_joined(&small, &of_small);
    replay_limiter b = replay_limiter_joined(&large, &of_large);
    T_NEAR(a.balance_max - a.balance_min, 500 * 8 + 128 + 1, 0, 0);
    T_NEAR(b.balance_max - b.balance_min, 500 * 8 + 128 + 1, 0, 0);
    assert_int_equal(small.insert_chunk, 4); // what it has itself stays
}

// Both counters of the line that says why one waits are of all tables.
static void
test_limiters_that_are_joined_explain_with_the_counters_of_all(void **state)
{
    (void)state;
    char text[256];
    replay_limiter own = limiter_at(100, 4, 0.5, 200, 100);
    const wire_others others = {.inserts = 30, .samples = 7, .balance = 30 * 4 - 7};
    replay_limiter joined = replay_limiter_joined(&own, &others);
    replay_limiter_explain_insert(&joined, text, sizeof(text));
    assert_non_null(strstr(text, "107 samples of 230 inserts"));
    replay_limiter_explain_sample(&joined, text, sizeof(text));
    assert_non_null(strstr(text, "107 samples of 230 inserts"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limiter_follows_the_table_of_cases),
        cmocka_unit_test(test_limiter_gives_as_many_batches_as_the_balance_holds),
        cmocka_unit_test(test_limiter_without_a_ratio_has_only_min_size),
        cmocka_unit_test(test_limiter_widens_a_band_that_could_block_both),
        cmocka_unit_test(test_limiter_that_is_wide_enough_is_not_widened),
        cmocka_unit_test(test_limiter_never_blocks_both_sides),
        cmocka_unit_test(test_limiter_keeps_the_ratio_in_the_long_run),
        cmocka_unit_test(test_limiter_set_in_mid_run_does_not_charge_for_the_past),
        cmocka_unit_test(test_limiter_set_before_the_warm_up_ends_reaches_the_middle),
        cmocka_unit_test(test_limiter_takes_what_was_found_without_a_debt),
        cmocka_unit_test(test_limiter_explains_who_waits),
        cmocka_unit_test(test_limiter_returned_samples_come_first),
        cmocka_unit_test(test_limiters_that_are_joined_do_as_one),
        cmocka_unit_test(test_limiter_set_among_others_keeps_the_distance_of_all),
        cmocka_unit_test(test_limiters_that_are_set_together_make_one_change),
        cmocka_unit_test(test_limiters_that_are_joined_have_one_band),
        cmocka_unit_test(test_limiters_that_are_joined_explain_with_the_counters_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
