#ifndef POLICY_POLICY_CURVES_H
#define POLICY_POLICY_CURVES_H

#include <stdint.h>
#include <string.h>

// The exponential and the activations, as fixed sequences of IEEE-754 single operations
// (policy_math.h). This text is their only definition:
//   scalar   these functions; they are also cut into exported C99 headers (export_parts.py)
//   SIMD     curves.py translates them to the names of policy_simd_*.h
//   ONNX     curves.py translates them to the nodes of export_onnx.c
// So functions after the primitives use only what curves.py reads: declarations and assignments of
// float and int32_t, + - * /, negation, calls, (float) of an int32_t, and a > b ? c : d.
// a > b ? a : b and a < b ? a : b become one instruction each.
//
// Edges. Comparisons with NaN are false. Every activation of NaN is NaN, except that of relu and
// relu6, which is +0.
//   relu, relu6      -0 gives +0
//   tanh             odd, -0 gives -0, |x| >= 9.02 gives exactly +-1
//   elu              -0 gives +0, x <= -17.4 gives exactly -1
//   exp              the argument is clamped to [-87, 88], so the result is never 0 or inf. What is
//                    built of it inherits this: for x < -87, sigmoid is 2^-125.5 and not less, and
//                    silu, mish and gelu_tanh are within 2^-125 |x| of 0; of -inf they are -inf
// Errors against the exact value, in units of the last place, which tests/policy/test_policy_math.c
// bounds: exp 1.01, expm1 1.72 (elu 1.09), tanh 2.56.

#define POLICY_EXP_MIN  -87.0f
#define POLICY_EXP_MAX  88.0f
#define POLICY_LOG2_E   0x1.715476p+0f
#define POLICY_LN2_HIGH 0x1.62e4p-1f // 15 bits, so n * POLICY_LN2_HIGH is exact for |n| < 2^9
#define POLICY_LN2_LOW  0x1.7f7d1cp-20f
// exp(r) - 1 - r = r^2 * polynomial(r), minimax on |r| <= ln(2) / 2; the relative error of r + r^2
// * polynomial(r) is below 1.7e-8.
#define POLICY_EXP_C0 0x1.000000p-1f
#define POLICY_EXP_C1 0x1.5554aep-3f
#define POLICY_EXP_C2 0x1.555486p-5f
#define POLICY_EXP_C3 0x1.122880p-7f
#define POLICY_EXP_C4 0x1.6d99bep-10f

// 2 atanh(s) = 2 s + s^3 * polynomial(s^2), minimax on 0 <= s <= 1/3; relative error below 5e-9.
#define POLICY_ATANH_C0 0x1.555500p-1f
#define POLICY_ATANH_C1 0x1.99d27cp-2f
#define POLICY_ATANH_C2 0x1.1eb618p-2f
#define POLICY_ATANH_C3 0x1.1ef858p-2f

// Phi(-a) = exp(-a^2 / 2) * polynomial(1 / (1 + a / 4)), where Phi is the distribution function of
// the standard normal distribution; minimax on 0 <= a <= 13.5, relative error below 1.3e-8.
#define POLICY_PHI_C0 -0x1.8ace0cp-16f
#define POLICY_PHI_C1 0x1.9ab03ep-4f
#define POLICY_PHI_C2 0x1.832730p-4f
#define POLICY_PHI_C3 0x1.f7a018p-4f
#define POLICY_PHI_C4 -0x1.8f570ap-6f
#define POLICY_PHI_C5 0x1.3f6374p-2f
#define POLICY_PHI_C6 -0x1.5e9bc0p-2f
#define POLICY_PHI_C7 0x1.9b59e2p-2f
#define POLICY_PHI_C8 -0x1.97a3bcp-3f
#define POLICY_PHI_C9 0x1.1a7012p-5f

#define POLICY_GELU_C1 0x1.988454p+0f // 2 sqrt(2 / pi)
#define POLICY_GELU_C3 0x1.2444f2p-4f // 2 sqrt(2 / pi) * 0.044715

// ---- primitives, which every form has by hand

// Rounds to nearest even. NaN and |v| >= 2^22 give INT32_MIN; of these only NaN and inf occur in
// the kernels, where the conversions of x86 give the same.
static inline int32_t
policy_round(float v)
{
    if (!(v > -0x1p22f && v < 0x1p22f)) {
        return INT32_MIN;
    }
    // The unit in the last place of the sum is 1, so the sum rounds v to nearest even.
    return (int32_t)((v + 0x1.8p23f) - 0x1.8p23f);
}

// Returns 2^n for -126 <= n <= 127.
static inline float
policy_power(int32_t n)
{
    uint32_t bits = ((uint32_t)n + 127u) << 23;
    float y;
    memcpy(&y, &bits, sizeof(y));
    return y;
}

static inline float
policy_abs(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits &= 0x7fffffffu;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

// Returns y >= 0 with the sign of x.
static inline float
policy_signed(float y, float x)
{
    uint32_t bits, sign;
    memcpy(&bits, &y, sizeof(bits));
    memcpy(&sign, &x, sizeof(sign));
    bits |= sign & 0x80000000u;
    memcpy(&y, &bits, sizeof(y));
    return y;
}

// ---- exponentials

static inline float
policy_exp_clamp(float x)
{
    x = POLICY_EXP_MIN > x ? POLICY_EXP_MIN : x;
    return POLICY_EXP_MAX < x ? POLICY_EXP_MAX : x;
}

// Returns exp(r) - 1 for x = n * ln 2 + r.
static inline float
policy_exp_rest(float x, int32_t n)
{
    float r = (x - (float)n * POLICY_LN2_HIGH) - (float)n * POLICY_LN2_LOW;
    float p = POLICY_EXP_C4 * r + POLICY_EXP_C3;
    p = p * r + POLICY_EXP_C2;
    p = p * r + POLICY_EXP_C1;
    p = p * r + POLICY_EXP_C0;
    return (r * r) * p + r;
}

static inline float
policy_exp(float x)
{
    x = policy_exp_clamp(x);
    int32_t n = policy_round(x * POLICY_LOG2_E);
    float e = policy_exp_rest(x, n);
    float power = policy_power(n);
    return e * power + power;
}

static inline float
policy_expm1(float x)
{
    x = policy_exp_clamp(x);
    int32_t n = policy_round(x * POLICY_LOG2_E);
    float e = policy_exp_rest(x, n);
    float power = policy_power(n);
    return e * power + (power - 1.0f);
}

// ---- activations

static inline float
policy_linear(float x)
{
    return x;
}

static inline float
policy_relu(float x)
{
    return x > 0.0f ? x : 0.0f;
}

static inline float
policy_tanh(float x)
{
    float a = policy_abs(x);
    float t = policy_expm1(a + a);
    return policy_signed(t / (t + 2.0f), x);
}

// x > 0 ? x : exp(x) - 1
static inline float
policy_elu(float x)
{
    return x > 0.0f ? x : policy_expm1(x);
}

// 1 / (1 + exp(-x)), of which the exponential never overflows.
static inline float
policy_sigmoid(float x)
{
    float e = policy_exp(-policy_abs(x));
    float above = x > 0.0f ? 1.0f : e;
    return above / (1.0f + e);
}

// x * sigmoid(x)
static inline float
policy_silu(float x)
{
    return x * policy_sigmoid(x);
}

// Returns Phi(-a) * exp(a^2 / 2) for 0 <= a <= 13.5.
static inline float
policy_normal_tail(float a)
{
    float t = 1.0f / (1.0f + 0.25f * a);
    float p = POLICY_PHI_C9 * t + POLICY_PHI_C8;
    p = p * t + POLICY_PHI_C7;
    p = p * t + POLICY_PHI_C6;
    p = p * t + POLICY_PHI_C5;
    p = p * t + POLICY_PHI_C4;
    p = p * t + POLICY_PHI_C3;
    p = p * t + POLICY_PHI_C2;
    p = p * t + POLICY_PHI_C1;
    return p * t + POLICY_PHI_C0;
}

// x * Phi(x), as x * (1 - Phi(-x)) for x > 0: the tail is not a difference of nearly equal numbers.
// rest is a^2 - square exactly (Dekker 1971), without which the tail would lose six bits.
static inline float
policy_gelu(float x)
{
    float a = policy_abs(x);
    a = 13.5f < a ? 13.5f : a;
    float square = a * a;
    float up = 4097.0f * a;
    float high = up - (up - a);
    float low = a - high;
    float rest = ((high * high - square) + 2.0f * (high * low)) + low * low;
    float e = policy_exp(-0.5f * square);
    float tail = policy_normal_tail(a) * (e - e * (0.5f * rest));
    float above = x > 0.0f ? x : 0.0f;
    return above - a * tail;
}

// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), which is x * sigmoid of twice that
// argument.
static inline float
policy_gelu_tanh(float x)
{
    return x * policy_sigmoid(x * (POLICY_GELU_C3 * (x * x) + POLICY_GELU_C1));
}

// log(1 + exp(x)) = max(x, 0) + log(1 + e) with e = exp(-|x|), and log(1 + e) = 2 atanh(e / (2 +
// e)).
static inline float
policy_softplus(float x)
{
    float e = policy_exp(-policy_abs(x));
    float s = e / (2.0f + e);
    float z = s * s;
    float p = POLICY_ATANH_C3 * z + POLICY_ATANH_C2;
    p = p * z + POLICY_ATANH_C1;
    p = p * z + POLICY_ATANH_C0;
    float above = x > 0.0f ? x : 0.0f;
    return above + ((s * z) * p + (s + s));
}

// x * tanh(softplus(x)), and tanh(log(1 + exp(x))) = n / (n + 2) with n = exp(x) * (exp(x) + 2).
// For x > 0 numerator and denominator are multiplied by exp(-2 x).
static inline float
policy_mish(float x)
{
    float e = policy_exp(-policy_abs(x));
    float above = x > 0.0f ? 1.0f + (e + e) : e * (e + 2.0f);
    float square = x > 0.0f ? e * e : 1.0f;
    return x * (above / (above + (square + square)));
}

static inline float
policy_leaky_relu(float x)
{
    return x > 0.0f ? x : 0.01f * x;
}

static inline float
policy_relu6(float x)
{
    x = x > 0.0f ? x : 0.0f;
    return x < 6.0f ? x : 6.0f;
}

// x * relu6(x + 3) / 6; x is clamped so that -inf does not become NaN.
static inline float
policy_hard_swish(float x)
{
    x = -3.0f > x ? -3.0f : x;
    return x * (policy_relu6(x + 3.0f) / 6.0f);
}

#endif // POLICY_POLICY_CURVES_H
