#ifndef ALGOS_ALGO_CG_H
#define ALGOS_ALGO_CG_H

#include <stddef.h>
#include <stdint.h>

#include "nn/nn_context.h"

// Conjugate gradients (Hestenes and Stiefel 1952): x with A x = b, where A is symmetric and
// positive definite and is known by its products alone. Vectors and dot products are in double,
// products are floats.
//
// Threads: one user at a time. Owns: all memory, reserved by init; nothing allocates later.
typedef struct algo_cg {
    size_t count;
    double *x;        // [count]
    double *residual; // [count] b - A x
    double *towards;  // [count] the next direction
    float *v, *Av;    // [count] of a product
} algo_cg;

void algo_cg_init(algo_cg *cg, nn_context *context, size_t count);
void algo_cg_fini(algo_cg *cg);

// Av = A v, v[count].
typedef void algo_cg_product(void *arg, const float *v, float *Av);
// At most so many steps from x = 0; fewer where the residual's sum of squares falls below 1e-10, or
// where rounding has left nothing to be gained. Returns x'Ax.
double algo_cg_solve(algo_cg *cg, const float *b, uint32_t steps, algo_cg_product *product,
                     void *arg);

#endif // ALGOS_ALGO_CG_H
