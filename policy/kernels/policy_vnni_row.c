// A forward pass of one row through an INT8 net. Reading the weights limits its speed, so the time
// between two layers is kept short: the products already find the range of the row, and the first
// weights of the next layer are prefetched.
#include "policy/kernels/policy_vnni.h"

#include "policy/kernels/policy_vnni_row.h"

#define SUMS_MAX      8  // accumulators in registers
#define PREFETCH_LINE 64 // bytes
#define PREFETCH_MAX  (48 * PREFETCH_LINE)
#define PREFETCH_FROM 16384 // bytes of weights; a smaller layer is probably in L1

// Computes the outputs of the block of GROUPS groups that begins at g, with SPLIT chains of sums
// for each. Exact sums may be added in any order, and eight chains hide the latency of vpdpbusd.
// The weights of a layer are read from the first byte to the last, as hardware prefetchers expect.
static POLICY_INLINE void
groups_q8(const int GROUPS, const int SPLIT, const row_job *job, size_t g, vrange *range)
{
    const policy_dense *dense = job->dense;
    const uint8_t *restrict codes = job->codes;
    const size_t K = dense->inputs_padded, step = (size_t)(SPLIT * POLICY_VNNI_UNIT);
    const int8_t *w = (const int8_t *)dense->weights + g * K * POLICY_LANES;
    vint acc[SUMS_MAX]; // [SPLIT][GROUPS]
    POLICY_UNROLL
    for (int i = 0; i < SPLIT * GROUPS; i++) {
        acc[i] = _mm512_setzero_si512();
    }
    size_t k = 0;
    for (; k + step <= K; k += step) {
        POLICY_UNROLL
        for (int i = 0; i < SPLIT * GROUPS; i++) {
            const size_t at = k + (size_t)(i / GROUPS * POLICY_VNNI_UNIT);
            const int8_t *weights =
                w + (at * (size_t)GROUPS + (size_t)(i % GROUPS * POLICY_VNNI_UNIT)) * POLICY_LANES;
            acc[i] =
                _mm512_dpbusd_epi32(acc[i], codes_load(codes + at), _mm512_load_si512(weights));
            POLICY_PIN(acc[i]);
        }
    }
    for (; SPLIT > 1 && k < K; k += POLICY_VNNI_UNIT) {
        const vint four = codes_load(codes + k);
        POLICY_UNROLL
        for (int i = 0; i < GROUPS; i++) {
            const int8_t *weights =
                w + (k * (size_t)GROUPS + (size_t)(i * POLICY_VNNI_UNIT)) * POLICY_LANES;
            acc[i] = _mm512_dpbusd_epi32(acc[i], four, _mm512_load_si512(weights));
        }
    }
    POLICY_UNROLL
    for (int i = GROUPS; i < SPLIT * GROUPS; i++) {
        acc[i % GROUPS] = v_add_int(acc[i % GROUPS], acc[i]);
    }
    POLICY_UNROLL
    for (int i = 0; i < GROUPS; i++) {
        row_group_finish(job, g + (size_t)i, acc[i], range);
    }
}

// Computes y = the product and the bias, then a plain ReLU. Returns the range of y.
static POLICY_INLINE vrange
row_q8(const row_job *job)
{
    vrange range = {v_set(0.0f), v_set(0.0f)};
    size_t g = 0, count = policy_groups(job->dense);
    for (; g + POLICY_VNNI_BLOCK <= count; g += POLICY_VNNI_BLOCK) {
        groups_q8(POLICY_VNNI_BLOCK, 2, job, g, &range);
    }
    switch (count - g) {
    case 3:
        groups_q8(3, 2, job, g, &range);
        break;
    case 2:
        groups_q8(2, 4, job, g, &range);
        break;
    case 1:
        groups_q8(1, 8, job, g, &range);
        break;
    default:
        break;
    }
    return range;
}

static POLICY_INLINE void
prefetch(const policy_dense *dense)
{
    const char *at = dense->nibbles != NULL ? dense->nibbles : dense->weights;
    const size_t bytes = (size_t)dense->inputs_padded * dense->outputs;
    for (size_t i = 0; bytes >= PREFETCH_FROM && i < PREFETCH_MAX; i += PREFETCH_LINE) {
        _mm_prefetch(at + i, _MM_HINT_T0);
    }
}

// Returns policy_affine_of(0, hi).
static POLICY_INLINE policy_affine
affine_of_positive(float hi)
{
    float range = hi < POLICY_RANGE_MAX ? hi : POLICY_RANGE_MAX;
    if (range < POLICY_RANGE_MIN) {
        return (policy_affine){0};
    }
    return (policy_affine){.scale = range / 255.0f, .inverse = 255.0f / range};
}

// Quantises x[n], whose range is known.
static POLICY_INLINE policy_row
row_quantize(uint32_t n, const float *x, const vrange *range, bool is_positive, uint8_t *codes)
{
    float hi = v_greatest(range->hi);
    if (is_positive) {
        policy_affine affine = affine_of_positive(hi);
        codes_of(n, x, &affine, true, codes);
        return (policy_row){.scale = affine.scale};
    }
    policy_affine affine = policy_affine_of(v_least(range->lo), hi);
    codes_of(n, x, &affine, false, codes);
    return (policy_row){.scale = affine.scale, .zero_point = affine.zero_point};
}

void
policy_vnni_forward_row(const policy_dense *layers, uint32_t count, const float *obs,
                        const policy_work *work, float *out)
{
    const float *x = obs;
    float *y = work->y;
    vrange range = range_of(layers[0].inputs, x, false);
    bool is_positive = false;
    for (uint32_t l = 0; l < count; l++) {
        const policy_dense *dense = &layers[l];
        const policy_row row = row_quantize(dense->inputs, x, &range, is_positive, work->codes);
        const row_job job = {dense, work->codes, row, y};
        if (dense->nibbles != NULL) {
            const row_job of_nibbles =
                job; // a copy, as for range: what has an address is in memory
            vrange found;
            policy_vnni_row_q4(&of_nibbles, &found);
            range = found;
        } else {
            range = row_q8(&job);
        }
        if (l + 1 < count) {
            prefetch(&layers[l + 1]);
        }
        is_positive = policy_has_plain_relu(dense);
        if (!is_positive && (dense->layer_norm || dense->activation != POLICY_LINEAR)) {
            rows_finish(dense, work, 1);
            range = range_of(dense->outputs, y, false);
        }
        x = y;
    }
    numbers_copy(layers[count - 1].outputs, y, out);
}
