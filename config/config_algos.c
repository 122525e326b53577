// The table of algorithms: the keys that each one reads, with usual values.
#include "config/config_algos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_synonyms.h"

#define OTHERS_MAX 3 // at most this many algorithms are named as those that do not read a key

#define ADAM                                                                                       \
    {"algo.adam_beta1", "0.9, or 0.5 where values overshoot"}, {"algo.adam_beta2", "0.999"},       \
    {                                                                                              \
        "algo.adam_epsilon", "1e-8 to 3e-4"                                                        \
    }
#define RATE(range)                                                                                \
    {"algo.learning_rate", range}, {"algo.learning_rate_final", "same, or 0 to a tenth of it"},    \
        ADAM,                                                                                      \
    {                                                                                              \
        "algo.grad_norm_max", "0 (off), 0.5 to 40"                                                 \
    }
#define NETWORK(widths)                                                                            \
    {"network.hidden", widths}, {"network.activation", "relu, tanh, elu or silu"},                 \
    {                                                                                              \
        "network.first_layer_norm", "false; true for the Control Suite"                            \
    }
#define CONV                                                                                       \
    {"network.conv", "[]; [16] for MinAtar"},                                                      \
    {                                                                                              \
        "network.layers", "[]; [nature] for pictures of 84 x 84"                                   \
    }
#define CRITIC                                                                                     \
    {"network.critic_hidden", "[], as network.hidden"},                                            \
    {                                                                                              \
        "algo.critic_learning_rate", "same, or 1 to 10 times learning_rate"                        \
    }
#define ENTROPY                                                                                    \
    {"algo.entropy_cost", "0 to 0.02; 0.1 where exploring is hard"},                               \
    {                                                                                              \
        "algo.entropy_cost_final", "same, or a tenth of it"                                        \
    }
#define SAMPLED                                                                                    \
    {                                                                                              \
        "evaluation.sampling", "false; true where only chance solves the task"                     \
    }
#define RETURNS(discounts)                                                                         \
    {"algo.discount", discounts},                                                                  \
    {                                                                                              \
        "algo.reward_clip", "0 (off), or 1"                                                        \
    }
#define REPLAYED(steps, ratio)                                                                     \
    {"algo.n_step", steps}, {"replay.sampler", "uniform or prioritized"},                          \
        {"replay.priority_exponent", "0.5 to 0.7, where prioritized"},                             \
        {"replay.importance_exponent", "0.2 to 1, where prioritized"},                             \
        {"replay.importance_exponent_final", "same, or 1"}, {"replay.min_size", "1000 to 50000"},  \
        {"replay.samples_per_insert", ratio},                                                      \
    {                                                                                              \
        "replay.tolerance", "0.1"                                                                  \
    }
// Keys of actors that do not wait for versions, and of a learner that publishes by count and time.
#define STREAMED(updates)                                                                          \
    {"learner.prefetch", "2 to 16"}, {"learner.batches_per_request", "1 to 8"},                    \
        {"learner.publish_period", updates}, {"learner.publish_s", "0 (off)"},                     \
        {"learner.publish_s_min", "0 to 0.1"}, {"learner.publish_core_share", "0.1"},              \
        {"learner.publish_bytes_per_s", "0 (no limit)"}, {"actor.batch_steps", "64 to 512"},       \
    {                                                                                              \
        "actor.flush_s", "0.005 to 0.1"                                                            \
    }
#define TARGET(period, rate)                                                                       \
    {"algo.target_period", period},                                                                \
    {                                                                                              \
        "algo.target_rate", rate                                                                   \
    }
#define ATOMS                                                                                      \
    {"algo.atoms", "51 to 101"}, {"algo.value_min", "the lowest discounted return"},               \
    {                                                                                              \
        "algo.value_max", "the highest discounted return"                                          \
    }
#define NOISE                                                                                      \
    {"actor.noise", "0.1 to 0.3, or 0.5 where the body can fall over"},                            \
        {"actor.noise_low", "same, or 0.05 with many environments"},                               \
        {"actor.noise_final", "same, or a tenth of actor.noise"},                                  \
        {"actor.noise_steps", "0 (the whole run)"}, {"actor.noise_correlation", "0 to 0.9"},       \
    {                                                                                              \
        "actor.random_steps", "0 to 10000"                                                         \
    }

#define EXPLORED(base, power)                                                                      \
    {"actor.epsilon_base", base}, {"actor.epsilon_power", power},                                  \
        {"actor.epsilon_persistence", "none, or 2 where rewards are rare"},                        \
    {                                                                                              \
        "actor.epsilon_anneal_steps", "5000 to 1000000"                                            \
    }

static const config_use dqn_uses[] = {
    RETURNS("0.97 to 0.999"),
    RATE("0.0001 to 0.001"),
    {"learner.batch_size", "32 to 256"},
    NETWORK("[64, 64] to [512, 512]"),
    CONV,
    REPLAYED("0 (5), or 1 to 20", "4 to 32"),
    TARGET("100 to 2500 with target_rate 1, else 1", "1, or 0.005 to 0.05"),
    {"algo.double_q", "true"},
    {"algo.huber_delta", "1; larger where rewards are rare but large"},
    {"algo.distributional", "false, or true (C51)"},
    ATOMS,
    {"algo.dueling", "false, or true"},
    {"algo.noisy", "false, or true with actor.epsilon_base: 0"},
    {"algo.noisy_sigma", "0.1 to 0.5"},
    {"algo.noisy_samples", "8, 1 to actors"},
    {"algo.target", "q_learning"},
    {"algo.target_epsilon", "as actor.epsilon_base"},
    EXPLORED("0.01 to 0.4", "1 to 8"),
    STREAMED("10 to 100"),
};

static const config_use table_uses[] = {
    RETURNS("0.99 to 1"),
    {"algo.learning_rate", "0.05 to 0.5; up to 1 where nothing is random"},
    {"algo.learning_rate_final", "same, or a hundredth of it where much is random"},
    {"learner.batch_size", "8 windows"},
    {"algo.n_step", "0 (1)"},
    {"algo.target", "q_learning, sarsa or expected_sarsa"},
    {"algo.target_epsilon", "as actor.epsilon_base"},
    {"algo.initial_value", "0, or above the returns"},
    {"algo.sequence_steps", "16"},
    {"algo.lag_max", "0 (none)"},
    EXPLORED("0.1 to 0.5", "1"),
    STREAMED("5 to 50"),
};

#define DPG_USES                                                                                   \
    RATE("0.0001 to 0.001"), {"learner.batch_size", "100 to 512"}, CRITIC,                         \
        {"algo.action_grad_norm_max", "0 (off), or 1"},                                            \
        {"algo.pre_activation_cost", "0 (off), or 0.00001"},                                       \
        {"algo.normalise_observations", "false, or true where observations differ in scale"},      \
        NOISE, STREAMED("10 to 100")

static const config_use d4pg_uses[] = {
    RETURNS("0.98 to 0.999"),
    NETWORK("[64, 64] to [512, 512, 512]"),
    DPG_USES,
    REPLAYED("0 (5), or 1 to 5", "8 to 50"),
    TARGET("100 with target_rate 1, else 1", "1, or 0.005 to 0.02"),
    ATOMS,
    {"algo.policy_delay", "0 (1)"},
    {"algo.critics", "0 (1), or 2"},
    {"network.critic_residual", "false, or true with critic_hidden: [512, 512, 512]"},
};

static const config_use ddpg_uses[] = {
    RETURNS("0.98 to 0.999"),
    NETWORK("[64, 64] to [400, 300]"),
    DPG_USES,
    REPLAYED("0 (1), or 2 to 5", "50 to 256"),
    TARGET("1 to 2", "0.001 to 0.02"),
    {"algo.policy_delay", "0 (1)"},
    {"algo.critics", "0 (1), or 2"},
    {"network.critic_residual", "false, or true with critic_hidden: [512, 512, 512]"},
};

static const config_use td3_uses[] = {
    RETURNS("0.98 to 0.999"),
    NETWORK("[64, 64] to [400, 300]"),
    DPG_USES,
    REPLAYED("0 (1), or 2 to 5", "50 to 256"),
    TARGET("1 to 2", "0.005 to 0.02"),
    {"algo.policy_delay", "0 (2)"},
    {"algo.critics", "0 (2)"},
    {"network.critic_residual", "false, or true with critic_hidden: [512, 512, 512]"},
    {"algo.target_noise", "0.1 to 0.2"},
    {"algo.target_noise_clip", "0.5"},
};

static const config_use sac_uses[] = {
    RETURNS("0.98 to 0.999"),
    RATE("0.0003 to 0.002"),
    {"learner.batch_size", "100 to 512"},
    NETWORK("[64, 64] to [256, 256]"),
    CRITIC,
    REPLAYED("0 (1), or 2 to 3", "16 to 256"),
    TARGET("1 to 2", "0.005 to 0.01"),
    {"algo.policy_delay", "0 (1), or 2"},
    {"algo.critics", "0 (2)"},
    {"network.critic_residual", "false, or true with critic_hidden: [512, 512, 512]"},
    {"algo.temperature", "learned, or 0.01 to 0.2 of a step's reward"},
    {"algo.initial_temperature", "0.1 to 1"},
    {"algo.target_entropy", "dimensions, or half of that"},
    {"algo.normalise_observations", "false, or true where observations differ in scale"},
    SAMPLED,
    STREAMED("10 to 100"),
};

static const config_use reinforce_uses[] = {
    RETURNS("0.9 to 0.99"),
    RATE("0.001 to 0.01"),
    {"learner.batch_size", "8 to 64 windows"},
    NETWORK("[64, 64]"),
    CONV,
    CRITIC,
    {"algo.sequence_steps", "the longest episode, or half of it"},
    {"algo.lag_max", "0 (none), 4 to 16"},
    {"algo.normalise_advantage", "true"},
    {"algo.ratio_max", "2 to 5"},
    ENTROPY,
    {"algo.value_cost", "0.5"},
    {"algo.initial_deviation", "0.5 to 1"},
    SAMPLED,
    STREAMED("1"),
};

#define ROLLOUTS(steps, rollouts)                                                                  \
    {"algo.sequence_steps", steps}, {"learner.batch_size", rollouts}, CONV, CRITIC, SAMPLED,       \
        {"algo.gae_lambda", "0.8 to 1"}, ENTROPY, {"algo.value_cost", "0.5"},                      \
        {"algo.initial_deviation", "0.5 to 1"},                                                    \
        {"algo.scale_rewards", "true where rewards are not about 1"},                              \
        {"algo.normalise_observations", "true for the Control Suite"},                             \
        {"algo.rollout_lag", "0, or 1 where acting takes as long as learning"},                    \
        {"algo.ratio_max", "1 to 5"},                                                              \
    {                                                                                              \
        "actor.rollout_wait_s", "several times the duration of an update"                          \
    }

static const config_use ppo_uses[] = {
    RETURNS("0.9 to 0.999"),
    RATE("0.0003 to 0.003"),
    NETWORK("[64, 64] to [256, 256]"),
    ROLLOUTS("16 to 2048", "the number of environments, 8 to 4096"),
    {"algo.normalise_advantage", "true"},
    {"algo.epochs", "3 to 20"},
    {"algo.minibatches", "1 to 32"},
    {"algo.clip", "0.1 to 0.3"},
    {"algo.value_clip", "0 (off), or as clip"},
    {"algo.mean_noise", "0 (off), 0.5 for the Control Suite"},
    {"algo.kl_max", "0 (off), 0.015 to 0.045"},
    {"algo.correction", "ratio; decoupled where rollouts are old"},
};

static const config_use a2c_uses[] = {
    RETURNS("0.9 to 0.999"),
    RATE("0.0007 to 0.003"),
    NETWORK("[64, 64] to [256, 256]"),
    ROLLOUTS("5 to 32", "the number of environments, 8 to 64"),
    {"algo.normalise_advantage", "false"},
};

static const config_use vtrace_uses[] = {
    RETURNS("0.9 to 0.999"),
    RATE("0.0005 to 0.003"),
    NETWORK("[64, 64] to [256, 256]"),
    CONV,
    CRITIC,
    {"learner.batch_size", "8 to 64 windows"},
    {"algo.sequence_steps", "16 to 100"},
    {"algo.lag_max", "0 (none), 4 to 100"},
    {"algo.gae_lambda", "0.9 to 1"},
    {"algo.ratio_max", "1 to 2"},
    {"algo.trace_max", "1"},
    {"algo.normalise_advantage", "false, or true"},
    {"algo.scale_rewards", "true where rewards are not about 1"},
    ENTROPY,
    {"algo.value_cost", "0.5"},
    {"algo.initial_deviation", "0.5 to 1"},
    SAMPLED,
    STREAMED("1"),
};

static const config_use trpo_uses[] = {
    RETURNS("0.9 to 0.999"),
    RATE("0.001 to 0.005 (values only)"),
    NETWORK("[64, 64] to [256, 256]"),
    ROLLOUTS("16 to 2048", "the number of environments, 8 to 256"),
    {"algo.normalise_advantage", "true"},
    {"algo.epochs", "5 to 20 (values only)"},
    {"algo.minibatches", "1 to 32 (values only)"},
    {"algo.value_clip", "0 (off)"},
    {"algo.kl_max", "0.01 to 0.05"},
    {"algo.correction", "ratio; decoupled where rollouts are old"},
    {"algo.cg_iterations", "5 to 15"},
    {"algo.cg_damping", "0.001 to 0.1"},
    {"algo.line_search_steps", "10"},
    {"algo.line_search_shrink", "0.5 to 0.8"},
};

static const config_use external_uses[] = {
    RETURNS("0.97 to 0.999"),
    {"algo.learning_rate", "sent with each batch"},
    {"algo.learning_rate_final", "same, or 0 to a tenth of it"},
    {"learner.batch_size", "32 to 512"},
    NETWORK("[64, 64] to [512, 512]"),
    CONV,
    {"algo.window", "n_step; sequence for memory; rollout for steps of the newest policy"},
    {"algo.head", "auto, logits or tanh_gaussian"},
    ATOMS,
    {"algo.initial_deviation", "0.5 to 1, of the head gaussian"},
    REPLAYED("0 (1), or 2 to 5", "4 to 256"),
    {"algo.sequence_steps", "16 to 2048"},
    {"algo.rollout_lag", "0, or 1 where acting takes as long as learning"},
    {"actor.rollout_wait_s", "several times the duration of an update"},
    EXPLORED("0.01 to 0.4", "1 to 8"),
    NOISE,
    {"algo.client_wait_s", "60"},
    SAMPLED,
    STREAMED("10 to 100"),
};

#define ALGO(text, list) .about = (text), .uses = (list), .use_count = OCT_COUNTOF(list)
const config_algo config_algos[] = {
    [CONFIG_ALGO_DQN] = {ALGO("deep Q-learning with the parts of Rainbow; discrete actions",
                              dqn_uses),
                         .n_step = 5},
    [CONFIG_ALGO_D4PG] = {ALGO("deterministic policy, distribution of returns; actions in a box",
                               d4pg_uses),
                          .n_step = 5},
    [CONFIG_ALGO_DDPG] = {ALGO("deterministic policy, one critic; actions in a box", ddpg_uses),
                          .n_step = 1},
    [CONFIG_ALGO_TD3] =
        {ALGO("deterministic policy, two critics, the smaller value; actions in a box", td3_uses),
         .n_step = 1},
    [CONFIG_ALGO_REINFORCE] = {ALGO("policy gradient over whole episodes; all actions",
                                    reinforce_uses),
                               .n_step = 1, .windows = CONFIG_WINDOWS_EPISODES},
    [CONFIG_ALGO_SAC] = {ALGO("sampled actions, two critics, entropy; actions in a box", sac_uses),
                         .n_step = 1},
    [CONFIG_ALGO_TABLE] =
        {ALGO("Q-learning, SARSA, expected SARSA; discrete observations and actions", table_uses),
         .n_step = 1, .windows = CONFIG_WINDOWS_SEQUENCES, .is_tabular = true},
    [CONFIG_ALGO_PPO] = {ALGO("epochs over rollouts of the newest policy; all actions", ppo_uses),
                         .n_step = 1, .windows = CONFIG_WINDOWS_ROLLOUTS},
    [CONFIG_ALGO_A2C] = {ALGO("one gradient step for each rollout; all actions", a2c_uses),
                         .n_step = 1, .windows = CONFIG_WINDOWS_ROLLOUTS},
    [CONFIG_ALGO_VTRACE] = {ALGO("actor-critic on slightly older steps, corrected (IMPALA); all "
                                 "actions",
                                 vtrace_uses),
                            .n_step = 1, .windows = CONFIG_WINDOWS_SEQUENCES},
    [CONFIG_ALGO_TRPO] = {ALGO("natural gradient steps of a limited KL divergence; all actions",
                               trpo_uses),
                          .n_step = 1, .windows = CONFIG_WINDOWS_ROLLOUTS},
    [CONFIG_ALGO_EXTERNAL] = {ALGO("updates by your own program (octet.Learner); all actions",
                                   external_uses),
                              .n_step = 1},
};
_Static_assert(OCT_COUNTOF(config_algos) == CONFIG_ALGOS, "every algorithm has a row");

uint32_t
config_n_step(const config_experiment *config)
{
    return config->algo.n_step > 0 ? config->algo.n_step : config_algos[config->algo.name].n_step;
}

static config_windows
windows_of(const config_experiment *config)
{
    return config->algo.name == CONFIG_ALGO_EXTERNAL &&
                   config->algo.window == CONFIG_SAMPLED_ROLLOUT
               ? CONFIG_WINDOWS_ROLLOUTS
               : config_algos[config->algo.name].windows;
}

bool
config_takes_each_once(const config_experiment *config)
{
    return windows_of(config) != CONFIG_WINDOWS_SAMPLED;
}

bool
config_has_limiter(const config_experiment *config)
{
    return !config_takes_each_once(config) && config->replay.sampler != CONFIG_SAMPLER_FIFO;
}

bool
config_has_rollouts(const config_experiment *config)
{
    return windows_of(config) == CONFIG_WINDOWS_ROLLOUTS;
}

bool
config_actors_wait(const config_experiment *config)
{
    return config->run.deterministic || config_has_rollouts(config);
}

bool
config_takes_turns(const config_experiment *config)
{
    return config->run.deterministic ||
           (config_has_rollouts(config) && config->algo.rollout_lag == 0);
}

uint32_t
config_turn_actors(const config_experiment *config)
{
    return config->run.deterministic ? config->actor.count : 0;
}

uint32_t
config_table_copies(const config_experiment *config)
{
    return config->run.deterministic ? config->learner.checkpoints_kept + 1 : 0;
}

oct_fifo
config_fifo(const config_experiment *config)
{
    uint64_t streams = config_environments(config);
    uint32_t stride = config->algo.sequence_steps;
    uint32_t behind = config_is_tabular(config) ? config_n_step(config) : 0;
    return windows_of(config) == CONFIG_WINDOWS_EPISODES
               ? oct_fifo_of_sequences(streams, stride, 0)
               : oct_fifo_of_sequences(streams, stride + behind, stride);
}

bool
config_is_tabular(const config_experiment *config)
{
    return config_algos[config->algo.name].is_tabular;
}

const config_ints *
config_critic_hidden(const config_experiment *config)
{
    return config->network.critic_hidden.count > 0 ? &config->network.critic_hidden
                                                   : &config->network.hidden;
}

oct_err
config_words(const config_experiment *config, const config_ints *hidden, policy_words *out,
             oct_reason *why)
{
    const config_ints *own = &config->network.hidden, *conv = &config->network.conv;
    if (config->network.layers[0] == 0) {
        const config_ints *widths = hidden != NULL ? hidden : own;
        OCT_TRY(
            policy_words_short(out, conv->value, conv->count, widths->value, widths->count, why));
        if (config->network.first_layer_norm && widths->count > 0) {
            policy_word *first = &out->word[conv->count];
            first->layer_norm = first->has_activation = true;
            first->activation = POLICY_TANH;
        }
        return OCT_OK;
    }
    OCT_TRY(policy_words_parse(out, config->network.layers, why));
    if (hidden == NULL || hidden == own) {
        return OCT_OK;
    }
    while (out->count > 0 && out->word[out->count - 1].kind == POLICY_DENSE) {
        out->count--;
    }
    if (out->count + hidden->count > OCT_COUNTOF(out->word)) {
        return oct_refuse(why,
                          "%u layers before the dense ones and %u of network.critic_hidden, "
                          "allowed %zu in all",
                          out->count, hidden->count, OCT_COUNTOF(out->word));
    }
    for (uint32_t i = 0; i < hidden->count; i++) {
        out->word[out->count++] = (policy_word){.kind = POLICY_DENSE, .units = hidden->value[i]};
    }
    return OCT_OK;
}

bool
config_has_maps(const config_experiment *config)
{
    policy_words words;
    bool has_words = config_words(config, NULL, &words, NULL) == OCT_OK;
    return has_words && words.count > 0 && words.word[0].kind != POLICY_DENSE;
}

const config_use *
config_use_find(config_algo_name name, const char *key)
{
    OCT_ASSERT((size_t)name < CONFIG_ALGOS);
    const config_algo *algo = &config_algos[name];
    for (size_t i = 0; i < algo->use_count; i++) {
        if (strcmp(algo->uses[i].key, key) == 0) {
            return &algo->uses[i];
        }
    }
    return NULL;
}

bool
config_is_read(config_algo_name name, const char *key)
{
    bool is_listed = false;
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        is_listed |= config_use_find((config_algo_name)i, key) != NULL;
    }
    return !is_listed || config_use_find(name, key) != NULL;
}

const char *
config_algo_word(config_algo_name name)
{
    OCT_ASSERT(name < CONFIG_ALGOS);
    return config_keys[CONFIG_KEY_algo_name].words[name];
}

// Writes the algorithms that list key, or those that do not. Returns their count.
static size_t
words_list(const char *key, bool are_readers, char out[CONFIG_READERS_MAX])
{
    oct_text text;
    size_t count = 0;
    oct_text_init(&text, out, CONFIG_READERS_MAX);
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        if ((config_use_find((config_algo_name)i, key) != NULL) == are_readers) {
            oct_text_add(&text, "%s%s", count++ > 0 ? ", " : "",
                         config_algo_word((config_algo_name)i));
        }
    }
    return count;
}

const char *
config_readers(const char *key, char out[CONFIG_READERS_MAX])
{
    (void)words_list(key, true, out);
    return out;
}

const char *
config_readers_brief(const char *key, char out[CONFIG_READERS_MAX])
{
    char readers[CONFIG_READERS_MAX], others[CONFIG_READERS_MAX];
    oct_text text;
    oct_text_init(&text, out, CONFIG_READERS_MAX);
    size_t other_count = words_list(key, false, others);
    if (words_list(key, true, readers) > 0 && other_count > 0) {
        bool are_few = other_count <= OTHERS_MAX;
        oct_text_add(&text, "%s%s: ", are_few ? "all but " : "", are_few ? others : readers);
    }
    return out;
}

// ---- octet config --explain

static void
explain_uses(FILE *stream, config_algo_name name)
{
    fprintf(stream, "  %-34s %-12s %s\n", "key", "default", "usual");
    for (size_t i = 0; i < CONFIG_KEYS; i++) { // in the order of the keys
        const config_key *key = &config_keys[i];
        const config_use *use = config_use_find(name, key->name);
        if (use != NULL) {
            fprintf(stream, "  %-34s %-12s %s\n", key->name, config_default_with(key, name),
                    use->usual);
        }
    }
}

char *
config_explain(const char *algorithm)
{
    const config_synonym *synonym = config_synonym_find(algorithm, strlen(algorithm));
    char *out = NULL;
    size_t length = 0;
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        const char *word = config_algo_word((config_algo_name)i);
        if (strcmp(word, synonym != NULL ? synonym->algorithm : algorithm) != 0) {
            continue;
        }
        FILE *stream = open_memstream(&out, &length);
        OCT_ASSERT(stream != NULL);
        if (synonym != NULL) {
            char made_of[CONFIG_VALUE_MAX];
            fprintf(stream, "%s: %s\n", algorithm, config_algo_made_of(algorithm, made_of));
        }
        fprintf(stream, "%s: %s\n", word, config_algos[i].about);
        explain_uses(stream, (config_algo_name)i);
        OCT_ASSERT(fclose(stream) == 0);
    }
    return out;
}

const char *
config_algo_words(void)
{
#define AFTER_BLANK(value, word) " " word
    return &(CONFIG_ALGO_WORDS(AFTER_BLANK))[1];
}
