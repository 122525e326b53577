#ifndef NN_NN_NET_H
#define NN_NN_NET_H

#include "common/oct_rng.h"
#include "nn/nn_gemm.h"
#include "nn/nn_vec.h"
#include "policy/policy_spec.h"

// A network in fp32, in three states. nn_net is contained in nn_tape, which is contained in
// nn_trainer:
//   nn_net      weights                          computes outputs, for example of a target network
//   nn_tape     + the values between the layers  passes a gradient back to its inputs
//   nn_trainer  + gradient and moments           learns
// All parameters are one block in the order of policy_spec.h, so that copying, averaging and saving
// are one loop. A net can also learn other numbers, of which the weights are a function
// (nn_reparam.h); then the owner of the net computes the weights after each change.
//
// A net is a chain of layers, or residual. The hidden layers of a residual net are a first layer
// and then blocks of two, as in BroNet (Nauman et al. 2024); a block with inputs x has the outputs
//   x + LN(W2 activation(LN(W1 x + b1)) + b2)    where LN is layer norm with gain and offset
// Layer 0 is activation(LN(W x + b)) and the last layer is linear. Residual nets are critics only:
// policies are chains, and no policy file or policy kernel has blocks.
//
// Threads: as the context that the net is made with.
// Owns: everything in its block, which init reserves; no later call allocates. Values that are not
// kept between calls are in the spaces of the context (nn_context.h), which all its nets share.

// One layer: its shape, and the offsets of its parameters and values.
typedef struct nn_layer {
    uint32_t inputs;
    uint32_t outputs;
    policy_activation activation;
    policy_activation fused; // the activation, or POLICY_LINEAR if it is a curve (nn_vec.h)
    bool layer_norm;
    bool skip_begin; // residual nets: the outputs bypass the following block
    bool skip_end;   // residual nets: the last layer of a block, which adds the block's inputs
    // The weights are [units][columns]. Each row of the batch is `places` rows of the product: 1
    // for a dense layer, where units = outputs and columns = inputs; for a convolution, the number
    // of positions of the kernel.
    uint32_t units, columns, places;
    // A pool has no units and no parameters.
    policy_layer_kind kind;
    const struct nn_kind_ops *ops; // of the kind (nn_kind.h)
    policy_conv conv;              // of POLICY_DENSE zero
    policy_offsets at;             // of weight, bias, gain and offset in the weights
    nn_panels panels;              // the packed weights
    nn_space space;                // holds the outputs if y is NULL
    float *y;                      // [rows_max][outputs], after the activation; NULL: in space
    float *normalised;             // [rows_max][outputs], layer_norm only; NULL: not kept
    float *kept;        // [rows_max][outputs], the inputs of a curve; NULL: fused, or not kept
    float *inverse_std; // [rows_max], layer_norm only
} nn_layer;

typedef struct nn_net {
    nn_context *context;   // borrowed
    const nn_vec_ops *vec; // the kernels for everything but products
    uint32_t rows_max;
    uint32_t layer_count;
    size_t param_count;   // learned numbers
    size_t weight_count;  // numbers that layers compute with; param_count without reparametrisation
    float *params;        // [param_count], the learned numbers, which are averaged and saved
    float *fetched;       // [param_count], params itself, or a copy where learners share params
    const float *weights; // [weight_count], in policy_spec's order, the numbers that layers compute
                          // with: fetched, unless the net's owner sets a function of fetched
                          // (quantisation-aware training, reparametrisation)
    nn_layer layers[POLICY_LAYERS_MAX];
    void *block;
} nn_net;

// Makes a chain. spec has passed policy_spec_check. All parameters are 0.
void nn_net_init(nn_net *net, nn_context *context, const policy_spec *spec, uint32_t rows_max);
// Makes a chain that learns param_count other numbers. If param_count is not the number of weights,
// the owner sets weights before the first forward.
void nn_net_init_params(nn_net *net, nn_context *context, const policy_spec *spec,
                        size_t param_count, uint32_t rows_max);
// Makes a residual net; spec is the result of nn_net_make_residual.
void nn_net_init_residual(nn_net *net, nn_context *context, const policy_spec *spec,
                          uint32_t rows_max);
void nn_net_fini(nn_net *net);

// Turns a chain into the layers of a residual net: every hidden layer gets a layer norm, and the
// layers that close a block lose their activation. The chain must have an odd number of hidden
// layers, all dense and of one width. Otherwise the result is OCT_EINVAL and spec is unchanged.
OCT_CHECKED oct_err nn_net_make_residual(policy_spec *spec);

// Draws weights from a normal distribution of deviation 1 / sqrt(inputs of a unit), cut at two
// deviations, as Acme's networks do. Biases and offsets become 0, gains 1. The parameters of the
// net must be its weights.
void nn_net_randomise(nn_net *net, oct_rng *rng);

// Draws orthogonal weights (Saxe, McClelland and Ganguli 2014): the rows of each layer's matrix, or
// its columns where these are fewer, are orthogonal and have the length gain (last_gain in the last
// layer). Biases and offsets become 0, gains 1. The parameters of the net must be its weights.
// Allocates during the call.
void nn_net_orthogonalise(nn_net *net, oct_rng *rng, float gain, float last_gain);

// Returns the outputs of the last layer, [rows][outputs], for x[rows][inputs]; they are valid until
// the next call. 1 <= rows <= rows_max.
const float *nn_net_forward(nn_net *net, const float *x, uint32_t rows);
// Like nn_net_forward, for a net whose weights have not changed since its last forward or
// nn_net_changed: packed weights are used again. The caller guarantees this.
const float *nn_net_forward_again(nn_net *net, const float *x, uint32_t rows);
// Declares that the weights have changed: the next forward packs them again.
void nn_net_changed(nn_net *net);

// Updates a target network: `to` becomes a copy of `from` (rate 1), or moves towards it by the
// fraction rate (Polyak averaging, a soft update).
void nn_net_polyak(nn_net *to, const nn_net *from, float rate);

// Splits one block into arrays that begin on cache lines. With base NULL the carver only measures:
// it returns NULL and adds up used.
typedef struct nn_carver {
    char *base;  // NULL: measure only
    size_t used; // bytes that were given out
} nn_carver;
float *nn_carver_floats(nn_carver *carver, size_t count);

// Moves params into the carver's memory, which several learners share; the net computes with a
// copy, which nn_net_fetch renews. is_first: this net's values become the shared ones; otherwise
// the net takes over the values in the memory. The caller ensures that no learner writes the memory
// during a fetch.
void nn_net_share(nn_net *net, nn_carver *carver, bool is_first);
// Copies the shared parameters if they differ from the net's copy. No-op for a net that shares
// nothing.
void nn_net_fetch(nn_net *net);

// What a net is made of.
typedef struct nn_shape {
    const policy_spec *spec; // read during the call
    bool residual;           // blocks, as of nn_net_init_residual
    size_t param_count;      // as of nn_net_init_params; otherwise the parameters of spec
    uint32_t rows_max;
} nn_shape;

// For the states that contain a net. nn_net_shape fills the layers without their values and
// reserves the work spaces; nn_net_carve_params takes the parameters and the packed weights from
// the carver.
void nn_net_shape(nn_net *net, nn_context *context, const nn_shape *shape);
void nn_net_carve_params(nn_net *net, nn_carver *carver);
// Returns the space for values between two layers that are not kept; turn alternates between two
// spaces.
float *nn_net_rows(nn_context *context, uint32_t turn, size_t count);

#endif // NN_NN_NET_H
