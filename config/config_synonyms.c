// The names that papers and other libraries use for algorithms and keys: two tables.
#include "config/config_synonyms.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

const config_synonym config_synonyms[] = {
    {"rainbow", "dqn",
     "algo.distributional=true algo.dueling=true algo.noisy=true actor.epsilon_base=0"},
    {"c51", "dqn", "algo.distributional=true"},
    {"double_dqn", "dqn", "algo.double_q=true"},
    {"dueling_dqn", "dqn", "algo.dueling=true"},
    {"noisy_dqn", "dqn", "algo.noisy=true actor.epsilon_base=0"},
    {"q_learning", "table", "algo.target=q_learning"},
    {"sarsa", "table", "algo.target=sarsa"},
    {"expected_sarsa", "table", "algo.target=expected_sarsa"},
    {"impala", "vtrace", ""},
    {"a3c", "vtrace", "learner.count=2 learner.asynchronous=true"},
};
const size_t config_synonym_count = OCT_COUNTOF(config_synonyms);

const config_synonym *
config_synonym_find(const char *word, size_t length)
{
    for (size_t i = 0; i < config_synonym_count; i++) {
        const char *other = config_synonyms[i].word;
        if (strlen(other) == length && memcmp(other, word, length) == 0) {
            return &config_synonyms[i];
        }
    }
    return NULL;
}

const config_key *
config_synonym_next(const char **settings, char value[CONFIG_NAME_MAX])
{
    size_t length;
    const char *setting = config_word_next(settings, &length);
    char name[CONFIG_NAME_MAX];
    if (setting == NULL) {
        return NULL;
    }
    size_t equals = strcspn(setting, "=");
    OCT_ASSERT(equals < length && length < CONFIG_NAME_MAX);
    (void)snprintf(name, sizeof(name), "%.*s", (int)equals, setting);
    (void)snprintf(value, CONFIG_NAME_MAX, "%.*s", (int)(length - equals - 1),
                   setting + equals + 1);
    return config_key_find(name);
}

const char *
config_algo_made_of(const char *word, char out[CONFIG_VALUE_MAX])
{
    const config_synonym *synonym = config_synonym_find(word, strlen(word));
    if (synonym == NULL) {
        return NULL;
    }
    const char *settings = synonym->settings, *before = " with ";
    const config_key *key;
    char value[CONFIG_NAME_MAX];
    oct_text text;
    oct_text_init(&text, out, CONFIG_VALUE_MAX);
    oct_text_add(&text, "%s", synonym->algorithm);
    while ((key = config_synonym_next(&settings, value)) != NULL) {
        oct_text_add(&text, "%s%s: %s", before, key->name, value);
        before = ", ";
    }
    return out;
}

const char *
config_algo_next_name(const char *algorithm, size_t *at)
{
    while (*at < config_synonym_count) {
        const config_synonym *synonym = &config_synonyms[(*at)++];
        if (strcmp(synonym->algorithm, algorithm) == 0) {
            return synonym->word;
        }
    }
    return NULL;
}

// ---- keys

#define ENTROPY "algo.entropy_cost or algo.temperature"
#define ROLLOUT "algo.sequence_steps or algo.n_step"

const config_meaning config_meanings[] = {
    {"run.name", "exp_name experiment_name run_name"},
    {"run.seed", "random_seed"},
    {"run.env_steps", "total_timesteps total_steps max_steps max_timesteps num_timesteps timesteps "
                      "timesteps_total num_steps_total total_env_steps num_env_steps num_frames "
                      "total_frames frames steps"},
    {"run.updates", "num_updates total_updates gradient_updates training_steps learner_steps"},
    {"run.stop_at_return", "reward_threshold stop_reward target_reward target_return goal "
                           "episode_reward_mean"},
    {"run.wall_s", "time_limit time_total_s max_time walltime_limit"},
    {"run.deterministic", "torch_deterministic deterministic_training"},
    {"env.id", "env env_id env_name environment environment_name task gym_id"},
    {"env.options", "env_config env_kwargs env_args"},
    {"network.hidden", "hidden_sizes hidden_size hidden_dim hidden_dims hidden_units hidden_layers "
                       "hidden_layer_sizes layer_sizes net_arch fcnet_hiddens mlp_units "
                       "policy_layer_sizes policy_hidden"},
    {"network.critic_hidden", "critic_layer_sizes critic_hidden_sizes vf_hidden"},
    {"network.activation", "activation_fn activation_function fcnet_activation nonlinearity"},
    {"network.first_layer_norm", "layer_norm use_layer_norm layernorm"},
    {"network.layers", "conv_filters cnn_filters conv_layers cnn nature_cnn"},
    {"network.conv", "channels filters"},
    {"algo.name", "algorithm algo_name agent method"},
    {"algo.discount", "gamma discount_factor discounting"},
    {"algo.n_step", "nstep n_steps_return estimation_step multi_step bootstrap_steps"},
    {"algo.double_q", "double_dqn is_double use_double"},
    {"algo.huber_delta", "huber_loss_parameter huber_param huber_threshold"},
    {"algo.learning_rate", "lr policy_lr actor_lr pi_lr step_size policy_learning_rate "
                           "actor_learning_rate"},
    {"algo.learning_rate_final", "anneal_lr lr_decay lr_schedule lr_final end_learning_rate"},
    {"algo.critic_learning_rate", "q_lr critic_lr vf_lr value_lr value_learning_rate"},
    {"algo.adam_epsilon", "adam_eps optimizer_eps opt_eps"},
    {"algo.adam_beta1", "beta1 betas adam_betas"},
    {"algo.adam_beta2", "beta2"},
    {"algo.grad_norm_max", "max_grad_norm max_gradient_norm grad_clip gradient_clip clip_grad_norm "
                           "gradient_clipping clip_norm grad_norm_clipping"},
    {"algo.reward_clip", "max_abs_reward clip_rewards clip_reward reward_clipping"},
    {"algo.target_period", "target_update_interval target_update_period target_update_freq "
                           "target_update_frequency target_network_frequency "
                           "target_network_update_freq"},
    {"algo.target_rate", "tau polyak target_update_rate soft_update_rate"},
    {"algo.dueling", "use_dueling dueling_network"},
    {"algo.noisy", "noisy_nets use_noisy"},
    {"algo.noisy_sigma", "sigma0 noisy_std"},
    {"algo.atoms", "n_atoms num_atoms n_quantiles"},
    {"algo.value_min", "v_min vmin"},
    {"algo.value_max", "v_max vmax"},
    {"algo.policy_delay", "policy_frequency update_actor_freq actor_update_frequency"},
    {"algo.critics", "n_critics num_critics twin_q"},
    {"algo.target_noise", "target_policy_noise policy_noise target_sigma"},
    {"algo.target_noise_clip", "noise_clip target_clip"},
    {"algo.temperature", "alpha autotune auto_alpha"},
    {"algo.initial_temperature", "initial_alpha init_temperature"},
    {ENTROPY, "ent_coef entropy_coeff entropy_coef entropy_coefficient entropy_bonus ent_coeff"},
    {ROLLOUT, "n_steps num_steps"},
    {"algo.sequence_steps", "rollout_fragment_length rollout_length rollout_steps unroll_length "
                            "sequence_length step_per_collect steps_per_epoch max_seq_len"},
    {"algo.normalise_advantage", "normalize_advantage norm_adv advantage_norm normalize_advantages "
                                 "standardize_advantages"},
    {"algo.ratio_max", "vtrace_clip_rho_threshold clip_rho_threshold rho_bar max_importance_weight "
                       "max_rho"},
    {"algo.trace_max", "clip_c_threshold c_bar"},
    {"algo.value_cost", "vf_coef vf_loss_coeff value_loss_coef value_coef baseline_cost "
                        "critic_loss_coeff"},
    {"algo.initial_deviation", "log_std_init action_std_init init_std"},
    {"algo.gae_lambda", "lambda lam lambda_ td_lambda"},
    {"algo.epochs", "n_epochs num_epochs update_epochs num_sgd_iter ppo_epochs noptepochs "
                    "repeat_per_collect"},
    {"algo.minibatches", "num_minibatches n_minibatches minibatch_size sgd_minibatch_size "
                         "mini_batch_size"},
    {"algo.clip", "clip_range clip_coef clip_param clip_ratio eps_clip clip_epsilon cliprange "
                  "ppo_clipping_epsilon"},
    {"algo.value_clip", "clip_range_vf clip_vloss vf_clip_param value_clip_range"},
    {"algo.kl_max", "target_kl kl_target desired_kl max_kl"},
    {"algo.scale_rewards", "rew_norm reward_normalization normalize_reward normalize_rewards "
                           "norm_reward"},
    {"algo.normalise_observations", "norm_obs normalize_observations normalize_obs normalize "
                                    "observation_filter"},
    {"algo.cg_iterations", "cg_max_steps cg_iters"},
    {"algo.line_search_shrink", "line_search_shrinking_factor backtrack_coeff"},
    {"algo.line_search_steps", "line_search_max_iter backtrack_iters max_backtracks"},
    {"learner.count", "num_learners n_learners"},
    {"learner.batch_size", "batch train_batch_size batchsize max_batchsize"},
    {"learner.prefetch", "prefetch_size"},
    {"learner.threads", "num_threads n_threads torch_threads"},
    {"learner.publish_period", "variable_update_period update_period broadcast_interval"},
    {"learner.ema_decay", "ema ema_rate polyak_decay"},
    {"learner.checkpoint_s", "save_freq save_frequency save_interval checkpoint_freq "
                             "checkpoint_frequency checkpoint_interval checkpoint_period"},
    {"learner.checkpoints_kept", "keep_checkpoints_num num_to_keep max_to_keep"},
    {"learner.metrics_s", "log_interval log_freq log_frequency log_every"},
    {"policy.precision", "quantize quantise quantization quantisation dtype bits"},
    {"actor.count", "num_actors n_actors actors workers num_workers n_workers "
                    "num_rollout_workers num_env_runners num_processes n_cpu"},
    {"actor.envs", "n_envs num_envs num_envs_per_worker num_envs_per_env_runner envs_per_actor "
                   "training_num num_environments"},
    {"actor.epsilon_base", "epsilon eps_train epsilon_greedy end_e start_e exploration_final_eps "
                           "exploration_initial_eps final_epsilon initial_epsilon"},
    {"actor.epsilon_anneal_steps", "exploration_fraction epsilon_timesteps epsilon_decay "
                                   "epsilon_decay_steps exploration_steps eps_decay"},
    {"actor.noise", "action_noise exploration_noise sigma act_noise stddev exploration_sigma"},
    {"actor.random_steps", "start_steps start_timesteps random_timesteps"},
    {"replay.capacity", "buffer_size max_replay_size replay_size replay_buffer_size memory_size "
                        "replay_capacity buffer_capacity"},
    {"replay.min_size", "learning_starts min_replay_size min_buffer_size warmup_steps warmup "
                        "num_steps_sampled_before_learning_starts min_size_to_learn prefill "
                        "learning_start replay_start_size"},
    {"replay.sampler", "prioritized_replay prioritized per use_per"},
    {"replay.priority_exponent", "prioritized_replay_alpha per_alpha alpha_per"},
    {"replay.importance_exponent", "prioritized_replay_beta per_beta importance_sampling_exponent"},
    {"replay.samples_per_insert", "train_freq train_frequency gradient_steps training_intensity "
                                  "update_per_step utd utd_ratio replay_ratio update_every"},
    {"replay.tolerance", "samples_per_insert_tolerance_rate samples_per_insert_tolerance"},
    {"evaluation.episodes", "n_eval_episodes eval_episodes num_eval_episodes evaluation_duration "
                            "episode_per_test evaluation_num_episodes"},
    {"evaluation.period_s", "eval_freq eval_frequency eval_interval evaluation_interval eval_every "
                            "evaluate_every"},
    {"evaluation.envs", "test_num n_eval_envs num_eval_envs"},
};
const size_t config_meaning_count = OCT_COUNTOF(config_meanings);

// Writes "--Max-Grad-Norm" as max_grad_norm.
static void
plain(char out[CONFIG_NAME_MAX], const char *name)
{
    size_t length = 0;
    for (name += strspn(name, "-"); *name != '\0' && length + 1 < CONFIG_NAME_MAX; name++) {
        out[length++] = (char)(*name == '-' ? '_' : tolower((unsigned char)*name));
    }
    out[length] = '\0';
}

const char *
config_key_meant(const char *name)
{
    char wanted[CONFIG_NAME_MAX];
    plain(wanted, name);
    for (size_t i = 0; i < config_meaning_count; i++) {
        if (config_word_is_among(config_meanings[i].names, wanted, strlen(wanted))) {
            return config_meanings[i].key;
        }
    }
    return NULL;
}
