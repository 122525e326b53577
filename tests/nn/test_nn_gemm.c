// Matrix products equal their definition at awkward sizes, in fp32 and bfloat16.
#include <math.h>
#include <stdlib.h>

#include "common/oct_rng.h"
#include "nn/nn_gemm.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const uint32_t sizes[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100};

static float *
random_matrix(oct_rng *rng, uint32_t rows, uint32_t columns)
{
    size_t count = (size_t)rows * columns;
    float *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = 2 * oct_rng_float(rng) - 1;
    }
    return x;
}

// K products of numbers within 1, each sum rounded: at most K * K * 2^-24, in practice far less.
static void
expect_near(const float *got, const float *want, size_t count, uint32_t K)
{
    for (size_t i = 0; i < count; i++) {
        T_NEAR((double)got[i], (double)want[i], 1e-7 * K, 1e-6);
    }
}

static void
check_size(nn_context *context, oct_rng *rng, uint32_t M, uint32_t N, uint32_t K)
{
    float *A = random_matrix(rng, M, K);
    float *B = random_matrix(rng, K, N);
    float *got = random_matrix(rng, M, N);
    float *want = random_matrix(rng, M, N);
    size_t count = (size_t)M * N;
    nn_gemm_nn(context, got, A, B, M, N, K);
    nn_gemm_ref(want, A, false, B, false, M, N, K);
    expect_near(got, want, count, K);
    nn_gemm_nt(context, got, A, B, M, N, K);
    nn_gemm_ref(want, A, false, B, true, M, N, K);
    expect_near(got, want, count, K);
    nn_gemm_tn(context, got, A, B, M, N, K);
    nn_gemm_ref(want, A, true, B, false, M, N, K);
    expect_near(got, want, count, K);
    free(A);
    free(B);
    free(got);
    free(want);
}

static void
test_products_equal_the_definition_at_awkward_sizes(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (size_t m = 0; m < OCT_COUNTOF(sizes); m++) {
        for (size_t n = 0; n < OCT_COUNTOF(sizes); n++) {
            for (size_t k = 0; k < OCT_COUNTOF(sizes); k += 3) {
                check_size(fixture_context(), &rng, sizes[m], sizes[n], sizes[k]);
            }
        }
    }
    check_size(fixture_context(), &rng, 300, 200, 150);
}

static void
test_reference_transposes_as_told(void **state)
{
    (void)state;
    const float A[6] = {1, 2, 3, 4, 5, 6}; // 2x3, or 3x2 read transposed
    const float B[6] = {1, 0, 2, 1, 0, 3}; // 3x2, or 2x3 read transposed
    float C[4];
    nn_gemm_ref(C, A, false, B, false, 2, 2, 3);
    assert_memory_equal(C, ((float[]){5, 11, 14, 23}), sizeof(C));
    nn_gemm_ref(C, A, false, B, true, 2, 2, 3);
    assert_memory_equal(C, ((float[]){7, 10, 16, 22}), sizeof(C));
    nn_gemm_ref(C, A, true, B, false, 2, 2, 3);
    assert_memory_equal(C, ((float[]){7, 18, 10, 22}), sizeof(C));
}

// Rounding to bfloat16 is off by at most 2^-9 of each number, so each of the K products by about
// 2^-8; errors of random signs add up as their root.
static void
test_bf16_products_are_within_their_bound(void **state)
{
    (void)state;
    enum { M = 100, N = 130, K = 120 };
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    float *A = random_matrix(&rng, M, K), *B = random_matrix(&rng, K, N);
    float *got = random_matrix(&rng, M, N), *want = random_matrix(&rng, M, N);
    nn_gemm_ref(want, A, false, B, false, M, N, K);
    nn_context *context = nn_context_create(&(nn_context_options){.threads = 1, .bf16 = true});
    if (nn_context_bf16(context) == NULL) {
        print_message("this CPU has no fast products of bfloat16\n");
        nn_gemm_nn(context, got, A, B, M, N, K);
        expect_near(got, want, (size_t)M * N, K);
    } else {
        nn_gemm_nn(context, got, A, B, M, N, K);
        double difference = 0, norm = 0;
        for (int i = 0; i < M * N; i++) {
            difference += pow((double)got[i] - (double)want[i], 2);
            norm += pow((double)want[i], 2);
        }
        assert_true(sqrt(difference / norm) < 4e-3);
        assert_true(sqrt(difference / norm) > 1e-4); // they are bfloat16
        check_size(context, &rng, M, 63, K);         // a size too small for it stays fp32
    }
    assert_null(nn_context_bf16(fixture_context())); // another context is another setting
    nn_gemm_nn(fixture_context(), got, A, B, M, N, K);
    expect_near(got, want, (size_t)M * N, K);
    nn_context_destroy(context);
    free(A);
    free(B);
    free(got);
    free(want);
}

// Each element is one chain of FMAs along K, whatever the sizes: also one column, and products that
// are OpenBLAS' otherwise because the context has threads.
static void
check_chain(nn_context *context, oct_rng *rng, uint32_t M, uint32_t N, uint32_t K)
{
    float *A = random_matrix(rng, M, K), *B = random_matrix(rng, K, N);
    float *got = random_matrix(rng, M, N), *want = random_matrix(rng, M, N);
    for (uint32_t i = 0; i < M; i++) {
        for (uint32_t j = 0; j < N; j++) {
            float sum = 0.0f;
            for (uint32_t k = 0; k < K; k++) {
                sum = fmaf(A[i * K + k], B[k * N + j], sum);
            }
            want[i * N + j] = sum;
        }
    }
    nn_gemm_nn(context, got, A, B, M, N, K);
    assert_memory_equal(got, want, (size_t)M * N * sizeof(*got));
    free(A);
    free(B);
    free(got);
    free(want);
}

static void
test_exact_products_are_chains_of_fmas(void **state)
{
    (void)state;
    const nn_context_options options = {.threads = 2, .exact = true};
    if (nn_context_refusal(&options) != NULL) {
        print_message("%s\n", nn_context_refusal(&options));
        skip();
    }
    nn_context *context = nn_context_create(&options);
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    assert_true(nn_context_exact(context));
    check_chain(context, &rng, 1, 1, 100);
    check_chain(context, &rng, 100, 1, 256);
    check_chain(context, &rng, 33, 4, 51);
    check_chain(context, &rng, 128, 128, 64);
    check_chain(context, &rng, 3, 600, 400);
    nn_context_destroy(context);
}

typedef struct rows_seen {
    const float *C;
    uint32_t next;
    double sum;
} rows_seen;

static void
see_rows(void *arg, uint32_t first, uint32_t rows)
{
    rows_seen *seen = arg;
    assert_int_equal(first, seen->next);
    seen->next += rows;
    for (uint32_t i = first; i < first + rows; i++) {
        seen->sum += (double)seen->C[i];
    }
}

// One column, which OpenBLAS does, and one row of many.
static void
test_rows_are_followed_up_once_and_in_order(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    float *A = random_matrix(&rng, 200, 30), *B = random_matrix(&rng, 30, 1);
    float C[200];
    for (int transposed = 0; transposed < 2; transposed++) {
        rows_seen seen = {.C = C};
        (transposed ? nn_gemm_nt_then : nn_gemm_nn_then)(fixture_context(), C, A, B, 200, 1, 30,
                                                         see_rows, &seen);
        double want = 0;
        for (int i = 0; i < 200; i++) {
            want += (double)C[i];
        }
        assert_int_equal(seen.next, 200);
        assert_true(seen.sum == want);
    }
    free(A);
    free(B);
}

static void
test_blas_init_names_the_family(void **state)
{
    (void)state;
    char warning[200] = "untouched";
    const char *family = nn_blas_init(1, warning, sizeof(warning));
    assert_true(strlen(family) > 0);
    assert_string_not_equal(warning, "untouched");
}

// A warning names what to do; without a remedy, or where OpenBLAS is fast enough, there is none.
static void
test_slow_blas_is_reported_with_its_remedy(void **state)
{
    (void)state;
    char warning[256] = "untouched";
    nn_blas_advise(1.2, "Prescott", "SkylakeX", warning, sizeof(warning));
    assert_string_equal(warning, "");
    nn_blas_advise(5.3, "Prescott", "SkylakeX", warning, sizeof(warning));
    assert_string_equal(warning,
                        "OpenBLAS does not know this CPU: its Prescott kernels take 5.3 times as "
                        "long as this CPU allows; start with OPENBLAS_CORETYPE=SkylakeX and "
                        "learner.blas_kernels: environment");
    nn_blas_advise(5.3, "SkylakeX", "SkylakeX", warning, sizeof(warning));
    assert_string_equal(warning, "");
    nn_blas_advise(5.3, "Prescott", NULL, warning, sizeof(warning));
    assert_string_equal(warning, "");
    assert_int_equal(setenv("OPENBLAS_L2_SIZE", "512", 1), 0);
    nn_blas_advise(5.3, "SkylakeX", "SkylakeX", warning, sizeof(warning));
    assert_non_null(strstr(warning, ": unset OPENBLAS_L2_SIZE=512"));
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Zen", 1), 0);
    nn_blas_advise(5.3, "Zen", "SkylakeX", warning, sizeof(warning));
    assert_non_null(strstr(warning, ": unset OPENBLAS_CORETYPE=Zen"));
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
    assert_int_equal(unsetenv("OPENBLAS_L2_SIZE"), 0);
}

// Own kernels do all products of one thread.
static void
test_blas_that_is_not_used_is_not_reported(void **state)
{
    (void)state;
    char warning[256] = "untouched";
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Prescott", 1), 0);
    (void)nn_blas_init(1, warning, sizeof(warning));
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
    assert_string_equal(warning, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_transposes_as_told),
        cmocka_unit_test(test_products_equal_the_definition_at_awkward_sizes),
        cmocka_unit_test(test_bf16_products_are_within_their_bound),
        cmocka_unit_test(test_exact_products_are_chains_of_fmas),
        cmocka_unit_test(test_rows_are_followed_up_once_and_in_order),
        cmocka_unit_test(test_blas_init_names_the_family),
        cmocka_unit_test(test_slow_blas_is_reported_with_its_remedy),
        cmocka_unit_test(test_blas_that_is_not_used_is_not_reported),
    };
    return cmocka_run_group_tests(tests, fixture_one_thread, NULL);
}
