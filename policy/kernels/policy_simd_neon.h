#ifndef POLICY_KERNELS_POLICY_SIMD_NEON_H
#define POLICY_KERNELS_POLICY_SIMD_NEON_H

// Sixteen lanes as four NEON registers, with the names that policy_rows.h and policy_tiles.h use.
// Empty unless the including file is compiled for AArch64. At edges where a NEON instruction
// differs from x86 (NaN in min and max, saturating conversions), these functions follow
// policy_math.h.
#if defined(__aarch64__)

#include <arm_neon.h>
#include <stdint.h>

#include "policy/kernels/policy_unroll.h"

#define POLICY_SIMD 1

typedef struct vfloat {
    float32x4_t part[4];
} vfloat;
typedef struct vint {
    int32x4_t part[4];
} vint;

// Returns a vector whose register i is an expression of i.
#define FOUR(type, expression)                                                                     \
    do {                                                                                           \
        type four_;                                                                                \
        POLICY_UNROLL                                                                              \
        for (int i = 0; i < 4; i++) {                                                              \
            four_.part[i] = (expression);                                                          \
        }                                                                                          \
        return four_;                                                                              \
    } while (0)

static inline vfloat
v_load(const float *at)
{
    FOUR(vfloat, vld1q_f32(at + 4 * i));
}

// Returns sixteen bf16 as floats.
static inline vfloat
v_load_bf16(const uint16_t *at)
{
    FOUR(vfloat, vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(at + 4 * i), 16)));
}

// Returns sixteen fp16 as floats.
static inline vfloat
v_load_fp16(const uint16_t *at)
{
    FOUR(vfloat, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(at + 4 * i))));
}

static inline void
v_store(float *at, vfloat a)
{
    POLICY_UNROLL
    for (int i = 0; i < 4; i++) {
        vst1q_f32(at + 4 * i, a.part[i]);
    }
}

static inline vfloat
v_set(float value)
{
    FOUR(vfloat, vdupq_n_f32(value));
}

static inline vfloat
v_add(vfloat a, vfloat b)
{
    FOUR(vfloat, vaddq_f32(a.part[i], b.part[i]));
}

static inline vfloat
v_sub(vfloat a, vfloat b)
{
    FOUR(vfloat, vsubq_f32(a.part[i], b.part[i]));
}

static inline vfloat
v_mul(vfloat a, vfloat b)
{
    FOUR(vfloat, vmulq_f32(a.part[i], b.part[i]));
}

// a * b + c with one rounding.
static inline vfloat
v_fma(vfloat a, vfloat b, vfloat c)
{
    FOUR(vfloat, vfmaq_f32(c.part[i], a.part[i], b.part[i]));
}

static inline vfloat
v_div(vfloat a, vfloat b)
{
    FOUR(vfloat, vdivq_f32(a.part[i], b.part[i]));
}

// a < b ? a : b, which is b if either is NaN.
static inline float32x4_t
four_min(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

// a > b ? a : b, which is b if either is NaN.
static inline float32x4_t
four_max(float32x4_t a, float32x4_t b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline vfloat
v_min(vfloat a, vfloat b)
{
    FOUR(vfloat, four_min(a.part[i], b.part[i]));
}

static inline vfloat
v_max(vfloat a, vfloat b)
{
    FOUR(vfloat, four_max(a.part[i], b.part[i]));
}

static inline float32x4_t
four_xor(float32x4_t a, float32x4_t b)
{
    return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)));
}

// The sign bits of a.
static inline vfloat
v_sign(vfloat a)
{
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    FOUR(vfloat, vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a.part[i]), sign)));
}

static inline vfloat
v_xor(vfloat a, vfloat b)
{
    FOUR(vfloat, four_xor(a.part[i], b.part[i]));
}

// a > b ? c : d
static inline vfloat
v_if_greater(vfloat a, vfloat b, vfloat c, vfloat d)
{
    FOUR(vfloat, vbslq_f32(vcgtq_f32(a.part[i], b.part[i]), c.part[i], d.part[i]));
}

// Returns the lanes below count, and zero in the others.
static inline vfloat
v_head(vfloat a, uint32_t count)
{
    static const uint32_t lanes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint32x4_t all = vdupq_n_u32(count);
    FOUR(vfloat, vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(a.part[i]),
                                                 vcltq_u32(vld1q_u32(lanes + 4 * i), all))));
}

// Rounds to nearest even. NaN and |a| >= 2^22 give INT32_MIN, as in policy_round.
static inline vint
v_round(vfloat a)
{
    const float32x4_t bound = vdupq_n_f32(0x1p22f);
    const int32x4_t none = vdupq_n_s32(INT32_MIN);
    FOUR(vint, vbslq_s32(vcaltq_f32(a.part[i], bound), vcvtnq_s32_f32(a.part[i]), none));
}

static inline vfloat
v_float(vint a)
{
    FOUR(vfloat, vcvtq_f32_s32(a.part[i]));
}

// 2^n as a float.
static inline vfloat
v_power(vint n)
{
    const int32x4_t bias = vdupq_n_s32(127);
    FOUR(vfloat, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n.part[i], bias), 23)));
}

static inline vint
v_set_int(int32_t value)
{
    FOUR(vint, vdupq_n_s32(value));
}

static inline vint
v_load_int(const int32_t *at)
{
    FOUR(vint, vld1q_s32(at + 4 * i));
}

static inline vint
v_add_int(vint a, vint b)
{
    FOUR(vint, vaddq_s32(a.part[i], b.part[i]));
}

// a - b * c
static inline vint
v_less_product(vint a, vint b, vint c)
{
    FOUR(vint, vmlsq_s32(a.part[i], b.part[i], c.part[i]));
}
#undef FOUR

// Keeps a in its registers (see POLICY_PIN).
#define V_PIN(a)                                                                                   \
    __asm__("" : "+w"((a).part[0]), "+w"((a).part[1]), "+w"((a).part[2]), "+w"((a).part[3]))

// The tree over lanes of the specification: 16 to 8 to 4 to 2 to 1, lane i with lane i + half.
#define TREE(name, operation)                                                                      \
    static inline float name(vfloat a)                                                             \
    {                                                                                              \
        float32x4_t four =                                                                         \
            operation(operation(a.part[0], a.part[2]), operation(a.part[1], a.part[3]));           \
        float32x4_t two = operation(four, vextq_f32(four, four, 2));                               \
        return vgetq_lane_f32(operation(two, vextq_f32(two, two, 1)), 0);                          \
    }
TREE(v_sum, vaddq_f32)
TREE(v_least, four_min)
TREE(v_greatest, four_max)
#undef TREE

// An activation code, clamped to 0..255, minus 128, because sdot multiplies signed bytes.
typedef int8_t vcode;

// The saturation of code - 128 to signed bytes clamps the code.
static inline void
v_store_codes(vcode *at, vint a)
{
    const int32x4_t offset = vdupq_n_s32(128);
    int16x4_t words[4];
    POLICY_UNROLL
    for (int i = 0; i < 4; i++) {
        words[i] = vqmovn_s32(vqsubq_s32(a.part[i], offset));
    }
    vst1_s8(at, vqmovn_s16(vcombine_s16(words[0], words[1])));
    vst1_s8(at + 8, vqmovn_s16(vcombine_s16(words[2], words[3])));
}

static inline void
v_store_codes4(vcode *at, vint a, vint b, vint c, vint d)
{
    v_store_codes(at, a);
    v_store_codes(at + 16, b);
    v_store_codes(at + 32, c);
    v_store_codes(at + 48, d);
}

#endif // AArch64

#endif // POLICY_KERNELS_POLICY_SIMD_NEON_H
