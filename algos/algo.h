#ifndef ALGOS_ALGO_H
#define ALGOS_ALGO_H

#include "common/oct_bytes.h"
#include "common/oct_config.h"
#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// A learning algorithm: one file per algorithm, one const algo_ops at its foot, one row in algo.c.
// The interface holds for value methods (DQN, C51), deterministic policy gradients (DDPG, TD3,
// D4PG) and, with a FIFO replay and extra columns, on-policy methods: docs/algorithms.md shows how.
//
// Threads: all functions on the thread that uses the context: the training thread.
// Owns: all memory, reserved by create; update allocates nothing.
typedef struct algo algo;

// What came out of replay, as columns; borrowed for the update.
typedef struct algo_batch {
    uint32_t B;
    const float *obs;      // [B][obs_count]
    const float *next;     // [B][obs_count]
    const void *action;    // [B] int32, or [B][dim] float
    const float *reward;   // [B] n-step return sum
    const float *discount; // [B] gamma^k, 0 when terminated
    const float *weight;   // [B] importance weights, max 1
    const float *extra;    // [B][extra_dim] behaviour information
} algo_batch;

typedef struct algo_result {
    float loss;             // weighted mean
    float td_abs;           // mean |TD error|
    float value;            // mean Q(s, a) (or V)
    float grad_norm;        // of the network of values, before clipping
    float policy_grad_norm; // of a policy network, before clipping; NaN: there is none, or it did
                            // not learn in this update
} algo_result;

// The policy network's spec for an environment: spec comes with the environment's fields (env_id,
// obs_*, action_*) set, leaves complete. OCT_EINVAL, reason: the algorithm cannot act there.
OCT_CHECKED oct_err algo_make_spec(const oct_config *config, policy_spec *spec, char *reason,
                                   size_t reason_size);
// What it computes with is context's, borrowed until destroy. NULL: a context of its own, with one
// thread and in fp32.
OCT_CHECKED oct_err algo_create(algo **out, nn_context *context, const oct_config *config,
                                const policy_spec *spec, uint64_t seed);
void algo_destroy(algo *a);

// One update, for DQN one gradient step. learning_rate is given per step (schedules are the
// caller's). priorities [B] (may be NULL) gets each row's new priority >= 0: its |TD error|, or the
// KL divergence where returns are distributions. OCT_EINTERNAL: loss or gradient not finite;
// OCT_EINVAL: no or too many rows, or an action out of range. Then nothing was changed, neither
// here nor in priorities and result.
OCT_CHECKED oct_err algo_update(algo *a, const algo_batch *batch, float learning_rate,
                                float *priorities, algo_result *result);
uint64_t algo_updates(const algo *a);

// What the acting network computes with instead of its parameters, e.g. their quantised values.
typedef struct algo_projection {
    void *arg;
    // out[policy_spec_params] = a function of params alone, both in policy_spec order.
    void (*project)(void *arg, const float *params, float *out);
} algo_projection;

// Once, before the first update: from now on the acting network and its target pass forward and
// back through project(parameters), and the gradient found there moves the parameters themselves
// (straight-through estimator), which are also what algo_policy_params gives and algo_save keeps.
void algo_set_projection(algo *a, const algo_projection *projection);

// The acting network's parameters, [policy_spec_params] floats in policy_spec order; valid until
// the next update.
const float *algo_policy_params(const algo *a);

// As algo_policy_params, to explore with while learning: drawn anew at each call, where noise in
// the parameters is how the algorithm explores (noisy DQN). The other's array is not valid any more
// then. NULL: it does not explore so; actors get algo_policy_params.
const float *algo_behaviour_params(algo *a);

// Everything that an update depends on: weights, targets, moments, counters, generators. load
// checks every length and that all floats are finite; OCT_EPROTO leaves the algo as it was.
void algo_save(const algo *a, oct_writer *writer);
OCT_CHECKED oct_err algo_load(algo *a, oct_reader *reader);

#endif // ALGOS_ALGO_H
