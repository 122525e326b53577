// Defaults, which for some keys depend on the algorithm: where the common default would be refused
// with that algorithm, or would make it learn from steps of old policies.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_algos.h"
#include "config/config_table.h"

#define OF(algo)  (1u << CONFIG_ALGO_##algo)
#define ROLLOUTS  (OF(PPO) | OF(A2C) | OF(TRPO))
#define SEQUENCES (OF(REINFORCE) | OF(VTRACE))

// Rows that each environment has in replay with blocks of the usual size (replay_config.h).
#define STREAM_ROWS 256

// The presets' values, for experiments that set little more than algo.name.
static const struct own_default {
    config_key_index key;
    uint32_t algos; // bits 1 << config_algo_name
    const char *value;
} own_defaults[] = {
    {CONFIG_KEY_algo_sequence_steps, OF(PPO) | OF(TRPO), "128"},
    {CONFIG_KEY_algo_sequence_steps, OF(VTRACE), "32"},
    {CONFIG_KEY_algo_sequence_steps, OF(A2C) | OF(TABLE), "16"},
    {CONFIG_KEY_algo_learning_rate, OF(TABLE), "0.1"},
    {CONFIG_KEY_algo_kl_max, OF(TRPO), "0.01"},
    {CONFIG_KEY_learner_batch_size, ROLLOUTS, CONFIG_ENVIRONMENTS},
    {CONFIG_KEY_learner_batch_size, SEQUENCES, "16"},
    {CONFIG_KEY_learner_batch_size, OF(TABLE), "8"},
    {CONFIG_KEY_learner_prefetch, SEQUENCES, "2"},
    {CONFIG_KEY_learner_batches_per_request, SEQUENCES, "1"},
    {CONFIG_KEY_learner_publish_period, SEQUENCES, "1"},
    {CONFIG_KEY_learner_publish_period, OF(TABLE), "20"},
    {CONFIG_KEY_learner_publish_s_min, SEQUENCES, "0"},
    {CONFIG_KEY_replay_capacity, OF(REINFORCE) | OF(TABLE), "16384"},
    {CONFIG_KEY_replay_capacity, OF(VTRACE), "4096"},
    {CONFIG_KEY_replay_capacity, ROLLOUTS, CONFIG_ROLLOUTS},
};

const char *
config_default_with(const config_key *key, config_algo_name algo)
{
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        const struct own_default *own = &own_defaults[i];
        if (&config_keys[own->key] == key && (own->algos & 1u << algo) != 0) {
            return own->value;
        }
    }
    return key->default_text;
}

static void
names_add(oct_text *text, uint32_t algos)
{
    const char *between = "";
    for (uint32_t algo = 0; algo < CONFIG_ALGOS; algo++) {
        if ((algos & 1u << algo) != 0) {
            oct_text_add(text, "%s%s", between, config_algo_word((config_algo_name)algo));
            between = ", ";
        }
    }
}

const char *
config_defaults_print(const config_key *key, const char *quote, char out[CONFIG_VALUE_MAX])
{
    oct_text text;
    oct_text_init(&text, out, CONFIG_VALUE_MAX);
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        if (&config_keys[own_defaults[i].key] == key) {
            oct_text_add(&text, text.used > 0 ? "; " : "");
            names_add(&text, own_defaults[i].algos);
            oct_text_add(&text, ": %s%s%s", quote, own_defaults[i].value, quote);
        }
    }
    return out;
}

// Returns the algorithm whose defaults apply. An external program that learns from rollouts gets
// the defaults of ppo.
static config_algo_name
algo_like(const config_experiment *config)
{
    return config_has_rollouts(config) && config->algo.name == CONFIG_ALGO_EXTERNAL
               ? CONFIG_ALGO_PPO
               : config->algo.name;
}

// Returns the default of key as a value. A formula is evaluated into out and cut to the key's
// maximum.
static const char *
default_value(const config_experiment *config, const config_key *key, char out[24])
{
    const char *text = config_default_with(key, algo_like(config));
    uint64_t value;
    if (strcmp(text, CONFIG_ENVIRONMENTS) == 0) {
        value = config_environments(config);
    } else if (strcmp(text, CONFIG_ROLLOUTS) == 0) {
        // Space for a second actor, because a run that is resumed with one keeps its table and the
        // sizes of its blocks.
        uint64_t envs = (uint64_t)OCT_MAX(2, config->actor.count) * config->actor.envs;
        uint64_t least = OCT_MAX(4096, envs * STREAM_ROWS) * config_shards(config);
        value = OCT_MAX(config_rollouts_held(config, envs), least);
    } else {
        return text;
    }
    (void)snprintf(out, 24, "%.0f", OCT_MIN((double)value, key->max));
    return out;
}

void
config_defaults_apply(config_experiment *config)
{
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        const config_key *key = &config_keys[own_defaults[i].key];
        char number[24];
        if (!config->is_given[own_defaults[i].key]) {
            config_value_store(config, key, default_value(config, key, number));
        }
    }
}

void
config_unset_defaults(config_experiment *config)
{
    char now[CONFIG_VALUE_MAX], own[CONFIG_VALUE_MAX];
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        config_key_index index = own_defaults[i].key;
        const config_key *key = &config_keys[index];
        config_experiment followed = *config;
        followed.is_given[index] = false;
        config_defaults_apply(&followed);
        if (strcmp(config_value_print(config, key, now), config_value_print(&followed, key, own)) ==
            0) {
            config->is_given[index] = false;
        }
    }
}

// ---- an experiment that sets nothing

static config_experiment defaults;
static pthread_once_t defaults_once = PTHREAD_ONCE_INIT;

static void
defaults_make(void)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        char message[1024], assignment[CONFIG_VALUE_MAX];
        if (key->default_text != NULL) {
            (void)snprintf(assignment, sizeof(assignment), "%s=%s", key->name, key->default_text);
            OCT_ASSERT(config_set(&defaults, assignment, message, sizeof(message)) == OCT_OK);
        }
    }
    memset(defaults.is_given, 0, sizeof(defaults.is_given));
}

void
config_default(config_experiment *out)
{
    // Parsing every default takes a while, and every experiment begins with them.
    OCT_ASSERT(pthread_once(&defaults_once, defaults_make) == 0);
    memcpy(out, &defaults, sizeof(*out));
}
