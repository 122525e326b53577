// Running statistics of observations against those computed from all rows at once, and the scaling
// derived from them.
#include "quantizer/quantizer_observed.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

#define COUNT 5

static float *
rows_make(uint32_t rows, uint64_t seed)
{
    static const float mean[COUNT] = {0.0f, 1000.0f, -3.0f, 7.0f, 1e-3f};
    static const float deviation[COUNT] = {1.0f, 0.25f, 30.0f, 0.0f, 0.03f};
    oct_rng rng;
    oct_rng_init(&rng, seed, 0);
    float *obs = oct_alloc((size_t)rows * COUNT * sizeof(float));
    for (size_t i = 0; i < (size_t)rows * COUNT; i++) {
        obs[i] = mean[i % COUNT] + deviation[i % COUNT] * oct_rng_normal(&rng);
    }
    return obs;
}

static quantizer_observed *
observed_of(const float *obs, uint32_t rows, uint32_t batch)
{
    quantizer_observed *observed = quantizer_observed_create(COUNT);
    for (uint32_t r = 0; r < rows; r += batch) {
        quantizer_observed_add(observed, obs + (size_t)r * COUNT, OCT_MIN(batch, rows - r));
    }
    return observed;
}

static void
test_nothing_is_scaled_before_enough_was_seen(void **state)
{
    (void)state;
    float *obs = rows_make(QUANTIZER_OBSERVED_LEAST, 1);
    quantizer_observed *observed = observed_of(obs, QUANTIZER_OBSERVED_LEAST - 1, 64);
    assert_false(quantizer_observed_renew(observed));
    quantizer_scaling scaling = quantizer_observed_scaling(observed);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(scaling.mean[i] == 0.0f && scaling.deviation[i] == 1.0f);
    }
    quantizer_observed_add(observed, obs, 1);
    assert_true(quantizer_observed_renew(observed));
    quantizer_observed_destroy(observed);
    quantizer_observed_destroy(NULL);
    free(obs);
}

// Whatever the batches, the scaling is that of all rows: their mean, and the power of two that is
// next to their deviation.
static void
test_batches_merge_into_the_statistics_of_all_rows(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static const uint32_t batches[] = {1, 7, 64, ROWS};
    float *obs = rows_make(ROWS, 2);
    for (size_t b = 0; b < OCT_COUNTOF(batches); b++) {
        quantizer_observed *observed = observed_of(obs, ROWS, batches[b]);
        assert_true(quantizer_observed_renew(observed));
        quantizer_scaling scaling = quantizer_observed_scaling(observed);
        for (uint32_t i = 0; i < COUNT; i++) {
            double sum = 0, squares = 0;
            for (size_t r = 0; r < ROWS; r++) {
                sum += (double)obs[r * COUNT + i];
            }
            for (size_t r = 0; r < ROWS; r++) {
                squares += pow((double)obs[r * COUNT + i] - sum / ROWS, 2);
            }
            T_NEAR(scaling.mean[i], sum / ROWS, 1e-6, 1e-6);
            double deviation = i == 3 ? pow(1.0 * 0.25 * 30.0 * 0.03, 0.25) // entry 3 never varies
                                      : sqrt(squares / ROWS);
            T_NEAR(log2((double)scaling.deviation[i]), round(log2(deviation)), 0, 0);
        }
        quantizer_observed_destroy(observed);
    }
    free(obs);
}

// An entry that varies by no more than its own rounding is divided by the geometric mean of the
// others' deviations, and named.
static void
test_entries_that_vary_by_their_rounding_are_left_out(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    float *obs = rows_make(ROWS, 3);
    for (size_t r = 0; r < ROWS; r++) {
        obs[r * COUNT] = (float)(r % 2) * 0x1p-20f;
        obs[r * COUNT + 1] = 4e6f + (float)(r % 2);   // a step of its float
        obs[r * COUNT + 4] = (float)(r % 2) * 0.016f; // 0.008
    }
    quantizer_observed *observed = observed_of(obs, ROWS, 100);
    assert_true(quantizer_observed_renew(observed));
    quantizer_scaling scaling = quantizer_observed_scaling(observed);
    assert_true(scaling.deviation[0] == 0x1p-21f); // small, not rounded
    assert_true(scaling.deviation[1] == 0x1p-8f);  // third root of 2^-21 * 30 * 0.008
    assert_true(scaling.deviation[2] == 32.0f && scaling.deviation[4] == 1.0f / 128);
    char named[256];
    oct_text text;
    oct_text_init(&text, named, sizeof(named));
    assert_int_equal(quantizer_observed_left_out(observed, &text), 2);
    assert_string_equal(named, "1 (mean 4000000.5, deviation 0.5), 3 (mean 7, deviation 0)");
    quantizer_observed_destroy(observed);

    for (size_t i = 0; i < (size_t)ROWS * COUNT; i++) {
        obs[i] = 5.0f;
    }
    observed = observed_of(obs, ROWS, 100); // nothing ever varied
    assert_true(quantizer_observed_renew(observed));
    scaling = quantizer_observed_scaling(observed);
    assert_int_equal(quantizer_observed_left_out(observed, &text), COUNT);
    assert_true(scaling.mean[2] == 5.0f && scaling.deviation[2] == 1.0f);
    assert_false(quantizer_observed_renew(observed));
    quantizer_observed_destroy(observed);
    free(obs);
}

// One large number among them, a pressure say, leaves the others as they are.
static void
test_each_entry_is_divided_by_its_own_deviation_however_large_another_is(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    float *obs = rows_make(ROWS, 6);
    for (size_t r = 0; r < ROWS; r++) {
        obs[r * COUNT + 2] *= 1e6f; // 3e7
    }
    quantizer_observed *observed = observed_of(obs, ROWS, 100);
    assert_true(quantizer_observed_renew(observed));
    quantizer_scaling scaling = quantizer_observed_scaling(observed);
    assert_true(scaling.deviation[0] == 1.0f && scaling.deviation[1] == 0.25f);
    assert_true(scaling.deviation[2] == 0x1p25f && scaling.deviation[4] == 1.0f / 32);
    assert_true(scaling.deviation[3] == 16.0f); // fourth root of 1 * 0.25 * 3e7 * 0.03
    quantizer_observed_destroy(observed);
    free(obs);
}

static void
test_a_scaling_stays_until_observations_have_moved(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    float *obs = rows_make(ROWS, 4), *more = rows_make(ROWS, 5);
    quantizer_observed *observed = observed_of(obs, ROWS, 100);
    assert_true(quantizer_observed_renew(observed));
    float before[2 * COUNT];
    memcpy(before, quantizer_observed_scaling(observed).mean, sizeof(before));
    for (int i = 0; i < 10; i++) {
        quantizer_observed_add(observed, more, ROWS);
        assert_false(quantizer_observed_renew(observed));
        assert_memory_equal(quantizer_observed_scaling(observed).mean, before, sizeof(before));
    }
    for (size_t r = 0; r < ROWS; r++) {
        more[r * COUNT + 1] += 3.0f; // many of its deviations
    }
    for (int i = 0; i < 3; i++) {
        quantizer_observed_add(observed, more, ROWS);
    }
    assert_true(quantizer_observed_renew(observed));
    assert_true(quantizer_observed_scaling(observed).mean[1] > before[1]);
    assert_false(quantizer_observed_renew(observed));
    quantizer_observed_destroy(observed);
    free(obs);
    free(more);
}

// By seven tenths of a deviation, which itself hardly grows by that.
static void
test_a_scaling_is_renewed_when_a_mean_has_moved_either_way(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    for (int way = -1; way <= 1; way++) {
        float *obs = rows_make(ROWS, 6), *more = rows_make(ROWS, 7);
        quantizer_observed *observed = observed_of(obs, ROWS, 100);
        assert_true(quantizer_observed_renew(observed));
        quantizer_scaling scaling = quantizer_observed_scaling(observed);
        float mean = scaling.mean[2], deviation = scaling.deviation[2];
        for (size_t r = 0; r < ROWS; r++) {
            more[r * COUNT + 2] += (float)way * 1.4f * 30.0f;
        }
        quantizer_observed_add(observed, more, ROWS);
        assert_int_equal(quantizer_observed_renew(observed), way != 0);
        scaling = quantizer_observed_scaling(observed);
        T_NEAR(scaling.mean[2] - mean, way * 21.0, 5 * 30.0 / sqrt(ROWS), 0); // 5 sigma
        assert_true(scaling.deviation[2] == deviation);
        quantizer_observed_destroy(observed);
        free(obs);
        free(more);
    }
}

// Old rows weigh less and less: after many new ones the deviation is nearly that of those.
static void
test_what_was_long_ago_is_forgotten(void **state)
{
    (void)state;
    enum { ROWS = 65536 };
    float *obs = oct_alloc(ROWS * sizeof(float));
    quantizer_observed *observed = quantizer_observed_create(1);
    for (size_t r = 0; r < ROWS; r++) {
        obs[r] = r % 2 != 0 ? 64.0f : -64.0f;
    }
    for (int i = 0; i < 32; i++) { // twice what is remembered
        quantizer_observed_add(observed, obs, ROWS);
    }
    assert_true(quantizer_observed_renew(observed));
    assert_true(quantizer_observed_scaling(observed).deviation[0] == 64.0f);
    for (size_t r = 0; r < ROWS; r++) {
        obs[r] /= 64.0f;
    }
    for (int i = 0; i < 160; i++) { // ten times that: exp(-10) * 64 is below 1
        quantizer_observed_add(observed, obs, ROWS);
    }
    assert_true(quantizer_observed_renew(observed));
    assert_true(quantizer_observed_scaling(observed).deviation[0] == 1.0f);
    quantizer_observed_destroy(observed);
    free(obs);
}

static void
test_batches_that_are_not_finite_are_left_out(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float *obs = rows_make(512, 6), *other = rows_make(8, 7);
    quantizer_observed *observed = observed_of(obs, 512, 64), *clean = observed_of(obs, 512, 64);
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        other[11] = bad[i];
        quantizer_observed_add(observed, other, 8);
    }
    uint8_t a[256], b[256];
    oct_writer one = {.base = a, .capacity = sizeof(a)}, two = {.base = b, .capacity = sizeof(b)};
    quantizer_observed_save(observed, &one);
    quantizer_observed_save(clean, &two);
    assert_false(one.failed || two.failed);
    assert_int_equal(one.used, two.used);
    assert_memory_equal(a, b, one.used);
    quantizer_observed_destroy(observed);
    quantizer_observed_destroy(clean);
    free(obs);
    free(other);
}

// What was saved goes on with the same bits; what is damaged changes nothing.
static void
test_saved_statistics_go_on(void **state)
{
    (void)state;
    float *obs = rows_make(600, 8);
    quantizer_observed *observed = observed_of(obs, 300, 50);
    assert_true(quantizer_observed_renew(observed));
    uint8_t saved[256], a[256], b[256];
    oct_writer writer = {.base = saved, .capacity = sizeof(saved)};
    quantizer_observed_save(observed, &writer);
    assert_false(writer.failed);
    quantizer_observed *loaded = quantizer_observed_create(COUNT);
    for (size_t cut = 0; cut < writer.used; cut++) {
        oct_reader reader = {.at = saved, .left = cut};
        T_ERR(quantizer_observed_load(loaded, &reader), OCT_EPROTO);
    }
    float not_a_power = 3.0f;
    uint8_t damaged[256];
    memcpy(damaged, saved, writer.used);
    memcpy(damaged + writer.used - 4, &not_a_power, 4);
    oct_reader reader = {.at = damaged, .left = writer.used};
    T_ERR(quantizer_observed_load(loaded, &reader), OCT_EPROTO);
    assert_true(quantizer_observed_scaling(loaded).deviation[2] == 1.0f);
    reader = (oct_reader){.at = saved, .left = writer.used};
    T_OK(quantizer_observed_load(loaded, &reader));
    quantizer_observed_add(observed, obs + 300 * COUNT, 300);
    quantizer_observed_add(loaded, obs + 300 * COUNT, 300);
    oct_writer one = {.base = a, .capacity = sizeof(a)}, two = {.base = b, .capacity = sizeof(b)};
    quantizer_observed_save(observed, &one);
    quantizer_observed_save(loaded, &two);
    assert_memory_equal(a, b, one.used);
    quantizer_observed *other = quantizer_observed_create(COUNT + 1);
    reader = (oct_reader){.at = saved, .left = writer.used};
    T_ERR(quantizer_observed_load(other, &reader), OCT_EPROTO);
    quantizer_observed_destroy(other);
    quantizer_observed_destroy(observed);
    quantizer_observed_destroy(loaded);
    free(obs);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_scaled_before_enough_was_seen),
        cmocka_unit_test(test_batches_that_are_not_finite_are_left_out),
        cmocka_unit_test(test_entries_that_vary_by_their_rounding_are_left_out),
        cmocka_unit_test(test_each_entry_is_divided_by_its_own_deviation_however_large_another_is),
        cmocka_unit_test(test_batches_merge_into_the_statistics_of_all_rows),
        cmocka_unit_test(test_a_scaling_stays_until_observations_have_moved),
        cmocka_unit_test(test_a_scaling_is_renewed_when_a_mean_has_moved_either_way),
        cmocka_unit_test(test_what_was_long_ago_is_forgotten),
        cmocka_unit_test(test_saved_statistics_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
