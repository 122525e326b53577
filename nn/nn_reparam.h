#ifndef NN_NN_REPARAM_H
#define NN_NN_REPARAM_H

#include "common/oct_rng.h"
#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// Networks that learn other numbers than the weights of their layers. The network itself stays the
// plain chain of policy_spec.h. Its weights are a linear function of the learned numbers, so the
// gradient goes back through the transpose of that function.
//
// dueling (Wang et al. 2016, equation 9): the last hidden layer holds two streams side by side, the
// value's half first. The last layer's weights and bias for action a and atom n (n = 0 without
// atoms) are
//   [ Wv[n] | Wa[a,n] - mean_a Wa[.,n] ],  bias bv[n] + ba[a,n] - mean_a ba[.,n]
//
// noisy (Fortunato et al. 2018, section 3, factorised): each dense layer, and in the last layer
// each stream, has a mean and a deviation for every weight and bias,
//   W = mu + sigma * f(e_out) f(e_in)^T,  b = mu + sigma * f(e_out),  f(x) = sign(x) sqrt|x|
// with e standard normal. Gains and offsets of a layer norm, and other kinds of layers, have no
// noise.
//
// The learned numbers are, in this order: all layers of the chain but the last; the last layer,
// which with dueling is Wv [N][H], bv [N], Wa [A N][H], ba [A N]; then, with noisy, the deviations
// in the same layout (0, and constant, for numbers without noise).
//
// Threads: the training thread.
// Owns: its scratch row; nn_reparam_map and nn_reparam_back allocate nothing.

// A dense block with its own noise: a layer, or one stream of the last layer.
typedef struct nn_reparam_block {
    uint32_t inputs;
    uint32_t outputs;
    size_t weight; // offset of [outputs][inputs] in the learned numbers
    size_t bias;   // offset of [outputs]
    size_t noise;  // offset of f(e_in)[inputs], f(e_out)[outputs] in a sample
} nn_reparam_block;

typedef struct nn_reparam {
    bool dueling;
    bool noisy;
    float sigma;
    size_t weight_count; // weights of the chain
    size_t mean_count;   // learned numbers without deviations
    size_t param_count;  // learned numbers: mean_count, twice if noisy
    size_t noise_count;  // numbers in a sample; 0 when not noisy
    size_t last;         // offset of the chain's last layer
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
    float sigma; // a deviation begins as sigma / sqrt(inputs)
} nn_reparam_options;

// spec has passed policy_spec_check and has the head VALUES or ATOMS. context is used only during
// the call.
void nn_reparam_init(nn_reparam *map, nn_context *context, const policy_spec *spec,
                     const nn_reparam_options *options);
void nn_reparam_fini(nn_reparam *map);

// Sets the first learned numbers from the first weights of a chain (nn_net_randomise): the means
// are these weights. With dueling those of the last layer are scaled by sqrt(2), because a stream
// has half of the inputs.
void nn_reparam_begin(const nn_reparam *map, float *params, const float *weights);

// Draws noise[noise_count].
void nn_reparam_draw(const nn_reparam *map, float *noise, oct_rng *rng);

// Computes weights[weight_count] from params[param_count]. noise NULL: the weights of the means.
void nn_reparam_map(const nn_reparam *map, float *weights, const float *params, const float *noise);
// Computes the gradient by params from the gradient by the weights that nn_reparam_map computed
// with the same noise. noise is NULL only if the map is not noisy.
void nn_reparam_back(const nn_reparam *map, float *dparams, const float *dweights,
                     const float *noise);

#endif // NN_NN_REPARAM_H
