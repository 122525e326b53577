#ifndef POLICY_IMPORT_IMPORT_LAYERS_H
#define POLICY_IMPORT_IMPORT_LAYERS_H

#include "common/oct_reason.h"
#include "policy/import/import_chain.h"
#include "policy/policy_format.h"

// Builds the layers of a policy from a chain, step by step. Between layers the current value is
// known by two things: which numbers of the policy's value it has, in which order, and what
// remains to be done to each of them, a factor and a summand. These go into the weights of the
// next layer, or of the last one as long as it has no activation.
//
// Threads: one user. Owns: its memory, until import_layers_free.

// A layer in double precision.
typedef struct import_layer {
    policy_layer layer;
    double *weight; // [rows][columns], in the policy's order
    double *bias;   // [rows]
    double *gain;   // [rows]; NULL without layer_norm
    double *offset; // [rows]; NULL without layer_norm
} import_layer;

// The layers made so far, and the current value.
typedef struct import_layers {
    import_layer list[POLICY_LAYERS_MAX];
    uint32_t count;
    uint64_t weights;       // sum over all layers
    bool is_open;           // the last layer has no activation yet
    uint32_t obs_count;     // numbers in an observation
    bool is_channels_first; // the model's observations are maps with channels first
    bool normalise;         // mean and inverse are set
    double *mean, *inverse; // [obs_count] in the policy's order; inverse: 1 / deviation
    uint32_t *obs_order;    // [obs_count] position in the policy of each of the model's numbers
    // The current value.
    uint32_t width;                      // its numbers
    uint32_t *order;                     // [width] their positions in the policy's value
    double *a, *b;                       // [width] remains to be done: a x + b
    double *clip_low, *clip_high;        // [width] a clip after that; NULL: none
    const import_step *observation_clip; // last clip before the first layer, left out; NULL: none
    bool is_softmax;                     // softmax or log softmax was removed from the end
    const import_step *scores;           // end of the chain without softmax and argmax
    const import_step *dense;            // of the last layer; NULL: a diagonal layer
    oct_reason *why;                     // [reason_size] the caller's
} import_layers;

// Makes the layers of a whole chain. obs_shape: an observation as the environment has it; rank 0:
// unknown. OCT_EINVAL, with one line in reason. The caller frees layers in any case. reason must
// stay valid for the functions below.
OCT_CHECKED oct_err import_layers_make(import_layers *layers, const import_step *chain,
                                       const uint32_t *obs_shape, uint32_t obs_rank,
                                       oct_reason *why);
void import_layers_free(import_layers *layers);

// Puts the remaining factors, summands and order into the last layer, so that its rows are the
// value. If the layer has an activation, a diagonal layer follows. OCT_EINVAL: there are too many
// layers.
OCT_CHECKED oct_err import_layers_settle(import_layers *layers);
// Changes the rows of the last layer, which is settled: y[i] = scale[i] y[i] + shift[i].
void import_layers_scale(import_layers *layers, const double *scale, const double *shift);
// Appends the rows of another chain's last layer to the last layer. Both are settled. OCT_EINVAL:
// they do not follow the same value, or have layer norm.
OCT_CHECKED oct_err import_layers_stack(import_layers *layers, const import_layers *other);

#endif // POLICY_IMPORT_IMPORT_LAYERS_H
