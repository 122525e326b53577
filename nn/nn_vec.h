#ifndef NN_NN_VEC_H
#define NN_NN_VEC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy_activations.h"

// The loops of training that are not matrix products. nn_vec.c is compiled once per instruction set
// with its own flags.
//
// Bits. Every table for CPUs with FMAs gives the same bits:
// - contraction is off, and fused multiply-adds are explicit;
// - sums over a row run in NN_VEC_LANES partial sums, which are added pairwise at the end; sums
//   over rows run from the first row to the last;
// - a fused function returns the same bits as the two separate ones, and a batch in parts the same
//   as the whole batch.
// Without FMAs (x86 before AVX2) results are as accurate, but rounded twice; those of curves are
// the same. A NaN in an operand makes the result NaN, except that relu's backward gives 0 where the
// output is 0 or NaN, and that curves treat NaN as policy_curves.h and nn_slopes.h say.
//
// Threads: any; the tables are const.
// Shapes: B rows, O outputs, row-major. Pointers do not overlap.

// The number of partial sums over a row: two vectors of the widest instruction set.
#define NN_VEC_LANES 32
// Smaller parts of a gradient become 0 before backward. They change no weight, no matter what Adam
// divides them by. The bound is far enough above the smallest normal number for products with
// weights and activations to stay normal.
#define NN_VEC_SMALL 0x1p-80f

typedef struct nn_adam_factors {
    float gradient_scale;       // of clipping to a norm
    float beta1, beta2;         // decay of the moments
    float rate;                 // learning rate / (1 - beta1^t)
    float second_moment_factor; // 1 / sqrt(1 - beta2^t)
    float epsilon;              // added to the root of the second moment
} nn_adam_factors;

// Receives the sums over the rows of a layer with a norm; all [O].
typedef struct nn_norm_sums {
    float *dgain, *doffset;
    float *db;
} nn_norm_sums;

// The first activations are fused with bias and norm, and their derivatives are functions of the
// output. Every other activation is a curve: it is applied after a fused POLICY_LINEAR, and its
// derivative is a function of the input, which the caller keeps. Arrays of functions have one
// function per activation, in the order of POLICY_ACTIVATIONS.
#define NN_FUSED 4
static_assert(POLICY_LINEAR == 0 && POLICY_RELU == 1 && POLICY_TANH == 2 &&
                  POLICY_ELU == NN_FUSED - 1,
              "the arrays of fused functions have the order of POLICY_ACTIVATIONS");

typedef struct nn_vec_ops {
    // the table's symbol, for logs and tests
    const char *name;
    // y[B][O] = activation(y + b[O]).
    void (*bias[NN_FUSED])(float *y, const float *b, uint32_t B, uint32_t O);
    // y[B][O] = activation((y + b - mean) / sqrt(var + 1e-5) * gain + offset), row by row. Stores 1
    // / sqrt(var + 1e-5) in inverse_std[B], and the normalised rows in normalised[B][O] (NULL: not
    // wanted).
    void (*bias_norm[NN_FUSED])(float *y, float *normalised, float *inverse_std, const float *b,
                                const float *gain, const float *offset, uint32_t B, uint32_t O);
    // dy[n] *= the derivative of the activation, computed from the activation's output y.
    void (*backward[NN_FUSED])(float *dy, const float *y, size_t n);
    // Like backward, for dy[B][O]; db[O] += the sum of the resulting rows.
    void (*backward_sums[NN_FUSED])(float *dy, float *db, const float *y, uint32_t B, uint32_t O);
    // dy[B][O], the gradient at the activation's outputs, becomes the gradient at the input of the
    // norm. dgain, doffset and db += their sums over the rows.
    void (*norm_backward[NN_FUSED])(float *dy, const nn_norm_sums *sums, const float *y,
                                    const float *normalised, const float *inverse_std,
                                    const float *gain, uint32_t B, uint32_t O);
    // y[n] = activation(y), with the bits of policy_curves.h. Keeps the inputs in kept[n] (NULL:
    // not wanted).
    void (*curve[POLICY_ACTIVATION_COUNT])(float *y, float *kept, size_t n);
    // dy[n] *= the derivative of the activation at the inputs that curve kept; then as flush_small.
    void (*curve_backward[POLICY_ACTIVATION_COUNT])(float *dy, const float *kept, size_t n);
    // Sets numbers of x[n] with |x| < NN_VEC_SMALL to 0.
    void (*flush_small)(float *x, size_t n);
    // db[O] = the sum of the rows of dy[B][O].
    void (*column_sums)(float *db, const float *dy, uint32_t B, uint32_t O);
    float (*sum_of_squares)(const float *x, size_t n);
    // One step of Adam: updates m, v and params from the gradient times gradient_scale.
    void (*adam)(float *params, float *m, float *v, const float *gradient, size_t n,
                 const nn_adam_factors *factors);
    void (*add)(float *to, const float *from, size_t n); // to += from
    // to += rate * (from - to).
    void (*blend)(float *to, const float *from, float rate, size_t n);
} nn_vec_ops;

// Returns the best table that this CPU runs.
const nn_vec_ops *nn_vec(void);

// Lists every table that this CPU can run, the plainest first, and returns their count, at most
// NN_VEC_TABLES_MAX.
#define NN_VEC_TABLES_MAX 3
int nn_vec_tables(const nn_vec_ops *tables[NN_VEC_TABLES_MAX]);

#endif // NN_NN_VEC_H
