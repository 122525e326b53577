#ifndef NN_NN_VEC_H
#define NN_NN_VEC_H

#include <stddef.h>
#include <stdint.h>

// The loops of training that are not matrix products. nn_vec.c is compiled once per instruction
// set with its own flags; nn_vec() is the best table that this CPU runs.
//
// Every table for CPUs with FMAs gives the same bits: the compiler makes none, they are written
// out; sums over a row run in NN_VEC_LANES partial sums that are added pairwise at the end, sums
// over rows from the first row to the last. Without FMAs (x86 before AVX2) results are as accurate,
// but rounded twice. A function that does two things gives the bits of the two apart, and a batch
// in parts those of the whole. NaN goes through all of them, but relu's backward
// gives 0 wherever the output is 0 or NaN.
//
// Threads: any; the table is const. Shapes: B rows, O outputs, row-major. Pointers do not overlap.

#define NN_VEC_LANES 32
// Parts of a gradient that are smaller change no weight, whatever Adam divides them by, and are far
// enough from the smallest normal number for products with weights and activations to be normal.
#define NN_VEC_SMALL 0x1p-80f

typedef struct nn_adam_factors {
    float gradient_scale;       // of clipping
    float beta1, beta2;         // decay of the moments
    float rate;                 // learning rate / (1 - beta1^t)
    float second_moment_factor; // 1 / sqrt(1 - beta2^t)
    float epsilon;
} nn_adam_factors;

// Where the sums over the rows of a layer with a norm go; all [O].
typedef struct nn_norm_sums {
    float *dgain, *doffset;
    float *db;
} nn_norm_sums;

// Arrays of functions have one for each policy_activation, in its order.
#define NN_ACTIVATIONS 4

typedef struct nn_vec_ops {
    const char *name;
    // y[B][O] = activation(y + b[O])
    void (*bias[NN_ACTIVATIONS])(float *y, const float *b, uint32_t B, uint32_t O);
    // y[B][O] = activation((y + b - mean) / sqrt(var + 1e-5) * gain + offset), row by row; keeps
    // 1 / sqrt(var + 1e-5) and the normalised rows (NULL: not wanted)
    void (*bias_norm[NN_ACTIVATIONS])(float *y, float *normalised, float *inverse_std,
                                      const float *b, const float *gain, const float *offset,
                                      uint32_t B, uint32_t O);
    // dy[n] *= activation'(.), told from the activation's output y
    void (*backward[NN_ACTIVATIONS])(float *dy, const float *y, size_t n);
    // The same for dy[B][O], and db[O] += the sum of its rows
    void (*backward_sums[NN_ACTIVATIONS])(float *dy, float *db, const float *y, uint32_t B,
                                          uint32_t O);
    // dy[B][O] at the activation's outputs becomes the gradient at the input of the norm; dgain,
    // doffset and db += their sums over the rows
    void (*norm_backward[NN_ACTIVATIONS])(float *dy, const nn_norm_sums *sums, const float *y,
                                          const float *normalised, const float *inverse_std,
                                          const float *gain, uint32_t B, uint32_t O);
    // x[n] below NN_VEC_SMALL become 0
    void (*flush_small)(float *x, size_t n);
    // db[O] = sum over rows of dy[B][O]
    void (*column_sums)(float *db, const float *dy, uint32_t B, uint32_t O);
    float (*sum_of_squares)(const float *x, size_t n);
    void (*adam)(float *params, float *m, float *v, const float *gradient, size_t n,
                 const nn_adam_factors *factors);
    void (*add)(float *to, const float *from, size_t n); // to += from
    // to += rate * (from - to)
    void (*blend)(float *to, const float *from, float rate, size_t n);
} nn_vec_ops;

const nn_vec_ops *nn_vec(void);

// Every table that this CPU can run, the plainest first; returns how many (at most
// NN_VEC_TABLES_MAX).
#define NN_VEC_TABLES_MAX 3
int nn_vec_tables(const nn_vec_ops *tables[NN_VEC_TABLES_MAX]);

#endif // NN_NN_VEC_H
