// The keys that have an effect only beside certain values of other keys, and the warnings about
// keys without effect.
#include "config/config_effects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_algos.h"

#define HOLDS(name, ...)                                                                           \
    static bool name(const config_experiment *c)                                                   \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

HOLDS(is_deterministic, c->run.deterministic)
HOLDS(is_not_deterministic, !c->run.deterministic)
HOLDS(is_of_the_control_suite, strncmp(c->env.id, "dmc:", strlen("dmc:")) == 0)

HOLDS(takes_other_targets, c->algo.target != CONFIG_TARGET_Q_LEARNING)
HOLDS(has_huber_loss, !c->algo.distributional)
HOLDS(has_atoms, c->algo.name != CONFIG_ALGO_DQN || c->algo.distributional)
HOLDS(is_noisy, c->algo.noisy)
HOLDS(has_target_noise, c->algo.target_noise > 0)
HOLDS(learns_temperature, isnan(c->algo.temperature))
HOLDS(has_importance_weights,
      (c->algo.name != CONFIG_ALGO_PPO && c->algo.name != CONFIG_ALGO_TRPO) ||
          c->algo.correction == CONFIG_CORRECTION_DECOUPLED)

// What the windows and outputs of an external program need. All heads count where the head follows
// from the actions.
HOLDS(is_external, c->algo.name == CONFIG_ALGO_EXTERNAL)
HOLDS(has_n_steps, !is_external(c) || c->algo.window == CONFIG_SAMPLED_N_STEP)
HOLDS(has_sequences, !is_external(c) || c->algo.window != CONFIG_SAMPLED_N_STEP)
HOLDS(has_rollouts, !is_external(c) || c->algo.window == CONFIG_SAMPLED_ROLLOUT)
HOLDS(has_samples, !is_external(c) || c->algo.window != CONFIG_SAMPLED_ROLLOUT)
HOLDS(has_deviation, !is_external(c) || c->algo.head == CONFIG_HEAD_GAUSSIAN)
HOLDS(has_values, !is_external(c) || c->algo.head == CONFIG_HEAD_AUTO ||
                      c->algo.head == CONFIG_HEAD_VALUES || c->algo.head == CONFIG_HEAD_ATOMS)
HOLDS(has_noise,
      !is_external(c) || c->algo.head == CONFIG_HEAD_AUTO || c->algo.head == CONFIG_HEAD_TANH)

HOLDS(has_learners, c->learner.count > 1)
HOLDS(sends_gradients, !c->learner.asynchronous)
HOLDS(is_asynchronous, c->learner.asynchronous)

HOLDS(is_int8, c->policy.precision == CONFIG_PRECISION_INT8)
HOLDS(has_codes,
      c->policy.precision == CONFIG_PRECISION_INT8 || c->policy.precision == CONFIG_PRECISION_INT4)
HOLDS(has_percentile, c->policy.range == CONFIG_RANGE_PERCENTILE)
HOLDS(sends_changes, c->policy.delta)

HOLDS(has_ladder, c->actor.epsilon_base > 0)
HOLDS(has_changing_noise, !c->actor.noise_final_is_same)

HOLDS(has_priorities, c->replay.sampler == CONFIG_SAMPLER_PRIORITIZED)
HOLDS(has_ratio, c->replay.samples_per_insert > 0)
HOLDS(draws_again, c->replay.sampler != CONFIG_SAMPLER_FIFO)
HOLDS(has_file, strcmp(c->replay.path, "none") != 0)
HOLDS(syncs_by_time, c->replay.sync == CONFIG_SYNC_INTERVAL)
HOLDS(has_data, strcmp(c->replay.data, "none") != 0)
HOLDS(has_actors, !config_is_offline(c))

#define IN_TURNS "with run.deterministic: true"
#define ROLLOUTS "with algo.window: rollout"
#define ONCE     "with replay.sampler: fifo, which samples each window once"
#define CODES    "without policy.precision: int8 or int4"
#define OFFLINE  "with a data set alone (replay.data_share: 1)"

// If several rows have a key, the first one whose condition is false gives the reason. "actor."
// stands for all keys of actor.
static const struct effect {
    const char *key;
    bool (*has)(const config_experiment *config);
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

// Returns the reason why a key that algo.name reads has no effect, or NULL if it has one.
static const char *
need_of(const config_experiment *config, const char *key)
{
    for (size_t i = 0; i < OCT_COUNTOF(effects); i++) {
        if (is_of(&effects[i], key) && !effects[i].has(config)) {
            return effects[i].why_not;
        }
    }
    return NULL;
}

// Finds the next key, from the row *at on, that is not at its default with algo.name, and moves *at
// behind it. Its value is printed to out. Returns NULL if there is none.
static const config_key *
next_other(const config_experiment *config, size_t *at, char out[CONFIG_VALUE_MAX])
{
    config_experiment defaults;
    char usual[CONFIG_VALUE_MAX];
    config_default(&defaults);
    defaults.algo.name = config->algo.name;
    config_resolve(&defaults);
    while (*at < CONFIG_KEYS) {
        const config_key *key = &config_keys[(*at)++];
        if (strcmp(config_value_print(config, key, out),
                   config_value_print(&defaults, key, usual)) != 0) {
            return key;
        }
    }
    return NULL;
}

const config_key *
config_next_unread(const config_experiment *config, size_t *at, char out[CONFIG_VALUE_MAX])
{
    const config_key *key;
    do {
        key = next_other(config, at, out);
    } while (key != NULL && config_is_read(config->algo.name, key->name));
    return key;
}

bool
config_is_on(const config_key *key, const char *value)
{
    return key->kind == CONFIG_BOOL && strcmp(value, "true") == 0;
}

bool
config_has_effect(const config_experiment *config, const char *name, char *why_not, size_t size)
{
    char readers[CONFIG_READERS_MAX];
    if (!config_is_read(config->algo.name, name)) {
        (void)snprintf(why_not, size, "with algo.name: %s; it is an option of %s",
                       config_algo_word(config->algo.name), config_readers(name, readers));
        return false;
    }
    const char *lacks = need_of(config, name);
    (void)snprintf(why_not, size, "%s", lacks != NULL ? lacks : "");
    return lacks == NULL;
}

// Returns true if a layer sets how many rollouts are made or used.
static bool
sets_rollouts(const config_experiment *written)
{
    const bool *is_given = written->is_given;
    return is_given[CONFIG_KEY_learner_batch_size] || is_given[CONFIG_KEY_actor_count] ||
           is_given[CONFIG_KEY_actor_envs];
}

// Warns if the environments, each of which makes a rollout of each version, make more than a batch
// uses.
static void
warn_rollouts(const config_experiment *config, const config_experiment *written, oct_text *text)
{
    uint64_t made = config_environments(config);
    uint32_t learned = config->learner.batch_size;
    if (config_has_rollouts(config) && learned < made && sets_rollouts(written)) {
        oct_text_add(text,
                     "warning: learner.batch_size: %u rollouts of each version are used, but %llu "
                     "environments make one each (actor.count: %u of actor.envs: %u); the rest are "
                     "discarded\n",
                     learned, (unsigned long long)made, config->actor.count, config->actor.envs);
    }
}

void
config_warn_idle(const config_experiment *config, const config_experiment *written, char *message,
                 size_t message_size)
{
    char value[CONFIG_VALUE_MAX];
    char why_not[CONFIG_READERS_MAX + 2 * CONFIG_NAME_MAX];
    size_t at = 0;
    oct_text text;
    oct_text_init(&text, message, message_size);
    for (const config_key *key; (key = next_other(config, &at, value)) != NULL;) {
        bool is_refused = config_is_on(key, value) && !config_is_read(config->algo.name, key->name);
        if (written->is_given[key - config_keys] && !is_refused &&
            !config_has_effect(config, key->name, why_not, sizeof(why_not))) {
            oct_text_add(&text, "warning: %s: %s has no effect %s\n", key->name, value, why_not);
        }
    }
    warn_rollouts(config, written, &text);
}

void
config_forget_unread(config_experiment *config, config_algo_name before, char *names, size_t size)
{
    char value[CONFIG_VALUE_MAX], message[256], assignment[CONFIG_NAME_MAX + CONFIG_VALUE_MAX];
    size_t at = 0;
    oct_text text;
    oct_text_init(&text, names, size);
    if (config->algo.name == before || config->algo.name != CONFIG_ALGO_EXTERNAL) {
        return;
    }
    for (const config_key *key; (key = config_next_unread(config, &at, value)) != NULL;) {
        oct_text_add(&text, "%s%s", text.used > 0 ? ", " : "", key->name);
        (void)snprintf(assignment, sizeof(assignment), "%s=%s", key->name, key->default_text);
        OCT_ASSERT(config_set(config, assignment, message, sizeof(message)) == OCT_OK);
        config->is_given[key - config_keys] = false;
    }
}
