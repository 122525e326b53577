#ifndef CONFIG_CONFIG_NAMES_H
#define CONFIG_CONFIG_NAMES_H

// The values of keys that are words. Each list X(value, word) makes an enum here and the words of a
// row in config_keys.def.

#include "policy/policy_activations.h"

#define CONFIG_VALUE_OF(value, word) value,
#define CONFIG_WORD_OF(value, word)  word,

// The rows of policy_activations.h; the value is a policy_activation.
#define CONFIG_ACTIVATION_WORDS(X) POLICY_ACTIVATIONS(POLICY_ACTIVATION_WORD)

#define CONFIG_ALGO_WORDS(X)                                                                       \
    X(CONFIG_ALGO_DQN, "dqn")                                                                      \
    X(CONFIG_ALGO_D4PG, "d4pg")                                                                    \
    X(CONFIG_ALGO_DDPG, "ddpg")                                                                    \
    X(CONFIG_ALGO_TD3, "td3")                                                                      \
    X(CONFIG_ALGO_REINFORCE, "reinforce")                                                          \
    X(CONFIG_ALGO_SAC, "sac")                                                                      \
    X(CONFIG_ALGO_TABLE, "table")                                                                  \
    X(CONFIG_ALGO_PPO, "ppo")                                                                      \
    X(CONFIG_ALGO_A2C, "a2c")                                                                      \
    X(CONFIG_ALGO_VTRACE, "vtrace")                                                                \
    X(CONFIG_ALGO_TRPO, "trpo")                                                                    \
    X(CONFIG_ALGO_EXTERNAL, "external")
typedef enum {
    CONFIG_ALGO_WORDS(CONFIG_VALUE_OF) CONFIG_ALGOS // their count
} config_algo_name;

#define CONFIG_TARGET_WORDS(X)                                                                     \
    X(CONFIG_TARGET_Q_LEARNING, "q_learning")                                                      \
    X(CONFIG_TARGET_SARSA, "sarsa")                                                                \
    X(CONFIG_TARGET_EXPECTED_SARSA, "expected_sarsa")
typedef enum { CONFIG_TARGET_WORDS(CONFIG_VALUE_OF) } config_target_name;

#define CONFIG_CORRECTION_WORDS(X)                                                                 \
    X(CONFIG_CORRECTION_RATIO, "ratio")                                                            \
    X(CONFIG_CORRECTION_DECOUPLED, "decoupled")                                                    \
    X(CONFIG_CORRECTION_NONE, "none")
typedef enum { CONFIG_CORRECTION_WORDS(CONFIG_VALUE_OF) } config_correction_name;

#define CONFIG_WINDOW_WORDS(X)                                                                     \
    X(CONFIG_SAMPLED_N_STEP, "n_step")                                                             \
    X(CONFIG_SAMPLED_SEQUENCE, "sequence")                                                         \
    X(CONFIG_SAMPLED_ROLLOUT, "rollout")
typedef enum { CONFIG_WINDOW_WORDS(CONFIG_VALUE_OF) } config_window_name;

#define CONFIG_HEAD_WORDS(X)                                                                       \
    X(CONFIG_HEAD_AUTO, "auto")                                                                    \
    X(CONFIG_HEAD_VALUES, "values")                                                                \
    X(CONFIG_HEAD_LOGITS, "logits")                                                                \
    X(CONFIG_HEAD_ATOMS, "atoms")                                                                  \
    X(CONFIG_HEAD_TANH, "tanh")                                                                    \
    X(CONFIG_HEAD_GAUSSIAN, "gaussian")                                                            \
    X(CONFIG_HEAD_TANH_GAUSSIAN, "tanh_gaussian")
typedef enum { CONFIG_HEAD_WORDS(CONFIG_VALUE_OF) } config_head_name;

#define CONFIG_KERNELS_WORDS(X)                                                                    \
    X(CONFIG_KERNELS_AUTO, "auto")                                                                 \
    X(CONFIG_KERNELS_ENVIRONMENT, "environment")
typedef enum { CONFIG_KERNELS_WORDS(CONFIG_VALUE_OF) } config_kernels_name;

#define CONFIG_PRECISION_WORDS(X)                                                                  \
    X(CONFIG_PRECISION_INT8, "int8")                                                               \
    X(CONFIG_PRECISION_FP32, "fp32")                                                               \
    X(CONFIG_PRECISION_BF16, "bf16")                                                               \
    X(CONFIG_PRECISION_FP16, "fp16")                                                               \
    X(CONFIG_PRECISION_INT4, "int4")
typedef enum { CONFIG_PRECISION_WORDS(CONFIG_VALUE_OF) } config_precision_name;

#define CONFIG_SCALE_WORDS(X)                                                                      \
    X(CONFIG_SCALE_ROW, "row")                                                                     \
    X(CONFIG_SCALE_TENSOR, "tensor")
typedef enum { CONFIG_SCALE_WORDS(CONFIG_VALUE_OF) } config_scale_name;

#define CONFIG_RANGE_WORDS(X)                                                                      \
    X(CONFIG_RANGE_ABSMAX, "absmax")                                                               \
    X(CONFIG_RANGE_PERCENTILE, "percentile")                                                       \
    X(CONFIG_RANGE_MSE, "mse")
typedef enum { CONFIG_RANGE_WORDS(CONFIG_VALUE_OF) } config_range_name;

#define CONFIG_WHEN_FULL_WORDS(X)                                                                  \
    X(CONFIG_WHEN_FULL_WAIT, "wait")                                                               \
    X(CONFIG_WHEN_FULL_DROP, "drop")
typedef enum { CONFIG_WHEN_FULL_WORDS(CONFIG_VALUE_OF) } config_when_full_name;

#define CONFIG_SAMPLER_WORDS(X)                                                                    \
    X(CONFIG_SAMPLER_UNIFORM, "uniform")                                                           \
    X(CONFIG_SAMPLER_PRIORITIZED, "prioritized")                                                   \
    X(CONFIG_SAMPLER_FIFO, "fifo")
typedef enum { CONFIG_SAMPLER_WORDS(CONFIG_VALUE_OF) } config_sampler_name;

#define CONFIG_SYNC_WORDS(X)                                                                       \
    X(CONFIG_SYNC_NONE, "none")                                                                    \
    X(CONFIG_SYNC_INTERVAL, "interval")                                                            \
    X(CONFIG_SYNC_ALWAYS, "always")
typedef enum {
    CONFIG_SYNC_WORDS(CONFIG_VALUE_OF) CONFIG_SYNCS // their count
} config_sync_name;
extern const char *const config_sync_words[CONFIG_SYNCS];

#endif // CONFIG_CONFIG_NAMES_H
