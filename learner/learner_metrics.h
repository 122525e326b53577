#ifndef LEARNER_LEARNER_METRICS_H
#define LEARNER_LEARNER_METRICS_H

#include <stdint.h>

#include "common/oct_err.h"

// The run's numbers over time: metrics.csv and a TensorBoard event file, one row of named columns
// at a time. A number that was not measured is NaN: an empty cell, and no TensorBoard point.
//
// Threads: the loop thread. Owns: two open files, flushed row by row.
// Errors: OCT_EIO once (no space, say); the run goes on, learner_metrics_failed tells.

// X(column): the CSV's columns after wall_s; TensorBoard's tags are the same names.
// docs/operations.md explains each.
#define LEARNER_METRICS(X)                                                                         \
    X(env_steps)                                                                                   \
    X(updates)                                                                                     \
    X(env_steps_per_s)                                                                             \
    X(updates_per_s)                                                                               \
    X(inserts)                                                                                     \
    X(samples)                                                                                     \
    X(samples_per_insert)                                                                          \
    X(replay_size)                                                                                 \
    X(policy_version)                                                                              \
    X(policy_lag)                                                                                  \
    X(policy_lag_max)                                                                              \
    X(published_bytes)                                                                             \
    X(publish_interval_s)                                                                          \
    X(publish_core_share)                                                                          \
    X(publish_encode_ms)                                                                           \
    X(policy_bytes)                                                                                \
    X(policy_bytes_fp32_ratio)                                                                     \
    X(changed_share)                                                                               \
    X(quantization_l2)                                                                             \
    X(divergence)                                                                                  \
    X(divergence_max)                                                                              \
    X(divergence_kl)                                                                               \
    X(divergence_action_l2)                                                                        \
    X(agreement)                                                                                   \
    X(policy_gaps)                                                                                 \
    X(loss)                                                                                        \
    X(td_abs)                                                                                      \
    X(value)                                                                                       \
    X(grad_norm)                                                                                   \
    X(policy_grad_norm)                                                                            \
    X(learning_rate)                                                                               \
    X(train_return)                                                                                \
    X(train_length)                                                                                \
    X(eval_return)                                                                                 \
    X(eval_std)                                                                                    \
    X(eval_episodes)                                                                               \
    X(wait_share)                                                                                  \
    X(actors)                                                                                      \
    X(actor_infer_share)                                                                           \
    X(actor_env_share)                                                                             \
    X(actor_collect_share)                                                                         \
    X(actor_wait_share)                                                                            \
    LEARNER_LAYER_ERRORS(X)
// One column for each layer that a policy may have; empty beyond its last.
#define LEARNER_LAYER_ERRORS(X)                                                                    \
    X(layer_error_0)                                                                               \
    X(layer_error_1)                                                                               \
    X(layer_error_2)                                                                               \
    X(layer_error_3)                                                                               \
    X(layer_error_4)                                                                               \
    X(layer_error_5)                                                                               \
    X(layer_error_6)                                                                               \
    X(layer_error_7)                                                                               \
    X(layer_error_8)                                                                               \
    X(layer_error_9)                                                                               \
    X(layer_error_10)                                                                              \
    X(layer_error_11)                                                                              \
    X(layer_error_12)                                                                              \
    X(layer_error_13)                                                                              \
    X(layer_error_14)                                                                              \
    X(layer_error_15)

typedef struct learner_row {
    double wall_s;
#define X(column) double column;
    LEARNER_METRICS(X)
#undef X
} learner_row;

typedef struct learner_metrics learner_metrics;

// Appends to folder/metrics.csv (header when new); folder/events.out.tfevents.… begins with the
// first row.
OCT_CHECKED oct_err learner_metrics_open(learner_metrics **out, const char *folder);
void learner_metrics_write(learner_metrics *metrics, const learner_row *row);
// The names and the values of a row, for learner_status: [*count] each, static names.
const char *const *learner_metrics_names(uint32_t *count);
int learner_metrics_failed(const learner_metrics *metrics); // errno of the first failure, 0: none
void learner_metrics_close(learner_metrics *metrics);       // NULL is a no-op

#endif // LEARNER_LEARNER_METRICS_H
