#ifndef ALGOS_ALGO_CRITICS_H
#define ALGOS_ALGO_CRITICS_H

#include "algos/algo_cut.h"
#include "algos/algo_observed.h"
#include "algos/algo_ops.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "nn/nn_categorical.h"
#include "nn/nn_saved.h"

// The critics of methods whose actions are in a box (D4PG, DDPG, TD3, SAC). One or two networks of
// [obs, action] learn the value of an action, or its distribution; each has a target network. They
// also give the slope of the value at an action, which the policy of such a method follows.
// docs/algorithms.md has the equations and the sources.
//
// Units: actions are in units of half their range here, that is, [-1, 1] between the environment's
// bounds. Critics read these units, and dQ/da is per such unit.
//
// Shapes: B rows, B <= rows_max. Threads, Owns: as algo.h.

#define ALGO_CRITICS_MAX 2

typedef struct algo_critic {
    nn_trainer online;
    nn_net target;
    float grad_norm; // of the last algo_critics_learn
} algo_critic;

typedef struct algo_critics {
    uint32_t count;   // 2: the smaller target is used (clipped double Q-learning)
    bool categorical; // critics give a distribution instead of a number
    algo_critic of[ALGO_CRITICS_MAX];
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t outputs;              // outputs of a critic: atoms, or 1
    nn_support support;            // categorical only
    algo_observed observed;        // what critics and policy read; the method calls take and renew
    float low[POLICY_ACTIONS_MAX]; // lower bounds of actions
    float per_unit[POLICY_ACTIONS_MAX]; // 2 / (high - low)
    float grad_norm_max;                // 0: no clipping
    float rate_ratio;                   // the critics' learning rate divided by the policy's
    float target_rate;                  // of Polyak averaging
    algo_cut cut;                       // of the last targets; 0 if not categorical

    // Work space of an update.
    float *taken;          // [rows_max][action_count], the batch's actions, in [-1, 1]
    float *joined;         // [rows_max][obs_count + action_count], the inputs of critics
    float *td_target;      // [rows_max][outputs], what critics learn: distributions, or values
    float *p;              // [rows_max][outputs], categorical only
    float *other;          // [rows_max][outputs], p or dy of the second critic
    float *log_total;      // [rows_max], categorical only
    float *dy;             // [rows_max][outputs]
    float *td_target_mean; // [rows_max]
    float *mean;           // [rows_max], Q(s, a)
    float *least;    // [rows_max], the smallest Q(s, a) among the critics whose slope was asked for
    float *loss;     // [rows_max]
    float *error;    // [rows_max], of one critic: |TD error|; if categorical KL(td_target || p)
    float *priority; // [rows_max], the largest error of all critics
    float *dvalue;   // [rows_max][action_count], the derivative of each row's value by its action
    float *dother;   // [rows_max][action_count], the part of the second critic
} algo_critics;

// What a method adds to the configuration.
typedef struct algo_critics_kind {
    const char *name; // of the method, for messages
    policy_head head; // of the policy
    bool categorical; // critics give a distribution instead of a number
    uint32_t count;   // of critics if algo.critics is 0
} algo_critics_kind;

// Fills the spec of a policy over a box with one output per number of an action, or two for a
// Gaussian head, for the environment in spec (algo.h). OCT_EINVAL, reason: actions are discrete,
// there are convolutions, observations cannot be normalised as configured, or the policy or a
// critic is too large.
OCT_CHECKED oct_err algo_critics_make_specs(const config_experiment *config,
                                            const algo_critics_kind *kind, policy_spec *spec,
                                            oct_reason *why);

// policy has passed policy_spec_check. OCT_EINVAL: a critic cannot be made, or algo.critics is
// above ALGO_CRITICS_MAX; nothing was allocated.
OCT_CHECKED oct_err algo_critics_init(algo_critics *critics, nn_context *context,
                                      const config_experiment *config, const policy_spec *policy,
                                      const algo_critics_kind *kind);
void algo_critics_fini(algo_critics *critics);
// Sets the first weights and copies them to the targets. A critic of distributions begins with the
// same distribution everywhere, close to a return of 0: probabilities fall by the factor e with
// each atom away from 0 (or from the end of the support that is nearest to 0). With random last
// weights the policy would follow a random slope, and with equal probabilities every action would
// seem worth the middle of the support.
void algo_critics_randomise(algo_critics *critics, oct_rng *rng);

// Checks the batch and fills taken. Errors as of algo_update: OCT_EINVAL, OCT_EINTERNAL.
OCT_CHECKED oct_err algo_critics_take(algo_critics *critics, const algo_batch *batch);
// Sets td_target, what critics learn, from the target critics: reward + discount * (the smallest
// Q'(next, action) + bonus). If categorical: the distribution of reward + discount * Z', where each
// row has the Z' of the target critic with the smallest mean, and bonus is NULL.
// action[B][action_count]; bonus[B] or NULL.
void algo_critics_target(algo_critics *critics, const algo_batch *batch, const float *action,
                         const float *bonus);
// Computes the gradients of all critics at the batch's actions; comes after take and target. Fills
// priority if has_error, and the numbers of algo_value_numbers except the policy's; the numbers of
// cut are 0 without atoms.
void algo_critics_learn(algo_critics *critics, const algo_batch *batch, bool has_error,
                        float *numbers);
// Sets least to the smallest value that the first count critics give a row, and dvalue to the
// derivative of least by action[B][action_count], with the weights that learn computed with. 1 <=
// count <= critics->count.
void algo_critics_slope(algo_critics *critics, const float *obs, const float *action, uint32_t B,
                        uint32_t count);
// Takes one step of Adam per critic, with the gradient clipped to grad_norm_max; learning_rate is
// the policy's. If targets_follow, the target networks then move by target_rate.
void algo_critics_step(algo_critics *critics, float learning_rate, bool targets_follow);

void algo_critics_share(algo_critics *critics, algo_sharing *s); // like algo_ops' share

// Like algo_ops' networks.
uint32_t algo_critics_networks(algo_critics *critics, algo_network out[ALGO_CRITICS_MAX]);

// As in nn_saved.h: read checks, apply changes.
typedef struct algo_critics_view {
    nn_trainer_view online[ALGO_CRITICS_MAX];
    nn_net_view target[ALGO_CRITICS_MAX];
} algo_critics_view;
void algo_critics_save(const algo_critics *critics, oct_writer *writer);
OCT_CHECKED oct_err algo_critics_read(algo_critics_view *out, const algo_critics *critics,
                                      oct_reader *reader);
void algo_critics_apply(algo_critics *critics, const algo_critics_view *view);

#endif // ALGOS_ALGO_CRITICS_H
