#ifndef NN_NN_TRAINER_H
#define NN_NN_TRAINER_H

#include "nn/nn_reparam.h"
#include "nn/nn_tape.h"

// A net that learns: gradient, its norm, and Adam (Kingma and Ba 2015, with bias correction).
// Threads, Owns: as nn_net.
typedef struct nn_adam {
    float beta1, beta2;
    float epsilon;
} nn_adam;

// Parameters [at, end) of what is learned.
typedef struct nn_range {
    size_t at, end;
} nn_range;
#define NN_FROZEN_MAX (2 * POLICY_LAYERS_MAX) // of each layer its means and its deviations

typedef struct nn_trainer {
    nn_tape tape;
    nn_adam adam;
    const nn_reparam *reparam; // NULL: the parameters are the weights
    const float *noise;        // its sample behind the weights of the last forward; the owner's
    uint64_t steps;            // taken
    group_block gradients;     // gradient is its own; the others of a group read it there
    group_block params;        // the net's, in a group; else nothing
    float *gradient;           // [param_count]
    float *weight_gradient;    // [weight_count], by the weights; without reparam it is gradient
    float *m;                  // [param_count], first moment
    float *v;                  // [param_count], second moment
    bool moments_apart;        // each rank of the group has those of its part
    nn_range frozen[NN_FROZEN_MAX];
    uint32_t frozen_count;
    void *block;
} nn_trainer;

void nn_trainer_init(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                     uint32_t rows_max, const nn_adam *adam);
// A residual net, as nn_net_init_residual.
void nn_trainer_init_residual(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                              uint32_t rows_max, const nn_adam *adam);
// One that learns reparam's numbers; reparam is borrowed, and the owner sets net.weights and noise.
void nn_trainer_init_reparam(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                             const nn_reparam *reparam, uint32_t rows_max, const nn_adam *adam);
void nn_trainer_fini(nn_trainer *trainer);

// Where layer's parameters are in what net learns: its weights, or the numbers that reparam makes
// them of, of noisy layers the means.
nn_range nn_learned_layer(const nn_net *net, const nn_reparam *reparam, uint32_t layer);
// Layers whose bit is set learn nothing from here on: their gradient is 0 after backward, the norm
// is without it, and steps change neither their parameters nor their moments. Of noisy layers the
// deviations stay, too; those of a head, which are no layer's, learn.
void nn_trainer_freeze(nn_trainer *trainer, uint32_t layers);
// direction[param_count] becomes 0 where parameters are frozen.
void nn_trainer_keep_frozen(const nn_trainer *trainer, float *direction);

// As nn_net_share, and the moments with the parameters. steps is the caller's to keep alike.
void nn_trainer_share(nn_trainer *trainer, nn_carver *carver, bool is_first);

const float *nn_trainer_forward(nn_trainer *trainer, const float *x, uint32_t rows);
// As nn_tape_backward, and on to what is learned, into trainer->gradient. In a group
// (nn_context_options) that is the mean of all ranks' gradients: each rank has it in its own part
// of the layers' parameters (group_own), where it takes the steps, and for deviations. Returns the
// gradient's Euclidean norm; not finite when any part of it is not, or is beyond about 1e19. The
// parameters of deviations, behind those of the layers, are the caller's: it has written their
// gradient before, and adds them to the norm.
float nn_trainer_backward(nn_trainer *trainer, float *dy, uint32_t rows, float *dx);
// One step along the gradient, scaled by scale first.
// In a group all ranks take it, and have the same parameters; moments each has of its own part.
void nn_trainer_step(nn_trainer *trainer, float learning_rate, float scale);
// Afterwards everybody has the whole gradient of the last backward: for the whole group to call.
void nn_trainer_share_gradient(nn_trainer *trainer);
// Afterwards everybody has all moments: for the whole group to call before they are read.
void nn_trainer_share_moments(const nn_trainer *trainer);

// The same, and updates the target network in the same pass over memory: the bits are those of a
// step, then nn_net_polyak(target, net, rate). target NULL: none.
void nn_trainer_step_and_polyak(nn_trainer *trainer, float learning_rate, float scale,
                                nn_net *target, float rate);

// Of Adam's step number step, from 1 on, at a gradient that is scaled by scale first: for numbers
// that learn outside a net.
nn_adam_factors nn_adam_next(const nn_adam *adam, uint64_t step, float learning_rate, float scale);

// What clipping to a global norm multiplies the gradient with; norm_max 0: no clipping.
float nn_clip_scale(float norm, float norm_max);

#endif // NN_NN_TRAINER_H
