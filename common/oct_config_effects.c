// The table of keys that need others to have an effect: what they need, as a test and in words;
// and the warnings about keys without.
#include "common/oct_config_effects.h"
#include "common/oct_config_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_algos.h"
#include "common/oct_text.h"

#define HOLDS(name, ...)                                                                           \
    static bool name(const oct_config *c)                                                          \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

HOLDS(is_deterministic, c->run.deterministic)
HOLDS(is_not_deterministic, !c->run.deterministic)
HOLDS(is_of_the_control_suite, strncmp(c->env.id, "dmc:", strlen("dmc:")) == 0)

HOLDS(takes_other_targets, c->algo.target != OCT_TARGET_Q_LEARNING)
HOLDS(has_huber_loss, !c->algo.distributional)
HOLDS(has_atoms, c->algo.name != OCT_ALGO_DQN || c->algo.distributional)
HOLDS(is_noisy, c->algo.noisy)
HOLDS(has_target_noise, c->algo.target_noise > 0)
HOLDS(learns_temperature, isnan(c->algo.temperature))
HOLDS(has_importance_weights, (c->algo.name != OCT_ALGO_PPO && c->algo.name != OCT_ALGO_TRPO) ||
                                  c->algo.correction == OCT_CORRECTION_DECOUPLED)

// Of a program that learns, what its windows and outputs need. Where the head follows from the
// actions, it may be any.
HOLDS(is_external, c->algo.name == OCT_ALGO_EXTERNAL)
HOLDS(has_n_steps, !is_external(c) || c->algo.window == OCT_SAMPLED_N_STEP)
HOLDS(has_sequences, !is_external(c) || c->algo.window != OCT_SAMPLED_N_STEP)
HOLDS(has_rollouts, !is_external(c) || c->algo.window == OCT_SAMPLED_ROLLOUT)
HOLDS(has_samples, !is_external(c) || c->algo.window != OCT_SAMPLED_ROLLOUT)
HOLDS(has_deviation, !is_external(c) || c->algo.head == OCT_HEAD_GAUSSIAN)
HOLDS(has_values, !is_external(c) || c->algo.head == OCT_HEAD_AUTO ||
                      c->algo.head == OCT_HEAD_VALUES || c->algo.head == OCT_HEAD_ATOMS)
HOLDS(has_noise, !is_external(c) || c->algo.head == OCT_HEAD_AUTO || c->algo.head == OCT_HEAD_TANH)

HOLDS(has_learners, c->learner.count > 1)
HOLDS(sends_gradients, !c->learner.asynchronous)
HOLDS(is_asynchronous, c->learner.asynchronous)

HOLDS(is_int8, c->policy.precision == OCT_PRECISION_INT8)
HOLDS(has_codes,
      c->policy.precision == OCT_PRECISION_INT8 || c->policy.precision == OCT_PRECISION_INT4)
HOLDS(has_percentile, c->policy.range == OCT_RANGE_PERCENTILE)
HOLDS(sends_changes, c->policy.delta)

HOLDS(has_ladder, c->actor.epsilon_base > 0)
HOLDS(has_changing_noise, !c->actor.noise_final_is_same)

HOLDS(has_priorities, c->replay.sampler == OCT_SAMPLER_PRIORITIZED)
HOLDS(has_ratio, c->replay.samples_per_insert > 0)
HOLDS(draws_again, c->replay.sampler != OCT_SAMPLER_FIFO)
HOLDS(has_file, strcmp(c->replay.path, "none") != 0)
HOLDS(syncs_by_time, c->replay.sync == OCT_SYNC_INTERVAL)
HOLDS(has_data, strcmp(c->replay.data, "none") != 0)
HOLDS(has_actors, !oct_config_is_offline(c))

#define IN_TURNS "with run.deterministic: true"
#define ROLLOUTS "with algo.window: rollout"
#define ONCE     "with replay.sampler: fifo, which samples each window once"
#define CODES    "without policy.precision: int8 or int4"
#define OFFLINE  "with a data set alone (replay.data_share: 1)"

// Of several rows with a key, the first whose need is not met tells. "actor.": all keys of actor.
static const struct effect {
    const char *key;
    bool (*has)(const oct_config *config);
    const char *why_not;
} effects[] = {
    {"run.hash_updates", is_deterministic, "without run.deterministic: true"},
    {"env.mjcf_dir", is_of_the_control_suite, "without an env.id that begins with dmc:"},

    {"algo.target_epsilon", takes_other_targets, "with algo.target: q_learning"},
    {"algo.huber_delta", has_huber_loss, "with algo.distributional: true"},
    {"algo.atoms", has_atoms, "without algo.distributional: true"},
    {"algo.value_min", has_atoms, "without algo.distributional: true"},
    {"algo.value_max", has_atoms, "without algo.distributional: true"},
    {"algo.noisy_sigma", is_noisy, "without algo.noisy: true"},
    {"algo.noisy_samples", is_noisy, "without algo.noisy: true"},
    {"algo.target_noise_clip", has_target_noise, "with algo.target_noise: 0"},
    {"algo.initial_temperature", learns_temperature, "without algo.temperature: learned"},
    {"algo.target_entropy", learns_temperature, "without algo.temperature: learned"},
    {"algo.ratio_max", has_importance_weights, "without algo.correction: decoupled"},
    {"algo.n_step", has_n_steps, "without algo.window: n_step"},
    {"algo.sequence_steps", has_sequences, "without algo.window: sequence or rollout"},
    {"algo.rollout_lag", has_rollouts, "without algo.window: rollout"},
    {"algo.initial_deviation", has_deviation, "without algo.head: gaussian"},

    {"learner.asynchronous", has_learners, "without learner.count above 1"},
    {"learner.gradients_bf16", has_learners, "without learner.count above 1"},
    {"learner.gradients_bf16", sends_gradients, "with learner.asynchronous: true"},
    {"learner.staleness_max", is_asynchronous, "without learner.asynchronous: true"},
    {"learner.staleness_max", has_learners, "without learner.count above 1"},
    {"learner.publish_period", is_not_deterministic, IN_TURNS},
    {"learner.publish_s", is_not_deterministic, IN_TURNS},
    {"learner.publish_s_min", is_not_deterministic, IN_TURNS},
    {"learner.publish_core_share", is_not_deterministic, IN_TURNS},
    {"learner.publish_bytes_per_s", is_not_deterministic, IN_TURNS},
    {"learner.checkpoint_s", is_not_deterministic, IN_TURNS "; use learner.checkpoint_turns"},
    {"learner.checkpoint_turns", is_deterministic, "without run.deterministic: true"},

    {"policy.scale", is_int8, "without policy.precision: int8"},
    {"policy.range", has_codes, CODES},
    {"policy.percentile", has_codes, CODES},
    {"policy.percentile", has_percentile, "without policy.range: percentile"},
    {"policy.delta", has_codes, CODES},
    {"policy.dead_band", has_codes, CODES},
    {"policy.drift", has_codes, CODES},
    {"policy.key_frame_period", has_codes, CODES},
    {"policy.key_frame_period", sends_changes, "without policy.delta: true"},

    {"actor.", has_actors, OFFLINE},
    {"actor.epsilon_base", has_values, "without algo.head: values or atoms"},
    {"actor.epsilon_power", has_values, "without algo.head: values or atoms"},
    {"actor.epsilon_power", has_ladder, "with actor.epsilon_base: 0"},
    {"actor.epsilon_persistence", has_values, "without algo.head: values or atoms"},
    {"actor.epsilon_anneal_steps", has_values, "without algo.head: values or atoms"},
    {"actor.noise", has_noise, "without algo.head: tanh"},
    {"actor.noise_low", has_noise, "without algo.head: tanh"},
    {"actor.noise_final", has_noise, "without algo.head: tanh"},
    {"actor.noise_steps", has_noise, "without algo.head: tanh"},
    {"actor.noise_steps", has_changing_noise, "without a number in actor.noise_final"},
    {"actor.noise_correlation", has_noise, "without algo.head: tanh"},
    {"actor.random_steps", has_noise, "without algo.head: tanh"},
    {"actor.rollout_wait_s", has_rollouts, "without algo.window: rollout"},

    {"replay.capacity", has_actors, OFFLINE},
    {"replay.min_size", has_actors, OFFLINE},
    {"replay.samples_per_insert", has_actors, OFFLINE},
    {"replay.tolerance", has_actors, OFFLINE},
    {"replay.path", has_actors, OFFLINE},
    {"replay.sync", has_actors, OFFLINE},
    {"replay.sync_interval_s", has_actors, OFFLINE},
    {"replay.min_size", has_samples, ROLLOUTS},
    {"replay.min_size", draws_again, ONCE},
    {"replay.sampler", has_samples, ROLLOUTS},
    {"replay.priority_exponent", has_samples, ROLLOUTS},
    {"replay.priority_exponent", has_priorities, "without replay.sampler: prioritized"},
    {"replay.importance_exponent", has_samples, ROLLOUTS},
    {"replay.importance_exponent", has_priorities, "without replay.sampler: prioritized"},
    {"replay.importance_exponent_final", has_samples, ROLLOUTS},
    {"replay.importance_exponent_final", has_priorities, "without replay.sampler: prioritized"},
    {"replay.samples_per_insert", has_samples, ROLLOUTS},
    {"replay.samples_per_insert", draws_again, ONCE},
    {"replay.tolerance", has_samples, ROLLOUTS},
    {"replay.tolerance", draws_again, ONCE},
    {"replay.tolerance", has_ratio, "with replay.samples_per_insert: 0"},
    {"replay.sync", has_file, "with replay.path: none"},
    {"replay.sync_interval_s", has_file, "with replay.path: none"},
    {"replay.sync_interval_s", syncs_by_time, "without replay.sync: interval"},
    {"replay.data_share", has_data, "without replay.data"},

    {"evaluation.period_s", is_not_deterministic, IN_TURNS "; use evaluation.period_turns"},
    {"evaluation.period_turns", is_deterministic, "without run.deterministic: true"},
};

static bool
is_of(const struct effect *effect, const char *key)
{
    size_t length = strlen(effect->key);
    bool is_section = effect->key[length - 1] == '.';
    return strncmp(effect->key, key, length) == 0 && (is_section || key[length] == '\0');
}

// What a key that algo.name reads has no effect without; NULL: it has one.
static const char *
need_of(const oct_config *config, const char *key)
{
    for (size_t i = 0; i < OCT_COUNTOF(effects); i++) {
        if (is_of(&effects[i], key) && !effects[i].has(config)) {
            return effects[i].why_not;
        }
    }
    return NULL;
}

// The next key from *at on, which moves, that is not at its default with algo.name; its value in
// out. NULL: there is none.
static const oct_config_key *
next_other(const oct_config *config, size_t *at, char out[OCT_CONFIG_VALUE_MAX])
{
    oct_config defaults;
    char preset[OCT_CONFIG_VALUE_MAX];
    oct_config_default(&defaults);
    defaults.algo.name = config->algo.name;
    oct_config_resolve(&defaults);
    while (*at < oct_config_key_count) {
        const oct_config_key *key = &oct_config_keys[(*at)++];
        if (strcmp(oct_config_value_print(config, key, out),
                   oct_config_value_print(&defaults, key, preset)) != 0) {
            return key;
        }
    }
    return NULL;
}

const oct_config_key *
oct_config_next_unread(const oct_config *config, size_t *at, char out[OCT_CONFIG_VALUE_MAX])
{
    char name[OCT_CONFIG_NAME_MAX];
    const oct_config_key *key;
    while ((key = next_other(config, at, out)) != NULL) {
        oct_config_key_name(key, name);
        if (!oct_config_is_read(config->algo.name, name)) {
            return key;
        }
    }
    return NULL;
}

bool
oct_config_is_on(const oct_config_key *key, const char *value)
{
    return key->kind == OCT_CONFIG_BOOL && strcmp(value, "true") == 0;
}

bool
oct_config_has_effect(const oct_config *config, const char *name, char *why_not, size_t size)
{
    char word[OCT_CONFIG_NAME_MAX], readers[OCT_CONFIG_READERS_MAX];
    if (!oct_config_is_read(config->algo.name, name)) {
        (void)snprintf(why_not, size, "with algo.name: %s; it is an option of %s",
                       oct_config_algo_word(config->algo.name, word),
                       oct_config_readers(name, readers));
        return false;
    }
    const char *lacks = need_of(config, name);
    (void)snprintf(why_not, size, "%s", lacks != NULL ? lacks : "");
    return lacks == NULL;
}

// Whether a key, of those that say how many rollouts are made and how many are learned from, is
// set.
static bool
sets_rollouts(const oct_config *written)
{
    static const char *const keys[][2] = {
        {"learner", "batch_size"}, {"actor", "count"}, {"actor", "envs"}};
    bool is_set = false;
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        const oct_config_key *key = oct_config_key_find(keys[i][0], keys[i][1]);
        is_set = is_set || written->is_given[key - oct_config_keys];
    }
    return is_set;
}

// Every environment makes a rollout of each version.
static void
warn_rollouts(const oct_config *config, const oct_config *written, oct_text *text)
{
    uint64_t made = oct_config_environments(config);
    uint32_t learned = config->learner.batch_size;
    if (oct_config_has_rollouts(config) && learned < made && sets_rollouts(written)) {
        oct_text_add(text,
                     "warning: learner.batch_size: %u rollouts of each version are used, but %llu "
                     "environments make one each (actor.count: %u of actor.envs: %u); the rest are "
                     "discarded\n",
                     learned, (unsigned long long)made, config->actor.count, config->actor.envs);
    }
}

void
oct_config_warn_idle(const oct_config *config, const oct_config *written, char *message,
                     size_t message_size)
{
    char name[OCT_CONFIG_NAME_MAX], value[OCT_CONFIG_VALUE_MAX];
    char why_not[OCT_CONFIG_READERS_MAX + 2 * OCT_CONFIG_NAME_MAX];
    size_t at = 0;
    oct_text text;
    oct_text_init(&text, message, message_size);
    for (const oct_config_key *key; (key = next_other(config, &at, value)) != NULL;) {
        oct_config_key_name(key, name);
        bool is_refused =
            oct_config_is_on(key, value) && !oct_config_is_read(config->algo.name, name);
        if (written->is_given[key - oct_config_keys] && !is_refused &&
            !oct_config_has_effect(config, name, why_not, sizeof(why_not))) {
            oct_text_add(&text, "warning: %s: %s has no effect %s\n", name, value, why_not);
        }
    }
    warn_rollouts(config, written, &text);
}

void
oct_config_forget_unread(oct_config *config, oct_algo_name before, char *names, size_t size)
{
    char name[OCT_CONFIG_NAME_MAX], value[OCT_CONFIG_VALUE_MAX], message[256];
    char assignment[OCT_CONFIG_NAME_MAX + OCT_CONFIG_VALUE_MAX];
    size_t at = 0;
    oct_text text;
    oct_text_init(&text, names, size);
    if (config->algo.name == before || config->algo.name != OCT_ALGO_EXTERNAL) {
        return;
    }
    for (const oct_config_key *key; (key = oct_config_next_unread(config, &at, value)) != NULL;) {
        oct_config_key_name(key, name);
        oct_text_add(&text, "%s%s", text.used > 0 ? ", " : "", name);
        (void)snprintf(assignment, sizeof(assignment), "%s=%s", name, key->preset);
        OCT_ASSERT(oct_config_set(config, assignment, message, sizeof(message)) == OCT_OK);
        config->is_given[key - oct_config_keys] = false;
    }
}
