#ifndef NN_NN_CATEGORICAL_H
#define NN_NN_CATEGORICAL_H

#include <stdint.h>

#include "nn/nn_vec.h"

// Operations on distributions of the return over N atoms, evenly spaced from low to high
// (Bellemare, Dabney and Munos 2017): z_j = low + j * (high - low) / (N - 1). nn_categorical.c is
// built once per instruction set; its tables give the same bits where those of nn_vec.h do. A NaN
// in an operand makes the row's results NaN.
//
// Threads: any; the tables are const.
// Shapes: B rows, row-major; 2 <= N <= NN_CATEGORICAL_ATOMS_MAX. Pointers do not overlap.

// The kernels keep padded rows of this size on the stack.
#define NN_CATEGORICAL_ATOMS_MAX 4096

typedef struct nn_support {
    float low, high; // low < high
    uint32_t N;      // number of atoms
} nn_support;

// The distance between two neighbouring atoms.
static inline float
nn_support_step(const nn_support *support)
{
    return (support->high - support->low) / (float)(support->N - 1);
}

typedef struct nn_categorical_ops {
    // the table's symbol, for logs and tests
    const char *name;
    // p[B][N] = softmax of logits[B][N]; log_total[B] = log of the sum of exp(logits).
    void (*softmax)(float *p, float *log_total, const float *logits, uint32_t B, uint32_t N);
    // mean[B] = sum_j p_j z_j.
    void (*mean)(float *mean, const float *p, const nn_support *support, uint32_t B);
    // dlogits[B][N] = scale times the derivative of the mean by the logits, p_j (z_j - mean).
    void (*mean_backward)(float *dlogits, const float *p, const float *mean, float scale,
                          const nn_support *support, uint32_t B);
    // m[B][N] = the distribution of reward + discount * Z, where Z has the probabilities p[B][N],
    // projected onto the atoms (equation 7 of the paper): the image of each atom is clipped to
    // [low, high], and its mass is split linearly between the two atoms on either side of the
    // image.
    void (*project)(float *m, const float *p, const float *reward, const float *discount,
                    const nn_support *support, uint32_t B);
    // loss[B] = -sum_j m_j log p_j >= 0. dlogits[B][N] = weight / B * (p - m), the derivative of
    // the mean of weight * loss. p and log_total are the results of softmax for logits.
    void (*cross_entropy)(float *loss, float *dlogits, const float *m, const float *logits,
                          const float *p, const float *log_total, const float *weight, uint32_t B,
                          uint32_t N);
    // kl[B] = loss - the entropy of m, which is KL(m || p) = sum_j m_j log(m_j / p_j) >= 0. m and
    // loss are an operand and the result of cross_entropy.
    void (*divergence)(float *kl, const float *loss, const float *m, uint32_t B, uint32_t N);
} nn_categorical_ops;

// Returns the best table that this CPU runs. nn_categorical_tables lists all of them, in the order
// of nn_vec_tables, and returns their count.
const nn_categorical_ops *nn_categorical(void);
int nn_categorical_tables(const nn_categorical_ops *tables[NN_VEC_TABLES_MAX]);

#endif // NN_NN_CATEGORICAL_H
