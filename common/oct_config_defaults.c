// Defaults, also those that follow the algorithm: where one that suits the others would be refused
// with it, or would have it learn from steps of old policies.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_algos.h"
#include "common/oct_config_table.h"
#include "common/oct_config_text.h"
#include "common/oct_text.h"

#define OF(algo)  (1u << OCT_ALGO_##algo)
#define ROLLOUTS  (OF(PPO) | OF(A2C) | OF(TRPO))
#define SEQUENCES (OF(REINFORCE) | OF(VTRACE))

// What each environment has in replay without smaller blocks than the usual (replay_config.h).
#define STREAM_ROWS 256

// The presets' values, for experiments that say no more than algo.name.
static const struct own_default {
    const char *section, *name;
    uint32_t algos; // bits 1 << oct_algo_name
    const char *value;
} own_defaults[] = {
    {"algo", "sequence_steps", OF(PPO) | OF(TRPO), "128"},
    {"algo", "sequence_steps", OF(VTRACE), "32"},
    {"algo", "sequence_steps", OF(A2C) | OF(TABLE), "16"},
    {"algo", "learning_rate", OF(TABLE), "0.1"},
    {"algo", "kl_max", OF(TRPO), "0.01"},
    {"learner", "batch_size", ROLLOUTS, OCT_CONFIG_ENVIRONMENTS},
    {"learner", "batch_size", SEQUENCES, "16"},
    {"learner", "batch_size", OF(TABLE), "8"},
    {"learner", "prefetch", SEQUENCES, "2"},
    {"learner", "batches_per_request", SEQUENCES, "1"},
    {"learner", "publish_period", SEQUENCES, "1"},
    {"learner", "publish_period", OF(TABLE), "20"},
    {"learner", "publish_s_min", SEQUENCES, "0"},
    {"replay", "capacity", OF(REINFORCE) | OF(TABLE), "16384"},
    {"replay", "capacity", OF(VTRACE), "4096"},
    {"replay", "capacity", ROLLOUTS, OCT_CONFIG_ROLLOUTS},
};

static bool
is_of(const struct own_default *own, const oct_config_key *key)
{
    return strcmp(own->section, key->section) == 0 && strcmp(own->name, key->name) == 0;
}

const char *
oct_config_default_with(const oct_config_key *key, oct_algo_name algo)
{
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        if (is_of(&own_defaults[i], key) && (own_defaults[i].algos & 1u << algo) != 0) {
            return own_defaults[i].value;
        }
    }
    return key->preset;
}

static void
names_add(oct_text *text, uint32_t algos)
{
    char word[OCT_CONFIG_NAME_MAX];
    const char *between = "";
    for (uint32_t algo = 0; algo < OCT_ALGOS; algo++) {
        if ((algos & 1u << algo) != 0) {
            oct_text_add(text, "%s%s", between, oct_config_algo_word((oct_algo_name)algo, word));
            between = ", ";
        }
    }
}

const char *
oct_config_defaults_print(const oct_config_key *key, const char *quote,
                          char out[OCT_CONFIG_VALUE_MAX])
{
    oct_text text;
    oct_text_init(&text, out, OCT_CONFIG_VALUE_MAX);
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        if (is_of(&own_defaults[i], key)) {
            oct_text_add(&text, text.used > 0 ? "; " : "");
            names_add(&text, own_defaults[i].algos);
            oct_text_add(&text, ": %s%s%s", quote, own_defaults[i].value, quote);
        }
    }
    return out;
}

// The one whose defaults count: rollouts of a program of one's own are as many as those of ppo.
static oct_algo_name
algo_like(const oct_config *config)
{
    return oct_config_has_rollouts(config) && config->algo.name == OCT_ALGO_EXTERNAL
               ? OCT_ALGO_PPO
               : config->algo.name;
}

// The default of key as a value: what its words stand for (in out), as far as key may have it.
static const char *
default_value(const oct_config *config, const oct_config_key *key, char out[24])
{
    const char *text = oct_config_default_with(key, algo_like(config));
    uint64_t value;
    if (strcmp(text, OCT_CONFIG_ENVIRONMENTS) == 0) {
        value = oct_config_environments(config);
    } else if (strcmp(text, OCT_CONFIG_ROLLOUTS) == 0) {
        // Room for a second actor: a run that is resumed keeps its table, and its blocks.
        uint64_t envs = (uint64_t)OCT_MAX(2, config->actor.count) * config->actor.envs;
        uint64_t least = OCT_MAX(4096, envs * STREAM_ROWS) * oct_config_shards(config);
        value = OCT_MAX(oct_config_rollouts_held(config, envs), least);
    } else {
        return text;
    }
    (void)snprintf(out, 24, "%.0f", OCT_MIN((double)value, key->max));
    return out;
}

void
oct_config_defaults_apply(oct_config *config)
{
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        const oct_config_key *key =
            oct_config_key_find(own_defaults[i].section, own_defaults[i].name);
        if (config->is_given[key - oct_config_keys]) {
            continue;
        }
        char number[24], reason[256];
        const char *text = default_value(config, key, number);
        const oct_config_scalar value = {.text = text, .length = strlen(text)};
        // The table's own defaults obey the table's bounds.
        OCT_ASSERT(oct_config_value_set(config, key, &value, reason, sizeof(reason)) == OCT_OK);
    }
}

void
oct_config_unset_defaults(oct_config *config)
{
    char now[OCT_CONFIG_VALUE_MAX], own[OCT_CONFIG_VALUE_MAX];
    for (size_t i = 0; i < OCT_COUNTOF(own_defaults); i++) {
        const oct_config_key *key =
            oct_config_key_find(own_defaults[i].section, own_defaults[i].name);
        oct_config followed = *config;
        followed.is_given[key - oct_config_keys] = false;
        oct_config_defaults_apply(&followed);
        if (strcmp(oct_config_value_print(config, key, now),
                   oct_config_value_print(&followed, key, own)) == 0) {
            config->is_given[key - oct_config_keys] = false;
        }
    }
}

// ---- all of them

static oct_config defaults;
static pthread_once_t defaults_once = PTHREAD_ONCE_INIT;

static void
defaults_make(void)
{
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        char message[1024], assignment[OCT_CONFIG_VALUE_MAX];
        if (key->preset != NULL) {
            (void)snprintf(assignment, sizeof(assignment), "%s.%s=%s", key->section, key->name,
                           key->preset);
            // The table's own defaults obey the table's bounds.
            OCT_ASSERT(oct_config_set(&defaults, assignment, message, sizeof(message)) == OCT_OK);
        }
    }
    memset(defaults.is_given, 0, sizeof(defaults.is_given));
}

void
oct_config_default(oct_config *out)
{
    // Each default is text, which is read as a user's is: once, for every configuration begins so.
    OCT_ASSERT(pthread_once(&defaults_once, defaults_make) == 0);
    memcpy(out, &defaults, sizeof(*out));
}
