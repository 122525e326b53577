#ifndef ALGOS_ALGO_CRITICS_H
#define ALGOS_ALGO_CRITICS_H

#include "algos/algo_cut.h"
#include "algos/algo_observed.h"
#include "algos/algo_ops.h"
#include "common/oct_rng.h"
#include "nn/nn_categorical.h"
#include "nn/nn_state.h"

// The critics of methods whose actions are in a box (D4PG, DDPG, TD3, SAC): one or two networks of
// [obs, action] that learn the value of an action, or its distribution, each with a target network;
// and the slope of the value at an action, which such a policy follows. docs/algorithms.md has the
// equations and the sources.
//
// Actions are in units of half their range here, [-1, 1] between the environment's bounds: what the
// critics see, and what dQ/da is measured by.
//
// Shapes: B rows, B <= rows_max. Threads, Owns: as algo.h.

#define ALGO_CRITICS_MAX 2

typedef struct algo_critic {
    nn_trainer online;
    nn_net target;
    float grad_norm; // of the last algo_critics_learn
} algo_critic;

typedef struct algo_critics {
    uint32_t count;   // 2: the smaller target counts (clipped double Q-learning)
    bool categorical; // critics give a distribution, not a number
    algo_critic of[ALGO_CRITICS_MAX];
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t outputs;       // atoms, or 1
    nn_support support;     // categorical only
    algo_observed observed; // by critics and policy; the caller takes and renews
    float low[POLICY_ACTIONS_MAX];
    float per_unit[POLICY_ACTIONS_MAX]; // 2 / (high - low)
    float grad_norm_max;
    float rate_ratio; // learning rate by the policy's
    float target_rate;
    algo_cut cut; // of the last targets; 0 unless categorical

    // Work space of an update.
    float *taken;          // [rows_max][action_count], the batch's actions
    float *joined;         // [rows_max][obs_count + action_count], a critic's inputs
    float *td_target;      // [rows_max][outputs]: distributions, or values to learn
    float *p;              // [rows_max][outputs], categorical only
    float *other;          // [rows_max][outputs], p or dy of a second critic
    float *log_total;      // [rows_max], categorical only
    float *dy;             // [rows_max][outputs]
    float *td_target_mean; // [rows_max]
    float *mean;           // [rows_max], Q(s, a)
    float *least;          // [rows_max], the smallest Q(s, a) of critics whose slope was asked for
    float *loss;           // [rows_max]
    float *error;    // [rows_max], of one critic: |TD error|, or KL(td_target || p) if categorical
    float *priority; // [rows_max]
    float *dvalue;   // [rows_max][action_count], of each row's value by its action
    float *dother;   // [rows_max][action_count], the part of another critic
} algo_critics;

// The spec of a policy over a box, with so many outputs for each number of an action, for the
// environment in spec (algo.h). OCT_EINVAL, reason: actions are discrete, there are convolutions,
// or policy or critics are too large.
OCT_CHECKED oct_err algo_critics_make_specs(const oct_config *config, const char *name,
                                            policy_head head, bool categorical, policy_spec *spec,
                                            char *reason, size_t reason_size);

// policy has passed policy_spec_check. count: of algo.critics 0. OCT_EINVAL: a critic cannot be
// made, or algo.critics is more than ALGO_CRITICS_MAX; nothing was allocated.
OCT_CHECKED oct_err algo_critics_init(algo_critics *critics, nn_context *context,
                                      const oct_config *config, const policy_spec *policy,
                                      uint32_t count, bool categorical);
void algo_critics_fini(algo_critics *critics);
// First weights; targets are copies. A critic of distributions begins with the same one everywhere,
// close to a return of 0: probabilities fall by e with each atom away from it (from the end of the
// support, where 0 is outside). With random last weights the policy would follow a random slope,
// and with equal probabilities every action would look worth the middle of the support.
void algo_critics_randomise(algo_critics *critics, oct_rng *rng);

// Checks the batch and fills taken. OCT_EINVAL, OCT_EINTERNAL: as algo_update.
OCT_CHECKED oct_err algo_critics_take(algo_critics *critics, const algo_batch *batch);
// What critics learn, from their targets: reward + discount * (the smallest Q'(next, action) +
// bonus), or (categorical, without bonus) the distribution of reward + discount * Z', where a row's
// Z' is that of the target critic with the smallest mean. action[B][action_count]; bonus[B] or
// NULL.
void algo_critics_target(algo_critics *critics, const algo_batch *batch, const float *action,
                         const float *bonus);
// The gradients of all critics at what was done, after take and target. Fills priority where
// has_error, and the numbers of algo_value_numbers but the policy's; cut is 0 where there are no
// atoms.
void algo_critics_learn(algo_critics *critics, const algo_batch *batch, bool has_error,
                        float *numbers);
// dvalue = the derivative by action[B][action_count] of the smallest value (least) that the first
// count critics give a row. With the weights that learn computed with; 1 <= count <= critics'.
void algo_critics_slope(algo_critics *critics, const float *obs, const float *action, uint32_t B,
                        uint32_t count);
// One step of Adam, the gradient cut to grad_norm_max; learning_rate is the policy's. Then targets
// follow, where they do.
void algo_critics_step(algo_critics *critics, float learning_rate, bool targets_follow);

void algo_critics_share(algo_critics *critics, algo_sharing *s); // as algo_ops

uint32_t algo_critics_networks(algo_critics *critics, algo_network out[ALGO_CRITICS_MAX]);

// As nn_state.h: read checks, apply changes.
typedef struct algo_critics_view {
    nn_trainer_view online[ALGO_CRITICS_MAX];
    nn_net_view target[ALGO_CRITICS_MAX];
} algo_critics_view;
void algo_critics_save(const algo_critics *critics, oct_writer *writer);
OCT_CHECKED oct_err algo_critics_read(algo_critics_view *out, const algo_critics *critics,
                                      oct_reader *reader);
void algo_critics_apply(algo_critics *critics, const algo_critics_view *view);

#endif // ALGOS_ALGO_CRITICS_H
