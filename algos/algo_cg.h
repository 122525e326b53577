#ifndef ALGOS_ALGO_CG_H
#define ALGOS_ALGO_CG_H

#include <stddef.h>
#include <stdint.h>

#include "nn/nn_context.h"

// Conjugate gradients (Hestenes and Stiefel 1952): solves A x = b for a symmetric, positive
// definite A that is known by its products alone. Vectors and dot products are in double, products
// in float.
//
// Threads: one user at a time. Owns: all memory, which init reserves; no later call allocates.
typedef struct algo_cg {
    size_t count;     // unknowns
    double *x;        // [count] the solution
    double *residual; // [count], b - A x
    double *towards;  // [count], the next direction
    float *v, *Av;    // [count] each, the operand and the result of a product
} algo_cg;

void algo_cg_init(algo_cg *cg, nn_context *context, size_t count);
void algo_cg_fini(algo_cg *cg);

// Av = A v, v[count].
typedef void algo_cg_product(void *arg, const float *v, float *Av);
// Takes at most `steps` steps from x = 0; fewer if the residual's sum of squares falls below 1e-10,
// or if rounding leaves nothing to gain. Returns x'Ax.
double algo_cg_solve(algo_cg *cg, const float *b, uint32_t steps, algo_cg_product *product,
                     void *arg);

#endif // ALGOS_ALGO_CG_H
