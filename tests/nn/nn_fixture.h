#ifndef TESTS_NN_NN_FIXTURE_H
#define TESTS_NN_NN_FIXTURE_H

#include "common/oct_rng.h"
#include "nn/nn_context.h"
#include "policy/policy_words.h"
#include "tests/nn/nn_double.h"

// One for the whole test program: one thread, fp32.
nn_context *fixture_context(void);
// A group setup of cmocka: OpenBLAS has one thread, as in the learner; a thread sanitizer cannot
// see into its own.
int fixture_one_thread(void **state);

// A spec of hidden layers of one activation (layer 0 alone, or every hidden layer with layer_norm),
// then a linear layer of outputs.
typedef enum fixture_norm { FIXTURE_NO_NORM, FIXTURE_FIRST_NORM, FIXTURE_ALL_NORM } fixture_norm;
policy_spec fixture_spec(uint32_t inputs, const uint32_t *hidden, uint32_t hidden_count,
                         policy_activation activation, fixture_norm norm, uint32_t outputs);

// A residual net's, of so many blocks (nn_net.h).
policy_spec fixture_residual_spec(uint32_t inputs, uint32_t width, uint32_t blocks,
                                  policy_activation activation, uint32_t outputs);

// Convolutions filters[conv_count] of 3 x 3 over maps of height x width x channels, a hidden layer,
// a linear layer of outputs.
policy_spec fixture_conv_spec(uint32_t height, uint32_t width, uint32_t channels,
                              const uint32_t *filters, uint32_t conv_count, uint32_t hidden,
                              policy_activation activation, uint32_t outputs);

// Layers by their words (policy_words.h) over observations of shape[rank], then a linear layer of
// outputs.
policy_spec fixture_words_spec(const uint32_t *shape, uint32_t rank, const char *text,
                               policy_activation activation, uint32_t outputs);

// Networks of convolutions and pools with strides, zeros around maps, kernels that are not square,
// sequences, and activations after pools; number i of a list that FIXTURE_WORDS ends.
#define FIXTURE_WORDS 14
policy_spec fixture_words_case(uint32_t i, policy_activation activation);

// count numbers, uniform in [low, high).
float *fixture_floats(oct_rng *rng, size_t count, float low, float high);

// That gradient, and dx[inputs], are want's and want_dx within a few units in the last place of
// sums of some hundred terms.
void fixture_backward_near(const float *gradient, const float *dx, const nn_double *want,
                           const double *want_dx, size_t inputs);

#endif // TESTS_NN_NN_FIXTURE_H
