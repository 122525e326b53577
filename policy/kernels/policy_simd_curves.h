#ifndef POLICY_KERNELS_POLICY_SIMD_CURVES_H
#define POLICY_KERNELS_POLICY_SIMD_CURVES_H

// The activations on sixteen lanes: v_NAME gives the bits of policy_NAME (policy_curves.h) in every
// lane. The including file includes one of policy_simd_*.h before; without one this header is
// empty.
//
// Threads: any. Owns: nothing.
#ifdef POLICY_SIMD

#include "policy/policy_curves.h"

static inline vfloat
v_abs(vfloat x)
{
    return v_xor(x, v_sign(x));
}

static inline vfloat
v_negative(vfloat x)
{
    return v_xor(x, v_set(-0.0f));
}

// Returns y >= 0 with the sign of x.
static inline vfloat
v_signed(vfloat y, vfloat x)
{
    return v_xor(y, v_sign(x));
}

#include "policy/policy_curves_simd.h"

#endif // POLICY_SIMD

#endif // POLICY_KERNELS_POLICY_SIMD_CURVES_H
