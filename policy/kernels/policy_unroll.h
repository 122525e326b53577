#ifndef POLICY_KERNELS_POLICY_UNROLL_H
#define POLICY_KERNELS_POLICY_UNROLL_H

// Kernels are written once over constant sizes (rows, groups), and inlining makes one function for
// each size. The compiler must unroll their short loops, so that arrays of accumulators become
// registers.
#define POLICY_INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define POLICY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define POLICY_UNROLL _Pragma("GCC unroll 32")
#endif

// Keeps a vector in its register. Without this, gcc 12 copies and spills accumulators around a
// loop.
#define POLICY_PIN(vector) __asm__("" : "+v"(vector))

#endif // POLICY_KERNELS_POLICY_UNROLL_H
