#ifndef NN_NN_TRAINER_H
#define NN_NN_TRAINER_H

#include "nn/nn_reparam.h"
#include "nn/nn_tape.h"

// A net that learns: gradient, gradient norm, and Adam (Kingma and Ba 2015, with bias correction).
// The order of events is at the head of nn_trainer.c.
//
// Threads, Owns: as nn_net.
typedef struct nn_adam {
    float beta1, beta2; // decay of the first and the second moment
    float epsilon;
} nn_adam;

// Learned parameters [at, end).
typedef struct nn_range {
    size_t at, end;
} nn_range;
#define NN_FROZEN_MAX (2 * POLICY_LAYERS_MAX) // each layer's means and each layer's deviations

typedef struct nn_trainer {
    nn_tape tape;
    nn_adam adam;
    const nn_reparam *reparam; // borrowed; NULL: the parameters are the weights
    const float *noise;        // the owner's: the sample behind the weights of the last forward
    uint64_t steps;            // Adam steps taken
    group_block gradients;     // owns gradient; the other ranks of a group read the gradient here
    group_block params; // owns the net's params, which the other ranks read; empty without a group
    float *gradient;    // [param_count]
    float *weight_gradient; // [weight_count], by the weights; is gradient if reparam is NULL
    float *m;               // [param_count], first moments
    float *v;               // [param_count], second moments
    bool moments_apart;     // each rank of the group has current moments of its own part only
    nn_range frozen[NN_FROZEN_MAX]; // parameters that do not learn
    uint32_t frozen_count;
    void *block;
} nn_trainer;

// Makes a chain that learns its weights, like nn_net_init.
void nn_trainer_init(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                     uint32_t rows_max, const nn_adam *adam);
// Makes a residual net, like nn_net_init_residual.
void nn_trainer_init_residual(nn_trainer *trainer, nn_context *context, const policy_spec *spec,
                              uint32_t rows_max, const nn_adam *adam);
// Makes a net that learns reparam's numbers. reparam is borrowed, and the owner of the trainer sets
// net.weights and noise. shape->param_count is reparam->param_count.
void nn_trainer_init_reparam(nn_trainer *trainer, nn_context *context, const nn_shape *shape,
                             const nn_reparam *reparam, const nn_adam *adam);
void nn_trainer_fini(nn_trainer *trainer);

// Returns the parameters of a layer among the numbers that net learns: its weights, or the numbers
// that reparam computes them from (for noisy layers the means only).
nn_range nn_learned_layer(const nn_net *net, const nn_reparam *reparam, uint32_t layer);
// Freezes the layers whose bit (1 << layer) is set. From now on the gradient of a frozen layer is 0
// after backward and not part of the norm, and steps change neither its parameters nor its moments.
// The deviations of noisy layers are frozen too. The log deviations of a head belong to no layer
// and keep learning.
void nn_trainer_freeze(nn_trainer *trainer, uint32_t layers);
// Sets direction[param_count] to 0 where parameters are frozen.
void nn_trainer_keep_frozen(const nn_trainer *trainer, float *direction);

// Like nn_net_share, for the parameters and the moments. The caller keeps steps equal among the
// learners.
void nn_trainer_share(nn_trainer *trainer, nn_carver *carver, bool is_first);

const float *nn_trainer_forward(nn_trainer *trainer, const float *x, uint32_t rows);
// Like nn_tape_backward, and further to the learned numbers, into trainer->gradient. Returns the
// Euclidean norm of the gradient, which is not finite if a part of the gradient is not, or is
// beyond about 1e19.
//
// In a group (nn_context_options) the gradient becomes the mean over all ranks. Each rank has the
// mean where it needs it to take a step: in its own part of the layers' parameters (group_own), and
// for log deviations.
//
// Log deviations follow the parameters of the layers and are the caller's: it writes their gradient
// before this call, and adds them to the norm afterwards.
float nn_trainer_backward(nn_trainer *trainer, float *dy, uint32_t rows, float *dx);
// Takes one Adam step along the gradient, multiplied by scale first. In a group all ranks call it
// and end with the same parameters; each rank updates the moments of its own part only.
void nn_trainer_step(nn_trainer *trainer, float learning_rate, float scale);
// Gives every rank the whole gradient of the last backward. All ranks of the group call it.
void nn_trainer_share_gradient(nn_trainer *trainer);
// Gives every rank all moments. All ranks of the group call it before they read moments.
void nn_trainer_share_moments(const nn_trainer *trainer);

// Like nn_trainer_step, and updates the target network in the same pass over memory. The bits are
// those of a step followed by nn_net_polyak(target, net, rate). target NULL: no update.
void nn_trainer_step_and_polyak(nn_trainer *trainer, float learning_rate, float scale,
                                nn_net *target, float rate);

// Returns the factors of Adam's step number `step` (1, 2, ...) for a gradient that is multiplied by
// scale first; for numbers that learn outside a net.
nn_adam_factors nn_adam_next(const nn_adam *adam, uint64_t step, float learning_rate, float scale);

// Returns the factor that clips a gradient of this norm to norm_max; 1 if norm_max is 0 (no
// clipping).
float nn_clip_scale(float norm, float norm_max);

#endif // NN_NN_TRAINER_H
