#ifndef NN_NN_CATEGORICAL_H
#define NN_NN_CATEGORICAL_H

#include <stdint.h>

#include "nn/nn_vec.h"

// Distributions of the return on N atoms, evenly spaced from low to high (Bellemare, Dabney and
// Munos 2017): z_j = low + j * (high - low) / (N - 1). Built once per instruction set, with the
// same bits as far as nn_vec's are; NaN goes through all of them.
//
// Threads: any; the table is const. Shapes: B rows, row-major; 2 <= N <= NN_CATEGORICAL_ATOMS_MAX.
// Pointers do not overlap.

#define NN_CATEGORICAL_ATOMS_MAX 4096

typedef struct nn_support {
    float low, high; // low < high
    uint32_t N;
} nn_support;

// The distance of two atoms.
static inline float
nn_support_step(const nn_support *support)
{
    return (support->high - support->low) / (float)(support->N - 1);
}

typedef struct nn_categorical_ops {
    const char *name;
    // p[B][N] = softmax of logits[B][N]; log_total[B] = log of the sum of exp(logits)
    void (*softmax)(float *p, float *log_total, const float *logits, uint32_t B, uint32_t N);
    // mean[B] = sum_j p_j z_j
    void (*mean)(float *mean, const float *p, const nn_support *support, uint32_t B);
    // dlogits[B][N] = scale * the derivative of the mean by the logits: p_j (z_j - mean)
    void (*mean_backward)(float *dlogits, const float *p, const float *mean, float scale,
                          const nn_support *support, uint32_t B);
    // m[B][N] = the distribution of reward + discount * Z, where Z has p[B][N], projected onto the
    // atoms: each atom's image is cut to [low, high], its mass split linearly between the two
    // atoms that it lies between (equation 7 of the paper)
    void (*project)(float *m, const float *p, const float *reward, const float *discount,
                    const nn_support *support, uint32_t B);
    // loss[B] = -sum_j m_j log p_j >= 0; dlogits[B][N] = weight / B * (p - m), the derivative of
    // the mean of weight * loss. p and log_total are softmax's of logits.
    void (*cross_entropy)(float *loss, float *dlogits, const float *m, const float *logits,
                          const float *p, const float *log_total, const float *weight, uint32_t B,
                          uint32_t N);
    // kl[B] = loss - the entropy of m: KL(m || p) = sum_j m_j log(m_j / p_j), >= 0. loss and m as
    // of cross_entropy.
    void (*divergence)(float *kl, const float *loss, const float *m, uint32_t B, uint32_t N);
} nn_categorical_ops;

// The best table that this CPU runs, and all of them as nn_vec_tables gives them.
const nn_categorical_ops *nn_categorical(void);
int nn_categorical_tables(const nn_categorical_ops *tables[NN_VEC_TABLES_MAX]);

#endif // NN_NN_CATEGORICAL_H
