// The programs that bench_policy_forward compares with: a plain read of memory, OpenBLAS in fp32,
// oneDNN in int8.
#include "bench/bench_policy_peers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cblas.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LAYERS_MAX 8
#define LARGE_PAGE ((size_t)2 << 20)

static float *
random_floats(size_t count, float amplitude, oct_rng *rng)
{
    float *x = oct_alloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        x[i] = (2.0f * oct_rng_float(rng) - 1.0f) * amplitude;
    }
    return x;
}

typedef struct read_peer {
    size_t bytes;
    uint8_t *data;
} read_peer;

#if defined(__x86_64__)
// Eight loads of 64 bytes in flight, each into a chain of its own.
__attribute__((target("avx512f"), noinline)) static void
read_avx512(const uint8_t *data, size_t bytes)
{
    __m512i sum[8];
    for (int i = 0; i < 8; i++) {
        sum[i] = _mm512_setzero_si512();
    }
    for (size_t at = 0; at + 512 <= bytes; at += 512) {
#ifdef __clang__
        _Pragma("clang loop unroll(full)")
#else
        _Pragma("GCC unroll 8")
#endif
            for (int i = 0; i < 8; i++)
        {
            sum[i] = _mm512_or_si512(sum[i], _mm512_load_si512(data + at + 64 * i));
        }
    }
    for (size_t at = bytes & ~(size_t)511; at + 64 <= bytes; at += 64) {
        sum[0] = _mm512_or_si512(sum[0], _mm512_load_si512(data + at));
    }
    for (int i = 0; i < 8; i++) {
        __asm__ volatile("" ::"v"(sum[i]));
    }
}
#endif

static void
read_words(const uint8_t *data, size_t bytes)
{
    uint64_t sum[4] = {0};
    for (size_t at = 0; at + sizeof(sum) <= bytes; at += sizeof(sum)) {
        uint64_t words[4];
        memcpy(words, data + at, sizeof(words));
        for (int i = 0; i < 4; i++) {
            sum[i] |= words[i];
        }
    }
    __asm__ volatile("" ::"r"(sum[0] | sum[1] | sum[2] | sum[3]));
}

static void
read_run(void *self)
{
    const read_peer *peer = self;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        read_avx512(peer->data, peer->bytes);
        return;
    }
#endif
    read_words(peer->data, peer->bytes);
}

static void
read_destroy(void *self)
{
    free(((read_peer *)self)->data);
    free(self);
}

// In large pages when there are many of them, as the weights of a policy are.
bench_peer
bench_peer_read(size_t bytes)
{
    read_peer *peer = oct_alloc(sizeof(*peer));
    peer->bytes = (bytes + 63) & ~(size_t)63;
    size_t page = bytes >= 2 * LARGE_PAGE ? LARGE_PAGE : 64;
    size_t whole = (peer->bytes + page - 1) / page * page;
    peer->data = oct_reserve(page, peer->bytes);
#if defined(MADV_HUGEPAGE)
    if (page == LARGE_PAGE) {
        (void)madvise(peer->data, whole, MADV_HUGEPAGE); // a hint
    }
#endif
    memset(peer->data, 0, whole);
    return (bench_peer){"read", read_run, read_destroy, peer};
}

typedef struct blas_peer {
    uint32_t layers, rows;
    uint32_t widths[LAYERS_MAX + 1];
    float *weights[LAYERS_MAX];
    float *bias[LAYERS_MAX];
    float *x[LAYERS_MAX + 1]; // [rows][widths]
} blas_peer;

static void
blas_run(void *self)
{
    const blas_peer *peer = self;
    int rows = (int)peer->rows;
    for (uint32_t l = 0; l < peer->layers; l++) {
        int in = (int)peer->widths[l], out = (int)peer->widths[l + 1];
        float *restrict y = peer->x[l + 1];
        if (rows == 1) {
            cblas_sgemv(CblasRowMajor, CblasNoTrans, out, in, 1.0f, peer->weights[l], in,
                        peer->x[l], 1, 0.0f, y, 1);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1.0f, peer->x[l],
                        in, peer->weights[l], in, 0.0f, y, out);
        }
        const float *restrict bias = peer->bias[l];
        float least = l + 1 < peer->layers ? 0.0f : -3e38f;
        for (int r = 0; r < rows; r++, y += out) {
            for (int j = 0; j < out; j++) {
                float sum = y[j] + bias[j];
                y[j] = sum > least ? sum : least;
            }
        }
    }
}

static void
blas_destroy(void *self)
{
    blas_peer *peer = self;
    for (uint32_t l = 0; l < peer->layers; l++) {
        free(peer->weights[l]);
        free(peer->bias[l]);
        free(peer->x[l]);
    }
    free(peer->x[peer->layers]);
    free(peer);
}

bench_peer
bench_peer_openblas(const uint32_t *widths, uint32_t count, uint32_t rows)
{
    OCT_ASSERT(count <= LAYERS_MAX);
    oct_rng rng;
    oct_rng_init(&rng, 31, 1);
    openblas_set_num_threads(1);
    blas_peer *peer = oct_alloc(sizeof(*peer));
    peer->layers = count - 1;
    peer->rows = rows;
    memcpy(peer->widths, widths, count * sizeof(widths[0]));
    for (uint32_t l = 0; l < count; l++) {
        peer->x[l] = random_floats((size_t)rows * widths[l], 1.0f, &rng);
        if (l + 1 < count) {
            size_t weights = (size_t)widths[l] * widths[l + 1];
            peer->weights[l] = random_floats(weights, 1.7f / (float)widths[l], &rng);
            peer->bias[l] = random_floats(widths[l + 1], 0.3f, &rng);
        }
    }
    return (bench_peer){"openblas fp32", blas_run, blas_destroy, peer};
}

const char *
bench_peer_openblas_core(void)
{
    return openblas_get_corename();
}

#if defined(BENCH_HAS_ONEDNN)
#include <dnnl.h>

#define CHECK(call) OCT_ASSERT((call) == dnnl_success)

typedef struct dnnl_layer {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
} dnnl_layer;

typedef struct dnnl_peer {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint32_t count;
    dnnl_layer layers[LAYERS_MAX];
} dnnl_peer;

static void
dnnl_run(void *self)
{
    dnnl_peer *peer = self;
    for (uint32_t l = 0; l < peer->count; l++) {
        CHECK(dnnl_primitive_execute(peer->layers[l].primitive, peer->stream, 4,
                                     peer->layers[l].args));
    }
    CHECK(dnnl_stream_wait(peer->stream));
}

static void
dnnl_destroy(void *self)
{
    dnnl_peer *peer = self;
    for (uint32_t l = 0; l < peer->count; l++) {
        dnnl_layer *layer = &peer->layers[l];
        CHECK(dnnl_primitive_destroy(layer->primitive));
        // The input of all but the first layer is the output of the one before.
        for (int i = l == 0 ? 0 : 1; i < 4; i++) {
            CHECK(dnnl_memory_destroy(layer->args[i].memory));
        }
    }
    CHECK(dnnl_stream_destroy(peer->stream));
    CHECK(dnnl_engine_destroy(peer->engine));
    free(peer);
}

static dnnl_memory_t
dnnl_memory_filled(dnnl_engine_t engine, const dnnl_memory_desc_t *desc, uint8_t value)
{
    dnnl_memory_t memory;
    void *bytes;
    CHECK(dnnl_memory_create(&memory, desc, engine, DNNL_MEMORY_ALLOCATE));
    CHECK(dnnl_memory_get_data_handle(memory, &bytes));
    memset(bytes, value, dnnl_memory_desc_get_size(desc));
    return memory;
}

// One scale for each output, and relu but for the last layer.
static dnnl_primitive_attr_t
dnnl_attributes(uint32_t outputs, bool is_last)
{
    dnnl_primitive_attr_t attributes;
    CHECK(dnnl_primitive_attr_create(&attributes));
    float *scales = oct_alloc(outputs * sizeof(float));
    for (uint32_t j = 0; j < outputs; j++) {
        scales[j] = 0.001f * (float)(1 + j % 3);
    }
    CHECK(dnnl_primitive_attr_set_output_scales(attributes, outputs, 2, scales));
    free(scales);
    if (!is_last) {
        dnnl_post_ops_t post;
        CHECK(dnnl_post_ops_create(&post));
        CHECK(dnnl_post_ops_append_eltwise(post, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f));
        CHECK(dnnl_primitive_attr_set_post_ops(attributes, post));
        CHECK(dnnl_post_ops_destroy(post));
    }
    return attributes;
}

static dnnl_layer
dnnl_layer_create(dnnl_engine_t engine, uint32_t rows, uint32_t in, uint32_t out,
                  dnnl_memory_t source, bool is_last)
{
    dnnl_memory_desc_t x, w, b, y;
    dnnl_dims_t xd = {rows, in}, wd = {out, in}, bd = {out}, yd = {rows, out};
    CHECK(dnnl_memory_desc_init_by_tag(&x, 2, xd, dnnl_u8, dnnl_ab));
    CHECK(dnnl_memory_desc_init_by_tag(&w, 2, wd, dnnl_s8, dnnl_format_tag_any));
    CHECK(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
    CHECK(dnnl_memory_desc_init_by_tag(&y, 2, yd, is_last ? dnnl_f32 : dnnl_u8, dnnl_ab));
    dnnl_inner_product_desc_t desc;
    CHECK(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &x, &w, &b, &y));
    dnnl_primitive_attr_t attributes = dnnl_attributes(out, is_last);
    dnnl_primitive_desc_t primitive;
    CHECK(dnnl_primitive_desc_create(&primitive, &desc, attributes, engine, NULL));
    const dnnl_memory_desc_t *packed =
        dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
    dnnl_layer layer = {
        .args = {
            {DNNL_ARG_SRC, source != NULL ? source : dnnl_memory_filled(engine, &x, 9)},
            {DNNL_ARG_WEIGHTS, dnnl_memory_filled(engine, packed, 1)},
            {DNNL_ARG_BIAS, dnnl_memory_filled(engine, &b, 0)},
            {DNNL_ARG_DST, dnnl_memory_filled(engine, &y, 0)},
        }};
    CHECK(dnnl_primitive_create(&layer.primitive, primitive));
    CHECK(dnnl_primitive_desc_destroy(primitive));
    CHECK(dnnl_primitive_attr_destroy(attributes));
    return layer;
}

bench_peer
bench_peer_onednn(const uint32_t *widths, uint32_t count, uint32_t rows)
{
    OCT_ASSERT(count <= LAYERS_MAX);
    dnnl_peer *peer = oct_alloc(sizeof(*peer));
    CHECK(dnnl_engine_create(&peer->engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&peer->stream, peer->engine, dnnl_stream_default_flags));
    peer->count = count - 1;
    dnnl_memory_t source = NULL;
    for (uint32_t l = 0; l + 1 < count; l++) {
        peer->layers[l] =
            dnnl_layer_create(peer->engine, rows, widths[l], widths[l + 1], source, l + 2 == count);
        source = peer->layers[l].args[3].memory;
    }
    return (bench_peer){"onednn int8", dnnl_run, dnnl_destroy, peer};
}
#else
bench_peer
bench_peer_onednn(const uint32_t *widths, uint32_t count, uint32_t rows)
{
    (void)widths;
    (void)count;
    (void)rows;
    return (bench_peer){.name = "onednn int8"};
}
#endif
