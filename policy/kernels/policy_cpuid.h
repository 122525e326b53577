#ifndef POLICY_KERNELS_POLICY_CPUID_H
#define POLICY_KERNELS_POLICY_CPUID_H

// What __builtin_cpu_supports of gcc 12 or clang 14 cannot be asked. Empty off x86. Ask for "avx2"
// first: that also says that the operating system keeps the 256-bit registers.
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

// The VEX form of vpdpbusd: Alder Lake, Sapphire Rapids, Zen 5.
static inline bool
policy_cpu_has_avxvnni(void)
{
    unsigned a = 0, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1u) != 0;
}

#endif // x86-64

#endif // POLICY_KERNELS_POLICY_CPUID_H
