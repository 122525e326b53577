// A plain program of the same network for bench_policy_forward: packed weights, AVX-512, relu, and
// nothing else. Sums have no fixed order and codes no specified rounding.
#include "bench/bench_policy_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "policy/kernels/policy_unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LAYERS_MAX 8
#define LANES      16
#define BLOCK      8 // groups of LANES outputs whose weights lie side by side
#define CHAINS_MAX 8
#define DEPTH      32 // inputs are padded to it
#define TARGET     __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
// Of the outputs' norm: what eight bits between layers may cost.
#define TOLERANCE 0.05

typedef struct plain_layer {
    uint32_t in, out; // padded to DEPTH and LANES
    bool is_last;
    const void *weights; // [out / LANES / BLOCK][in / unit][BLOCK][LANES][unit]
    float *bias;         // [out]
    float *scales;       // [out], int8
    int32_t *sums;       // [out], int8: of the codes of an output
    float *x;            // [in]
    float *y;            // [out]
} plain_layer;

typedef struct plain_peer {
    uint32_t count;
    bool is_int8;
    plain_layer layers[LAYERS_MAX];
    uint8_t *weights, *codes;
    float *block; // bias, scales, sums and activations
} plain_peer;

TARGET static inline void
sums_store(const plain_layer *l, size_t at, __m512 sum)
{
    sum = _mm512_add_ps(sum, _mm512_loadu_ps(l->bias + at));
    sum = l->is_last ? sum : _mm512_max_ps(sum, _mm512_setzero_ps());
    _mm512_storeu_ps(l->y + at, sum);
}

TARGET static POLICY_INLINE void
block_f32(const int GROUPS, const int CHAINS, const plain_layer *l, size_t g, const float *w)
{
    __m512 sum[BLOCK * CHAINS_MAX];
    POLICY_UNROLL
    for (int i = 0; i < GROUPS * CHAINS; i++) {
        sum[i] = _mm512_setzero_ps();
    }
    for (size_t k = 0; k < l->in; k += (size_t)CHAINS, w += CHAINS * GROUPS * LANES) {
        POLICY_UNROLL
        for (int i = 0; i < GROUPS * CHAINS; i++) {
            __m512 x = _mm512_set1_ps(l->x[k + (size_t)(i / GROUPS)]);
            sum[i] = _mm512_fmadd_ps(x, _mm512_load_ps(w + i * LANES), sum[i]);
        }
    }
    POLICY_UNROLL
    for (int i = GROUPS; i < GROUPS * CHAINS; i++) {
        sum[i % GROUPS] = _mm512_add_ps(sum[i % GROUPS], sum[i]);
    }
    POLICY_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        sums_store(l, (g + (size_t)i) * LANES, sum[i]);
    }
}

TARGET static POLICY_INLINE void
block_q8(const int GROUPS, const int CHAINS, const plain_layer *l, size_t g, const int8_t *w,
         const uint8_t *codes, float scale, int32_t zero)
{
    __m512i sum[BLOCK * CHAINS_MAX];
    POLICY_UNROLL
    for (int i = 0; i < GROUPS * CHAINS; i++) {
        sum[i] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < l->in; k += 4 * (size_t)CHAINS, w += CHAINS * GROUPS * LANES * 4) {
        POLICY_UNROLL
        for (int i = 0; i < GROUPS * CHAINS; i++) {
            int32_t four;
            memcpy(&four, codes + k + (size_t)(i / GROUPS * 4), sizeof(four));
            sum[i] = _mm512_dpbusd_epi32(sum[i], _mm512_set1_epi32(four),
                                         _mm512_load_si512(w + i * LANES * 4));
        }
    }
    POLICY_UNROLL
    for (int i = GROUPS; i < GROUPS * CHAINS; i++) {
        sum[i % GROUPS] = _mm512_add_epi32(sum[i % GROUPS], sum[i]);
    }
    POLICY_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        const size_t at = (g + (size_t)i) * LANES;
        __m512i less =
            _mm512_mullo_epi32(_mm512_set1_epi32(zero), _mm512_loadu_si512(l->sums + at));
        __m512 scales = _mm512_mul_ps(_mm512_set1_ps(scale), _mm512_loadu_ps(l->scales + at));
        __m512 y = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum[i], less));
        sums_store(l, at, _mm512_mul_ps(y, scales));
    }
}

#define BY_GROUPS(CASE) CASE(1, 8) CASE(2, 4) CASE(3, 2) CASE(4, 2) CASE(5, 2) CASE(6, 2) CASE(7, 2)

TARGET static void
layer_f32(const plain_layer *l)
{
    const float *w = l->weights;
    size_t groups = l->out / LANES, g = 0;
    for (; g + BLOCK <= groups; g += BLOCK, w += (size_t)BLOCK * LANES * l->in) {
        block_f32(BLOCK, 1, l, g, w);
    }
#define CASE(GROUPS, CHAINS)                                                                       \
    case GROUPS:                                                                                   \
        block_f32(GROUPS, CHAINS, l, g, w);                                                        \
        break;
    switch (groups - g) {
        BY_GROUPS(CASE)
    default:
        break;
    }
#undef CASE
}

TARGET static void
layer_q8(const plain_layer *l, const uint8_t *codes, float scale, int32_t zero)
{
    const int8_t *w = l->weights;
    size_t groups = l->out / LANES, g = 0;
    for (; g + BLOCK <= groups; g += BLOCK, w += (size_t)BLOCK * LANES * l->in) {
        block_q8(BLOCK, 2, l, g, w, codes, scale, zero);
    }
#define CASE(GROUPS, CHAINS)                                                                       \
    case GROUPS:                                                                                   \
        block_q8(GROUPS, CHAINS, l, g, w, codes, scale, zero);                                     \
        break;
    switch (groups - g) {
        BY_GROUPS(CASE)
    default:
        break;
    }
#undef CASE
}

// Codes of x[in]: 0 to 255 from 0 to the largest, or 128 for zero where numbers may be negative.
TARGET static float
quantize(const plain_layer *l, int32_t zero, uint8_t *codes)
{
    __m512 most = _mm512_set1_ps(1e-12f);
    for (size_t i = 0; i < l->in; i += LANES) {
        most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(l->x + i)));
    }
    const float levels = zero == 0 ? 255.0f : 127.0f, largest = _mm512_reduce_max_ps(most);
    const __m512 factor = _mm512_set1_ps(levels / largest);
    const __m512i middle = _mm512_set1_epi32(zero);
    for (size_t i = 0; i < l->in; i += LANES) {
        __m512i code = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(l->x + i), factor));
        code = _mm512_add_epi32(code, middle);
        _mm_storeu_si128((__m128i *)(void *)(codes + i), _mm512_cvtusepi32_epi8(code));
    }
    return largest / levels;
}

static void
plain_run(void *self)
{
    const plain_peer *peer = self;
    for (uint32_t i = 0; i < peer->count; i++) {
        const plain_layer *l = &peer->layers[i];
        if (peer->is_int8) {
            int32_t zero = i == 0 ? 128 : 0;
            float scale = quantize(l, zero, peer->codes);
            layer_q8(l, peer->codes, scale, zero);
        } else {
            layer_f32(l);
        }
    }
}

static void
plain_destroy(void *self)
{
    plain_peer *peer = self;
    free(peer->weights);
    free(peer->codes);
    free(peer->block);
    free(peer);
}

// The place of the weight of output o and input k.
static size_t
packed_at(const plain_layer *l, size_t unit, size_t o, size_t k)
{
    size_t group = o / LANES, first = group / BLOCK * BLOCK;
    size_t beside = OCT_MIN(l->out / LANES - first, (size_t)BLOCK);
    size_t units = first * (l->in / unit) + k / unit * beside + (group - first);
    return (units * LANES + o % LANES) * unit + k % unit;
}

// Random weights, and what the layer makes of x in double: y.
static void
layer_fill(const plain_peer *peer, plain_layer *l, uint32_t inputs, uint32_t outputs,
           const double *x, double *y, oct_rng *rng)
{
    const float step = 1.7f / 127.0f / sqrtf((float)inputs);
    for (size_t o = 0; o < outputs; o++) {
        l->bias[o] = 0.1f * (2.0f * oct_rng_float(rng) - 1.0f);
        l->scales[o] = step;
        y[o] = (double)l->bias[o];
        for (size_t k = 0; k < inputs; k++) {
            int32_t code = (int32_t)oct_rng_below(rng, 255) - 127;
            if (peer->is_int8) {
                ((int8_t *)(void *)l->weights)[packed_at(l, 4, o, k)] = (int8_t)code;
            } else {
                ((float *)(void *)l->weights)[packed_at(l, 1, o, k)] = (float)code * step;
            }
            l->sums[o] += code;
            y[o] += (double)code * (double)step * x[k];
        }
        y[o] = l->is_last || y[o] > 0 ? y[o] : 0;
    }
}

static size_t
layer_floats(const plain_layer *l)
{
    return 3 * (size_t)l->out + l->in;
}

static size_t
layer_bytes(const plain_peer *peer, const plain_layer *l)
{
    return (size_t)l->in * l->out * (peer->is_int8 ? 1 : sizeof(float));
}

static double *
random_row(plain_layer *first, uint32_t inputs, size_t width, oct_rng *rng)
{
    double *x = oct_alloc(width * sizeof(*x));
    for (size_t k = 0; k < inputs; k++) {
        first->x[k] = 2.0f * oct_rng_float(rng) - 1.0f;
        x[k] = (double)first->x[k];
    }
    return x;
}

// The outputs must be those of double precision, but for what eight bits cost.
static void
plain_fill(plain_peer *peer, const uint32_t *widths, size_t width)
{
    oct_rng rng;
    oct_rng_init(&rng, 33, 1);
    double *x = random_row(&peer->layers[0], widths[0], width, &rng), error = 0, norm = 0;
    for (uint32_t i = 0; i < peer->count; i++) {
        double *y = oct_alloc(width * sizeof(*y));
        layer_fill(peer, &peer->layers[i], widths[i], widths[i + 1], x, y, &rng);
        free(x);
        x = y;
    }
    plain_run(peer);
    for (uint32_t o = 0; o < widths[peer->count]; o++) {
        error += pow((double)peer->layers[peer->count - 1].y[o] - x[o], 2);
        norm += x[o] * x[o];
    }
    free(x);
    OCT_ASSERT(sqrt(error / norm) <= (peer->is_int8 ? TOLERANCE : 1e-4));
}

// What the peer needs of memory: floats in its block, bytes of weights.
static void
plain_size(plain_peer *peer, const uint32_t *widths, size_t *floats, size_t *bytes)
{
    *floats = DEPTH;
    *bytes = 0;
    for (uint32_t i = 0; i < peer->count; i++) {
        plain_layer *l = &peer->layers[i];
        l->in = (widths[i] + DEPTH - 1) / DEPTH * DEPTH;
        l->out = (widths[i + 1] + LANES - 1) / LANES * LANES;
        l->is_last = i + 1 == peer->count;
        *floats += layer_floats(l);
        *bytes += layer_bytes(peer, l);
    }
    *floats += peer->layers[peer->count - 1].out;
}

// Hands it out: a layer's outputs are the next one's inputs.
static void
plain_cut(plain_peer *peer)
{
    float *at = peer->block;
    uint8_t *weights = peer->weights;
    for (uint32_t i = 0; i < peer->count; i++) {
        plain_layer *l = &peer->layers[i];
        l->weights = weights;
        l->bias = at;
        l->scales = at + l->out;
        l->sums = (int32_t *)(void *)(at + 2 * (size_t)l->out);
        l->x = at + 3 * (size_t)l->out;
        if (i > 0) {
            peer->layers[i - 1].y = l->x;
        }
        at += layer_floats(l);
        weights += layer_bytes(peer, l);
    }
    peer->layers[peer->count - 1].y = at;
}

bench_peer
bench_peer_plain(const uint32_t *widths, uint32_t count, bool is_int8)
{
    const char *name = is_int8 ? "plain int8" : "plain fp32";
    OCT_ASSERT(count <= LAYERS_MAX);
    if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512dq")) {
        return (bench_peer){.name = name};
    }
    plain_peer *peer = oct_alloc(sizeof(*peer));
    *peer = (plain_peer){.count = count - 1, .is_int8 = is_int8};
    size_t floats, bytes, width = 0;
    plain_size(peer, widths, &floats, &bytes);
    for (uint32_t i = 0; i < count; i++) {
        width = OCT_MAX(width, (size_t)widths[i] + DEPTH);
    }
    peer->block = oct_alloc(floats * sizeof(float));
    peer->codes = oct_alloc(width);
    peer->weights = oct_alloc(bytes);
    plain_cut(peer);
    plain_fill(peer, widths, width);
    return (bench_peer){name, plain_run, plain_destroy, peer};
}

#else
bench_peer
bench_peer_plain(const uint32_t *widths, uint32_t count, bool is_int8)
{
    (void)widths;
    (void)count;
    return (bench_peer){.name = is_int8 ? "plain int8" : "plain fp32"};
}
#endif
