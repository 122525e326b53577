#ifndef POLICY_KERNELS_POLICY_CPUID_H
#define POLICY_KERNELS_POLICY_CPUID_H

// CPU features that __builtin_cpu_supports of gcc 12 or clang 14 does not know. Empty for other
// CPUs than x86-64. The caller checks "avx2" first, which also tests that the operating system
// saves the 256-bit registers.
//
// Threads: any.
#if defined(__x86_64__)

#include <cpuid.h>
#include <stdbool.h>

static inline bool
policy_cpu_has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1u) != 0;
}

// The VEX form of vpdpbusd, which Alder Lake, Sapphire Rapids and Zen 5 have.
static inline bool
policy_cpu_has_avxvnni(void)
{
    unsigned a = 0, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1u) != 0;
}

#endif // x86-64

#endif // POLICY_KERNELS_POLICY_CPUID_H
