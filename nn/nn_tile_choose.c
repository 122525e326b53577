// Chooses the tile kernels for this CPU: AVX2, AVX-512, AVX-512 BF16 or AMX.
#include "nn/nn_tile.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "nn/nn_tile_tables.h"

// Bits of CPUID leaf 7, register EDX.
#define CPUID_AMX_BF16 (1u << 22)
#define CPUID_AMX_TILE (1u << 24)
// arch_prctl that asks for permission to use tile registers. Without it the first use raises SIGILL
// (Linux 5.16 and later; Documentation/arch/x86/xstate.rst).
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA  18

#if defined(__x86_64__)
static bool
has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static bool
has_amx(void)
{
    const unsigned wanted = CPUID_AMX_BF16 | CPUID_AMX_TILE;
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) == 1 && (d & wanted) == wanted &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#endif

const nn_tile_ops *
nn_tile_float(void)
{
#if defined(__x86_64__)
    if (has_avx512()) {
        return &nn_tile_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &nn_tile_avx2;
    }
#endif
    return NULL;
}

#if defined(__x86_64__)
static bool
has_avx512bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
#endif

const nn_tile_ops *
nn_tile_bf16(void)
{
#if defined(__x86_64__)
    if (has_avx512bf16() && has_amx()) {
        return &nn_tile_amx;
    }
    // Intel's CPUs start one vdpbf16ps per cycle but two FMAs, so bfloat16 gains nothing without
    // AMX.
    if (has_avx512bf16() && !__builtin_cpu_is("intel")) {
        return &nn_tile_avx512bf16;
    }
#endif
    return NULL;
}

int
nn_tile_tables(const nn_tile_ops *tables[NN_TILE_TABLES_MAX])
{
    int count = 0;
    (void)tables;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        tables[count++] = &nn_tile_avx2;
    }
    if (has_avx512()) {
        tables[count++] = &nn_tile_avx512;
    }
    if (has_avx512bf16()) {
        tables[count++] = &nn_tile_avx512bf16;
    }
    if (has_avx512bf16() && has_amx()) {
        tables[count++] = &nn_tile_amx;
    }
#endif
    return count;
}
