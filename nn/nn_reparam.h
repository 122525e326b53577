#ifndef NN_NN_REPARAM_H
#define NN_NN_REPARAM_H

#include "common/oct_rng.h"
#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// Networks that learn other numbers than the weights of their layers. The network itself stays the
// plain chain of policy_spec; its weights are a linear function of what is learned, so the gradient
// comes back by the transpose of that function.
//
// dueling (Wang et al. 2016, equation 9): the last hidden layer holds two streams side by side, the
// value's half first; the last layer's weights for action a and atom n (n = 0 without atoms) are
//   [ Wv[n] | Wa[a,n] - mean_a Wa[.,n] ],  bias bv[n] + ba[a,n] - mean_a ba[.,n]
// noisy (Fortunato et al. 2018, section 3, factorised): each dense layer, and in the last layer
// each stream, has a mean and a deviation for every weight and bias,
//   W = mu + sigma * f(e_out) f(e_in)^T,  b = mu + sigma * f(e_out),  f(x) = sign(x) sqrt|x|
// with e standard normal. Gains and offsets of a layer norm, and layers of other kinds, have none.
//
// Learned, in this order: all of the chain but its last layer; the last layer, which is Wv [N][H],
// bv [N], Wa [A N][H], ba [A N] when dueling; then, when noisy, the deviations in the same layout
// (where there is no noise they are 0 and stay so).
//
// Threads: the training thread. Owns: its scratch row block; map and back allocate nothing.

// A dense block with noise of its own: a layer, or one stream of the last one.
typedef struct nn_reparam_block {
    uint32_t inputs;
    uint32_t outputs;
    size_t weight; // [outputs][inputs], in what is learned
    size_t bias;   // [outputs]
    size_t noise;  // f(e_in)[inputs], f(e_out)[outputs], in a sample
} nn_reparam_block;

typedef struct nn_reparam {
    bool dueling;
    bool noisy;
    float sigma;
    size_t weight_count; // of the chain
    size_t mean_count;   // learned without deviations
    size_t param_count;  // learned
    size_t noise_count;  // of a sample, 0 when not noisy
    size_t last;         // where the chain's last layer begins
    uint32_t stream;     // dueling: H, inputs of each stream of the last layer
    uint32_t actions;    // dueling: A
    uint32_t atoms;      // dueling: N, 1 without atoms
    uint32_t block_count;
    nn_reparam_block blocks[POLICY_LAYERS_MAX + 1];
    float *scratch; // [mean_count], noisy only
} nn_reparam;

typedef struct nn_reparam_options {
    bool dueling; // the last layer has an even number of inputs; heads VALUES and ATOMS
    bool noisy;
    float sigma; // deviations begin as sigma / sqrt(inputs)
} nn_reparam_options;

// spec has passed policy_spec_check.
void nn_reparam_init(nn_reparam *map, nn_context *context, const policy_spec *spec,
                     const nn_reparam_options *options);
void nn_reparam_fini(nn_reparam *map);

// The first learned numbers from a chain's first weights (nn_net_randomise): means are those, the
// last layer's scaled by sqrt(2) when dueling, for a stream has half of its inputs.
void nn_reparam_begin(const nn_reparam *map, float *params, const float *weights);

// A sample of the noise, noise[noise_count].
void nn_reparam_draw(const nn_reparam *map, float *noise, oct_rng *rng);

// weights[weight_count] for params[param_count]; noise NULL: without noise, the means'.
void nn_reparam_map(const nn_reparam *map, float *weights, const float *params, const float *noise);
// The gradient by params from the one by the weights that map gave for this noise.
void nn_reparam_back(const nn_reparam *map, float *dparams, const float *dweights,
                     const float *noise);

#endif // NN_NN_REPARAM_H
