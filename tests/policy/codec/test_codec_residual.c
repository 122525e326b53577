// The entropy coder for changes of policies: what is encoded comes back, and bytes that are none of
// its own do no harm.

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "policy/codec/codec_residual.h"
#include "tests/support/oct_test.h"

typedef codec_residual_matrix matrix;

static matrix
matrix_create(uint32_t rows, uint32_t columns)
{
    return (matrix){oct_alloc((size_t)rows * columns), rows, columns};
}

static size_t
weights(const matrix *m)
{
    return (size_t)m->rows * m->columns;
}

// Residuals as training makes them: units and inputs of different activity, signs that go together.
static void
fill_active(matrix *m, double steps, oct_rng *rng)
{
    double *column = oct_alloc(m->columns * sizeof(double));
    for (uint32_t k = 0; k < m->columns; k++) {
        column[k] = 2.0 * oct_rng_double(rng) - 0.5;
    }
    for (uint32_t j = 0; j < m->rows; j++) {
        double row = 2.0 * oct_rng_double(rng) - 1.0;
        for (uint32_t k = 0; k < m->columns; k++) {
            double v = steps * (row * column[k] + 0.5 * (oct_rng_double(rng) - 0.5));
            v = v > 127.0 ? 127.0 : v < -128.0 ? -128.0 : v;
            m->at[(size_t)j * m->columns + k] = (int8_t)v;
        }
    }
    free(column);
}

static void
fill_uniform(matrix *m, int low, uint32_t values, oct_rng *rng)
{
    for (size_t i = 0; i < weights(m); i++) {
        m->at[i] = (int8_t)(low + (int)oct_rng_below(rng, values));
    }
}

// Encodes, checks the bound and that decoding gives the same; the bytes that it took.
static size_t
round_trip(const matrix *m)
{
    codec_residual_coder *coder = codec_residual_coder_create(weights(m));
    size_t bound = codec_residual_bound(m->rows, m->columns);
    uint8_t *bytes = malloc(bound);
    size_t length = codec_residual_encode(coder, m, bytes, bound);
    assert_in_range(length, 1, bound);
    uint8_t *exact = malloc(length); // so that the sanitizer sees a read past the end
    memcpy(exact, bytes, length);
    int8_t *got = malloc(weights(m));
    memset(got, 0x55, weights(m));
    T_OK(codec_residual_decode(coder, &(matrix){got, m->rows, m->columns}, exact, length));
    assert_memory_equal(got, m->at, weights(m));
    free(got);
    free(exact);
    free(bytes);
    codec_residual_coder_destroy(coder);
    return length;
}

static const struct {
    uint32_t rows, columns;
} shapes[] = {{1, 1},   {1, 2},   {2, 1},    {3, 5},     {1, 1000}, {1000, 1}, {8, 8},
              {31, 33}, {64, 64}, {257, 63}, {2, 65536}, {512, 4},  {6, 512},  {200, 300}};

static void
test_residual_every_shape_and_size_of_change_comes_back(void **state)
{
    (void)state;
    static const double steps[] = {0.3, 0.9, 1.5, 4, 12, 60, 300};
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    for (size_t s = 0; s < OCT_COUNTOF(shapes); s++) {
        matrix m = matrix_create(shapes[s].rows, shapes[s].columns);
        for (size_t i = 0; i < OCT_COUNTOF(steps); i++) {
            fill_active(&m, steps[i], &rng);
            (void)round_trip(&m);
        }
        free(m.at);
    }
}

// So large that a plan is made from a part: what that part does not show is coded all the same.
static void
test_residual_large_matrix_with_rare_values_comes_back(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 8, 1);
    matrix m = matrix_create(1100, 1000);
    fill_uniform(&m, -1, 3, &rng);
    for (int i = 0; i < 40; i++) {
        m.at[oct_rng_below(&rng, 1100 * 1000)] = (int8_t)(oct_rng_below(&rng, 256) - 128);
    }
    memset(m.at + 500 * 1000, 0, 7 * 1000);
    assert_true((double)round_trip(&m) * 8 <= 1.65 * (double)weights(&m));
    free(m.at);
}

static void
test_residual_noise_costs_no_more_than_its_bytes(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 2, 1);
    for (size_t s = 0; s < OCT_COUNTOF(shapes); s++) {
        matrix m = matrix_create(shapes[s].rows, shapes[s].columns);
        fill_uniform(&m, -128, 256, &rng);
        assert_true(round_trip(&m) <= weights(&m) + 1);
        free(m.at);
    }
}

static void
test_residual_extremes_come_back(void **state)
{
    (void)state;
    for (size_t s = 0; s < OCT_COUNTOF(shapes); s++) {
        matrix m = matrix_create(shapes[s].rows, shapes[s].columns);
        static const int8_t values[] = {0, 1, -1, 127, -127, -128};
        for (size_t i = 0; i < OCT_COUNTOF(values); i++) {
            memset(m.at, values[i], weights(&m));
            (void)round_trip(&m);
        }
        for (size_t i = 0; i < weights(&m); i++) {
            m.at[i] = (int8_t)(i % 2 == 0 ? -128 : 127);
        }
        (void)round_trip(&m);
        free(m.at);
    }
}

static void
test_residual_no_change_costs_next_to_nothing(void **state)
{
    (void)state;
    matrix m = matrix_create(512, 512);
    assert_true(round_trip(&m) <= 64);
    m.at[77777] = -5;
    assert_true(round_trip(&m) <= 128);
    free(m.at);
}

static void
test_residual_small_changes_cost_near_their_entropy(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 1);
    matrix m = matrix_create(512, 512);
    fill_uniform(&m, -1, 3, &rng);
    assert_true((double)round_trip(&m) * 8 <= 1.65 * (double)weights(&m)); // log2(3) = 1.585
    free(m.at);
}

static void
test_residual_too_little_room_gives_zero_and_stays_within_it(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 1);
    matrix m = matrix_create(64, 64);
    fill_active(&m, 3, &rng);
    codec_residual_coder *coder = codec_residual_coder_create(weights(&m));
    uint8_t *all = malloc(codec_residual_bound(64, 64));
    size_t length = codec_residual_encode(coder, &m, all, codec_residual_bound(64, 64));
    assert_true(length > 1);
    for (size_t room = 0; room < length; room += 1 + room / 16) {
        uint8_t *some = malloc(room + 1);
        assert_int_equal(codec_residual_encode(coder, &m, some, room), 0);
        free(some);
    }
    free(all);
    codec_residual_coder_destroy(coder);
    free(m.at);
}

static void
test_residual_cut_bytes_are_refused(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    matrix m = matrix_create(40, 50);
    codec_residual_coder *coder = codec_residual_coder_create(weights(&m));
    size_t bound = codec_residual_bound(40, 50);
    uint8_t *bytes = malloc(bound);
    int8_t *got = malloc(weights(&m));
    for (double steps = 0.5; steps < 400; steps *= 3) {
        fill_active(&m, steps, &rng);
        size_t length = codec_residual_encode(coder, &m, bytes, bound);
        for (size_t cut = 0; cut < length; cut++) {
            uint8_t *some = malloc(cut + 1);
            memcpy(some, bytes, cut);
            T_ERR(codec_residual_decode(coder, &(matrix){got, 40, 50}, some, cut), OCT_EPROTO);
            free(some);
        }
        T_OK(codec_residual_decode(coder, &(matrix){got, 40, 50}, bytes, length));
    }
    free(got);
    free(bytes);
    codec_residual_coder_destroy(coder);
    free(m.at);
}

// What comes of it is bounded by the matrix; the sanitizer sees the rest.
static void
try_decode(codec_residual_coder *coder, const matrix *m, const uint8_t *bytes, size_t length)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, bytes, length);
    int8_t *got = malloc(weights(m));
    oct_err err = codec_residual_decode(coder, &(matrix){got, m->rows, m->columns}, exact, length);
    assert_true(err == OCT_OK || err == OCT_EPROTO);
    free(got);
    free(exact);
}

static void
test_residual_damaged_bytes_do_no_harm(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 6, 1);
    matrix m = matrix_create(48, 56);
    codec_residual_coder *coder = codec_residual_coder_create(weights(&m));
    size_t bound = codec_residual_bound(48, 56);
    uint8_t *bytes = malloc(bound + 8);
    for (int i = 0; i < 3000; i++) {
        fill_active(&m, 0.3 * (1 << oct_rng_below(&rng, 10)), &rng);
        size_t length = codec_residual_encode(coder, &m, bytes, bound);
        for (uint32_t n = 1 + oct_rng_below(&rng, 4); n > 0; n--) {
            size_t reach = oct_rng_below(&rng, 2) == 0 ? OCT_MIN(length, (size_t)48) : length;
            uint8_t *byte = bytes + oct_rng_below(&rng, (uint32_t)reach);
            *byte = oct_rng_below(&rng, 2) == 0 ? (uint8_t)(*byte ^ (1u << oct_rng_below(&rng, 8)))
                                                : (uint8_t)oct_rng_u32(&rng);
        }
        try_decode(coder, &m, bytes, length + oct_rng_below(&rng, 8));
    }
    free(bytes);
    codec_residual_coder_destroy(coder);
    free(m.at);
}

static void
test_residual_random_bytes_do_no_harm(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 7, 1);
    codec_residual_coder *coder = codec_residual_coder_create(70000);
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[256];
        size_t length = oct_rng_below(&rng, sizeof(bytes) + 1);
        for (size_t b = 0; b < length; b++) {
            bytes[b] = (uint8_t)oct_rng_u32(&rng);
        }
        bytes[0] = oct_rng_below(&rng, 8) != 0 ? (uint8_t)oct_rng_below(&rng, 4) : bytes[0];
        matrix m = {.rows = 1 + oct_rng_below(&rng, 40), .columns = 1 + oct_rng_below(&rng, 40)};
        try_decode(coder, &m, bytes, length);
    }
    codec_residual_coder_destroy(coder);
}

// Of an earlier build.
static const uint8_t golden[] = {
    0x02, 0x11, 0x00, 0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0x0f, 0x00, 0x00, 0x00, 0x82, 0x83, 0x00, 0x0d, 0x02, 0x00,
    0x05, 0x0e, 0xff, 0x6f, 0x31, 0xf3, 0x08, 0x10, 0x70, 0x4c, 0x0e, 0x49, 0xf4, 0x6f,
    0x22, 0x70, 0xee, 0x00, 0x00, 0xfd, 0x73, 0x7d, 0x51, 0x45, 0x99, 0x9c, 0x24, 0x7e,
    0x42, 0xdc, 0x01, 0x4f, 0xfd, 0xd8, 0x07, 0x69, 0x0a, 0x9f, 0xf4, 0xf4, 0x50, 0xe1,
    0xf1, 0xc6, 0x08, 0x23, 0x80, 0x91, 0x04, 0x1d, 0x47, 0x1d, 0x47,
};

// It says how many escapes there are, and between which values they lie.
static void
test_residual_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte, wrong;
    } cases[] = {
        {1, 0x11, 0x01},  // no class of columns
        {1, 0x11, 0x91},  // more classes than there may be
        {18, 15, 14},     // more escapes than that follow
        {18, 15, 16},     // fewer
        {19, 0, 1},       // more than there are weights
        {22, 0x82, 0x84}, // from above to below
        {26, 2, 0},       // digits of no bits
        {sizeof(golden) - 1, 0x47, 0x46},
    };
    int8_t got[9 * 11];
    codec_residual_coder *coder = codec_residual_coder_create(9 * 11);
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        uint8_t bytes[sizeof(golden)];
        memcpy(bytes, golden, sizeof(bytes));
        assert_int_equal(bytes[cases[i].at], cases[i].byte);
        bytes[cases[i].at] = cases[i].wrong;
        T_ERR(codec_residual_decode(coder, &(matrix){got, 9, 11}, bytes, sizeof(bytes)),
              OCT_EPROTO);
    }
    uint8_t longer[sizeof(golden) + 2] = {0};
    memcpy(longer, golden, sizeof(golden));
    T_ERR(codec_residual_decode(coder, &(matrix){got, 9, 11}, longer, sizeof(longer)), OCT_EPROTO);
    codec_residual_coder_destroy(coder);
}

// A second decoder that was written from docs/internals/wire.md reads them, too.
static void
test_residual_golden_bytes_are_read(void **state)
{
    (void)state;
    static const int8_t want[9 * 11] = {
        0,  -2, 0,  -2, 0,  -1, 0, -1, -1, -1, -1, 0,  0, 0,  0,  0,  0,  0,  0,  0,
        0,  0,  0,  -1, 0,  -1, 0, 0,  0,  -1, -1, -1, 0, 0,  1,  0,  1,  0,  0,  0,
        0,  0,  0,  0,  0,  1,  0, 0,  0,  0,  0,  0,  1, 0,  1,  0,  -3, -1, -2, -1,
        -1, 0,  -3, -2, -1, -2, 0, -3, -1, -2, -1, -2, 1, -1, -3, 0,  -2, 0,  2,  1,
        1,  0,  1,  0,  1,  2,  0, 2,  0,  -1, 0,  -1, 0, -1, 0,  -1, -1, 0,  -1,
    };
    int8_t got[9 * 11];
    codec_residual_coder *coder = codec_residual_coder_create(9 * 11);
    T_OK(codec_residual_decode(coder, &(matrix){got, 9, 11}, golden, sizeof(golden)));
    assert_memory_equal(got, want, sizeof(want));
    codec_residual_coder_destroy(coder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residual_every_shape_and_size_of_change_comes_back),
        cmocka_unit_test(test_residual_large_matrix_with_rare_values_comes_back),
        cmocka_unit_test(test_residual_noise_costs_no_more_than_its_bytes),
        cmocka_unit_test(test_residual_extremes_come_back),
        cmocka_unit_test(test_residual_no_change_costs_next_to_nothing),
        cmocka_unit_test(test_residual_small_changes_cost_near_their_entropy),
        cmocka_unit_test(test_residual_too_little_room_gives_zero_and_stays_within_it),
        cmocka_unit_test(test_residual_cut_bytes_are_refused),
        cmocka_unit_test(test_residual_damaged_bytes_do_no_harm),
        cmocka_unit_test(test_residual_random_bytes_do_no_harm),
        cmocka_unit_test(test_residual_that_contradicts_itself_is_refused),
        cmocka_unit_test(test_residual_golden_bytes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
