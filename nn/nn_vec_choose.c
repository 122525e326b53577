// Chooses the vector loops and the operations on atoms that this CPU runs fastest.
#include "nn/nn_vec.h"

#include <stdbool.h>

#include "nn/nn_vec_tables.h"
#include "policy/kernels/policy_cpuid.h"

int
nn_vec_tables(const nn_vec_ops *tables[NN_VEC_TABLES_MAX])
{
    int count = 0;
    tables[count++] = &nn_vec_base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && policy_cpu_has_f16c()) {
        tables[count++] = &nn_vec_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
            tables[count++] = &nn_vec_avx512;
        }
    }
#endif
    return count;
}

const nn_vec_ops *
nn_vec(void)
{
    const nn_vec_ops *tables[NN_VEC_TABLES_MAX];
    return tables[nn_vec_tables(tables) - 1];
}

// The tables correspond to those of nn_vec_tables, which come from the same builds.
int
nn_categorical_tables(const nn_categorical_ops *tables[NN_VEC_TABLES_MAX])
{
    static const nn_categorical_ops *const all[NN_VEC_TABLES_MAX] = {
        &nn_categorical_base,
#if defined(__x86_64__)
        &nn_categorical_avx2,
        &nn_categorical_avx512,
#endif
    };
    const nn_vec_ops *same_builds[NN_VEC_TABLES_MAX];
    int count = nn_vec_tables(same_builds);
    for (int i = 0; i < count; i++) {
        tables[i] = all[i];
    }
    return count;
}

const nn_categorical_ops *
nn_categorical(void)
{
    const nn_categorical_ops *tables[NN_VEC_TABLES_MAX];
    return tables[nn_categorical_tables(tables) - 1];
}
