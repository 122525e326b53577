#ifndef TESTS_ALGOS_DQN_DOUBLE_H
#define TESTS_ALGOS_DQN_DOUBLE_H

#include "algos/algo.h"
#include "tests/nn/nn_double.h"

// DQN's update in double precision, written from the formulas: what algo_dqn.c is compared with.
// Owns: everything; free with dqn_double_destroy.
typedef struct dqn_double {
    config_experiment config;
    nn_double *online;
    nn_double *target;
    double *m, *v; // [param_count]
    uint64_t updates;
} dqn_double;

// params: both networks' first parameters.
dqn_double *dqn_double_create(const config_experiment *config, const policy_spec *spec,
                              const float *params);
void dqn_double_destroy(dqn_double *dqn);

typedef struct dqn_double_result {
    double loss, td_abs, value, grad_norm;
} dqn_double_result;

// One update; priorities [B] (may be NULL) gets |TD error|.
dqn_double_result dqn_double_update(dqn_double *dqn, const algo_batch *batch, double learning_rate,
                                    double *priorities);

#endif // TESTS_ALGOS_DQN_DOUBLE_H
