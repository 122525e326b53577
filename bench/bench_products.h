#ifndef BENCH_BENCH_PRODUCTS_H
#define BENCH_BENCH_PRODUCTS_H

#include <stdint.h>

#include "nn/nn_tiled.h"
#include "policy/policy_spec.h"

// The matrix products that an update contains, alone: the floor that bench_learner measures updates
// by. Each is timed with OpenBLAS and, where it is installed, oneDNN; the faster one counts.
//
// Threads: one. Owns: operands, shared by all products of a list, so that they are as warm as can
// be.

#define BENCH_PRODUCTS_MAX 400

typedef void bench_product_fn(nn_context *context, const nn_product *product);

typedef struct bench_products {
    nn_context *context; // of our own kernels; borrowed
    bool quick;          // OpenBLAS does all: none is timed to find the faster library
    uint32_t count;
    nn_product items[BENCH_PRODUCTS_MAX];
    bench_product_fn *best[BENCH_PRODUCTS_MAX];
    float *left, *right, *out;
} bench_products;

// The products of a net's forward pass, and of its backward pass: gradient of the weights, and of
// what is below each layer (of the first one's inputs so many: inputs).
void bench_products_forward(bench_products *list, const policy_spec *spec, uint32_t rows);
void bench_products_backward(bench_products *list, const policy_spec *spec, uint32_t rows,
                             bool weights, uint32_t inputs);
// Once all are added: reserves operands, finds the faster library for each product. Returns false,
// and says why, when our own product differs from theirs by more than tolerance (of its norm).
bool bench_products_prepare(bench_products *list, double tolerance);
void bench_products_run_best(const bench_products *list);
void bench_products_run_own(const bench_products *list);
void bench_products_fini(bench_products *list);

// Prints GFLOP/s of some products by each library and by our own kernels, with and without bfloat16
// inputs (0: this CPU has none).
void bench_products_table(uint32_t threads);

// "OpenBLAS SkylakeX" or "OpenBLAS SkylakeX, oneDNN".
const char *bench_products_libraries(void);

#endif // BENCH_BENCH_PRODUCTS_H
