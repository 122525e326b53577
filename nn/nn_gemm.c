#include "nn/nn_gemm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/oct_base.h"

// Large enough to leave OpenBLAS' small-matrix path, so that its packing buffer is mapped.
#define WARM_UP_SIZE 192

// OpenBLAS' families whose kernels use AVX-512.
static const char *const avx512_families[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};

static bool
cpu_has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static bool
family_has_avx512(const char *family)
{
    for (size_t i = 0; i < OCT_COUNTOF(avx512_families); i++) {
        if (strcmp(family, avx512_families[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void
warm_up(void)
{
    size_t count = (size_t)WARM_UP_SIZE * WARM_UP_SIZE;
    float *block = oct_alloc(3 * count * sizeof(*block));
    nn_gemm_nt(block, block + count, block + 2 * count, WARM_UP_SIZE, WARM_UP_SIZE, WARM_UP_SIZE);
    free(block);
}

const char *
nn_blas_init(uint32_t threads, char *warning, size_t warning_size)
{
    OCT_ASSERT(threads >= 1 && threads <= INT_MAX && warning_size > 0);
    openblas_set_num_threads((int)threads);
    warm_up();
    const char *family = openblas_get_corename();
    const char *forced_family = getenv("OPENBLAS_CORETYPE");
    const char *forced_cache = getenv("OPENBLAS_L2_SIZE");
    warning[0] = '\0';
    if (cpu_has_avx512() && !family_has_avx512(family)) {
        (void)snprintf(warning, warning_size,
                       "OpenBLAS uses its %s kernels without AVX-512, which this CPU has%s%s",
                       family, forced_family != NULL ? ": unset OPENBLAS_CORETYPE=" : "",
                       forced_family != NULL ? forced_family : "");
    } else if (forced_family != NULL) {
        (void)snprintf(warning, warning_size, "OPENBLAS_CORETYPE=%s forces OpenBLAS' kernels",
                       forced_family);
    } else if (forced_cache != NULL) {
        (void)snprintf(warning, warning_size, "OPENBLAS_L2_SIZE=%s forces OpenBLAS' block sizes",
                       forced_cache);
    }
    return family;
}

static void
gemm(float *C, const float *A, CBLAS_TRANSPOSE transpose_a, const float *B,
     CBLAS_TRANSPOSE transpose_b, uint32_t M, uint32_t N, uint32_t K)
{
    OCT_ASSERT(M >= 1 && N >= 1 && K >= 1);
    OCT_ASSERT(M <= INT_MAX && N <= INT_MAX && K <= INT_MAX);
    int a_stride = (int)(transpose_a == CblasTrans ? M : K);
    int b_stride = (int)(transpose_b == CblasTrans ? K : N);
    cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, (int)M, (int)N, (int)K, 1.0f, A, a_stride,
                B, b_stride, 0.0f, C, (int)N);
}

void
nn_gemm_nn(float *C, const float *A, const float *B, uint32_t M, uint32_t N, uint32_t K)
{
    gemm(C, A, CblasNoTrans, B, CblasNoTrans, M, N, K);
}

void
nn_gemm_nt(float *C, const float *A, const float *B, uint32_t M, uint32_t N, uint32_t K)
{
    gemm(C, A, CblasNoTrans, B, CblasTrans, M, N, K);
}

void
nn_gemm_tn(float *C, const float *A, const float *B, uint32_t M, uint32_t N, uint32_t K)
{
    gemm(C, A, CblasTrans, B, CblasNoTrans, M, N, K);
}

void
nn_gemm_nn_then(float *C, const float *A, const float *B, uint32_t M, uint32_t N, uint32_t K,
                nn_gemm_rows_fn *then, void *arg)
{
    nn_gemm_nn(C, A, B, M, N, K);
    then(arg, 0, M);
}

void
nn_gemm_nt_then(float *C, const float *A, const float *B, uint32_t M, uint32_t N, uint32_t K,
                nn_gemm_rows_fn *then, void *arg)
{
    nn_gemm_nt(C, A, B, M, N, K);
    then(arg, 0, M);
}

void
nn_gemm_ref(float *C, const float *A, bool transpose_a, const float *B, bool transpose_b,
            uint32_t M, uint32_t N, uint32_t K)
{
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++) {
                float a = transpose_a ? A[k * M + i] : A[i * K + k];
                float b = transpose_b ? B[j * K + k] : B[k * N + j];
                sum += (double)a * (double)b;
            }
            C[i * N + j] = (float)sum;
        }
    }
}
