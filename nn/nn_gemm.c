// Matrix products: the sizes choose between Octet's tile kernels and OpenBLAS. A plain reference is
// at the end.
#include "nn/nn_gemm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "nn/nn_tiled.h"

// The size of a product that leaves OpenBLAS' small-matrix path, so that its packing buffer gets
// mapped.
#define WARM_UP_SIZE 192
// OpenBLAS counts as slow if its best time is this many times the best time of Octet's own kernels.
#define SLOW_RATIO   2.0
#define ADVICE_TRIES 5 // attempts, of which the best counts

// From this number of multiplications, several threads of OpenBLAS gain more than they cost.
#define LARGE_PRODUCT (1u << 20)
// Products with a smaller size gain nothing from bfloat16: first layers and heads stay in fp32.
#define BF16_SIZE_MIN 64

static void
blas_product(const nn_product *p)
{
    OCT_ASSERT(p->M <= INT_MAX && p->N <= INT_MAX && p->K <= INT_MAX);
    cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                p->transpose_b ? CblasTrans : CblasNoTrans, (int)p->M, (int)p->N, (int)p->K, 1.0f,
                p->A, (int)(p->transpose_a ? p->M : p->K), p->B,
                (int)(p->transpose_b ? p->K : p->N), 0.0f, p->C, (int)p->N);
    if (p->then != NULL) {
        p->then(p->arg, 0, p->M);
    }
}

static void
warm_up(void)
{
    size_t count = (size_t)WARM_UP_SIZE * WARM_UP_SIZE;
    float *block = oct_alloc(3 * count * sizeof(*block));
    blas_product(&(nn_product){.C = block,
                               .A = block + count,
                               .B = block + 2 * count,
                               .transpose_b = true,
                               .M = WARM_UP_SIZE,
                               .N = WARM_UP_SIZE,
                               .K = WARM_UP_SIZE});
    free(block);
}

// Returns the best time of the product in seconds; tiles NULL: by OpenBLAS.
static double
product_s(const nn_tile_ops *tiles, nn_context *context, const nn_product *p)
{
    uint64_t best_ns = UINT64_MAX;
    for (int i = 0; i < ADVICE_TRIES; i++) {
        uint64_t begin_ns = oct_clock_ns();
        if (tiles != NULL) {
            nn_tiled_product(context, tiles, p);
        } else {
            blas_product(p);
        }
        best_ns = OCT_MIN(best_ns, oct_clock_ns() - begin_ns);
    }
    return (double)best_ns * 1e-9;
}

// Returns the time of OpenBLAS for a product divided by that of Octet's own kernels, both with one
// thread, or 0 if this CPU has no own kernels.
static double
slowness(void)
{
    const nn_context_options options = {.threads = 1};
    const nn_tile_ops *tiles = nn_tile_float();
    if (tiles == NULL) {
        return 0;
    }
    size_t count = (size_t)WARM_UP_SIZE * WARM_UP_SIZE;
    float *block = oct_alloc(3 * count * sizeof(*block));
    nn_context *context = nn_context_create(&options);
    nn_gemm_reserve(context, WARM_UP_SIZE, WARM_UP_SIZE, WARM_UP_SIZE);
    const nn_product product = {.C = block,
                                .A = block + count,
                                .B = block + 2 * count,
                                .transpose_b = true,
                                .M = WARM_UP_SIZE,
                                .N = WARM_UP_SIZE,
                                .K = WARM_UP_SIZE};
    double own_s = product_s(tiles, context, &product);
    double ratio = product_s(NULL, context, &product) / OCT_MAX(own_s, 1e-9);
    nn_context_destroy(context);
    free(block);
    return ratio;
}

// Returns the family of OpenBLAS kernels for this CPU, or NULL if unknown.
static const char *
family_for_cpu(void)
{
#if defined(__x86_64__)
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has_avx512 ? "SkylakeX" : has_avx2 ? "Haswell" : NULL;
#else
    return NULL;
#endif
}

void
nn_blas_advise(double ratio, const char *family, const char *best, char *warning,
               size_t warning_size)
{
    static const char *const forcing[] = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"};
    warning[0] = '\0';
    if (ratio < SLOW_RATIO) {
        return;
    }
    for (size_t i = 0; i < OCT_COUNTOF(forcing); i++) {
        const char *value = getenv(forcing[i]);
        if (value != NULL) {
            (void)snprintf(warning, warning_size,
                           "OpenBLAS takes %.1f times as long as this CPU allows: unset %s=%.40s",
                           ratio, forcing[i], value);
            return;
        }
    }
    if (best != NULL && strcmp(family, best) != 0) {
        (void)snprintf(warning, warning_size,
                       "OpenBLAS does not know this CPU: its %s kernels take %.1f times as long as "
                       "this CPU allows; start with OPENBLAS_CORETYPE=%s and "
                       "learner.blas_kernels: environment",
                       family, ratio, best);
    }
}

const char *
nn_blas_init(uint32_t threads, char *warning, size_t warning_size)
{
    OCT_ASSERT(threads >= 1 && threads <= INT_MAX && warning_size > 0);
    openblas_set_num_threads(1);
    warm_up();
    const char *family = openblas_get_corename();
    // With one thread Octet's own kernels do all products, where this CPU has them.
    double ratio = threads > 1 ? slowness() : 0;
    nn_blas_advise(ratio, family, family_for_cpu(), warning, warning_size);
    openblas_set_num_threads((int)threads);
    return family;
}

// Chooses the kernels for a product; NULL: OpenBLAS. The thresholds were measured
// (docs/internals/decisions/0015-learner-speed.md). The choice depends on the sizes and the
// context's settings alone, so that a run can be repeated bit for bit.
static const nn_tile_ops *
tiles_for(const nn_context *context, const nn_product *p)
{
    const nn_tile_ops *bf16 = nn_context_bf16(context);
    bool large = (uint64_t)p->M * p->N * p->K >= LARGE_PRODUCT;
    if (nn_context_exact(context)) {
        return nn_tile_float(); // not NULL, see nn_context_refusal
    }
    if (bf16 != NULL && OCT_MIN(OCT_MIN(p->M, p->N), p->K) >= BF16_SIZE_MIN) {
        return bf16;
    }
    return large && nn_context_threads(context) > 1 ? NULL : nn_tile_float();
}

static void
gemm(nn_context *context, const nn_product *p)
{
    OCT_ASSERT(p->M >= 1 && p->N >= 1 && p->K >= 1);
    const nn_tile_ops *tiles = tiles_for(context, p);
    if (tiles != NULL) {
        nn_tiled_product(context, tiles, p);
    } else {
        blas_product(p);
    }
}

void
nn_gemm_reserve(nn_context *context, uint32_t M, uint32_t N, uint32_t K)
{
    // The forward product, the gradient of the inputs, and the gradient of the weights.
    const nn_product forms[] = {
        {.M = M, .N = N, .K = K}, {.M = M, .N = K, .K = N}, {.M = N, .N = K, .K = M}};
    for (size_t i = 0; i < OCT_COUNTOF(forms); i++) {
        const nn_tile_ops *tiles = tiles_for(context, &forms[i]);
        if (tiles != NULL) {
            nn_tiled_reserve(context, tiles, forms[i].M, forms[i].N, forms[i].K);
        }
    }
}

// Returns the largest need among the kernels that may do the product: the choice depends on the
// rows of A.
size_t
nn_gemm_panel_units(const nn_context *context, uint32_t N, uint32_t K)
{
    const nn_tile_ops *const tables[] = {nn_tile_float(), nn_context_bf16(context)};
    size_t most = 0;
    for (size_t i = 0; i < OCT_COUNTOF(tables); i++) {
        size_t units = tables[i] == NULL ? 0 : nn_tiled_panel_units(tables[i], N, K);
        most = OCT_MAX(most, units);
    }
    return most;
}

void
nn_gemm_nn(nn_context *context, float *C, const float *A, const float *B, uint32_t M, uint32_t N,
           uint32_t K)
{
    nn_gemm_nn_then(context, C, A, B, M, N, K, NULL, NULL);
}

void
nn_gemm_nt(nn_context *context, float *C, const float *A, const float *B, uint32_t M, uint32_t N,
           uint32_t K)
{
    nn_gemm_nt_then(context, C, A, B, M, N, K, NULL, NULL);
}

void
nn_gemm_nt_kept(nn_context *context, float *C, const float *A, const float *B, nn_panels *panels,
                uint32_t M, uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg)
{
    gemm(context, &(nn_product){.C = C,
                                .A = A,
                                .B = B,
                                .transpose_b = true,
                                .M = M,
                                .N = N,
                                .K = K,
                                .then = then,
                                .arg = arg,
                                .panels = panels});
}

void
nn_gemm_tn(nn_context *context, float *C, const float *A, const float *B, uint32_t M, uint32_t N,
           uint32_t K)
{
    gemm(context,
         &(nn_product){.C = C, .A = A, .transpose_a = true, .B = B, .M = M, .N = N, .K = K});
}

void
nn_gemm_nn_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg)
{
    gemm(context,
         &(nn_product){.C = C, .A = A, .B = B, .M = M, .N = N, .K = K, .then = then, .arg = arg});
}

void
nn_gemm_nt_then(nn_context *context, float *C, const float *A, const float *B, uint32_t M,
                uint32_t N, uint32_t K, nn_gemm_rows_fn *then, void *arg)
{
    nn_gemm_nt_kept(context, C, A, B, NULL, M, N, K, then, arg);
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
