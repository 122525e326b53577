// The sample of observations for comparing policies: order, conversion, and equal chances for all
// rows.
#include "cli/cli_probe.h"

#include "tests/policy/random_policy.h"

enum { OBS = 3 };

static policy_spec
probe_spec(policy_dtype dtype, bool normalise)
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
    policy_spec spec = probe_spec(POLICY_F32, false);
    cli_probe *probe = cli_probe_create(&spec, 8, 1);
    const float obs[2][5] = {{1, 2, 3, -1, -1}, {4, 5, 6, -1, -1}}; // rows lie apart
    const float want[] = {1, 2, 3, 4, 5, 6};
    cli_probe_add(probe, obs, sizeof(obs[0]), 2);
    assert_int_equal(cli_probe_count(probe), 2);
    assert_memory_equal(cli_probe_rows(probe), want, sizeof(want));
    cli_probe_destroy(probe);
}

static void
test_bytes_become_numbers(void **state)
{
    (void)state;
    policy_spec spec = probe_spec(POLICY_U8, false);
    cli_probe *probe = cli_probe_create(&spec, 1, 1);
    const uint8_t obs[OBS] = {0, 128, 255};
    const float want[] = {0, 128, 255};
    cli_probe_add(probe, obs, OBS, 1);
    assert_memory_equal(cli_probe_rows(probe), want, sizeof(want));
    cli_probe_destroy(probe);
}

static void
test_rows_that_are_not_finite_are_passed_over(void **state)
{
    (void)state;
    policy_spec spec = probe_spec(POLICY_F32, false);
    cli_probe *probe = cli_probe_create(&spec, 8, 1);
    const float obs[3][OBS] = {{0, NAN, 0}, {INFINITY, 0, 0}, {7, 8, 9}};
    cli_probe_add(probe, obs, sizeof(obs[0]), 3);
    assert_int_equal(cli_probe_count(probe), 1);
    assert_true(cli_probe_rows(probe)[0] == 7);
    cli_probe_destroy(probe);
}

// 100 of 10,000 rows: the mean of their numbers is that of all within 5 deviations.
static void
test_every_row_has_the_same_chance(void **state)
{
    (void)state;
    enum { ROWS = 100, SEEN = 10000 };
    policy_spec spec = probe_spec(POLICY_F32, false);
    cli_probe *probe = cli_probe_create(&spec, ROWS, 3);
    for (int i = 0; i < SEEN; i++) {
        const float obs[OBS] = {(float)i};
        cli_probe_add(probe, obs, sizeof(obs), 1);
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        sum += (double)cli_probe_rows(probe)[i * OBS];
    }
    assert_int_equal(cli_probe_count(probe), ROWS);
    double deviation = SEEN / sqrt(12.0) / sqrt(ROWS);
    T_NEAR(sum / ROWS, SEEN / 2.0, 5 * deviation, 0);
    cli_probe_destroy(probe);
}

static void
test_random_rows_follow_the_normalisation(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec = probe_spec(POLICY_F32, true);
    policy_image *image = random_image(&spec, POLICY_FP32, false, &rng);
    const float mean[OBS] = {5, -3, 0}, deviation[OBS] = {0.5f, 2, 1};
    for (int i = 0; i < OBS; i++) {
        image->obs_mean[i] = mean[i];
        image->obs_inverse_std[i] = 1 / deviation[i];
    }
    cli_probe *probe = cli_probe_create(&spec, ROWS, 3);
    cli_probe_fill(probe, image);
    assert_int_equal(cli_probe_count(probe), ROWS);
    for (int i = 0; i < OBS; i++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < ROWS; r++) {
            double x = (double)cli_probe_rows(probe)[r * OBS + i] - (double)mean[i];
            sum += x;
            squares += x * x;
        }
        T_NEAR(sum / ROWS, 0, 5 * (double)deviation[i] / sqrt(ROWS), 0);
        T_NEAR(sqrt(squares / ROWS), deviation[i], 0, 5 / sqrt(2.0 * ROWS));
    }
    cli_probe_destroy(probe);
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
