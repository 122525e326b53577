#ifndef ALGOS_ALGO_DPG_H
#define ALGOS_ALGO_DPG_H

#include "algos/algo_ops.h"
#include "common/oct_rng.h"
#include "nn/nn_categorical.h"
#include "nn/nn_state.h"

// The state of D4PG, DDPG and TD3, three variants of one method: a deterministic policy that
// follows the gradient of a learned value. docs/algorithms.md has the equations and the sources.
//
// Actions are in units of half their range here, [-1, 1] between the environment's bounds: what the
// critics see, what noise is added to, and what dQ/da is measured by.
//
// Threads, Owns: as algo.h.

#define DPG_CRITICS_MAX 2

typedef struct dpg_variant {
    const algo_ops *ops;
    bool categorical;      // the critic gives a distribution, not a number
    uint32_t critics;      // 2: the smaller target counts (clipped double Q-learning)
    bool policy_at_next;   // the policy learns at next, else at obs
    bool target_noise;     // on the target policy's action
    uint32_t policy_delay; // of algo.policy_delay 0
} dpg_variant;

typedef struct dpg_critic {
    nn_trainer online;
    nn_net target;
    float grad_norm; // of the last backward
} dpg_critic;

typedef struct algo_dpg {
    algo base;
    const dpg_variant *variant;
    uint32_t rows_max;
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t critic_outputs; // atoms, or 1
    nn_support support;      // categorical only
    float low[POLICY_ACTIONS_MAX];
    float per_unit[POLICY_ACTIONS_MAX]; // 2 / (high - low)
    float grad_norm_max;
    float action_grad_norm_max;
    float critic_rate_ratio; // critics' learning rate by the policy's
    uint32_t policy_delay;
    uint32_t target_period;
    float target_rate;
    float noise;
    float noise_clip;
    oct_rng rng; // of the noise

    nn_trainer policy;
    nn_net policy_target;
    dpg_critic critics[DPG_CRITICS_MAX];
    algo_projection projection; // none: project is NULL
    float *policy_weights;      // [params], of the projection, else NULL
    float *target_weights;      // likewise

    // Work space of an update.
    float *taken;          // [rows_max][action_count], the batch's actions
    float *action;         // [rows_max][action_count], a policy's actions
    float *daction;        // [rows_max][action_count]
    float *joined;         // [rows_max][obs_count + action_count], a critic's inputs
    float *dvalue;         // [rows_max][action_count], of each row's value by its action
    float *td_target;      // [rows_max][critic_outputs]: distributions, or values to learn
    float *p;              // [rows_max][critic_outputs], categorical only
    float *log_total;      // [rows_max], categorical only
    float *dy;             // [rows_max][critic_outputs]
    float *td_target_mean; // [rows_max]
    float *mean;           // [rows_max], Q(s, a)
    float *loss;           // [rows_max]
    float *error;    // [rows_max], of one critic: |TD error|, or KL(td_target || p) if categorical
    float *priority; // [rows_max]
} algo_dpg;

// algo_update of all three.
oct_err algo_dpg_update(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                        float *numbers);

// The policy's parameters, or its target's, have changed: project them.
void algo_dpg_policy_changed(algo_dpg *dpg);
void algo_dpg_target_changed(algo_dpg *dpg);

#endif // ALGOS_ALGO_DPG_H
