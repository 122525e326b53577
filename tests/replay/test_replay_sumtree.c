// The sum tree finds leaves in proportion to their weights, and its rounding error does not grow.
#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "replay/replay_sumtree.h"

static const uint32_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000, 4097};

static void
test_sumtree_never_finds_a_leaf_of_weight_zero(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    replay_sumtree *tree = replay_sumtree_create(1000, NULL);
    replay_sumtree_set(tree, 17, 1e-300);
    replay_sumtree_set(tree, 500, 1e200);
    for (int i = 0; i < 2000; i++) {
        double share = i == 0 ? 0 : i == 1 ? 1 - 0x1p-53 : oct_rng_double(&rng);
        uint32_t leaf;
        replay_sumtree_find(tree, 1, &share, &leaf);
        assert_true(leaf == 17 || leaf == 500);
    }
    replay_sumtree_destroy(tree);
}

// Where the last leaves weigh nothing, rounding may leave a share beyond all that do.
static void
test_sumtree_share_next_to_one_finds_a_leaf_with_weight(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    for (int round = 0; round < 20000; round++) {
        uint32_t n = 2 + oct_rng_below(&rng, 30);
        replay_sumtree *tree = replay_sumtree_create(n, NULL);
        uint32_t weighing = 1 + oct_rng_below(&rng, n);
        for (uint32_t i = 0; i < weighing; i++) {
            replay_sumtree_set(tree, i, oct_rng_double(&rng) + 1e-6);
        }
        double share = 1 - 0x1p-53;
        uint32_t leaf;
        replay_sumtree_find(tree, 1, &share, &leaf);
        assert_true(leaf < weighing);
        replay_sumtree_destroy(tree);
    }
}

static void
test_sumtree_total_equals_sum_of_leaves(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        uint32_t n = sizes[s];
        replay_sumtree *tree = replay_sumtree_create(n, NULL);
        for (int step = 0; step < 200; step++) {
            uint32_t leaf = oct_rng_below(&rng, n);
            if (oct_rng_below(&rng, 4) == 0) {
                replay_sumtree_set_range(tree, leaf, oct_rng_below(&rng, n - leaf + 1),
                                         oct_rng_double(&rng));
            } else {
                replay_sumtree_set(tree, leaf, oct_rng_double(&rng) * 10);
            }
            double sum = 0;
            for (uint32_t i = 0; i < n; i++) {
                sum += replay_sumtree_get(tree, i);
            }
            T_NEAR(replay_sumtree_total(tree), sum, 0, 1e-12); // the two orders of summation
        }
        replay_sumtree_destroy(tree);
    }
}

// Why there is nothing to rebuild: after any number of changes of any sizes the tree is the one
// that the leaves alone give.
static void
test_sumtree_error_does_not_grow_with_updates(void **state)
{
    (void)state;
    enum { N = 777 };
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    replay_sumtree *used = replay_sumtree_create(N, NULL);
    for (int step = 0; step < 200000; step++) {
        double weight = pow(10, 24 * oct_rng_double(&rng) - 12);
        replay_sumtree_set(used, oct_rng_below(&rng, N), weight);
    }
    replay_sumtree *fresh = replay_sumtree_create(N, NULL);
    for (uint32_t i = 0; i < N; i++) {
        double weight = 1e-3 * i;
        replay_sumtree_set(used, i, weight);
        replay_sumtree_set(fresh, i, weight);
    }
    assert_true(replay_sumtree_total(used) == replay_sumtree_total(fresh));
    replay_sumtree_destroy(used);
    replay_sumtree_destroy(fresh);
}

// However many leaves were changed since the sums were last needed: few, all, or some twice.
static void
test_sumtree_sums_are_those_of_the_leaves_after_any_number_of_changes(void **state)
{
    (void)state;
    enum { N = 40000 };
    static const uint32_t changes[] = {1, 7, 100, 3000, 5000, 60000};
    static double weight[N];
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    replay_sumtree *used = replay_sumtree_create(N, NULL);
    for (size_t c = 0; c < 3 * OCT_COUNTOF(changes); c++) {
        for (uint32_t i = 0; i < changes[c % OCT_COUNTOF(changes)]; i++) {
            uint32_t leaf = oct_rng_below(&rng, N);
            weight[leaf] = oct_rng_double(&rng);
            replay_sumtree_set(used, leaf, weight[leaf]);
        }
        replay_sumtree *fresh = replay_sumtree_create(N, NULL);
        for (uint32_t i = 0; i < N; i++) {
            replay_sumtree_set(fresh, i, weight[i]);
        }
        assert_true(replay_sumtree_total(used) == replay_sumtree_total(fresh));
        for (uint32_t i = 0; i < 100; i++) {
            double share = oct_rng_double(&rng);
            uint32_t found, expected;
            replay_sumtree_find(used, 1, &share, &found);
            replay_sumtree_find(fresh, 1, &share, &expected);
            assert_int_equal(found, expected);
        }
        replay_sumtree_destroy(fresh);
    }
    replay_sumtree_destroy(used);
}

static void
test_sumtree_find_sees_what_was_set_just_before(void **state)
{
    (void)state;
    replay_sumtree *tree = replay_sumtree_create(5000, NULL);
    for (uint32_t leaf = 0; leaf < 5000; leaf += 37) {
        double share = 0.5;
        uint32_t found;
        replay_sumtree_set_range(tree, 0, 5000, 0);
        replay_sumtree_set(tree, leaf, 1);
        replay_sumtree_find(tree, 1, &share, &found);
        assert_int_equal(found, leaf);
    }
    replay_sumtree_destroy(tree);
}

static void
test_sumtree_set_range_equals_single_sets(void **state)
{
    (void)state;
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        uint32_t n = sizes[s];
        for (uint32_t first = 0; first < n; first += 1 + n / 7) {
            replay_sumtree *ranged = replay_sumtree_create(n, NULL);
            replay_sumtree *single = replay_sumtree_create(n, NULL);
            uint32_t count = (n - first + 1) / 2;
            replay_sumtree_set_range(ranged, first, count, 0.3);
            for (uint32_t i = 0; i < count; i++) {
                replay_sumtree_set(single, first + i, 0.3);
            }
            assert_true(replay_sumtree_total(ranged) == replay_sumtree_total(single));
            replay_sumtree_destroy(ranged);
            replay_sumtree_destroy(single);
        }
    }
}

// 5 sigma of a binomial with the leaf's share, for every leaf.
static void
test_sumtree_finds_in_proportion_to_weight(void **state)
{
    (void)state;
    enum { N = 37, DRAWS = 200000 };
    static double share[DRAWS];
    static uint32_t leaf[DRAWS];
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    replay_sumtree *tree = replay_sumtree_create(N, NULL);
    for (uint32_t i = 0; i < N; i++) {
        replay_sumtree_set(tree, i, i % 5);
    }
    uint32_t found[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        share[i] = oct_rng_double(&rng);
    }
    replay_sumtree_find(tree, DRAWS, share, leaf);
    for (int i = 0; i < DRAWS; i++) {
        found[leaf[i]]++;
    }
    for (uint32_t i = 0; i < N; i++) {
        double p = (i % 5) / replay_sumtree_total(tree);
        T_NEAR(found[i], DRAWS * p, 5 * sqrt(DRAWS * p * (1 - p)), 0);
    }
    replay_sumtree_destroy(tree);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sumtree_never_finds_a_leaf_of_weight_zero),
        cmocka_unit_test(test_sumtree_share_next_to_one_finds_a_leaf_with_weight),
        cmocka_unit_test(test_sumtree_total_equals_sum_of_leaves),
        cmocka_unit_test(test_sumtree_error_does_not_grow_with_updates),
        cmocka_unit_test(test_sumtree_sums_are_those_of_the_leaves_after_any_number_of_changes),
        cmocka_unit_test(test_sumtree_find_sees_what_was_set_just_before),
        cmocka_unit_test(test_sumtree_set_range_equals_single_sets),
        cmocka_unit_test(test_sumtree_finds_in_proportion_to_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
