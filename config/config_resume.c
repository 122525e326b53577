// Checks that a resumed run differs from the stored run only in keys that may change.
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_algos.h"

// Returns the name that identifies an environment. A plug-in may have moved to another folder.
static const char *
env_name(const char *id)
{
    size_t length = strlen(id);
    const char *slash = strrchr(id, '/');
    bool is_file = length > 3 && strcmp(id + length - 3, ".so") == 0;
    return is_file && slash != NULL ? slash + 1 : id;
}

static void
warn_text(oct_text *text, const char *key, const char *before, const char *now)
{
    if (strcmp(before, now) != 0) {
        oct_text_add(text,
                     "warning: %s: '%s', but the run had '%s' so far; what it has learned depends "
                     "on the old value\n",
                     key, now, before);
    }
}

// Warns of keys that change what a learned value is the sum of.
static void
warn_return(oct_text *text, const config_experiment *before, const config_experiment *now)
{
    static const config_key_index keys[] = {
        CONFIG_KEY_algo_discount,
        CONFIG_KEY_algo_reward_clip,
        CONFIG_KEY_algo_temperature,
        CONFIG_KEY_algo_scale_rewards,
    };
    char old_value[CONFIG_VALUE_MAX], new_value[CONFIG_VALUE_MAX];
    for (size_t i = 0; i < OCT_COUNTOF(keys); i++) {
        const config_key *key = &config_keys[keys[i]];
        (void)config_value_print(before, key, old_value);
        (void)config_value_print(now, key, new_value);
        if (strcmp(old_value, new_value) != 0) {
            oct_text_add(text,
                         "warning: %s: %s, but the run had %s so far; what it has learned "
                         "depends on the old value\n",
                         key->name, new_value, old_value);
        }
    }
}

static void
refuse_of_table(oct_text *text, config_key_index index, const config_experiment *before,
                const config_experiment *now)
{
    char old_value[CONFIG_VALUE_MAX], new_value[CONFIG_VALUE_MAX];
    const config_key *key = &config_keys[index];
    oct_text_add(text, "error: %s: %s, but the table of the run to resume was made with %s; %s\n",
                 key->name, config_value_print(now, key, new_value),
                 config_value_print(before, key, old_value),
                 now->run.deterministic ? "start a new run"
                                        : "for an empty table set replay.path to a new file, or to "
                                          "none");
}

// Checks the keys that a table was made with. The checkpoint refuses another algorithm.
static oct_err
check_resume_table(const config_experiment *before, const config_experiment *now, oct_text *text)
{
    bool is_same = before->algo.name == now->algo.name;
    bool has_sampler = is_same && !config_takes_each_once(now);
    if (is_same && config_shard_capacity(before) != config_shard_capacity(now)) {
        refuse_of_table(text, CONFIG_KEY_replay_capacity, before, now);
    }
    if (has_sampler && before->replay.sampler != now->replay.sampler) {
        refuse_of_table(text, CONFIG_KEY_replay_sampler, before, now);
    }
    if (has_sampler && now->replay.sampler == CONFIG_SAMPLER_PRIORITIZED &&
        before->replay.priority_exponent != now->replay.priority_exponent) {
        refuse_of_table(text, CONFIG_KEY_replay_priority_exponent, before, now);
    }
    return text->used > 0 ? OCT_EINVAL : OCT_OK;
}

// Checks the shards. A run may add shards but not remove one, and each keeps as many rows as
// before.
static oct_err
check_resume_tables(const config_experiment *before, const config_experiment *now, oct_text *text)
{
    uint32_t had = config_shards(before), has = config_shards(now);
    uint64_t each = config_shard_capacity(before);
    if (config_is_offline(before) || config_is_offline(now)) {
        return OCT_OK; // the table of a data set never changes
    }
    if (has < had) {
        oct_text_add(text,
                     "error: replay.shards: %u, but the run to resume has rows in %u shards; name "
                     "all of them (replay.shards, net.replay)\n",
                     has, had);
        return OCT_EINVAL;
    }
    if (has > had && config_shard_capacity(now) != each) {
        oct_text_add(text,
                     "error: replay.capacity: %llu rows in %u shards, but each shard of the run to "
                     "resume keeps %llu rows; set %llu\n",
                     (unsigned long long)now->replay.capacity, has, (unsigned long long)each,
                     (unsigned long long)(each * has));
        return OCT_EINVAL;
    }
    return check_resume_table(before, now, text);
}

oct_err
config_check_resume(const config_experiment *before, const config_experiment *now, bool has_tables,
                    char *message, size_t message_size)
{
    oct_text text;
    oct_text_init(&text, message, message_size);
    if (strcmp(env_name(before->env.id), env_name(now->env.id)) != 0) {
        oct_text_add(&text,
                     "error: env.id: %s, but the run to resume has learned %s; start a new run\n",
                     now->env.id, before->env.id);
        return OCT_EINVAL;
    }
    if (strcmp(before->env.options, now->env.options) != 0) {
        oct_text_add(&text,
                     "error: env.options: '%s', but the run to resume has learned with '%s'; "
                     "returns would not be comparable; start a new run\n",
                     now->env.options, before->env.options);
        return OCT_EINVAL;
    }
    if (strcmp(before->learner.init_from, now->learner.init_from) != 0) {
        oct_text_add(&text,
                     "error: learner.init_from: '%s', but the run to resume started from '%s'; "
                     "start a new run\n",
                     now->learner.init_from, before->learner.init_from);
        return OCT_EINVAL;
    }
    if (has_tables) {
        OCT_TRY(check_resume_tables(before, now, &text));
    }
    warn_text(&text, "env.mjcf_dir", before->env.mjcf_dir, now->env.mjcf_dir);
    warn_return(&text, before, now);
    return OCT_OK;
}
