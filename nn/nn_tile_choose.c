#include "nn/nn_tile.h"

#include "nn/nn_tile_tables.h"

static bool
has_avx512(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

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

const nn_tile_ops *
nn_tile_bf16(void)
{
#if defined(__x86_64__)
    if (has_avx512() && __builtin_cpu_supports("avx512bf16")) {
        return &nn_tile_avx512bf16;
    }
#endif
    return NULL;
}

int
nn_tile_tables(const nn_tile_ops *tables[NN_TILE_TABLES_MAX])
{
    int count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        tables[count++] = &nn_tile_avx2;
    }
    if (has_avx512()) {
        tables[count++] = &nn_tile_avx512;
    }
    if (nn_tile_bf16() != NULL) {
        tables[count++] = nn_tile_bf16();
    }
#endif
    return count;
}
