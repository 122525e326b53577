// Times the matrix products that an update contains, by OpenBLAS, oneDNN and Octet's own kernels.
#include "bench/bench_products.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cblas.h>
#if defined(BENCH_HAS_ONEDNN)
#include <dnnl.h>
#endif

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_rng.h"
#include "nn/nn_gemm.h"

#define TRIALS   5
#define TRIAL_NS 3e6

static void
openblas_product(nn_context *context, const nn_product *p)
{
    (void)context;
    cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                p->transpose_b ? CblasTrans : CblasNoTrans, (int)p->M, (int)p->N, (int)p->K, 1.0f,
                p->A, (int)(p->transpose_a ? p->M : p->K), p->B,
                (int)(p->transpose_b ? p->K : p->N), 0.0f, p->C, (int)p->N);
}

#if defined(BENCH_HAS_ONEDNN)
static void
onednn_product(nn_context *context, const nn_product *p)
{
    (void)context;
    OCT_ASSERT(dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->M, p->N, p->K,
                          1.0f, p->A, p->transpose_a ? p->M : p->K, p->B,
                          p->transpose_b ? p->K : p->N, 0.0f, p->C, p->N) == dnnl_success);
}
#endif

static bench_product_fn *const libraries[] = {
    openblas_product,
#if defined(BENCH_HAS_ONEDNN)
    onednn_product,
#endif
};

const char *
bench_products_libraries(void)
{
    static char text[64];
    (void)snprintf(text, sizeof(text), "OpenBLAS %s%s", openblas_get_corename(),
                   OCT_COUNTOF(libraries) > 1 ? ", oneDNN" : "");
    return text;
}

static void
own_product(nn_context *context, const nn_product *p)
{
    if (p->transpose_a) {
        nn_gemm_tn(context, p->C, p->A, p->B, p->M, p->N, p->K);
    } else if (p->transpose_b) {
        nn_gemm_nt(context, p->C, p->A, p->B, p->M, p->N, p->K);
    } else {
        nn_gemm_nn(context, p->C, p->A, p->B, p->M, p->N, p->K);
    }
}

static void
add(bench_products *list, nn_product product)
{
    OCT_ASSERT(list->count < BENCH_PRODUCTS_MAX);
    list->items[list->count++] = product;
}

void
bench_products_forward(bench_products *list, const policy_spec *spec, uint32_t rows)
{
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        add(list, (nn_product){.transpose_b = true,
                               .M = rows * policy_layer_places(layer),
                               .N = policy_layer_rows(layer),
                               .K = policy_layer_columns(layer)});
    }
}

void
bench_products_backward(bench_products *list, const policy_spec *spec, uint32_t rows, bool weights,
                        uint32_t inputs)
{
    for (uint32_t l = spec->layer_count; l-- > 0;) {
        const policy_layer *layer = &spec->layers[l];
        uint32_t in = policy_layer_columns(layer), out = policy_layer_rows(layer);
        uint32_t all = rows * policy_layer_places(layer);
        if (weights) {
            add(list, (nn_product){.transpose_a = true, .M = out, .N = in, .K = all});
        }
        uint32_t below = l > 0 ? in : inputs;
        if (below > 0) {
            add(list, (nn_product){.M = all, .N = below, .K = out});
        }
    }
}

static float *
random_floats(oct_rng *rng, size_t count)
{
    float *x = oct_alloc((count + 16) * sizeof(*x)); // room to begin on a cache line
    for (size_t i = 0; i < count; i++) {
        x[i] = 2.0f * oct_rng_float(rng) - 1.0f;
    }
    return x;
}

// The best of some trials, in ns.
static double
product_ns(nn_context *context, bench_product_fn *run, const nn_product *product)
{
    double flops = 2.0 * product->M * product->N * product->K;
    int repeats = OCT_MAX(1, (int)(TRIAL_NS / (flops / 200 + 100)));
    double best = INFINITY;
    for (int t = 0; t < TRIALS; t++) {
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        for (int i = 0; i < repeats; i++) {
            run(context, product);
        }
        best = fmin(best, (double)(oct_clock_thread_cpu_ns() - begin_ns) / repeats);
    }
    return best;
}

static bool
own_agrees(nn_context *context, const nn_product *theirs, double tolerance)
{
    size_t count = (size_t)theirs->M * theirs->N;
    nn_product own = *theirs;
    own.C = oct_alloc(count * sizeof(float));
    own_product(context, &own);
    openblas_product(context, theirs);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)own.C[i] - (double)theirs->C[i], 2);
        norm += pow((double)theirs->C[i], 2);
    }
    free(own.C);
    double error = sqrt(difference / norm);
    if (!(error <= tolerance)) {
        fprintf(stderr, "product %ux%ux%u: our own is off by %.3g\n", theirs->M, theirs->N,
                theirs->K, error);
    }
    return error <= tolerance;
}

// The faster library for product i. Those before it have theirs: of the same shape, the same.
static bench_product_fn *
best_of(const bench_products *list, uint32_t i)
{
    const nn_product *p = &list->items[i];
    for (uint32_t j = 0; j < i; j++) {
        const nn_product *q = &list->items[j];
        if (p->M == q->M && p->N == q->N && p->K == q->K && p->transpose_a == q->transpose_a &&
            p->transpose_b == q->transpose_b) {
            return list->best[j];
        }
    }
    bench_product_fn *best = libraries[0];
    double best_ns = INFINITY;
    for (size_t library = 0; !list->quick && library < OCT_COUNTOF(libraries); library++) {
        double ns = product_ns(list->context, libraries[library], p);
        best = ns < best_ns ? libraries[library] : best;
        best_ns = fmin(best_ns, ns);
    }
    return best;
}

bool
bench_products_prepare(bench_products *list, double tolerance)
{
    size_t left = 0, right = 0, out = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const nn_product *p = &list->items[i];
        left = OCT_MAX(left, (size_t)p->M * p->K);
        right = OCT_MAX(right, (size_t)p->K * p->N);
        out = OCT_MAX(out, (size_t)p->M * p->N);
    }
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    list->left = random_floats(&rng, left);
    list->right = random_floats(&rng, right);
    list->out = random_floats(&rng, out);
    for (uint32_t i = 0; i < list->count; i++) {
        nn_product *p = &list->items[i];
        p->A = list->left;
        p->B = list->right;
        p->C = list->out;
        list->best[i] = best_of(list, i);
        if (!own_agrees(list->context, p, tolerance)) {
            return false;
        }
    }
    return true;
}

// What a layer of so many outputs and inputs multiplies for a batch: forward, what is below,
// weights.
static void
table_layer(nn_context *context, nn_context *rounded, uint32_t rows, uint32_t outputs,
            uint32_t inputs)
{
    static const char *const names[] = {"forward", "below", "weights"};
    const nn_product forms[] = {
        {.transpose_b = true, .M = rows, .N = outputs, .K = inputs},
        {.M = rows, .N = inputs, .K = outputs},
        {.transpose_a = true, .M = outputs, .N = inputs, .K = rows},
    };
    for (size_t i = 0; i < OCT_COUNTOF(forms); i++) {
        bench_products one = {.context = context, .count = 1, .items = {forms[i]}};
        const nn_product *p = &one.items[0];
        double flops = 2.0 * p->M * p->N * p->K, rounded_ns = INFINITY;
        OCT_ASSERT(bench_products_prepare(&one, 1e-5));
        printf("{\"name\": \"product\", \"form\": \"%s\", \"size\": \"%ux%ux%u\"", names[i], p->M,
               p->N, p->K);
        printf(", \"openblas\": %.0f", flops / product_ns(context, openblas_product, p));
#if defined(BENCH_HAS_ONEDNN)
        printf(", \"onednn\": %.0f", flops / product_ns(context, onednn_product, p));
#endif
        printf(", \"own\": %.0f", flops / product_ns(context, own_product, p));
        if (nn_context_bf16(rounded) != NULL) {
            rounded_ns = product_ns(rounded, own_product, p);
        }
        printf(", \"own_bf16\": %.0f, \"unit\": \"GFLOP/s\"}\n", flops / rounded_ns);
        bench_products_fini(&one);
    }
}

void
bench_products_table(uint32_t threads)
{
    static const uint32_t layers[][3] = {
        {100, 64, 64},   {256, 64, 64},  {256, 64, 24},    {256, 6, 64},    {256, 256, 30},
        {256, 256, 256}, {256, 51, 256}, {256, 1, 256},    {256, 512, 512}, {256, 256, 512},
        {256, 2048, 24}, {256, 6, 2048}, {256, 2048, 2048}};
    const nn_context_options options = {.threads = threads, .bf16 = true};
    nn_context *context = nn_context_create(&(nn_context_options){.threads = threads});
    nn_context *rounded = nn_context_create(&options);
    for (size_t i = 0; i < OCT_COUNTOF(layers); i++) {
        table_layer(context, rounded, layers[i][0], layers[i][1], layers[i][2]);
    }
    nn_context_destroy(rounded);
    nn_context_destroy(context);
}

void
bench_products_run_best(const bench_products *list)
{
    int threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
    for (uint32_t i = 0; i < list->count; i++) {
        list->best[i](list->context, &list->items[i]);
    }
    openblas_set_num_threads(threads);
}

void
bench_products_run_own(const bench_products *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        own_product(list->context, &list->items[i]);
    }
}

void
bench_products_fini(bench_products *list)
{
    free(list->left);
    free(list->right);
    free(list->out);
    *list = (bench_products){0};
}
