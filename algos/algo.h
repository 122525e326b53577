#ifndef ALGOS_ALGO_H
#define ALGOS_ALGO_H

#include "common/oct_bytes.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// The interface of learning algorithms: one file per algorithm, with one const algo_ops at its foot
// and one row in algo.c. It serves value methods (DQN, C51), deterministic policy gradients (DDPG,
// TD3, D4PG) and, with a FIFO replay and extra columns, on-policy methods;
// docs/internals/algorithms.md shows how.
//
// In a group (nn_context_options) each rank has its own algorithm, made with the same seed, and its
// own part of each batch: rank 0 has the first B / size windows, and so on. All ranks call
// algo_update together, with the same learning rate. All ranks end with the same bits and, except
// for rounding, with those of a single algorithm that had the whole batch. The numbers of an update
// cover all ranks; priorities cover the rank's own part. An error on one rank is returned on all
// ranks.
//
// Threads: the thread that uses the context, that is, the training thread.
// Owns: all memory, which create reserves; update allocates nothing.
typedef struct algo algo;

// The data that an algorithm learns from; the learner configures replay accordingly.
typedef enum algo_window {
    ALGO_WINDOW_N_STEP = 1,
    ALGO_WINDOW_SEQUENCE = 2,
    ALGO_WINDOW_ROLLOUT = 3, // one environment under one version; actors wait for the next version
} algo_window;
typedef struct algo_wants {
    algo_window window;
    uint32_t steps;  // n-step windows: n; sequences and rollouts: T
    uint32_t stride; // sequences: rows from one window's start to the next; 0: one per episode
    bool each_once;  // oldest first, each window once, whichever replay.sampler is set
    bool any_policy; // with each_once: actions of older policies are as useful as new ones
    // Windows with actions of policies more than this many versions old are dropped. 0: sequences
    // are never dropped, rollouts must be of the newest version.
    uint32_t lag_max;
} algo_wants;

// A batch from replay, as columns; borrowed for the update. Observations of bytes that may be above
// 1 are in units of policy_byte_unit(obs_high of the policy's spec). Rows with ALGO_END have no
// action.
typedef struct algo_batch {
    uint32_t B;            // windows
    uint32_t T;            // rows in a sequence or rollout; 0: the batch has n-step windows
    const float *obs;      // [B][obs_count]; sequences: [B][T + 1][obs_count]
    const float *next;     // [B][obs_count]; n-step only
    const void *action;    // int32, or float [action_count], per row: [B], or [B][T] for sequences
    const float *reward;   // [B], the n-step sum; sequences: [B][T], as the environment gave it
    const float *discount; // [B], gamma^k, 0 if the episode terminated; n-step only
    const uint8_t *flags;  // [B][T], ALGO_TERMINATED ...; sequences only
    const uint32_t *version; // [B][T], versions of the policies that acted; sequences only
    const float *extra;      // [B][extra_dim], or [B][T][extra_dim] (policy_spec_extra_dim)
    const float *weight;     // [B], importance weights of prioritised replay, at most 1
    float spent; // share of run.env_steps that has been used, 0 .. 1; drives the algorithm's
                 // schedules
} algo_batch;

// Flags of a row, with the values of the WIRE_ flags. proto/wire.h says what they mean.
#define ALGO_TERMINATED 1u
#define ALGO_TRUNCATED  2u
#define ALGO_FIRST      4u
#define ALGO_END        8u
#define ALGO_RANDOM     16u
#define ALGO_FAILED     32u
#define ALGO_ROLLOUT    64u

// A number that an update reports. Each algorithm has its own list.
typedef struct algo_number {
    const char *name; // "td_abs": the name in metrics.csv, status, TensorBoard and Prometheus
    const char *unit; // "nats", "norm"; "" for a plain number
    const char *help; // one sentence
} algo_number;
#define ALGO_NUMBERS_MAX 16
const algo_number *algo_numbers(const config_experiment *config,
                                uint32_t *count); // the list of algo.name

// Fills the rest of the policy network's spec, and *wants (may be NULL). The environment's fields
// of spec (env_id, obs_*, action_*) are set. OCT_EINVAL: the algorithm cannot act in this
// environment, or cannot learn with learner.count or learner.asynchronous as configured; reason has
// one line.
OCT_CHECKED oct_err algo_make_spec(const config_experiment *config, policy_spec *spec,
                                   algo_wants *wants, oct_reason *why);
// Returns the options of the context in which an experiment learns: exact in lock-step. members is
// the learner's group, borrowed (NULL: it learns alone).
nn_context_options algo_context_options(const config_experiment *config, group *members);
// Creates an algorithm. context is borrowed until destroy; NULL: the algorithm makes its own, with
// one thread and in fp32. Layers of learner.freeze never learn (nn_trainer_freeze). On an error
// *out is NULL:
//   OCT_EINVAL  spec or config does not fit the algorithm, or the policy lacks a layer of
//               learner.freeze
OCT_CHECKED oct_err algo_create(algo **out, nn_context *context, const config_experiment *config,
                                const policy_spec *spec, uint64_t seed);
// NULL is a no-op.
void algo_destroy(algo *a);
// Measures what algo_create would reserve with a context of the options like, and the size of the
// saved state. Reserves nothing that lasts. Errors as of algo_create.
typedef struct algo_memory {
    uint64_t bytes;       // with the context's work spaces, without the weights of a projection
    uint64_t state_bytes; // of algo_save
} algo_memory;
OCT_CHECKED oct_err algo_measure(algo_memory *out, const nn_context_options *like,
                                 const config_experiment *config, const policy_spec *spec);

// Makes one update; for DQN this is one gradient step. The caller computes learning_rate for each
// update. priorities [B] (may be NULL) receives a new priority >= 0 per window: its |TD error|, or
// its KL divergence if returns are distributions. numbers [ALGO_NUMBERS_MAX] receives the numbers
// in the order of algo_numbers; NaN: none in this update. On an error nothing has changed, neither
// the algorithm nor priorities and numbers:
//   OCT_EINVAL     the batch has no rows, too many rows or the wrong shape; an action is out of
//                  range; or a table cannot have this learning rate
//   OCT_EINTERNAL  the batch, the loss or the gradient is not finite
//   OCT_EAGAIN     another process learns, and did not learn from this batch (algo_external.h)
OCT_CHECKED oct_err algo_update(algo *a, const algo_batch *batch, float learning_rate,
                                float *priorities, float *numbers);
// Returns the number of updates so far; in asynchronous learning, those of all learners when this
// one last fetched or applied.
uint64_t algo_updates(const algo *a);

// The two halves of algo_update, for algorithms whose update is one gradient. algo_gradient
// computes the gradient, with the errors of algo_update, and changes no parameter. algo_apply moves
// the parameters along the last gradient and counts the update.
OCT_CHECKED oct_err algo_gradient(algo *a, const algo_batch *batch, float *priorities,
                                  float *numbers);
void algo_apply(algo *a, float learning_rate);

// Asynchronous learners are algorithms of the same configuration and spec, outside a group, that
// share one set of parameters, moments and counts in memory. Each computes gradients with its own
// copy of the parameters, which it fetched, and applies them to the shared parameters, which the
// others may have changed meanwhile. Random draws and the scale of rewards are each learner's own.
//
// The caller holds a lock around algo_fetch, algo_staleness, algo_apply and algo_save, so that one
// learner at a time runs them.
//
// Returns the size of the shared state; 0: the algorithm cannot learn asynchronously.
size_t algo_shared_bytes(algo *a);
// Moves the state of a to memory [algo_shared_bytes], 64 bytes aligned and borrowed until destroy.
// Learner 0 calls this before all others and brings its state; the others take over that state.
void algo_share(algo *a, void *memory, uint32_t learner);
// Copies the shared parameters and the count of updates; comes before each gradient.
// algo_policy_params and algo_updates return what was fetched or applied last.
void algo_fetch(algo *a);
// Returns the number of updates by other learners since the last fetch or apply.
uint64_t algo_staleness(const algo *a);

// A function of the parameters. The acting network computes with its values instead of the
// parameters, for example with quantised values.
typedef struct algo_projection {
    void *arg;
    // Sets out[policy_spec_params] as a function of params alone. Both have policy_spec's order and
    // belong to networks that read observations as the environment gives them.
    void (*project)(void *arg, const float *params, float *out);
} algo_projection;

// Sets a projection; at most once, before the first update. From then on the acting network and its
// target compute with project(parameters), forward and backward, and the gradient found there moves
// the parameters themselves (straight-through estimator). algo_policy_params and algo_save still
// give the parameters.
void algo_set_projection(algo *a, const algo_projection *projection);
// Computes again what depends on the parameters, such as rounded weights when the projection has
// changed. The saved state stays the same. Allocates during the call.
void algo_renew(algo *a);

// Returns the acting network's parameters, [policy_spec_params] in policy_spec's order, for a
// network that reads observations as the environment gives them. Valid until the next update.
const float *algo_policy_params(const algo *a);

// Like algo_policy_params, but for exploration: where parameter noise explores (noisy DQN), returns
// parameters with noise, which is determined by the seed, the number of updates and sample.
// Invalidates the array of algo_policy_params. NULL: the algorithm explores otherwise, and actors
// get algo_policy_params.
const float *algo_behaviour_params(algo *a, uint32_t sample);

// Saves and loads everything that an update depends on: weights, targets, moments, counters,
// generators. algo_load checks every length and that all floats are finite; on OCT_EPROTO the
// algorithm is unchanged. In a group each rank has only a part of the moments, so all ranks call
// algo_save together, except when it only measures.
void algo_save(const algo *a, oct_writer *writer);
// Returns a checksum by which saved states can be told apart. It leaves out the last four bytes,
// the state's own CRC: with these the checksum would be the same for every state.
uint32_t algo_saved_crc(const uint8_t *state, size_t length);
OCT_CHECKED oct_err algo_load(algo *a, oct_reader *reader);

#endif // ALGOS_ALGO_H
