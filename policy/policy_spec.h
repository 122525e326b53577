#ifndef POLICY_POLICY_SPEC_H
#define POLICY_POLICY_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "policy/policy_activations.h"

// The one definition of a network (contract 2), from which learner, quantizer, actor and robot
// build it. A spec is a plain value; compare specs with policy_spec_equal, never with memcmp.
//
// Layer l computes, for each row x of the batch:
//   h = W x + b         W [outputs][inputs], row-major
//   h = layer_norm(h)   if layer_norm: (h - mean) / sqrt(var + 1e-5) * gain + offset, where var is
//                       the biased variance
//   y = activation(h)   one of policy_activations.h; policy_curves.h has their arithmetic
// The inputs of a convolution are a map of height x width x channels in this order (channels last).
// The kernel moves over it in steps of stride, and zeros surround the map (policy_axis), so the
// outputs are a map of positions down x positions across x filters:
//   h[y][x][f] = sum over i, j, c of W[f][i][j][c] * map[y * stride - before + i][...][c] + b[f]
// So W is a matrix [filters][kernel rows * kernel columns * channels], and b has one number for
// each filter. A sequence of steps x channels is a map of one column. A pool has the same geometry
// and no parameters; each channel is on its own:
//   max pool   h[y][x][c] = the largest number under the kernel
//   mean pool  h[y][x][c] = the sum of the numbers under the kernel, in order, divided by their
//              count; zeros around the map are not counted
// Convolutions and pools come before dense layers and have no layer norm. The first layer is no
// pool, and the last layer is dense.
// All parameters are one block of floats: for each layer W, b, then (layer_norm) gain and offset;
// after the last layer the log deviations of a head that has its own.

#define POLICY_LAYERS_MAX  16
#define POLICY_WIDTH_MAX   65536      // rows or columns of a matrix: 255 * 127 * 65536 < 2^31
#define POLICY_MAP_MAX     (1u << 20) // inputs or outputs of a layer
#define POLICY_ACTIONS_MAX 256
#define POLICY_NAME_MAX    128
#define POLICY_KERNEL_MAX  16
#define POLICY_RANK_MAX    6

typedef enum policy_dtype { POLICY_F32 = 1, POLICY_U8 = 2 } policy_dtype;
typedef enum policy_action_kind { POLICY_DISCRETE = 1, POLICY_BOX = 2 } policy_action_kind;
typedef enum policy_layer_kind {
    POLICY_DENSE = 1,
    POLICY_CONV = 2,
    POLICY_MAX_POOL = 3,
    POLICY_MEAN_POOL = 4,
} policy_layer_kind;

// How the outputs of the last layer become an action.
typedef enum policy_head {
    POLICY_HEAD_VALUES = 1, // Q-values [actions]; greedy action = argmax, ties to the lower index
    POLICY_HEAD_LOGITS = 2, // unnormalised log-probabilities [actions]; greedy = argmax
    POLICY_HEAD_TANH = 3,   // box: low + (tanh(y) + 1) / 2 * (high - low)
    POLICY_HEAD_ATOMS = 4,  // [actions][atoms] logits over the support [value_min, value_max];
                            // greedy = argmax of the expectation
    // box: y ~ N(mean, exp(log deviation)); the action is clip(y, -1, 1) mapped onto [low, high];
    // greedy = the mean. Outputs [dim] are the means, and the log deviations are separate
    // parameters; with state_deviation, outputs [2 * dim] are means, then log deviations. The
    // log-probability is that of y. With action_direct, means and deviations are in the
    // environment's units: the action is clip(y, low, high), and a bound may be infinite.
    POLICY_HEAD_GAUSSIAN = 5,
    // box: u ~ N(mean, exp(log deviation)); the action is tanh(u) mapped onto [low, high]; greedy =
    // the mean. Outputs [2 * dim] are means, then log deviations. The log-probability is that of
    // tanh(u), on [-1, 1].
    POLICY_HEAD_TANH_GAUSSIAN = 6,
} policy_head;
// All log deviations are clamped to [-20, 2] where they are used.

// One axis of a map, and the kernel that moves along it. Position p covers the numbers from
// p * stride - before on.
typedef struct policy_axis {
    uint32_t size;          // of the input map, 1..POLICY_WIDTH_MAX
    uint32_t kernel;        // 1..POLICY_KERNEL_MAX, at most before + size + after
    uint32_t stride;        // 1..POLICY_KERNEL_MAX
    uint32_t before, after; // zeros around the map, each less than kernel
} policy_axis;

static inline uint32_t
policy_axis_positions(const policy_axis *axis)
{
    return (axis->before + axis->size + axis->after - axis->kernel) / axis->stride + 1;
}

// Numbers [first, end) of an axis, and how many zeros are under the kernel before them.
typedef struct policy_span {
    uint32_t first, end, zeros;
} policy_span;

// Returns the numbers of the map under the kernel at a position, without the zeros around the map.
static inline policy_span
policy_axis_span(const policy_axis *axis, uint32_t position)
{
    const uint32_t from = position * axis->stride, end = from + axis->kernel - axis->before;
    const uint32_t zeros = from < axis->before ? axis->before - from : 0;
    return (policy_span){from + zeros - axis->before, end < axis->size ? end : axis->size, zeros};
}

// The map that a convolution or a pool reads, and its kernel.
typedef struct policy_conv {
    policy_axis rows, columns;
    uint32_t channels; // 1..POLICY_WIDTH_MAX
    uint32_t filters;  // 1..POLICY_WIDTH_MAX; of a pool: channels
} policy_conv;

// The part of a map that is under the kernel at one position.
typedef struct policy_window {
    policy_span rows, columns;
} policy_window;

// place: row of positions * positions in a row + position in the row.
static inline policy_window
policy_conv_window(const policy_conv *conv, uint32_t place)
{
    const uint32_t across = policy_axis_positions(&conv->columns);
    return (policy_window){policy_axis_span(&conv->rows, place / across),
                           policy_axis_span(&conv->columns, place % across)};
}

static inline uint32_t
policy_window_cells(const policy_window *w)
{
    return (w->rows.end - w->rows.first) * (w->columns.end - w->columns.first);
}

// Returns true if zeros surround the map.
static inline bool
policy_has_zeros(const policy_conv *conv)
{
    return conv->rows.before + conv->rows.after + conv->columns.before + conv->columns.after > 0;
}

typedef struct policy_layer {
    policy_layer_kind kind;
    uint32_t inputs;
    uint32_t outputs;
    policy_activation activation;
    bool layer_norm;
    policy_conv conv; // of POLICY_DENSE zero
} policy_layer;

// Returns "conv" for POLICY_CONV; the text is constant.
const char *policy_kind_name(policy_layer_kind kind);

static inline bool
policy_is_pool(policy_layer_kind kind)
{
    return kind == POLICY_MAX_POOL || kind == POLICY_MEAN_POOL;
}

// The weights of a layer are a matrix [rows][columns] with one bias (and scale) for each row. A
// layer applies the matrix once for each output position (policy_layer_places): dense layers have
// one. The matrix of a pool is empty.
static inline uint32_t
policy_layer_rows(const policy_layer *layer)
{
    return policy_is_pool(layer->kind)  ? 0
           : layer->kind == POLICY_CONV ? layer->conv.filters
                                        : layer->outputs;
}

static inline uint32_t
policy_layer_columns(const policy_layer *layer)
{
    const policy_conv *conv = &layer->conv;
    return policy_is_pool(layer->kind)  ? 0
           : layer->kind == POLICY_CONV ? conv->rows.kernel * conv->columns.kernel * conv->channels
                                        : layer->inputs;
}

static inline uint32_t
policy_layer_places(const policy_layer *layer)
{
    const policy_conv *conv = &layer->conv;
    return layer->kind == POLICY_DENSE
               ? 1
               : policy_axis_positions(&conv->rows) * policy_axis_positions(&conv->columns);
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
    // The observation's shape in the environment, for functions that choose layers. It is neither
    // compared nor stored in files. 0: not known.
    uint32_t obs_rank;
    uint32_t obs_shape[POLICY_RANK_MAX];
    uint32_t obs_high; // u8: the environment's upper bound, 2..255, if it is above 1; else 0
    policy_action_kind action_kind;
    uint32_t action_count;                // discrete: number of actions; box: dimension
    float action_low[POLICY_ACTIONS_MAX]; // box only
    float action_high[POLICY_ACTIONS_MAX];
    policy_head head;
    uint32_t atoms;  // POLICY_HEAD_ATOMS: 2..4096; else 0
    float value_min; // POLICY_HEAD_ATOMS: value_min < value_max, finite
    float value_max;
    bool state_deviation; // only for POLICY_HEAD_GAUSSIAN
    bool action_direct;   // only for POLICY_HEAD_GAUSSIAN: outputs are actions
    bool normalise;       // observations: (x - mean) * inverse_std, before layer 0
    uint32_t layer_count;
    policy_layer layers[POLICY_LAYERS_MAX];
} policy_spec;

// Returns "relu" for POLICY_RELU; the text is constant.
const char *policy_activation_name(policy_activation activation);

// Checks every relation: sizes, the chain of layers, head against outputs, bounds. OCT_EINVAL:
// why (may be NULL) has one line for the user.
OCT_CHECKED oct_err policy_spec_check(const policy_spec *spec, oct_reason *why);
bool policy_spec_equal(const policy_spec *a, const policy_spec *b);
bool policy_conv_equal(const policy_conv *a, const policy_conv *b);

// Sets the layers: dense layers of hidden[hidden_count] outputs with one activation, then a linear
// layer. first_layer_norm: layer 0 is Linear + LayerNorm + tanh, as in Acme's LayerNormMLP.
// OCT_EINVAL: more than POLICY_LAYERS_MAX layers.
OCT_CHECKED oct_err policy_spec_set_mlp(policy_spec *spec, const uint32_t *hidden,
                                        uint32_t hidden_count, policy_activation activation,
                                        bool first_layer_norm, uint32_t outputs);
// The count of floats in the parameter block, and the indices at which the parts of a layer begin
// in the block.
size_t policy_spec_params(const policy_spec *spec);
typedef struct policy_offsets {
    size_t weight; // [rows][columns]
    size_t bias;   // [rows]
    size_t gain;   // [outputs], only if layer_norm
    size_t offset; // [outputs], only if layer_norm
    size_t end;    // one past the layer
} policy_offsets;
policy_offsets policy_spec_layer(const policy_spec *spec, uint32_t layer);
// Returns true if the head has log deviations [action_count] as parameters of their own: a Gaussian
// without state_deviation. policy_spec_deviation is their index in the block.
bool policy_spec_has_deviation(const policy_spec *spec);
size_t policy_spec_deviation(const policy_spec *spec);
// The count of floats that policy_sample records for an action: logits 1 (log-probability);
// Gaussians 1 + dim (log-probability, then y or u); others 0.
uint32_t policy_spec_extra_dim(const policy_spec *spec);
uint32_t policy_spec_outputs(const policy_spec *spec); // of the last layer
uint32_t policy_spec_width(const policy_spec *spec);   // largest count of inputs or outputs
size_t policy_spec_obs_bytes(const policy_spec *spec); // of one observation
// Multiplies weights[policy_layer_weights] by factor.
void policy_layer_scale(const policy_layer *layer, float *weights, float factor);

// Returns the factor by which observations of 0 .. high are multiplied before learning: one over
// the least power of two that is not below high, so that the product is exact; 1 if high is 0 or 1.
float policy_byte_unit(uint32_t high);
size_t policy_spec_action_bytes(const policy_spec *spec); // 4 for discrete (int32), 4 * dim for box

#endif // POLICY_POLICY_SPEC_H
