// The sample of observations: order, conversion, and the same probability for every row.
#include "quantizer/quantizer_reservoir.h"

#include "tests/policy/random_policy.h"

enum { OBS = 3 };

static policy_spec
spec_of(policy_dtype dtype, bool normalise)
{
    const uint32_t widths[] = {OBS, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.obs_dtype = dtype;
    spec.normalise = normalise;
    return spec;
}

static void
test_rows_are_kept_in_order_while_there_is_room(void **state)
{
    (void)state;
    policy_spec spec = spec_of(POLICY_F32, false);
    quantizer_reservoir *reservoir = quantizer_reservoir_create(&spec, 8, 1);
    const float obs[2][5] = {{1, 2, 3, -1, -1}, {4, 5, 6, -1, -1}}; // rows lie apart
    const float want[] = {1, 2, 3, 4, 5, 6};
    quantizer_reservoir_add(reservoir, obs, sizeof(obs[0]), 2);
    assert_int_equal(quantizer_reservoir_count(reservoir), 2);
    assert_memory_equal(quantizer_reservoir_rows(reservoir), want, sizeof(want));
    quantizer_reservoir_destroy(reservoir);
}

static void
test_bytes_become_numbers(void **state)
{
    (void)state;
    policy_spec spec = spec_of(POLICY_U8, false);
    quantizer_reservoir *reservoir = quantizer_reservoir_create(&spec, 1, 1);
    const uint8_t obs[OBS] = {0, 128, 255};
    const float want[] = {0, 128, 255};
    quantizer_reservoir_add(reservoir, obs, OBS, 1);
    assert_memory_equal(quantizer_reservoir_rows(reservoir), want, sizeof(want));
    quantizer_reservoir_destroy(reservoir);
}

static void
test_rows_that_are_not_finite_are_passed_over(void **state)
{
    (void)state;
    policy_spec spec = spec_of(POLICY_F32, false);
    quantizer_reservoir *reservoir = quantizer_reservoir_create(&spec, 8, 1);
    const float obs[3][OBS] = {{0, NAN, 0}, {INFINITY, 0, 0}, {7, 8, 9}};
    quantizer_reservoir_add(reservoir, obs, sizeof(obs[0]), 3);
    assert_int_equal(quantizer_reservoir_count(reservoir), 1);
    assert_true(quantizer_reservoir_rows(reservoir)[0] == 7);
    quantizer_reservoir_destroy(reservoir);
}

// 100 of 10,000 rows: the mean of their numbers is that of all within 5 deviations.
static void
test_every_row_has_the_same_chance(void **state)
{
    (void)state;
    enum { ROWS = 100, SEEN = 10000 };
    policy_spec spec = spec_of(POLICY_F32, false);
    quantizer_reservoir *reservoir = quantizer_reservoir_create(&spec, ROWS, 3);
    for (int i = 0; i < SEEN; i++) {
        const float obs[OBS] = {(float)i};
        quantizer_reservoir_add(reservoir, obs, sizeof(obs), 1);
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        sum += (double)quantizer_reservoir_rows(reservoir)[i * OBS];
    }
    assert_int_equal(quantizer_reservoir_count(reservoir), ROWS);
    double deviation = SEEN / sqrt(12.0) / sqrt(ROWS);
    T_NEAR(sum / ROWS, SEEN / 2.0, 5 * deviation, 0);
    quantizer_reservoir_destroy(reservoir);
}

static void
test_random_rows_follow_the_normalisation(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec = spec_of(POLICY_F32, true);
    policy_image *image = random_image(&spec, POLICY_FP32, false, &rng);
    const float mean[OBS] = {5, -3, 0}, deviation[OBS] = {0.5f, 2, 1};
    for (int i = 0; i < OBS; i++) {
        image->obs_mean[i] = mean[i];
        image->obs_inverse_std[i] = 1 / deviation[i];
    }
    quantizer_reservoir *reservoir = quantizer_reservoir_create(&spec, ROWS, 3);
    quantizer_reservoir_fill(reservoir, image);
    assert_int_equal(quantizer_reservoir_count(reservoir), ROWS);
    for (int i = 0; i < OBS; i++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < ROWS; r++) {
            double x = (double)quantizer_reservoir_rows(reservoir)[r * OBS + i] - (double)mean[i];
            sum += x;
            squares += x * x;
        }
        T_NEAR(sum / ROWS, 0, 5 * (double)deviation[i] / sqrt(ROWS), 0);
        T_NEAR(sqrt(squares / ROWS), deviation[i], 0, 5 / sqrt(2.0 * ROWS));
    }
    quantizer_reservoir_destroy(reservoir);
    policy_image_destroy(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_kept_in_order_while_there_is_room),
        cmocka_unit_test(test_bytes_become_numbers),
        cmocka_unit_test(test_rows_that_are_not_finite_are_passed_over),
        cmocka_unit_test(test_every_row_has_the_same_chance),
        cmocka_unit_test(test_random_rows_follow_the_normalisation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
