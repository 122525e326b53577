#ifndef TESTS_NN_NN_DOUBLE_H
#define TESTS_NN_NN_DOUBLE_H

#include "policy/policy_spec.h"

// A network in double precision over the parameter block of policy_spec, written from its formulas
// and for clarity: what the fp32 code is compared with. Its own backward is checked by central
// differences in test_nn_gradient.c.
// Owns: everything; free with nn_double_destroy.
typedef struct nn_double {
    policy_spec spec;
    bool residual; // as of nn_net.h; the caller's to set
    uint32_t rows_max;
    size_t param_count;
    double *params;                       // [param_count]
    double *gradient;                     // [param_count]
    double *x[POLICY_LAYERS_MAX + 1];     // [rows][inputs] of each layer, then the outputs
    double *h[POLICY_LAYERS_MAX];         // [rows][outputs], what goes into the activation
    double *unit[POLICY_LAYERS_MAX];      // [rows][outputs], normalised, layer_norm only
    double *deviation[POLICY_LAYERS_MAX]; // [rows], layer_norm only
} nn_double;

nn_double *nn_double_create(const policy_spec *spec, uint32_t rows_max);
void nn_double_destroy(nn_double *net);
void nn_double_set_params(nn_double *net, const float *params);
// Outputs [rows][outputs], valid until the next call.
const double *nn_double_forward(nn_double *net, const float *x, uint32_t rows);
// Fills gradient from dy[rows][outputs] after a forward over these rows; dx[rows][inputs] may be
// NULL.
void nn_double_backward(nn_double *net, const double *dy, uint32_t rows, double *dx);

#endif // TESTS_NN_NN_DOUBLE_H
