#ifndef NN_NN_VEC_AVX512_H
#define NN_NN_VEC_AVX512_H

// The functions of nn_vec_math.h and nn_vec.c for sixteen numbers at a time, for builds with
// AVX-512: the same operations in the same order, hence the same bits. They are written out because
// gcc 12, when it vectorises the plain functions, turns their clamps into masks and additional
// multiplications.

#include <stddef.h>

#include "nn/nn_lanes.h"
#include "policy/kernels/policy_unroll.h"

#if defined(__AVX512F__)

static inline __m512
all16(float x)
{
    return _mm512_set1_ps(x);
}

// Returns y, at least x. maxps returns its second operand if either is NaN, so the bound comes
// first; otherwise NaN would be lost.
static inline __m512
at_least16(float x, __m512 y)
{
    return _mm512_max_ps(all16(x), y);
}

// Each function NAME16 or NAME_16 below is the function of that name in nn_vec_math.h or nn_vec.c.
static inline __m512
power16(__m512 shifted)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(shifted), 23));
}

static inline __m512
expm1_near_0_16(__m512 r)
{
    const __m512 square = _mm512_mul_ps(r, r);
    const __m512 low = _mm512_fmadd_ps(r, all16(0.16666542f), all16(0.49999997f));
    const __m512 high = _mm512_fmadd_ps(r, all16(0.00836664718f), all16(0.0416672044f));
    const __m512 p =
        _mm512_fmadd_ps(square, _mm512_fmadd_ps(square, all16(0.00138824969f), high), low);
    return _mm512_fmadd_ps(square, p, r);
}

static inline __m512
exp16(__m512 x)
{
    x = at_least16(-87.0f, x);
    const __m512 shifted = _mm512_fmadd_ps(x, all16(LOG2_E), all16(ROUND_TO_EXPONENT));
    const __m512 k = _mm512_sub_ps(shifted, all16(ROUND_TO_EXPONENT));
    const __m512 r = _mm512_fmadd_ps(k, all16(-LN2_LOW), _mm512_fmadd_ps(k, all16(-LN2_HIGH), x));
    const __m512 power = power16(shifted);
    return _mm512_fmadd_ps(power, expm1_near_0_16(r), power);
}

static inline __m512
linear16(__m512 x)
{
    return x;
}

static inline __m512
relu16(__m512 x)
{
    return at_least16(0.0f, x);
}

static inline __m512
elu16(__m512 x)
{
    const __m512 down = at_least16(-25.0f, x);
    const __m512 shifted = _mm512_fmadd_ps(down, all16(LOG2_E), all16(ROUND_TO_EXPONENT));
    const __m512 k = _mm512_sub_ps(shifted, all16(ROUND_TO_EXPONENT));
    const __m512 power = power16(shifted);
    const __m512 em1 = expm1_near_0_16(_mm512_fmadd_ps(k, all16(-LN2), down));
    const __m512 below = _mm512_fmadd_ps(power, em1, _mm512_sub_ps(power, all16(1.0f)));
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LE_OQ), below);
}

static inline __m512
divided_by_1_to_2_16(__m512 above, __m512 x)
{
    const __m512 slope = _mm512_fmadd_ps(x, all16(32.0f / 99.0f), all16(-144.0f / 99.0f));
    const __m512 near = _mm512_fmadd_ps(x, slope, all16(210.0f / 99.0f));
    const __m512 error = _mm512_fnmadd_ps(x, near, all16(1.0f));
    const __m512 more = _mm512_fmadd_ps(error, _mm512_fmadd_ps(error, error, error), error);
    const __m512 y = _mm512_mul_ps(above, near);
    return _mm512_fmadd_ps(y, more, y);
}

static inline __m512
tanh16(__m512 x)
{
    const __m512i sign = _mm512_set1_epi32((int)0x80000000u);
    const __m512 down =
        at_least16(-10.0f, _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(x), sign)));
    const __m512 shifted = _mm512_fmadd_ps(down, all16(2.0f * LOG2_E), all16(ROUND_TO_EXPONENT));
    const __m512 k = _mm512_sub_ps(shifted, all16(ROUND_TO_EXPONENT));
    const __m512 em1 = expm1_near_0_16(_mm512_fmadd_ps(k, all16(-LN2), _mm512_add_ps(down, down)));
    const __m512 power = power16(shifted), one = all16(1.0f);
    const __m512 above = _mm512_fnmadd_ps(power, em1, _mm512_sub_ps(one, power));
    const __m512 below = _mm512_fmadd_ps(power, em1, _mm512_add_ps(power, one));
    const __m512 y = divided_by_1_to_2_16(above, below);
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_castps_si512(y), _mm512_castps_si512(x), sign, 0xf8)); // y | (x & sign)
}

// A mask of the first count lanes, at most 16.
static inline __mmask16
first16(size_t count)
{
    return count >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << count) - 1);
}

// ---- Steps of a norm for a whole group of ROWS_ASIDE rows. The bits are those of the steps in
//  nn_vec.c, which smaller groups use.

#define EACH_ROW                                                                                   \
    POLICY_UNROLL                                                                                  \
    for (size_t r = 0; r < ROWS_ASIDE; r++)

// totals[r] = the sum of row r's even and odd vectors.
static inline void
group_totals(float totals[ROWS_ASIDE], const __m512 even[ROWS_ASIDE], const __m512 odd[ROWS_ASIDE])
{
    nn_lanes8 parts[ROWS_ASIDE];
    EACH_ROW
    {
        const nn_lanes16 sums[2] = {{{even[r]}}, {{odd[r]}}};
        lanes_fold(&parts[r], sums);
    }
    rows_totals(totals, parts);
}

// y[8][O] += b; totals[r] = the sum of row r.
static inline void
group_bias(float totals[ROWS_ASIDE], float *restrict y, const float *restrict b, size_t O)
{
    __m512 sums[2][ROWS_ASIDE] = {{{0}}};
    for (size_t o = 0; o < O; o += NN_VEC_LANES) {
        POLICY_UNROLL
        for (size_t half = 0; half < 2; half++) {
            const size_t at = o + 16 * half;
            const __mmask16 some = first16(at < O ? O - at : 0);
            const __m512 bias = _mm512_maskz_loadu_ps(some, b + at);
            EACH_ROW
            {
                const __m512 x = _mm512_add_ps(_mm512_maskz_loadu_ps(some, y + r * O + at), bias);
                _mm512_mask_storeu_ps(y + r * O + at, some, x);
                sums[half][r] = _mm512_add_ps(sums[half][r], x);
            }
        }
    }
    group_totals(totals, sums[0], sums[1]);
}

// totals[r] = the sum of (y - center)^2 over row r.
static inline void
group_squares(float totals[ROWS_ASIDE], const float center[ROWS_ASIDE], const float *restrict y,
              size_t O)
{
    __m512 sums[2][ROWS_ASIDE] = {{{0}}};
    for (size_t o = 0; o < O; o += NN_VEC_LANES) {
        POLICY_UNROLL
        for (size_t half = 0; half < 2; half++) {
            const size_t at = o + 16 * half;
            const __mmask16 some = first16(at < O ? O - at : 0);
            EACH_ROW
            {
                const __m512 mean = all16(center[r]);
                __m512 x = _mm512_maskz_loadu_ps(some, y + r * O + at);
                x = _mm512_maskz_sub_ps(some, x, mean);
                sums[half][r] = _mm512_fmadd_ps(x, x, sums[half][r]);
            }
        }
    }
    group_totals(totals, sums[0], sums[1]);
}

// activation'(.) * d from the activation's output y, as the slopes of nn_vec.c.
static inline __m512
linear_slope16(__m512 d, __m512 y)
{
    (void)y;
    return d;
}

static inline __m512
relu_slope16(__m512 d, __m512 y)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_GT_OQ), d);
}

static inline __m512
tanh_slope16(__m512 d, __m512 y)
{
    return _mm512_mul_ps(d, _mm512_fnmadd_ps(y, y, all16(1.0f)));
}

static inline __m512
elu_slope16(__m512 d, __m512 y)
{
    const __mmask16 is_above = _mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_GT_OQ);
    const __m512 slope = _mm512_mask_mov_ps(_mm512_add_ps(y, all16(1.0f)), is_above, all16(1.0f));
    return _mm512_mul_ps(d, slope);
}

// dy[8][O] at the activation becomes g = slope * gain. totals[r] and along[r] are the sums of g and
// of g * unit over row r; dgain and doffset add the sums of the columns. Even vectors come first,
// then odd ones, so that the registers hold the sums of all rows.
#define GROUP_ABOVE(name)                                                                          \
    static inline void group_above_##name(                                                         \
        float totals[ROWS_ASIDE], float along[ROWS_ASIDE], float *restrict dy,                     \
        float *restrict dgain, float *restrict doffset, const float *restrict y,                   \
        const float *restrict unit, const float *restrict gain, size_t O)                          \
    {                                                                                              \
        __m512 sums[2][ROWS_ASIDE] = {{{0}}}, products[2][ROWS_ASIDE] = {{{0}}};                   \
        POLICY_UNROLL                                                                              \
        for (size_t half = 0; half < 2; half++) {                                                  \
            for (size_t at = 16 * half; at < O; at += NN_VEC_LANES) {                              \
                const __mmask16 some = first16(O - at);                                            \
                const __m512 factor = _mm512_maskz_loadu_ps(some, gain + at);                      \
                __m512 offsets = _mm512_maskz_loadu_ps(some, doffset + at);                        \
                __m512 gains = _mm512_maskz_loadu_ps(some, dgain + at);                            \
                EACH_ROW                                                                           \
                {                                                                                  \
                    const __m512 h = _mm512_maskz_loadu_ps(some, y + r * O + at);                  \
                    const __m512 u = _mm512_maskz_loadu_ps(some, unit + r * O + at);               \
                    const __m512 d =                                                               \
                        name##_slope16(_mm512_maskz_loadu_ps(some, dy + r * O + at), h);           \
                    const __m512 g = _mm512_mul_ps(d, factor);                                     \
                    offsets = _mm512_add_ps(offsets, d);                                           \
                    gains = _mm512_fmadd_ps(d, u, gains);                                          \
                    _mm512_mask_storeu_ps(dy + r * O + at, some, g);                               \
                    sums[half][r] = _mm512_add_ps(sums[half][r], g);                               \
                    products[half][r] = _mm512_fmadd_ps(g, u, products[half][r]);                  \
                }                                                                                  \
                _mm512_mask_storeu_ps(doffset + at, some, offsets);                                \
                _mm512_mask_storeu_ps(dgain + at, some, gains);                                    \
            }                                                                                      \
        }                                                                                          \
        group_totals(totals, sums[0], sums[1]);                                                    \
        group_totals(along, products[0], products[1]);                                             \
    }
GROUP_ABOVE(linear)
GROUP_ABOVE(relu)
GROUP_ABOVE(tanh)
GROUP_ABOVE(elu)

// at[8][O] = scale * (at - mean - unit * along); db adds the sums of the columns.
static inline void
group_below(float *restrict at, float *restrict db, const float *restrict unit,
            const float mean[ROWS_ASIDE], const float along[ROWS_ASIDE],
            const float scale[ROWS_ASIDE], size_t O)
{
    for (size_t o = 0; o < O; o += 16) {
        const __mmask16 some = first16(O - o);
        __m512 sums = _mm512_maskz_loadu_ps(some, db + o);
        EACH_ROW
        {
            const __m512 u = _mm512_maskz_loadu_ps(some, unit + r * O + o);
            __m512 h = _mm512_maskz_loadu_ps(some, at + r * O + o);
            h = _mm512_fnmadd_ps(u, all16(along[r]), _mm512_sub_ps(h, all16(mean[r])));
            h = _mm512_mul_ps(all16(scale[r]), h);
            _mm512_mask_storeu_ps(at + r * O + o, some, h);
            sums = _mm512_add_ps(sums, h);
        }
        _mm512_mask_storeu_ps(db + o, some, sums);
    }
}

#endif // __AVX512F__

#endif // NN_NN_VEC_AVX512_H
