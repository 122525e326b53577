// A policy, and the programs that it is compared with: a plain read of memory, OpenBLAS in fp32,
// oneDNN in int8.
#include "bench/bench_policy_peers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cblas.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_rng.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LAYERS_MAX 8

void
bench_peers_prepare(char **argv)
{
    const char *threads = getenv("OMP_NUM_THREADS");
    if (threads == NULL || strcmp(threads, "1") != 0 || getenv("OPENBLAS_CORETYPE") != NULL) {
        setenv("OMP_NUM_THREADS", "1", 1);
        unsetenv("OPENBLAS_CORETYPE");
        execv("/proc/self/exe", argv); // where that is not there: go on as it is
    }
}

double
bench_peer_us(const bench_peer *peer, uint32_t calls)
{
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    for (uint32_t i = 0; i < calls; i++) {
        peer->run(peer->self);
    }
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-3 / calls;
}

static void
own_run(void *self)
{
    bench_own_net *own = self;
    policy_forward(own->net, own->scratch, own->obs, own->obs_bytes, own->B, own->y);
}

bench_own_net *
bench_own_net_create(const policy_image *image, policy_isa isa, const void *obs, uint32_t B)
{
    policy_net *net;
    if (policy_net_create(&net, image, isa) != OCT_OK) {
        return NULL;
    }
    bench_own_net *own = oct_alloc(sizeof(*own));
    *own = (bench_own_net){
        .net = net,
        .scratch = policy_scratch_create(&image->spec, B),
        .obs = obs,
        .B = B,
        .obs_bytes = policy_spec_obs_bytes(&image->spec),
        .y = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float)),
    };
    own_run(own);
    return own;
}

void
bench_own_net_destroy(void *self)
{
    bench_own_net *own = self;
    policy_scratch_destroy(own->scratch);
    policy_net_destroy(own->net);
    free(own->y);
    free(own);
}

bench_peer
bench_peer_own(bench_own_net *own)
{
    return (bench_peer){"octet", own_run, bench_own_net_destroy, own};
}

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

bench_peer
bench_peer_read(size_t bytes)
{
    read_peer *peer = oct_alloc(sizeof(*peer));
    peer->bytes = (bytes + 63) & ~(size_t)63;
    peer->data = oct_alloc(peer->bytes);
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
typedef struct onednn_layer {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
} onednn_layer;

struct bench_onednn_net {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint32_t count;
    onednn_layer layers[LAYERS_MAX];
};

bench_onednn_net *
bench_onednn_net_create(void)
{
    bench_onednn_net *net = oct_alloc(sizeof(*net));
    BENCH_ONEDNN(dnnl_engine_create(&net->engine, dnnl_cpu, 0));
    BENCH_ONEDNN(dnnl_stream_create(&net->stream, net->engine, dnnl_stream_default_flags));
    return net;
}

static dnnl_memory_t
onednn_filled(dnnl_engine_t engine, const dnnl_memory_desc_t *desc, uint8_t value)
{
    dnnl_memory_t memory;
    void *bytes;
    BENCH_ONEDNN(dnnl_memory_create(&memory, desc, engine, DNNL_MEMORY_ALLOCATE));
    BENCH_ONEDNN(dnnl_memory_get_data_handle(memory, &bytes));
    memset(bytes, value, dnnl_memory_desc_get_size(desc));
    return memory;
}

static dnnl_primitive_attr_t
onednn_attributes(uint32_t outputs, bool is_last)
{
    dnnl_primitive_attr_t attributes;
    BENCH_ONEDNN(dnnl_primitive_attr_create(&attributes));
    float *scales = oct_alloc(outputs * sizeof(float));
    for (uint32_t j = 0; j < outputs; j++) {
        scales[j] = 0.001f * (float)(1 + j % 3);
    }
    BENCH_ONEDNN(dnnl_primitive_attr_set_output_scales(attributes, outputs, 2, scales));
    free(scales);
    if (!is_last) {
        dnnl_post_ops_t post;
        BENCH_ONEDNN(dnnl_post_ops_create(&post));
        BENCH_ONEDNN(dnnl_post_ops_append_eltwise(post, 1.0f, dnnl_eltwise_relu, 0.0f, 0.0f));
        BENCH_ONEDNN(dnnl_primitive_attr_set_post_ops(attributes, post));
        BENCH_ONEDNN(dnnl_post_ops_destroy(post));
    }
    return attributes;
}

void
bench_onednn_net_add(bench_onednn_net *net, const void *desc, const dnnl_memory_desc_t *x,
                     const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *y, uint32_t outputs,
                     bool is_last)
{
    OCT_ASSERT(net->count < LAYERS_MAX);
    dnnl_primitive_attr_t attributes = onednn_attributes(outputs, is_last);
    dnnl_primitive_desc_t primitive;
    BENCH_ONEDNN(dnnl_primitive_desc_create(&primitive, desc, attributes, net->engine, NULL));
    const dnnl_memory_desc_t *w = dnnl_primitive_desc_query_md(primitive, dnnl_query_weights_md, 0);
    onednn_layer *layer = &net->layers[net->count];
    dnnl_memory_t source =
        net->count == 0 ? onednn_filled(net->engine, x, 1) : layer[-1].args[3].memory;
    *layer = (onednn_layer){.args = {
                                {DNNL_ARG_SRC, source},
                                {DNNL_ARG_WEIGHTS, onednn_filled(net->engine, w, 1)},
                                {DNNL_ARG_BIAS, onednn_filled(net->engine, bias, 0)},
                                {DNNL_ARG_DST, onednn_filled(net->engine, y, 0)},
                            }};
    net->count++;
    BENCH_ONEDNN(dnnl_primitive_create(&layer->primitive, primitive));
    BENCH_ONEDNN(dnnl_primitive_desc_destroy(primitive));
    BENCH_ONEDNN(dnnl_primitive_attr_destroy(attributes));
}

static void
onednn_run(void *self)
{
    bench_onednn_net *net = self;
    for (uint32_t l = 0; l < net->count; l++) {
        BENCH_ONEDNN(
            dnnl_primitive_execute(net->layers[l].primitive, net->stream, 4, net->layers[l].args));
    }
    BENCH_ONEDNN(dnnl_stream_wait(net->stream));
}

static void
onednn_destroy(void *self)
{
    bench_onednn_net *net = self;
    for (uint32_t l = 0; l < net->count; l++) {
        onednn_layer *layer = &net->layers[l];
        BENCH_ONEDNN(dnnl_primitive_destroy(layer->primitive));
        // The input of all but the first layer is the output of the one before.
        for (int i = l == 0 ? 0 : 1; i < 4; i++) {
            BENCH_ONEDNN(dnnl_memory_destroy(layer->args[i].memory));
        }
    }
    BENCH_ONEDNN(dnnl_stream_destroy(net->stream));
    BENCH_ONEDNN(dnnl_engine_destroy(net->engine));
    free(net);
}

bench_peer
bench_peer_onednn_net(bench_onednn_net *net)
{
    return (bench_peer){"onednn int8", onednn_run, onednn_destroy, net};
}

bench_peer
bench_peer_onednn(const uint32_t *widths, uint32_t count, uint32_t rows)
{
    bench_onednn_net *net = bench_onednn_net_create();
    for (uint32_t l = 0; l + 1 < count; l++) {
        bool is_last = l + 2 == count;
        dnnl_memory_desc_t x, w, b, y;
        dnnl_dims_t xd = {rows, widths[l]}, wd = {widths[l + 1], widths[l]};
        dnnl_dims_t bd = {widths[l + 1]}, yd = {rows, widths[l + 1]};
        BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&x, 2, xd, dnnl_u8, dnnl_ab));
        BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&w, 2, wd, dnnl_s8, dnnl_format_tag_any));
        BENCH_ONEDNN(dnnl_memory_desc_init_by_tag(&b, 1, bd, dnnl_f32, dnnl_a));
        BENCH_ONEDNN(
            dnnl_memory_desc_init_by_tag(&y, 2, yd, is_last ? dnnl_f32 : dnnl_u8, dnnl_ab));
        dnnl_inner_product_desc_t desc;
        BENCH_ONEDNN(
            dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_inference, &x, &w, &b, &y));
        bench_onednn_net_add(net, &desc, &x, &b, &y, widths[l + 1], is_last);
    }
    return bench_peer_onednn_net(net);
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
