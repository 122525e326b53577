#ifndef ALGOS_ALGO_CUT_H
#define ALGOS_ALGO_CUT_H

#include "algos/algo.h"
#include "nn/nn_categorical.h"

// How much the ends of the support take from targets. Projecting a distribution onto the atoms
// keeps its mean, unless a part of it lies beyond an end and is moved there (nn_categorical.h). If
// that happens often, the values that critics learn stay near the end, and actions that differ look
// alike.
typedef struct algo_cut {
    // How far means rose at the lower end and fell at the upper end: averages over rows, as shares
    // of the support's range; >= 0.
    float below, above;
} algo_cut;

// before[B]: the means of the distributions of returns from the next step on. after[B]: the means
// of the projected targets. A row counts at the end that moved its mean. Threads: any.
algo_cut algo_cut_of(const nn_support *support, const algo_batch *batch, const float *before,
                     const float *after);

#endif // ALGOS_ALGO_CUT_H
