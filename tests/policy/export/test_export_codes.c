// Functions of an exported header against what they are defined by, where numbers are strange: the
// range of a row, its codes, and the product for cores without floats. test_export_cross.py has the
// rest, by policies and on other cores.
#define POLICY_SOFT_FLOAT
#include "policy/export/export_codes.h"

#include <stdbool.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

#define ROW 9

static uint32_t
bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static float
float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

// Of both signs: zero, denormal, the least and the largest normal number, infinity, NaN, one.
static const uint32_t strange[] = {0x00000000u, 0x80000000u, 0x00000001u, 0x807fffffu, 0x00800000u,
                                   0x80800000u, 0x7f7fffffu, 0xff7fffffu, 0x7f800000u, 0xff800000u,
                                   0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x3f800000u, 0xbf800000u};

// Any bits, and often such that two numbers have a product near the ends of the range.
static uint32_t
any_bits(oct_rng *rng, uint32_t other)
{
    uint32_t bits = (uint32_t)oct_rng_u64(rng);
    uint32_t kind = (uint32_t)oct_rng_u64(rng) % 4;
    if (kind == 0) {
        return strange[bits % OCT_COUNTOF(strange)];
    }
    if (kind == 1) { // the product has a power of about 0 or 255
        uint32_t power = (bits & 1 ? 127u : 382u) + (bits >> 1) % 7 - 3 - (other >> 23 & 255);
        return (bits & 0x807fffffu) | (power & 255) << 23;
    }
    return kind == 2 ? bits & 0xfffff000u : bits; // ties
}

static void
test_the_soft_product_is_that_of_the_processor(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 7, 1);
    for (uint32_t i = 0; i < 2000000; i++) {
        uint32_t x = any_bits(&rng, 127u << 23), y = any_bits(&rng, x);
        float want = float_of(x) * float_of(y), got = export_multiply(float_of(x), float_of(y));
        if (bits_of(want) != bits_of(got) && (want == want || got == got)) {
            fail_msg("%08x times %08x: %08x, not %08x", x, y, bits_of(got), bits_of(want));
        }
    }
}

// The definition in policy_math.h, word by word.
static float
codes_by_definition(const float *x, int16_t *q)
{
    float lo = 0.0f, hi = 0.0f;
    for (uint32_t i = 0; i < ROW; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    policy_affine affine = policy_affine_of(lo, hi);
    for (uint32_t i = 0; i < ROW; i++) {
        int64_t code = (int64_t)policy_round(x[i] * affine.inverse) + affine.zero_point;
        q[i] = (int16_t)(OCT_MAX(0, OCT_MIN(code, 255)) - affine.zero_point);
    }
    return affine.scale;
}

static void
test_codes_are_those_of_the_definition(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 8, 1);
    for (uint32_t row = 0; row < 200000; row++) {
        float x[ROW], rectified[ROW];
        int16_t want[ROW], got[ROW];
        for (uint32_t i = 0; i < ROW; i++) {
            bool is_strange = row % 2 == 0 && oct_rng_u64(&rng) % 8 == 0;
            uint32_t any = strange[oct_rng_u64(&rng) % OCT_COUNTOF(strange)];
            x[i] = is_strange ? float_of(any) : (oct_rng_float(&rng) - 0.5f) * (float)(row % 7);
            rectified[i] = policy_relu(x[i]);
        }
        float scale = codes_by_definition(x, want);
        assert_int_equal(bits_of(export_quantize(x, ROW, got)), bits_of(scale));
        assert_memory_equal(got, want, sizeof(want));
        scale = codes_by_definition(rectified, want);
        assert_int_equal(bits_of(export_quantize_relu(x, ROW, got)), bits_of(scale));
        assert_memory_equal(got, want, sizeof(want));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_soft_product_is_that_of_the_processor),
        cmocka_unit_test(test_codes_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
