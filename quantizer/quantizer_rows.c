// The inner loops over a row of weights. The build compiles this file once for each instruction
// set, with equal results, and names the table that each compilation defines (QUANTIZER_ROWS).
#include "quantizer/quantizer_rows.h"

#include <math.h>
#include <string.h>

#include "common/oct_bits.h"
#include "policy/policy_format.h"
#include "policy/policy_half.h"

#define LANES     QUANTIZER_ROWS_LANES
#define GROUP     POLICY_INT4_GROUP
#define CODE8_MAX 127.0f
#define CODE4_MAX ((float)POLICY_INT4_CODE_MAX)
// Floats of this magnitude are whole numbers, so adding it rounds to nearest even. Its lowest byte
// is 0, so the lowest byte of the sum is the number as an int8.
#define ROUNDING            0x1.8p23f
#define COMPARED            8      // lanes of double
#define PREDICTED_RATIO_MAX 256.0f // from here on every code except 0 is predicted at its limit
#define AHEAD               64     // floats between two prefetches
#define LINE                16     // floats in a cache line

// Returns the bits of q + ROUNDING, with q clamped to -limit .. limit, where limit < 2^22. The bits
// are compared as int32: positive floats are in the order of their bits, and a negative float is a
// negative int32, so the comparison is right for every q.
static inline int32_t
rounded(float q, float limit)
{
    int32_t bits = (int32_t)oct_bits_of(q + ROUNDING);
    int32_t least = (int32_t)oct_bits_of(ROUNDING - limit);
    int32_t most = (int32_t)oct_bits_of(ROUNDING + limit);
    bits = bits > least ? bits : least;
    return bits < most ? bits : most;
}

static inline uint32_t
most_of(const float *restrict w, size_t n)
{
    int32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t a = (int32_t)(oct_bits_of(w[i]) & 0x7fffffffu);
        most = a > most ? a : most;
    }
    return (uint32_t)most;
}

static uint32_t
row_most(const float *w, size_t n)
{
    return most_of(w, n);
}

static uint32_t
row_most4(uint32_t *groups, const float *w, size_t n)
{
    uint32_t most = 0;
    for (size_t k = 0; k < n; k += GROUP) {
        uint32_t bits = n - k >= GROUP ? most_of(w + k, GROUP) : most_of(w + k, n - k);
        groups[k / GROUP] = bits;
        most = bits > most ? bits : most;
    }
    return most;
}

static size_t
row_count_above(const float *restrict w, size_t n, float bound)
{
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += fabsf(w[i]) > bound;
    }
    return count;
}

// Returns the squared error of q steps, rounded and clamped to an INT8 code.
static inline float
square_of(float q)
{
    float e = q - (oct_float_of((uint32_t)rounded(q, CODE8_MAX)) - ROUNDING);
    return e * e;
}

static inline float
lanes_sum(float *lanes)
{
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

static float
row_squares8(const float *restrict w, size_t n, float inverse)
{
    float lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] += square_of(w[i + lane] * inverse);
        }
    }
    for (size_t lane = 0; i + lane < n; lane++) {
        lanes[lane] += square_of(w[i + lane] * inverse);
    }
    return lanes_sum(lanes);
}

// Vectors with one lane for each multiplier; the compiler maps them to the registers of the
// machine. It would unroll a loop over the multipliers and not keep the sums in registers.
typedef float floats __attribute__((vector_size(64)));
typedef int32_t ints __attribute__((vector_size(64)));

static void
row_search4(float errors[QUANTIZER_SEARCH_COUNT], const float *restrict w, size_t n, float inverse)
{
    const floats multipliers = {1, 2,  3,  4,  5,  6,  7,  8,
                                9, 10, 11, 12, 13, 14, 15, QUANTIZER_SEARCH_BEYOND};
    const floats inverses = 1.0f / multipliers;
    const ints least = (ints)(inverses * 0.0f + (ROUNDING - CODE4_MAX));
    const ints most = (ints)(inverses * 0.0f + (ROUNDING + CODE4_MAX));
    floats sums = {0};
    for (size_t i = 0; i < n; i++) {
        float u = w[i] * inverse;
        ints bits = (ints)(u * inverses + ROUNDING);
        ints low = bits<least, high = bits> most;
        bits = (low & least) | (high & most) | (~(low | high) & bits);
        floats e = u - multipliers * ((floats)bits - ROUNDING);
        sums += e * e;
    }
    memcpy(errors, &sums, sizeof(sums));
}

static void
row_compare(quantizer_sums *sums, const float *restrict w, const float *restrict kept, size_t n)
{
    double norm[COMPARED] = {0}, error[COMPARED] = {0};
    int32_t most_bits = (int32_t)oct_bits_of(sums->most);
    size_t i = 0;
    for (; i + COMPARED <= n; i += COMPARED) {
        for (size_t lane = 0; lane < COMPARED; lane++) {
            double d = (double)w[i + lane] - (double)kept[i + lane];
            norm[lane] += (double)w[i + lane] * (double)w[i + lane];
            error[lane] += d * d;
        }
    }
    for (size_t lane = 0; i + lane < n; lane++) {
        double d = (double)w[i + lane] - (double)kept[i + lane];
        norm[lane] += (double)w[i + lane] * (double)w[i + lane];
        error[lane] += d * d;
    }
    for (i = 0; i < n; i++) {
        int32_t a = (int32_t)(oct_bits_of(w[i] - kept[i]) & 0x7fffffffu);
        most_bits = a > most_bits ? a : most_bits;
    }
    for (size_t lane = 0; lane < COMPARED; lane++) {
        sums->norm += norm[lane];
        sums->error += error[lane];
    }
    sums->most = oct_float_of((uint32_t)most_bits);
}

// codes[n] = the nearest codes of w[n].
static inline void
codes_of(int8_t *restrict codes, const float *restrict w, size_t n, float step, float limit)
{
    for (size_t i = 0; i < n; i++) {
        codes[i] = (int8_t)rounded(w[i] / step, limit);
    }
}

static void
row_codes8(int8_t *restrict codes, const float *restrict w, size_t n, float scale, size_t ahead)
{
    size_t i = 0;
    for (; i + AHEAD <= n; i += AHEAD) {
        if (i + AHEAD <= ahead) {
            for (size_t line = 0; line < AHEAD; line += LINE) {
                __builtin_prefetch(w + n + i + line);
            }
        }
        codes_of(codes + i, w + i, AHEAD, scale, CODE8_MAX);
    }
    codes_of(codes + i, w + i, n - i, scale, CODE8_MAX);
}

static void
row_predict(int8_t *codes, size_t n, float from, float to, float limit)
{
    float ratio = to > 0.0f ? from / to : 0.0f;
    ratio = ratio < PREDICTED_RATIO_MAX ? ratio : PREDICTED_RATIO_MAX;
    for (size_t i = 0; i < n; i++) {
        codes[i] = (int8_t)rounded((float)codes[i] * ratio, limit);
    }
}

// The body of move8 and move4 for weights that share one step.
static inline uint32_t
codes_move(int8_t *restrict codes, const float *restrict w, size_t n, float step, float limit,
           float band)
{
    uint32_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        float q = w[i] / step;
        int8_t nearest = (int8_t)rounded(q, limit);
        int8_t code = fabsf(q - (float)codes[i]) <= band ? codes[i] : nearest;
        changed += code != codes[i];
        codes[i] = code;
    }
    return changed;
}

static uint32_t
row_move8(int8_t *codes, const float *w, size_t n, float scale, float band)
{
    return codes_move(codes, w, n, scale, CODE8_MAX, band);
}

static void
row_codes4(int8_t *codes, const float *w, size_t n, float scale, const uint8_t *multipliers)
{
    for (size_t k = 0; k < n; k += GROUP) {
        size_t count = n - k < GROUP ? n - k : GROUP;
        float step = scale * (float)multipliers[k / GROUP];
        if (step == 0.0f) {
            memset(codes + k, 0, count);
        } else if (count == GROUP) { // a constant count, so that the compiler unrolls the loop
            codes_of(codes + k, w + k, GROUP, step, CODE4_MAX);
        } else {
            codes_of(codes + k, w + k, count, step, CODE4_MAX);
        }
    }
}

// Sets n codes to 0; returns how many changed.
static uint32_t
zero_move(int8_t *codes, size_t n)
{
    uint32_t changed = 0;
    for (size_t i = 0; i < n; i++) {
        changed += codes[i] != 0;
        codes[i] = 0;
    }
    return changed;
}

static uint32_t
row_move4(int8_t *codes, const float *w, size_t n, float scale, const uint8_t *multipliers,
          float band)
{
    uint32_t changed = 0;
    for (size_t k = 0; k < n; k += GROUP) {
        size_t count = n - k < GROUP ? n - k : GROUP;
        float step = scale * (float)multipliers[k / GROUP];
        if (step == 0.0f) {
            changed += zero_move(codes + k, count);
        } else if (count == GROUP) {
            changed += codes_move(codes + k, w + k, GROUP, step, CODE4_MAX, band);
        } else {
            changed += codes_move(codes + k, w + k, count, step, CODE4_MAX, band);
        }
    }
    return changed;
}

static void
row_bf16(uint16_t *restrict halves, const float *restrict w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        halves[i] = policy_bf16_from_float(w[i]);
    }
}

static void
row_fp16(uint16_t *restrict halves, const float *restrict w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        halves[i] = policy_fp16_from_float(w[i]);
    }
}

static bool
is_supported(void)
{
#if defined(__AVX512BW__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

#define TEXT_OF(name)   #name
#define TEXT(name)      TEXT_OF(name)
#define JOINED_OF(a, b) a##b
#define JOINED(a, b)    JOINED_OF(a, b)

const quantizer_rows JOINED(quantizer_rows_, QUANTIZER_ROWS) = {
    .isa = TEXT(QUANTIZER_ROWS),
    .is_supported = is_supported,
    .most = row_most,
    .most4 = row_most4,
    .count_above = row_count_above,
    .squares8 = row_squares8,
    .search4 = row_search4,
    .compare = row_compare,
    .codes8 = row_codes8,
    .predict = row_predict,
    .move8 = row_move8,
    .codes4 = row_codes4,
    .move4 = row_move4,
    .bf16 = row_bf16,
    .fp16 = row_fp16,
};
