// The row loops of every instruction set of this machine give the same bits as the plain formulas.
#include "quantizer/quantizer_rows.h"

#include "policy/policy_half.h"
#include "tests/quantizer/quantizer_plain.h"

#define COUNT 2085

static const size_t sizes[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 200, COUNT};

// Ties, ends of ranges, denormals and huge numbers among normal ones.
static void
weights_make(float *w, uint64_t seed)
{
    static const float odd[] = {0.0f,    -0.0f,    0.5f,    1.5f,      2.5f,     -0.5f,
                                -63.5f,  126.5f,   127.5f,  -127.5f,   128.0f,   1e-45f,
                                -3e-40f, 6.5f,     7.5f,    -7.5f,     1e30f,    -0x1.fffffep+127f,
                                0x1p22f, -0x1p22f, 0x1p23f, 0x1.8p23f, -0x1p24f, -0x1.8p23f};
    oct_rng rng;
    oct_rng_init(&rng, seed, 1);
    for (size_t i = 0; i < COUNT; i++) {
        w[i] = oct_rng_below(&rng, 4) == 0 ? odd[oct_rng_below(&rng, OCT_COUNTOF(odd))]
                                           : 60.0f * oct_rng_normal(&rng);
    }
}

#define FOR_EACH_ROWS(rows)                                                                        \
    for (const quantizer_rows *const *at = quantizer_rows_all, *rows; (rows = *at) != NULL; at++)  \
        if (rows->is_supported())

static void
test_codes_are_the_nearest_even_quotients(void **state)
{
    (void)state;
    static float w[COUNT];
    static const float steps[] = {1.0f, 0.37f, 1e-40f, 3e-45f, 1e36f, 2.0f};
    weights_make(w, 1);
    FOR_EACH_ROWS(rows)
    {
        for (size_t s = 0; s < OCT_COUNTOF(sizes) * OCT_COUNTOF(steps); s++) {
            size_t n = sizes[s / OCT_COUNTOF(steps)];
            float step = steps[s % OCT_COUNTOF(steps)];
            int8_t codes[COUNT + 1];
            codes[n] = 99;
            rows->codes8(codes, w, n, step, COUNT - n);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(codes[i], plain_code(w[i], step, 127));
            }
            assert_int_equal(codes[n], 99);
        }
    }
}

static void
test_codes_of_groups_have_their_multipliers(void **state)
{
    (void)state;
    static float w[COUNT];
    uint8_t multipliers[COUNT / 32 + 1];
    for (size_t g = 0; g < sizeof(multipliers); g++) {
        multipliers[g] = (uint8_t)(g % 16);
    }
    weights_make(w, 2);
    FOR_EACH_ROWS(rows)
    {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            int8_t codes[COUNT + 1];
            codes[sizes[s]] = 99;
            rows->codes4(codes, w, sizes[s], 1.3f, multipliers);
            for (size_t i = 0; i < sizes[s]; i++) {
                float step = 1.3f * (float)multipliers[i / 32];
                assert_int_equal(codes[i], plain_code(w[i], step, 7));
            }
            assert_int_equal(codes[sizes[s]], 99);
        }
    }
}

// What a code becomes: the old one within the band, else the nearest.
static int
moved_code(float w, float step, int limit, int old, float band)
{
    return step > 0.0f && fabsf(w / step - (float)old) <= band ? old : plain_code(w, step, limit);
}

static void
test_moved_codes_stay_within_the_band_and_are_counted(void **state)
{
    (void)state;
    static float w[COUNT];
    static const float bands[] = {-1.0f, 0.75f, 1.0f, 2.5f};
    weights_make(w, 3);
    FOR_EACH_ROWS(rows)
    {
        for (size_t s = 0; s < OCT_COUNTOF(sizes) * OCT_COUNTOF(bands) * 2; s++) {
            size_t n = sizes[s / (2 * OCT_COUNTOF(bands))];
            float band = bands[s / 2 % OCT_COUNTOF(bands)];
            bool is_int4 = s % 2 == 1;
            uint8_t multipliers[COUNT / 32 + 1];
            int8_t codes[COUNT];
            int want[COUNT];
            uint32_t want_changed = 0;
            for (size_t i = 0; i < n; i++) {
                multipliers[i / 32] = (uint8_t)(i / 32 % 16);
                float step = is_int4 ? 2.0f * (float)multipliers[i / 32] : 1.5f;
                int limit = is_int4 ? 7 : 127;
                codes[i] = (int8_t)((int)(i * 7 % (2 * (size_t)limit + 1)) - limit);
                want[i] = moved_code(w[i], step, limit, codes[i], band);
                want_changed += want[i] != codes[i];
            }
            uint32_t changed = is_int4 ? rows->move4(codes, w, n, 2.0f, multipliers, band)
                                       : rows->move8(codes, w, n, 1.5f, band);
            assert_int_equal(changed, want_changed);
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(codes[i], want[i]);
            }
        }
    }
}

static void
test_predicted_codes_are_the_old_values_at_new_steps(void **state)
{
    (void)state;
    FOR_EACH_ROWS(rows)
    {
        int8_t codes[255], again[255];
        for (int i = 0; i < 255; i++) {
            codes[i] = (int8_t)(i - 127);
        }
        memcpy(again, codes, sizeof(codes));
        rows->predict(again, 255, 0.0123f, 0.0119f, 127.0f);
        for (int i = 0; i < 255; i++) {
            assert_int_equal(again[i],
                             plain_code((float)codes[i] * (0.0123f / 0.0119f), 1.0f, 127));
        }
        rows->predict(again, 255, 0.0123f, 0.0f, 127.0f);
        assert_int_equal(again[0], 0);
        rows->predict(codes, 255, 1.0f, 1e-30f, 7.0f);
        assert_int_equal(codes[0], -7);
        assert_int_equal(codes[127], 0);
        assert_int_equal(codes[128], 7);
    }
}

static void
test_the_largest_magnitude_is_found_and_tells_what_is_not_finite(void **state)
{
    (void)state;
    static float w[COUNT];
    weights_make(w, 4);
    FOR_EACH_ROWS(rows)
    {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            size_t n = sizes[s];
            float want = (float)plain_absmax(w, n), bad[COUNT];
            uint32_t bits, groups[COUNT / 32 + 1];
            memcpy(&bits, &want, sizeof(bits));
            assert_int_equal(rows->most(w, n), bits);
            assert_int_equal(rows->most4(groups, w, n), bits);
            want = (float)plain_absmax(w + (n - 1) / 32 * 32, (n - 1) % 32 + 1);
            memcpy(&bits, &want, sizeof(bits));
            assert_int_equal(groups[(n - 1) / 32], bits);
            static const float not_finite[] = {NAN, -NAN, INFINITY, -INFINITY};
            for (size_t i = 0; i < OCT_COUNTOF(not_finite); i++) {
                memcpy(bad, w, sizeof(w));
                bad[n / 2] = not_finite[i];
                assert_true(rows->most(bad, n) >= 0x7f800000u);
                assert_true(rows->most4(groups, bad, n) >= 0x7f800000u);
            }
        }
    }
}

static void
test_sums_are_right_and_have_the_same_bits_everywhere(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    static float w[COUNT], kept[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        w[i] = oct_rng_normal(&rng);
        kept[i] = w[i] + 0.01f * oct_rng_normal(&rng);
    }
    FOR_EACH_ROWS(rows)
    {
        for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
            size_t n = sizes[s], few = OCT_MIN(n, (size_t)32);
            float sum = rows->squares8(w, n, 50.0f);
            float base = quantizer_rows_base.squares8(w, n, 50.0f);
            assert_memory_equal(&sum, &base, sizeof(sum));
            T_NEAR(sum * 0.02 * 0.02, plain_error(w, n, 0.02, 127), 1e-9, 1e-4);
            float errors[QUANTIZER_SEARCH_COUNT], base_errors[QUANTIZER_SEARCH_COUNT];
            rows->search4(errors, w, few, 40.0f);
            quantizer_rows_base.search4(base_errors, w, few, 40.0f);
            assert_memory_equal(errors, base_errors, sizeof(errors));
            for (size_t m = 1; m <= QUANTIZER_SEARCH_COUNT; m++) {
                double multiplier = m == 16 ? QUANTIZER_SEARCH_BEYOND : (double)m;
                double want = plain_error(w, few, 0.025 * multiplier, 7);
                T_NEAR(errors[m - 1] * 0.025 * 0.025, want, 1e-7, 1e-4);
            }
            quantizer_sums sums = {0}, base_sums = {0};
            rows->compare(&sums, w, kept, n);
            quantizer_rows_base.compare(&base_sums, w, kept, n);
            assert_memory_equal(&sums, &base_sums, sizeof(sums));
            size_t above = 0;
            for (size_t i = 0; i < n; i++) {
                above += fabsf(w[i]) > 1.1f;
            }
            assert_int_equal(rows->count_above(w, n, 1.1f), above);
        }
    }
}

static void
test_halves_are_those_of_the_policy(void **state)
{
    (void)state;
    static float w[COUNT];
    weights_make(w, 6);
    FOR_EACH_ROWS(rows)
    {
        uint16_t halves[COUNT];
        rows->bf16(halves, w, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(halves[i], policy_bf16_from_float(w[i]));
        }
        rows->fp16(halves, w, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(halves[i], policy_fp16_from_float(w[i]));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_are_the_nearest_even_quotients),
        cmocka_unit_test(test_codes_of_groups_have_their_multipliers),
        cmocka_unit_test(test_moved_codes_stay_within_the_band_and_are_counted),
        cmocka_unit_test(test_predicted_codes_are_the_old_values_at_new_steps),
        cmocka_unit_test(test_the_largest_magnitude_is_found_and_tells_what_is_not_finite),
        cmocka_unit_test(test_sums_are_right_and_have_the_same_bits_everywhere),
        cmocka_unit_test(test_halves_are_those_of_the_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
