#ifndef NN_NN_NET_H
#define NN_NN_NET_H

#include "common/oct_rng.h"
#include "nn/nn_gemm.h"
#include "nn/nn_vec.h"
#include "policy/policy_spec.h"

// A network in fp32, in three states that each hold what the one before holds, and more:
//   nn_net      weights                        computes outputs: a target network
//   nn_tape     + the rows between the layers  passes a gradient on to its inputs
//   nn_trainer  + gradient and moments         learns
// All parameters are one block in policy_spec's order, so copy, average and save are one loop. What
// is learned may also be another block, of which the weights are a function (nn_reparam.h); its
// owner then keeps weights up to date.
//
// Threads: as the context that they are made with.
// Owns: everything in its block, reserved by init; nothing allocates afterwards. Rows that are not
// kept lie in the spaces of the context (nn_context.h), which all its nets share.

// A net is a chain of layers, or residual: from layer 1 on the hidden layers are blocks of two,
// with
//   outputs of a block = x + LN(W2 activation(LN(W1 x + b1)) + b2)    LN with gain and offset
// for its inputs x. Layer 0 is activation(LN(W x + b)), the last one is linear. That is BroNet
// (Nauman et al. 2024). Policies are chains: no file or kernel has blocks.

// Where a layer's parameters and rows lie.
typedef struct nn_layer {
    uint32_t inputs;
    uint32_t outputs;
    policy_activation activation;
    bool layer_norm;
    bool opens;  // its outputs go around the block behind it
    bool closes; // the last of a block, which adds what went around
    // The weights are [units][columns]; each row of the batch is so many rows of the products, one
    // for each place of a convolution. Dense: outputs, inputs, 1.
    uint32_t units, columns, places;
    policy_conv conv; // kernel 0: dense
    policy_offsets at;
    nn_panels panels;   // of the weights; dense only
    nn_space space;     // of outputs that are not kept
    float *y;           // [rows_max][outputs], after the activation; NULL: not kept
    float *normalised;  // [rows_max][outputs], layer_norm only; NULL: not kept
    float *inverse_std; // [rows_max], layer_norm only
} nn_layer;

typedef struct nn_net {
    nn_context *context; // borrowed
    const nn_vec_ops *vec;
    uint32_t rows_max;
    uint32_t layer_count;
    size_t param_count;
    size_t weight_count;
    float *params;        // [param_count], what is learned, averaged and saved
    float *fetched;       // [param_count], params, or a copy of those that learners share
    const float *weights; // [weight_count], in policy_spec's order, what is computed with: fetched,
                          // unless the owner of the net puts a function of it here
                          // (quantisation-aware training, reparametrisation)
    nn_layer layers[POLICY_LAYERS_MAX];
    void *block;
} nn_net;

// spec has passed policy_spec_check. Parameters begin as zero.
void nn_net_init(nn_net *net, nn_context *context, const policy_spec *spec, uint32_t rows_max);
// With param_count learned numbers of another kind; the owner sets weights before the first
// forward.
void nn_net_init_params(nn_net *net, nn_context *context, const policy_spec *spec,
                        size_t param_count, uint32_t rows_max);
// A residual one; spec is nn_net_make_residual's.
void nn_net_init_residual(nn_net *net, nn_context *context, const policy_spec *spec,
                          uint32_t rows_max);
void nn_net_fini(nn_net *net);

// The layers of a residual net, of a chain of an odd number of hidden layers of one width: all of
// them get a norm, and those that close a block no activation. OCT_EINVAL: the chain is another
// one, nothing was changed.
OCT_CHECKED oct_err nn_net_make_residual(policy_spec *spec);

// Weights from a normal distribution of deviation 1 / sqrt(inputs of a unit), cut at two deviations
// (as Acme's networks begin); biases and offsets 0, gains 1. Of a net whose parameters are its
// weights.
void nn_net_randomise(nn_net *net, oct_rng *rng);

// Orthogonal weights (Saxe, McClelland and Ganguli 2014): of each layer's matrix the rows, or the
// columns where these are fewer, are orthogonal and have the length gain, of the last layer
// last_gain; biases and offsets 0, gains 1. Of a net as above. Allocates for the call.
void nn_net_orthogonalise(nn_net *net, oct_rng *rng, float gain, float last_gain);

// The last layer's outputs [rows][outputs] for x[rows][inputs], valid until the next call.
// 1 <= rows <= rows_max.
const float *nn_net_forward(nn_net *net, const float *x, uint32_t rows);
// The same for a net whose weights have not changed since it last computed, unless nn_net_changed
// said so: what was packed of them is used again. The caller answers for it.
const float *nn_net_forward_again(nn_net *net, const float *x, uint32_t rows);
void nn_net_changed(nn_net *net);

// The update of a target network: to becomes from (rate 1), or moves by rate towards it (Polyak
// averaging, a soft update).
void nn_net_polyak(nn_net *to, const nn_net *from, float rate);

// Splits one block into arrays that begin on a cache line. With base NULL it only measures.
typedef struct nn_carver {
    char *base;
    size_t used;
} nn_carver;
float *nn_carver_floats(nn_carver *carver, size_t count);

// Parameters that learners share: params moves into the carver's memory, and the net computes with
// a copy, until nn_net_fetch renews it. is_first: what the net has is what all begin with; else
// what the memory has. The caller sees to it that nobody writes while it fetches.
void nn_net_share(nn_net *net, nn_carver *carver, bool is_first);
void nn_net_fetch(nn_net *net);

// For the states that hold a net: fills the layers without their rows; reserves the parameters and
// what the products pack of them.
void nn_net_shape(nn_net *net, nn_context *context, const policy_spec *spec, bool residual,
                  size_t param_count, uint32_t rows_max);
void nn_net_carve_params(nn_net *net, nn_carver *carver);
// Rows between two layers that are not kept, in one of two spaces by turns.
float *nn_net_rows(nn_context *context, uint32_t turn, size_t count);

#endif // NN_NN_NET_H
