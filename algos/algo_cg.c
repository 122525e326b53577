// Conjugate gradients over products with a matrix that is never formed.
#include "algos/algo_cg.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define RESIDUAL_SQUARES_MIN 1e-10

void
algo_cg_init(algo_cg *cg, nn_context *context, size_t count)
{
    *cg = (algo_cg){
        .count = count,
        .x = nn_context_alloc(context, count * sizeof(double)),
        .residual = nn_context_alloc(context, count * sizeof(double)),
        .towards = nn_context_alloc(context, count * sizeof(double)),
        .v = nn_context_alloc(context, count * sizeof(float)),
        .Av = nn_context_alloc(context, count * sizeof(float)),
    };
}

void
algo_cg_fini(algo_cg *cg)
{
    void *blocks[] = {cg->x, cg->residual, cg->towards, cg->v, cg->Av};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    *cg = (algo_cg){0};
}

static double
squares_of(const double *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += x[i] * x[i];
    }
    return sum;
}

// Takes a step along towards and computes the next direction. Returns false, and takes no step, if
// the curvature is not positive.
static bool
cg_step(algo_cg *cg, double *squares, algo_cg_product *product, void *arg)
{
    double curvature = 0;
    for (size_t i = 0; i < cg->count; i++) {
        cg->v[i] = (float)cg->towards[i];
    }
    product(arg, cg->v, cg->Av);
    for (size_t i = 0; i < cg->count; i++) {
        curvature += cg->towards[i] * (double)cg->Av[i];
    }
    if (curvature <= 0) {
        return false;
    }
    double length = *squares / curvature, before = *squares;
    for (size_t i = 0; i < cg->count; i++) {
        cg->x[i] += length * cg->towards[i];
        cg->residual[i] -= length * (double)cg->Av[i];
    }
    *squares = squares_of(cg->residual, cg->count);
    for (size_t i = 0; i < cg->count; i++) {
        cg->towards[i] = cg->residual[i] + *squares / before * cg->towards[i];
    }
    return true;
}

double
algo_cg_solve(algo_cg *cg, const float *b, uint32_t steps, algo_cg_product *product, void *arg)
{
    double energy = 0;
    for (size_t i = 0; i < cg->count; i++) {
        cg->x[i] = 0;
        cg->residual[i] = cg->towards[i] = (double)b[i];
    }
    double squares = squares_of(cg->residual, cg->count);
    bool continues = true;
    for (uint32_t k = 0; k < steps && continues && !(squares < RESIDUAL_SQUARES_MIN); k++) {
        continues = cg_step(cg, &squares, product, arg);
    }
    for (size_t i = 0; i < cg->count; i++) { // x'Ax, since A x = b - residual
        energy += cg->x[i] * ((double)b[i] - cg->residual[i]);
    }
    return energy;
}
