// The tile kernels of each instruction set against the definition: floats bit for bit with one
// chain of FMAs, AMX with its own chains, bfloat16 within the sum in double.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "nn/nn_tiled.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const uint32_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 15, 16, 17, 31, 33, 47, 49, 64, 65, 97, 100};

static const nn_tile_ops *tables[NN_TILE_TABLES_MAX];
static int table_count;

static int
group_setup(void **state)
{
    (void)state;
    table_count = nn_tile_tables(tables);
    return 0;
}

// Nearest bfloat16, ties to even.
static float
bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static float
element(const float *matrix, bool transposed, uint32_t rows, uint32_t columns, uint32_t i,
        uint32_t j)
{
    return transposed ? matrix[(size_t)j * rows + i] : matrix[(size_t)i * columns + j];
}

// What TDPBF16PS computes, 32 numbers a time.
static float
amx_sum(const nn_product *p, uint32_t i, uint32_t j)
{
    float sum = 0;
    for (uint32_t first = 0; first < p->K; first += 32) {
        float parts[2] = {0, 0};
        for (uint32_t k = first; k < p->K && k < first + 32; k++) {
            float a = bf16_of(element(p->A, p->transpose_a, p->M, p->K, i, k));
            float b = bf16_of(element(p->B, p->transpose_b, p->K, p->N, k, j));
            parts[k % 2] = fmaf(a, b, parts[k % 2]);
        }
        sum += parts[0] + parts[1];
    }
    return sum;
}

static void
expect_element(const nn_tile_ops *ops, const nn_product *p, uint32_t i, uint32_t j)
{
    float got = p->C[(size_t)i * p->N + j], chain = 0;
    double sum = 0, size = 0;
    for (uint32_t k = 0; k < p->K; k++) {
        float a = element(p->A, p->transpose_a, p->M, p->K, i, k);
        float b = element(p->B, p->transpose_b, p->K, p->N, k, j);
        chain = fmaf(a, b, chain);
        sum += (double)bf16_of(a) * (double)bf16_of(b);
        size += fabs((double)a * (double)b);
    }
    if (ops->unit == 1) {
        assert_true(got == chain);
    } else if (ops->depth > 1) {
        assert_true(got == amx_sum(p, i, j));
    } else {
        T_NEAR((double)got, sum, (size + 1) * (p->K + 4) * (double)FLT_EPSILON / 2, 0);
    }
}

// Rows must come once each, in order, and be complete.
typedef struct followed {
    const nn_tile_ops *ops;
    const nn_product *product;
    uint32_t rows;
} followed;

static void
follow(void *arg, uint32_t first, uint32_t rows)
{
    followed *f = arg;
    assert_int_equal(first, f->rows);
    assert_true(rows >= 1);
    f->rows += rows;
    for (uint32_t row = first; row < first + rows; row++) {
        expect_element(f->ops, f->product, row, 0);
        expect_element(f->ops, f->product, row, f->product->N - 1);
    }
}

static void
check_product(oct_rng *rng, const nn_tile_ops *ops, bool transpose_a, bool transpose_b, uint32_t M,
              uint32_t N, uint32_t K)
{
    size_t count = (size_t)M * N;
    // Exact sizes, so that address sanitizer sees a read beyond them.
    float *A = fixture_floats(rng, (size_t)M * K, -1, 1);
    float *B = fixture_floats(rng, (size_t)K * N, -1, 1);
    float *C = fixture_floats(rng, count + 1, -1, 1);
    C[count] = 7.0f;
    followed f = {.ops = ops};
    nn_product p = {C, A, B, transpose_a, transpose_b, M, N, K, follow, &f, NULL};
    f.product = &p;
    nn_tiled_product(fixture_context(), ops, &p);
    assert_int_equal(f.rows, M);
    assert_true(C[count] == 7.0f);
    for (uint32_t i = 0; i<M; i += count> 4000 ? 7 : 1) {
        for (uint32_t j = 0; j<N; j += count> 4000 ? 5 : 1) {
            expect_element(ops, &p, i, j);
        }
    }
    free(A);
    free(B);
    free(C);
}

static void
check_forms(oct_rng *rng, uint32_t M, uint32_t N, uint32_t K)
{
    for (int t = 0; t < table_count; t++) {
        for (int form = 0; form < 4; form++) {
            check_product(rng, tables[t], (form & 1) != 0, (form & 2) != 0, M, N, K);
        }
    }
}

static void
test_products_equal_the_definition_at_awkward_sizes(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (size_t m = 0; m < OCT_COUNTOF(sizes); m++) {
        for (size_t n = 0; n < OCT_COUNTOF(sizes); n++) {
            check_forms(&rng, sizes[m], sizes[n], sizes[(m + n) % OCT_COUNTOF(sizes)]);
        }
    }
}

// More than one panel at a time, A packed across, B too large to be packed whole.
static void
test_products_equal_the_definition_at_large_sizes(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    check_forms(&rng, 300, 70, 40);
    check_forms(&rng, 260, 300, 303);
    check_forms(&rng, 9, 4200, 3);
    check_forms(&rng, 10, 128, 700);
}

// B is packed once for every table, until its owner says that it has changed; with too little room
// it is packed every time.
static void
test_panels_are_kept_until_they_are_cleared(void **state)
{
    (void)state;
    enum { M = 5, N = 70, K = 65 };
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    float *A = fixture_floats(&rng, M * K, -1, 1), *B = fixture_floats(&rng, N * K, -1, 1);
    float *other = fixture_floats(&rng, N * K, -1, 1);
    float C[4][M * N];
    for (int t = 0; t < table_count; t++) {
        size_t room = nn_tiled_panel_units(tables[t], N, K);
        for (int short_of = 0; short_of < 2; short_of++) {
            void *block = aligned_alloc(64, (room + 16) / 16 * 64);
            nn_panels panels = {.units = block, .room = room - (size_t)short_of};
            nn_product p = {.A = A, .B = B, .transpose_b = true, .M = M, .N = N, .K = K};
            p.C = C[0];
            nn_tiled_product(fixture_context(), tables[t], &p);
            p.C = C[1];
            p.B = other;
            nn_tiled_product(fixture_context(), tables[t], &p);
            p.panels = &panels;
            p.C = C[2];
            p.B = B;
            nn_tiled_product(fixture_context(), tables[t], &p);
            assert_memory_equal(C[2], C[0], sizeof(C[0]));
            p.B = other;
            nn_tiled_product(fixture_context(), tables[t], &p);
            assert_memory_equal(C[2], C[short_of], sizeof(C[0]));
            panels.ops = NULL;
            p.C = C[3];
            nn_tiled_product(fixture_context(), tables[t], &p);
            assert_memory_equal(C[3], C[1], sizeof(C[1]));
            p.B = B;
            panels.ops = tables[(t + 1) % table_count]; // packed for another one
            if (table_count > 1) {
                nn_tiled_product(fixture_context(), tables[t], &p);
                assert_memory_equal(C[3], C[0], sizeof(C[0]));
            }
            free(block);
        }
        assert_int_equal(nn_tiled_panel_units(tables[t], 2048, 2048), 0);
    }
    free(A);
    free(B);
    free(other);
}

static void
test_nan_and_infinity_go_through(void **state)
{
    (void)state;
    for (int t = 0; t < table_count; t++) {
        for (int bad = 0; bad < 2; bad++) {
            float A[3] = {1, bad == 0 ? NAN : INFINITY, 1}, B[3] = {1, 1, 1}, C[1];
            nn_tiled_product(fixture_context(), tables[t],
                             &(nn_product){.C = C, .A = A, .B = B, .M = 1, .N = 1, .K = 3});
            assert_false(isfinite(C[0]));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_equal_the_definition_at_awkward_sizes),
        cmocka_unit_test(test_products_equal_the_definition_at_large_sizes),
        cmocka_unit_test(test_panels_are_kept_until_they_are_cleared),
        cmocka_unit_test(test_nan_and_infinity_go_through),
    };
    return cmocka_run_group_tests(tests, group_setup, NULL);
}
