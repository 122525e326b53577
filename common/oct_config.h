#ifndef COMMON_OCT_CONFIG_H
#define COMMON_OCT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/oct_config_names.h"
#include "common/oct_err.h"
#include "common/oct_fifo.h"

// One experiment: the YAML file, --set key=value, `octet config` and the documentation all come
// from the one table in oct_config_table.c (key, type, bounds, default, help). Const after start.
//
// Threads: any for reading. Owns: plain value.

#define OCT_CONFIG_TEXT_MAX 256
#define OCT_CONFIG_LIST_MAX 1024 // of addresses
// Of env.options: twice as much, where each byte is escaped, goes into a message with all other
// keys.
#define OCT_CONFIG_OPTIONS_MAX 16384
#define OCT_SHARDS_MAX         16
#define OCT_CONFIG_INTS_MAX    15
#define OCT_CONFIG_KEYS_MAX    168
#define OCT_NOISY_SAMPLES_MAX  64
#define OCT_TURN_ACTORS_MAX    256      // of actor.count in lock-step: actors of a turn
#define OCT_CONFIG_SAMPLE_MAX  1048576u // transitions in one answer of replay
#define OCT_CONFIG_BATCH_MAX   65536u   // rows in one message of an actor

typedef struct oct_config_ints {
    uint32_t count;
    uint32_t value[OCT_CONFIG_INTS_MAX];
} oct_config_ints;

typedef struct oct_config {
    struct {
        char name[OCT_CONFIG_TEXT_MAX]; // "" : the environment's id
        uint64_t seed;
        uint64_t env_steps;    // budget over all actors
        uint64_t updates;      // budget; 0: none
        double stop_at_return; // evaluation mean that ends the run; NaN: the budget alone does
        double wall_s;         // 0: no limit
        double hang_s;         // octet train: without progress; 0: for ever
        double env_hang_s;     // the same in code of an environment
        bool deterministic;    // lock-step (docs/determinism.md); the keys below count only then
        uint64_t hash_updates;
    } run;
    struct {
        char id[OCT_CONFIG_TEXT_MAX];         // "CartPole-v1", or the path of a plug-in (.so)
        char options[OCT_CONFIG_OPTIONS_MAX]; // for the environment, as oct_option.h says
        char mjcf_dir[OCT_CONFIG_TEXT_MAX];   // "": Octet's own models
    } env;
    struct {
        oct_config_ints hidden;
        oct_activation_name activation;
        bool first_layer_norm;         // Acme's LayerNormMLP, policy and critic alike
        oct_config_ints conv;          // channels of 3x3 convolutions before the hidden layers
        oct_config_ints critic_hidden; // all but dqn; none: as hidden (oct_config_critic_hidden)
        bool critic_residual;          // d4pg, ddpg, td3, sac
    } network;
    struct {
        oct_algo_name name;
        double discount;
        uint32_t n_step; // 0: the algorithm's (oct_config_n_step)
        bool double_q;
        double huber_delta;
        double learning_rate;
        double learning_rate_final;       // linear over run.env_steps; always a number, see next
        bool learning_rate_final_is_same; // the file says "same": it follows learning_rate
        double adam_beta1, adam_beta2, adam_epsilon;
        double grad_norm_max;   // 0: off
        double reward_clip;     // each step's reward to [-x, x]; 0: off
        uint32_t target_period; // updates between copies into the target network
        double target_rate;     // 1: copy; below 1: Polyak averaging every target_period updates
        // dqn and table
        oct_target_name target;
        double target_epsilon; // of the policy that expected_sarsa expects
        // table
        double initial_value;
        // dqn
        bool distributional; // C51
        bool dueling;
        bool noisy; // factorised Gaussian noise in the dense layers
        double noisy_sigma;
        uint32_t noisy_samples; // that actors act with, by their index
        // C51 and d4pg
        uint32_t atoms;
        double value_min, value_max; // the support's ends
        // d4pg, ddpg, td3, sac; reinforce has the first two
        double critic_learning_rate;       // always a number, see next
        bool critic_learning_rate_is_same; // the file says "same": it follows learning_rate
        double action_grad_norm_max;       // dQ/da of each row is scaled to this norm; 0: off
        double pre_activation_cost;        // of the squares of a policy's outputs before tanh
        uint32_t policy_delay; // updates of the critic for one of the policy; 0: the algorithm's
        uint32_t critics;      // 2: the smaller value counts; 0: the algorithm's
        double target_noise;   // td3: deviation, as a share of half the action's range
        double target_noise_clip;
        // sac
        double temperature; // of the entropy in the value; NaN: learned
        double initial_temperature;
        double target_entropy; // nats, that the temperature is learned for; NaN: - dimensions
        // reinforce, table, vtrace
        uint32_t sequence_steps; // rows of a window that are learned from
        uint32_t lag_max;        // versions; older windows are given up; 0: none
        // reinforce, ppo, a2c, vtrace
        bool normalise_advantage; // to mean 0 and deviation 1 over the batch
        double ratio_max;         // importance weights pi / mu are cut to it
        double entropy_cost;
        double entropy_cost_final;       // linear over run.env_steps; always a number, see next
        bool entropy_cost_final_is_same; // the file says "same": it follows entropy_cost
        double value_cost;
        double initial_deviation; // of actions in a box, in halves of their range
        // vtrace
        double trace_max; // c-bar, of the ratios that carry errors back
        // ppo, a2c, trpo; vtrace has gae_lambda and scale_rewards
        double gae_lambda;
        uint32_t epochs;      // over each batch of rollouts; a2c has one
        uint32_t minibatches; // of an epoch; a2c has one
        double clip;          // of the ratio to [1 - clip, 1 + clip]; a2c has none
        double value_clip;    // of a value to so far from its old one; 0: off
        double kl_max;        // an update ends beyond it (trpo: a step); 0: off
        oct_correction_name correction;
        bool scale_rewards;          // by the deviation of their discounted sums
        double mean_noise;           // ppo: of a Gaussian's means in an update, uniform; 0: off
        bool normalise_observations; // d4pg, ddpg, td3, sac, ppo, a2c, trpo
        uint32_t rollout_lag;        // versions that actors may be ahead of
        // trpo
        uint32_t cg_iterations;
        double cg_damping; // added to the Fisher matrix' diagonal
        uint32_t line_search_steps;
        double line_search_shrink; // of a step by the one before
        oct_window_name window;    // external, as the next two
        oct_head_name head;
        double client_wait_s; // for the process that learns
    } algo;
    struct {
        uint32_t count; // learners that share each batch
        uint32_t batch_size;
        uint32_t prefetch;            // batches held ready for the training thread
        uint32_t batches_per_request; // batches asked for in one Sample
        uint32_t threads;             // of OpenBLAS
        oct_kernels_name blas_kernels;
        bool bf16;                  // matrix products with bfloat16 inputs and fp32 sums
        bool gradients_bf16;        // that learners send each other
        bool asynchronous;          // learners of learner.count wait for nobody's gradients
        uint32_t staleness_max;     // updates since a gradient's parameters were fetched
        uint32_t publish_period;    // updates between policy versions
        double publish_s;           // … or this long since the last; 0: not by time
        double publish_s_min;       // and at least this long between them
        double publish_core_share;  // of one core that publishing may take; 0: no limit
        double publish_bytes_per_s; // to all actors together; 0: no limit
        bool quantisation_aware;    // the policy learns with the weights that actors will have
        double ema_decay;           // of the policy that is published; 0: no average
        char init_from[OCT_CONFIG_TEXT_MAX]; // run folder or policy file; "none": random weights
        oct_config_ints freeze;              // layers of the policy that do not learn
        double checkpoint_s;                 // 0: only at the end
        uint32_t checkpoints_kept;           // the last ones
        uint32_t checkpoint_turns;           // run.deterministic: instead of checkpoint_s
        uint32_t actors_per_certificate;     // places that it may hold; 0: all
        double metrics_s;
        uint32_t metrics_rows;
        uint32_t probe_rows;    // observations in the divergence probe
        double divergence_warn; // relative L2 above which it is warned; 0: never
    } learner;
    struct {
        oct_precision_name precision;
        bool scale_observations; // mean and deviation of each entry are divided out
        oct_scale_name scale;
        oct_range_name range;
        double percentile; // of range percentile
        bool delta;        // publish what changed, where that is shorter
        double dead_band;  // steps that a weight must be off its code before the code changes
        double drift;      // share by which a row's range changes before it gets a new scale
        uint32_t key_frame_period; // publications from one complete policy to the next; 0: any
    } policy;
    struct {
        uint32_t count;             // actors that `octet train` starts
        uint32_t envs;              // environments in each
        double epsilon_base;        // ladder: epsilon_i = base ^ k_i, k spaced evenly in 1 .. power
        double epsilon_power;       // over all environments of all actors (Acme: 0.4, 8)
        double epsilon_persistence; // mu of how long a random action is held; NaN: one step
        uint64_t epsilon_anneal_steps; // from 1 down to the ladder over this many env steps in all
        double noise;                  // box actions: Gaussian deviation as a share of half the
                                       // action's range
        double noise_low;              // ladder: from noise_low to noise over all environments
        bool noise_low_is_same;        // no ladder
        double noise_final;            // of all environments, linear over noise_steps
        bool noise_final_is_same;      // deviations stay as they are; noise_final is not read
        uint64_t noise_steps;          // environment steps; 0: run.env_steps
        double noise_correlation;      // of one step's noise with the next (AR(1)); 0: white
        uint64_t random_steps;         // box actions: uniform for so many env steps in all
        uint32_t batch_steps;          // a batch is sent at this size …
        double flush_s;                // … or after this long
        double rollout_wait_s;         // for the next version, then another rollout is made
        uint32_t ring_batches;         // unacknowledged batches held; then stepping waits
        oct_when_full_name when_full;
        double report_s;
    } actor;
    struct {
        uint32_t shards;   // replays that octet train starts; oct_config_shards
        uint64_t capacity; // rows, of all shards together
        uint64_t min_size;
        oct_sampler_name sampler;
        double priority_exponent;
        double importance_exponent;
        double importance_exponent_final;       // linear over run.env_steps; always a number
        bool importance_exponent_final_is_same; // the file says "same"
        double samples_per_insert;              // 0: no limit
        double tolerance;
        char path[OCT_CONFIG_TEXT_MAX]; // of the file that `octet train` has replay keep its table
                                        // in, in the run folder; "none": in memory only
        oct_sync_name sync;
        double sync_interval_s;
        char data[OCT_CONFIG_TEXT_MAX]; // a data set's file; "none": there is none
        double data_share;              // of each batch; 1: all of it, and no actors
    } replay;
    struct {
        uint32_t episodes;
        uint32_t screen_episodes; // a first look; the rest only when it reaches the goal
        double final_share;       // of the episodes during training: to choose what ships
        double period_s;
        uint32_t period_turns; // run.deterministic: instead of period_s
        uint32_t envs;         // stepped together by the evaluator
        uint32_t max_steps;    // of an episode; 0: the environment's limit, or 10,000
        bool sampling;         // actions are drawn from the policy, as in training; else greedy
    } evaluation;
    struct {
        char learner[OCT_CONFIG_TEXT_MAX]; // base address: +0 RPC, +1 policies
        char replay[OCT_CONFIG_LIST_MAX];  // of each shard the base address: +0 RPC, +1 batches,
                                           // +2 acks; separated by commas
        char data[OCT_CONFIG_TEXT_MAX];    // base address: +0 RPC
        bool insecure;
    } net;
    // By the row of a key in the table: whether a layer has set it. The defaults of others may
    // follow algo.name, actor.count and actor.envs.
    bool is_given[OCT_CONFIG_KEYS_MAX];
} oct_config;

// Where text came from, for messages: "presets/cartpole.yaml:12:3: error: …".
// All of these print nothing; the message for a person (several lines at most, ending in '\n') goes
// to message. It names file, line, key, value and what is allowed, and suggests a near key.

void oct_config_default(oct_config *out);
// YAML text into out (which holds defaults or an earlier layer). name is what messages call it.
OCT_CHECKED oct_err oct_config_parse(oct_config *out, const char *name, const char *text,
                                     size_t length, char *message, size_t message_size);
OCT_CHECKED oct_err oct_config_load(oct_config *out, const char *path, char *message,
                                    size_t message_size);
// The same; *owner: the user that the file belongs to.
OCT_CHECKED oct_err oct_config_load_owner(oct_config *out, const char *path, uid_t *owner,
                                          char *message, size_t message_size);
// "learner.batch_size=128", the value as in YAML. Messages begin with it as an option of --set.
OCT_CHECKED oct_err oct_config_set(oct_config *out, const char *assignment, char *message,
                                   size_t message_size);
// The same of an argument: messages begin with it alone.
OCT_CHECKED oct_err oct_config_assign(oct_config *out, const char *assignment, char *message,
                                      size_t message_size);
// Of an experiment that was printed, and so sets every key: keys with the value that follows from
// others are not set, and follow again (learner.batch_size of rollouts follows actor.count).
void oct_config_unset_defaults(oct_config *config);
// Relations between keys (replay.min_size <= capacity …); after the last layer.
OCT_CHECKED oct_err oct_config_check(const oct_config *config, char *message, size_t message_size);
// Whether a run that was trained as before says may go on as now says. OCT_EINVAL: it is another
// environment, with other options, or (has_tables: replay has those of the run) needs other tables.
// OCT_OK: message has a warning line for each key whose change means that what was learned is of
// other values; "": none. What the checkpoint tells (algorithm, network, support) is not looked at.
OCT_CHECKED oct_err oct_config_check_resume(const oct_config *before, const oct_config *now,
                                            bool has_tables, char *message, size_t message_size);
// Environments that the actors have together.
static inline uint64_t
oct_config_environments(const oct_config *config)
{
    return (uint64_t)config->actor.count * config->actor.envs;
}

// Whether actors make a batch, a rollout of algo.sequence_steps steps of every environment, with a
// version, and wait for the next (docs/internals/decisions/0031-rollouts.md).
bool oct_config_has_rollouts(const oct_config *config);
// Rows of such a rollout of one environment, at most: its steps, an end row for every fourth, and
// two more. What would not fit ends a rollout early.
uint32_t oct_config_rollout_rows(uint32_t steps);
// Rows that a table needs for what so many environments make before anybody waits: a rollout of
// each version, in each of its shards, because all actors may be of one.
uint64_t oct_config_rollouts_held(const oct_config *config, uint64_t envs);
// The most steps that so many rows suffice for; 0: not even for one.
uint32_t oct_config_rollout_steps(uint64_t rows);
// The room in replay of what an algorithm learns from that takes sequences or episodes, each once.
oct_fifo oct_config_fifo(const oct_config *config);
// How many windows of each batch come from replay.data; 0: there is none.
uint32_t oct_config_data_windows(const oct_config *config);
// Whether all do: no actors act, no steps are counted.
bool oct_config_is_offline(const oct_config *config);
// Whether some do, and the rest from what actors do: the run has two replays.
bool oct_config_is_mixed(const oct_config *config);
// How many replays hold what actors do (docs/internals/replay.md): replay.shards, or the addresses
// of net.replay if those are more.
uint32_t oct_config_shards(const oct_config *config);
// Rows that each of them keeps.
uint64_t oct_config_shard_capacity(const oct_config *config);
// The address of a shard in net.replay, and its bytes; "": there is none (0), or it has too many.
size_t oct_config_replay_address(const oct_config *config, uint32_t shard,
                                 char out[OCT_CONFIG_TEXT_MAX]);
// A shard's name, made of one for all: "replay.oct" is replay.oct, replay-1.oct, … Cut to size.
void oct_config_shard_name(const char *name, uint32_t shard, char *out, size_t size);
#endif // COMMON_OCT_CONFIG_H
