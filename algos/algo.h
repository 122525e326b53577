#ifndef ALGOS_ALGO_H
#define ALGOS_ALGO_H

#include "common/oct_bytes.h"
#include "common/oct_config.h"
#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// A learning algorithm: one file per algorithm, one const algo_ops at its foot, one row in algo.c.
// The interface holds for value methods (DQN, C51), deterministic policy gradients (DDPG, TD3,
// D4PG) and, with a FIFO replay and extra columns, on-policy methods: docs/internals/algorithms.md
// shows how.
//
// Threads: all functions on the thread that uses the context: the training thread.
// Owns: all memory, reserved by create; update allocates nothing.
typedef struct algo algo;

// What an algorithm wants to be fed with; the learner configures replay by it.
typedef enum algo_window {
    ALGO_WINDOW_N_STEP = 1,
    ALGO_WINDOW_SEQUENCE = 2,
    ALGO_WINDOW_ROLLOUT = 3, // what an environment did with a version; actors wait for the next
} algo_window;
typedef struct algo_wants {
    algo_window window;
    uint32_t steps;  // n of n-step windows; T of sequences and rollouts
    uint32_t stride; // sequences: rows between the beginnings of two; 0: one for each episode
    bool each_once;  // oldest first, each window once, whatever replay.sampler says
    bool any_policy; // each_once: actions of policies before the newest teach as much
    // versions: windows with actions of older policies are given up; 0: none, of rollouts all
    uint32_t lag_max;
} algo_wants;

// What came out of replay, as columns; borrowed for the update. Observations of bytes that may be
// above 1 are in units of policy_byte_unit(obs_high of the policy's spec). Rows marked WIRE_END
// have no action (proto/wire.h says what the flags mean; algos/ sees them as ALGO_TERMINATED …, the
// same bits).
typedef struct algo_batch {
    uint32_t B;
    uint32_t T;              // of sequences; 0: n-step windows
    const float *obs;        // [B][obs_count]; sequences: [B][T + 1][obs_count]
    const float *next;       // [B][obs_count]; n-step only
    const void *action;      // int32, or float [dim]; for each row: [B], or [B][T]
    const float *reward;     // n-step: [B] sum of the n-step return; sequences: [B][T] raw
    const float *discount;   // [B] gamma^k, 0 when terminated; n-step only
    const uint8_t *flags;    // [B][T]; sequences only
    const uint32_t *version; // [B][T] of the policy that acted; sequences only
    const float *extra;      // [B][extra_dim], or [B][T][extra_dim] (policy_spec_extra_dim)
    const float *weight;     // [B] importance weights of prioritised replay, max 1
    float spent; // share of run.env_steps, 0 .. 1: schedules of the algorithm's go by it
} algo_batch;

// In a group (nn_context_options), each rank has an algorithm of its own, of the same seed, and its
// part of each batch: the first B / size windows are rank 0's, and so on. All ranks call
// algo_update at the same time, with the same learning rate. Each ends with the same bits as all
// others, and, but for rounding, with those of one that had the whole batch. numbers are those of
// all ranks; priorities are of the own part. An error that one rank has is everybody's.

// Flags of a row: the bits of proto/wire.h.
#define ALGO_TERMINATED 1u
#define ALGO_TRUNCATED  2u
#define ALGO_FIRST      4u
#define ALGO_END        8u
#define ALGO_RANDOM     16u
#define ALGO_FAILED     32u
#define ALGO_ROLLOUT    64u

// What an update tells about itself: each algorithm has its own list.
typedef struct algo_number {
    const char *name; // "td_abs": of metrics.csv, status, TensorBoard and Prometheus
    const char *unit; // "nats", "norm"; "" for a plain number
    const char *help; // one sentence
} algo_number;
#define ALGO_NUMBERS_MAX 16
const algo_number *algo_numbers(const oct_config *config, uint32_t *count); // of algo.name

// The policy network's spec for an environment, and whether it may learn there (learner.count):
// spec comes with the environment's fields (env_id, obs_*, action_*) set, leaves complete; wants
// may be NULL. OCT_EINVAL, reason: the algorithm cannot act there.
OCT_CHECKED oct_err algo_make_spec(const oct_config *config, policy_spec *spec, algo_wants *wants,
                                   char *reason, size_t reason_size);
// Layers of learner.freeze never learn (nn_trainer_freeze): OCT_EINVAL, the policy lacks one.
// What it computes with is context's, borrowed until destroy. NULL: a context of its own, with one
// thread and in fp32. With an error *out is NULL.
OCT_CHECKED oct_err algo_create(algo **out, nn_context *context, const oct_config *config,
                                const policy_spec *spec, uint64_t seed);
void algo_destroy(algo *a);
// What one takes that is created so, with a context of like's options: the memory that it reserves,
// and of that a saved state. Nothing is reserved here. Errors as of algo_create.
typedef struct algo_memory {
    uint64_t bytes; // the context's work spaces, too; without a projection's weights
    uint64_t state_bytes;
} algo_memory;
OCT_CHECKED oct_err algo_measure(algo_memory *out, const nn_context_options *like,
                                 const oct_config *config, const policy_spec *spec);

// One update, for DQN one gradient step. learning_rate is given per step (schedules are the
// caller's). priorities [B] (may be NULL) gets each row's new priority >= 0: its |TD error|, or the
// KL divergence where returns are distributions. OCT_EINTERNAL: loss or gradient not finite;
// OCT_EINVAL: no or too many rows, an action out of range, or a learning rate that a table cannot
// have. Then nothing was changed, neither here nor in priorities and numbers. numbers
// [ALGO_NUMBERS_MAX]: in the order of algo_numbers; NaN: none in this update.
OCT_CHECKED oct_err algo_update(algo *a, const algo_batch *batch, float learning_rate,
                                float *priorities, float *numbers);
uint64_t algo_updates(const algo *a);

// The two halves of algo_update, of algorithms whose update is one gradient: the gradient, with the
// errors of algo_update, changes no parameter; apply moves them along the last one, and counts the
// update.
OCT_CHECKED oct_err algo_gradient(algo *a, const algo_batch *batch, float *priorities,
                                  float *numbers);
void algo_apply(algo *a, float learning_rate);

// Asynchronous learners: algorithms of the same configuration and spec, outside a group, with one
// set of parameters, moments and counts in memory that they share. Each computes gradients with a
// copy of the parameters that it fetched, and applies them to what the others have made of them
// meanwhile. What it draws, and the scale of rewards, are its own.
//
// Room for the state; 0: the algorithm is not learned so.
size_t algo_shared_bytes(algo *a);
// From here on a's state is in memory [algo_shared_bytes], 64 bytes aligned, borrowed until
// destroy. learner 0, which comes before all others, brings its state; the others take that.
void algo_share(algo *a, void *memory, uint32_t learner);
// One learner at a time fetches, asks for staleness, applies or saves: the caller's lock. Fetched
// before each gradient: parameters and updates; what algo_policy_params and algo_updates give is
// what was fetched or applied last.
void algo_fetch(algo *a);
uint64_t algo_staleness(const algo *a); // updates of others since

// What the acting network computes with instead of its parameters, e.g. their quantised values.
typedef struct algo_projection {
    void *arg;
    // out[policy_spec_params] = a function of params alone, both in policy_spec order and of
    // observations as the environment gives them.
    void (*project)(void *arg, const float *params, float *out);
} algo_projection;

// Once, before the first update: from now on the acting network and its target pass forward and
// back through project(parameters), and the gradient found there moves the parameters themselves
// (straight-through estimator), which are also what algo_policy_params gives and algo_save keeps.
void algo_set_projection(algo *a, const algo_projection *projection);
// Computes anew what depends on parameters: rounded weights, with a projection that gives others
// now. Its state stays as it is. Allocates.
void algo_renew(algo *a);

// The acting network's parameters, [policy_spec_params] floats in policy_spec order, as a function
// of observations as the environment gives them; valid until the next update.
const float *algo_policy_params(const algo *a);

// As algo_policy_params, to explore with while learning, where noise in the parameters is how the
// algorithm explores (noisy DQN): it follows from the seed, the updates so far and the sample's
// number. The other's array is not valid any more then. NULL: it does not explore so; actors get
// algo_policy_params.
const float *algo_behaviour_params(algo *a, uint32_t sample);

// Everything that an update depends on: weights, targets, moments, counters, generators. load
// checks every length and that all floats are finite; OCT_EPROTO leaves the algo as it was.
// In a group each rank has a part of the moments, so all save at once, but to measure.
void algo_save(const algo *a, oct_writer *writer);
// A checksum of a saved state that tells different ones apart. That of all its bytes is the same
// number for every state, because they end with their checksum.
uint32_t algo_saved_crc(const uint8_t *state, size_t length);
OCT_CHECKED oct_err algo_load(algo *a, oct_reader *reader);

#endif // ALGOS_ALGO_H
