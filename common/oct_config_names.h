#ifndef COMMON_OCT_CONFIG_NAMES_H
#define COMMON_OCT_CONFIG_NAMES_H

// The values of an experiment's keys that are words, in the order of the words in
// oct_config_table.c.

typedef enum {
    OCT_ALGO_DQN,
    OCT_ALGO_D4PG,
    OCT_ALGO_DDPG,
    OCT_ALGO_TD3,
    OCT_ALGO_REINFORCE,
    OCT_ALGO_SAC,
    OCT_ALGO_TABLE,
    OCT_ALGO_PPO,
    OCT_ALGO_A2C,
    OCT_ALGO_VTRACE,
    OCT_ALGO_TRPO,
    OCT_ALGO_EXTERNAL,
    OCT_ALGOS, // how many
} oct_algo_name;
typedef enum {
    OCT_TARGET_Q_LEARNING,
    OCT_TARGET_SARSA,
    OCT_TARGET_EXPECTED_SARSA,
} oct_target_name;
typedef enum { OCT_SAMPLED_N_STEP, OCT_SAMPLED_SEQUENCE, OCT_SAMPLED_ROLLOUT } oct_window_name;
typedef enum {
    OCT_HEAD_AUTO,
    OCT_HEAD_VALUES,
    OCT_HEAD_LOGITS,
    OCT_HEAD_ATOMS,
    OCT_HEAD_TANH,
    OCT_HEAD_GAUSSIAN,
    OCT_HEAD_TANH_GAUSSIAN,
} oct_head_name;
typedef enum { OCT_ACTIVATION_RELU, OCT_ACTIVATION_TANH, OCT_ACTIVATION_ELU } oct_activation_name;
typedef enum {
    OCT_PRECISION_INT8,
    OCT_PRECISION_FP32,
    OCT_PRECISION_BF16,
    OCT_PRECISION_FP16,
    OCT_PRECISION_INT4,
} oct_precision_name;
typedef enum { OCT_SCALE_ROW, OCT_SCALE_TENSOR } oct_scale_name;
typedef enum { OCT_RANGE_ABSMAX, OCT_RANGE_PERCENTILE, OCT_RANGE_MSE } oct_range_name;
typedef enum {
    OCT_CORRECTION_RATIO,
    OCT_CORRECTION_DECOUPLED,
    OCT_CORRECTION_NONE
} oct_correction_name;
typedef enum { OCT_SAMPLER_UNIFORM, OCT_SAMPLER_PRIORITIZED, OCT_SAMPLER_FIFO } oct_sampler_name;
typedef enum { OCT_KERNELS_AUTO, OCT_KERNELS_ENVIRONMENT } oct_kernels_name;
typedef enum { OCT_WHEN_FULL_WAIT, OCT_WHEN_FULL_DROP } oct_when_full_name;
typedef enum { OCT_SYNC_NONE, OCT_SYNC_INTERVAL, OCT_SYNC_ALWAYS, OCT_SYNCS } oct_sync_name;
extern const char *const oct_sync_words[OCT_SYNCS]; // "none", … as replay.sync has them

#endif // COMMON_OCT_CONFIG_NAMES_H
