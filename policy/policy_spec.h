#ifndef POLICY_POLICY_SPEC_H
#define POLICY_POLICY_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// The one definition of a network (contract 2): learner, quantizer, actor and robot build it from
// this. A plain value; compare with policy_spec_equal, never memcmp.
//
// Layer l computes, for each row x of the batch:
//   h = W x + b            W [outputs][inputs] row-major
//   h = layer_norm(h)      when layer_norm: (h - mean) / sqrt(var + 1e-5) * gain + offset, var
//   biased y = activation(h)      relu; tanh; elu: h > 0 ? h : exp(h) - 1
// A convolution has a map of height x width x channels as inputs, in this order (channels last),
// and one of (height - kernel + 1) x (width - kernel + 1) x filters as outputs: stride 1, no
// padding.
//   h[y][x][f] = sum over i, j, c of W[f][i][j][c] * map[y + i][x + j][c] + b[f]
// So W is a matrix [filters][kernel * kernel * channels], b has one number for each filter.
// Convolutions come before dense layers, have no layer norm, and the last layer is dense.
// All parameters are one block of floats: per layer W, b, then (layer_norm) gain, offset; behind
// the last layer the log deviations of a head that has its own.

#define POLICY_LAYERS_MAX  16
#define POLICY_WIDTH_MAX   65536 // inputs or outputs of a layer: 255 * 127 * 65536 < 2^31
#define POLICY_ACTIONS_MAX 256
#define POLICY_NAME_MAX    128
#define POLICY_KERNEL_MAX  7
#define POLICY_RANK_MAX    6

typedef enum policy_dtype { POLICY_F32 = 1, POLICY_U8 = 2 } policy_dtype;
typedef enum policy_action_kind { POLICY_DISCRETE = 1, POLICY_BOX = 2 } policy_action_kind;
typedef enum policy_activation {
    POLICY_LINEAR = 0,
    POLICY_RELU = 1,
    POLICY_TANH = 2,
    POLICY_ELU = 3,
} policy_activation;
typedef enum policy_layer_kind { POLICY_DENSE = 1, POLICY_CONV = 2 } policy_layer_kind;

// How outputs of the last layer become an action.
typedef enum policy_head {
    POLICY_HEAD_VALUES = 1, // Q-values [actions]; greedy action = argmax, ties to the lower index
    POLICY_HEAD_LOGITS = 2, // unnormalised log-probabilities [actions]; greedy = argmax
    POLICY_HEAD_TANH = 3,   // box: low + (tanh(y) + 1) / 2 * (high - low)
    POLICY_HEAD_ATOMS = 4,  // [actions][atoms] logits over the support [value_min, value_max];
                            // greedy = argmax of the expectation
    // box: y ~ N(mean, exp(log deviation)), the action is clip(y, -1, 1) mapped onto [low, high];
    // greedy = the mean. Outputs [dim] are the means and the deviations parameters of their own, or
    // (state_deviation) [2 * dim]: means, then log deviations. The log-probability is that of y.
    // With action_direct means and deviations are in the environment's units: the action is
    // clip(y, low, high), and a bound may be infinite.
    POLICY_HEAD_GAUSSIAN = 5,
    // box: u ~ N(mean, exp(log deviation)), the action is tanh(u) mapped onto [low, high]; greedy =
    // the mean. Outputs [2 * dim]: means, then log deviations. The log-probability is that of
    // tanh(u), on [-1, 1].
    POLICY_HEAD_TANH_GAUSSIAN = 6,
} policy_head;
// Log deviations are clamped to [-20, 2] where they are used, wherever they come from.

// The map that comes into a convolution, and what goes over it.
typedef struct policy_conv {
    uint32_t height, width, channels;
    uint32_t filters;
    uint32_t kernel; // rows and columns of it, 1..POLICY_KERNEL_MAX
} policy_conv;

typedef struct policy_layer {
    policy_layer_kind kind;
    uint32_t inputs;
    uint32_t outputs;
    policy_activation activation;
    bool layer_norm;
    policy_conv conv; // POLICY_CONV, else zero
} policy_layer;

// The weights of a layer are a matrix [rows][columns], with one bias (and scale) for each row; it
// is applied in so many places of the inputs.
static inline uint32_t
policy_layer_rows(const policy_layer *layer)
{
    return layer->kind == POLICY_CONV ? layer->conv.filters : layer->outputs;
}

static inline uint32_t
policy_layer_columns(const policy_layer *layer)
{
    const policy_conv *conv = &layer->conv;
    return layer->kind == POLICY_CONV ? conv->kernel * conv->kernel * conv->channels
                                      : layer->inputs;
}

static inline uint32_t
policy_layer_places(const policy_layer *layer)
{
    const policy_conv *conv = &layer->conv;
    return layer->kind == POLICY_CONV
               ? (conv->height - conv->kernel + 1) * (conv->width - conv->kernel + 1)
               : 1;
}

static inline size_t
policy_layer_weights(const policy_layer *layer)
{
    return (size_t)policy_layer_rows(layer) * policy_layer_columns(layer);
}

typedef struct policy_spec {
    char env_id[POLICY_NAME_MAX];
    policy_dtype obs_dtype;
    uint32_t obs_count; // numbers in one flattened observation = inputs of layer 0
    // As the environment has it, for who makes the layers; 0 where nobody needs it. Neither
    // compared nor kept in files.
    uint32_t obs_rank;
    uint32_t obs_shape[POLICY_RANK_MAX];
    uint32_t obs_high; // of bytes that may be above 1: the environment's bound, at most 255; else 0
    policy_action_kind action_kind;
    uint32_t action_count;                // discrete: number of actions; box: dimension
    float action_low[POLICY_ACTIONS_MAX]; // box only
    float action_high[POLICY_ACTIONS_MAX];
    policy_head head;
    uint32_t atoms; // POLICY_HEAD_ATOMS, else 0
    float value_min;
    float value_max;
    bool state_deviation; // POLICY_HEAD_GAUSSIAN, else false
    bool action_direct;   // POLICY_HEAD_GAUSSIAN whose outputs are actions, else false
    bool normalise;       // observations: (x - mean) * inverse_std, before layer 0
    uint32_t layer_count;
    policy_layer layers[POLICY_LAYERS_MAX];
} policy_spec;

// Checks every relation (sizes, chaining, head against outputs, bounds). On OCT_EINVAL one
// line for a person is in reason (may be NULL with reason_size 0).
OCT_CHECKED oct_err policy_spec_check(const policy_spec *spec, char *reason, size_t reason_size);
bool policy_spec_equal(const policy_spec *a, const policy_spec *b);

// Fills layers: hidden[hidden_count] dense layers of one activation, then a linear one of outputs.
// first_layer_norm: Acme's LayerNormMLP, layer 0 is Linear + LayerNorm + tanh.
OCT_CHECKED oct_err policy_spec_set_mlp(policy_spec *spec, const uint32_t *hidden,
                                        uint32_t hidden_count, policy_activation activation,
                                        bool first_layer_norm, uint32_t outputs);
// The same behind convolutions filters[conv_count] of 3 x 3 with that activation, over observations
// of obs_shape, which has rank 3: rows, columns, channels. OCT_EINVAL: it has not, or too few rows
// or columns; the reason then is for a person.
OCT_CHECKED oct_err policy_spec_set_cnn(policy_spec *spec, const uint32_t *filters,
                                        uint32_t conv_count, const uint32_t *hidden,
                                        uint32_t hidden_count, policy_activation activation,
                                        bool first_layer_norm, uint32_t outputs, char *reason,
                                        size_t reason_size);

// Floats in the parameter block, and where the parts of layer l begin in it.
size_t policy_spec_params(const policy_spec *spec);
typedef struct policy_offsets {
    size_t weight; // [rows][columns]
    size_t bias;   // [rows]
    size_t gain;   // [outputs], only when layer_norm
    size_t offset; // [outputs], only when layer_norm
    size_t end;    // one past the layer
} policy_offsets;
policy_offsets policy_spec_layer(const policy_spec *spec, uint32_t layer);
// Whether the head has log deviations [action_count] of its own: a Gaussian without
// state_deviation; and where they begin in the block.
bool policy_spec_has_deviation(const policy_spec *spec);
size_t policy_spec_deviation(const policy_spec *spec);
// Floats that policy_sample records beside an action: logits 1 (its log-probability); Gaussians
// 1 + dim (log-probability, then y or u); others 0.
uint32_t policy_spec_extra_dim(const policy_spec *spec);
uint32_t policy_spec_outputs(const policy_spec *spec); // of the last layer
uint32_t policy_spec_width(const policy_spec *spec);   // widest row: max of all inputs and outputs
size_t policy_spec_obs_bytes(const policy_spec *spec);
// weights[policy_layer_weights] times factor.
void policy_layer_scale(const policy_layer *layer, float *weights, float factor);

// What numbers of 0 .. high are multiplied by before anything is learned from them: one over the
// least power of two that is not below high, so that nothing is rounded; 1 where high is 0 or 1.
float policy_byte_unit(uint32_t high);
size_t policy_spec_action_bytes(const policy_spec *spec); // 4 for discrete (int32), 4 * dim for box

#endif // POLICY_POLICY_SPEC_H
