#ifndef IMPORT_IMPORT_LAYERS_H
#define IMPORT_IMPORT_LAYERS_H

#include "import/import_chain.h"
#include "policy/policy_format.h"

// The layers of a policy, made step by step of a chain. A value between layers is known by the
// order of its numbers in the policy and by what is still to be done to each: a factor and a
// summand, which go into the weights of the next layer, or of the last one while it has no
// activation yet.
//
// Threads: one user. Owns: its memory, until import_layers_free.

typedef struct import_layer {
    policy_layer layer;
    double *weight; // [rows][columns], in the policy's order
    double *bias;   // [rows]
    double *gain;   // [rows], with layer_norm
    double *offset; // [rows], with layer_norm
} import_layer;

typedef struct import_layers {
    import_layer list[POLICY_LAYERS_MAX];
    uint32_t count;
    uint64_t weights; // of all layers
    bool is_open;     // the last layer has no activation yet
    uint32_t obs_count;
    bool is_channels_first; // the model's observations are maps, channels first
    bool normalise;
    double *mean, *inverse; // [obs_count] in the policy's order
    uint32_t *obs_order;    // [obs_count]
    // The value of now.
    uint32_t width;                      // numbers of it
    uint32_t *order;                     // [width] where they are in the policy
    double *a, *b;                       // [width] to be applied
    double *clip_low, *clip_high;        // [width] to be applied after that; NULL: none
    const import_step *observation_clip; // the last of those that are left out; NULL: none
    bool is_softmax;                     // has passed one
    const import_step *scores;           // the chain without softmax and argmax
    const import_step *dense;            // of the last layer; NULL: it is a diagonal one
    char *reason;
    size_t reason_size;
} import_layers;

// Makes layers of the whole chain. obs_shape: as the environment has it, rank 0 if not known.
// OCT_EINVAL with one line in reason; layers are to be freed in any case.
OCT_CHECKED oct_err import_layers_make(import_layers *layers, const import_step *chain,
                                       const uint32_t *obs_shape, uint32_t obs_rank, char *reason,
                                       size_t reason_size);
void import_layers_free(import_layers *layers);

// Puts what is still to be done to the value, and its order, into the last layer, so that its rows
// are the value. A layer that has an activation gets another one behind it, a diagonal one.
// OCT_EINVAL: there are too many layers.
OCT_CHECKED oct_err import_layers_settle(import_layers *layers);
// Rows of the last layer, which is settled: y[i] = scale[i] y[i] + shift[i].
void import_layers_scale(import_layers *layers, const double *scale, const double *shift);
// Appends the rows of another chain's last layer, which follows the same value. Both are settled.
OCT_CHECKED oct_err import_layers_stack(import_layers *layers, const import_layers *other);

#endif // IMPORT_IMPORT_LAYERS_H
