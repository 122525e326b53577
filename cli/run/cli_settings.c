// Parses the options that set keys of an experiment.

#include "cli/run/cli_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "policy/policy_format.h"

#define ACTORS_MAX 256
#define LIST_BYTES 128

enum {
    KEY_SET = 0x400, // apart from those of the commands
    KEY_ACTORS,
    KEY_LEARNERS,
    KEY_PRECISION,
    KEY_SEED,
    KEY_DETERMINISTIC,
    KEY_DATA,
    KEY_DATA_SHARE,
    KEY_INIT_FROM,
    KEY_FREEZE,
};

static const struct argp_option option_table[] = {
    {"set", KEY_SET, "KEY=VALUE", 0, "Override one key of the experiment; may be repeated", 0},
    {"actors", KEY_ACTORS, "N", 0, "Start N actors (actor.count)", 0},
    {"learners", KEY_LEARNERS, "N", 0, "Start N learners, which share each batch (learner.count)",
     0},
    {"precision", KEY_PRECISION, "NAME", 0,
     "Publish policies in this precision: int8, fp32, bf16, fp16 or int4 (policy.precision)", 0},
    {"seed", KEY_SEED, "S", 0, "Set the seed of the run (run.seed)", 0},
    {"data", KEY_DATA, "FILE", 0,
     "Learn from this data set (octet data) alone, without actors, for run.updates (replay.data)",
     0},
    {"data-share", KEY_DATA_SHARE, "X", 0,
     "Take this share of each batch from the data set and the rest from actors (replay.data_share)",
     0},
    {"init-from", KEY_INIT_FROM, "RUN|POLICY", 0,
     "Start from the layers of another run or of a policy file, where they fit (learner.init_from)",
     0},
    {"freeze", KEY_FREEZE, "LAYERS", 0,
     "Keep these layers of the policy unchanged, such as 0,1, numbered as octet inspect numbers "
     "them (learner.freeze)",
     0},
    {"deterministic", KEY_DETERMINISTIC, NULL, 0,
     "Run in lock-step, so that the same seed produces the same weights (run.deterministic)", 0},
    {0},
};

// Adds "key=value"; if key is "", value is a whole setting.
static void
add(cli_settings *settings, const char *key, const char *value)
{
    if (settings->count == CLI_SETTINGS_MAX) {
        cli_usage_error(settings->command, "more than %d settings", CLI_SETTINGS_MAX);
    }
    size_t size = strlen(key) + strlen(value) + 2;
    char *setting = oct_alloc(size);
    (void)snprintf(setting, size, "%s%s%s", key, key[0] != '\0' ? "=" : "", value);
    settings->list[settings->count++] = setting;
}

// Adds a list: "0,1" is [0,1].
static void
add_list(cli_settings *settings, const char *key, const char *value)
{
    char list[LIST_BYTES];
    if (strspn(value, "0123456789,") != strlen(value) || value[0] == '\0' ||
        snprintf(list, sizeof(list), "[%s]", value) >= (int)sizeof(list)) {
        cli_usage_error(settings->command,
                        "--freeze is '%s'; allowed are layer numbers such as 0,1", value);
    }
    add(settings, key, list);
}

static void
add_precision(cli_settings *settings, const char *value)
{
    if (!policy_precision_parse(&(policy_precision){0}, value)) {
        cli_usage_error(settings->command,
                        "--precision is '%s'; allowed is int8, fp32, bf16, fp16, int4", value);
    }
    add(settings, "policy.precision", value);
}

static void
add_data(cli_settings *settings, const char *path)
{
    if (settings->data != NULL) {
        cli_usage_error(settings->command, "two data sets, '%s' and '%s'; name one with --data",
                        settings->data, path);
    }
    settings->data = path;
    add(settings, "replay.data", path);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    cli_settings *settings = state->input;
    switch (key) {
    case KEY_SET:
        add(settings, "", arg);
        return 0;
    case KEY_ACTORS:
        (void)cli_option_number(settings->command, "--actors", arg, 1, ACTORS_MAX);
        add(settings, "actor.count", arg);
        return 0;
    case KEY_LEARNERS:
        (void)cli_option_number(settings->command, "--learners", arg, 1, CLI_LEARNERS_MAX);
        add(settings, "learner.count", arg);
        return 0;
    case KEY_PRECISION:
        add_precision(settings, arg);
        return 0;
    case KEY_SEED:
        (void)cli_option_number(settings->command, "--seed", arg, 0, CLI_SEED_MAX);
        add(settings, "run.seed", arg);
        return 0;
    case KEY_DATA:
        add_data(settings, arg);
        return 0;
    case KEY_DATA_SHARE:
        add(settings, "replay.data_share", arg);
        return 0;
    case KEY_DETERMINISTIC:
        add(settings, "run.deterministic", "true");
        return 0;
    case KEY_INIT_FROM:
        add(settings, "learner.init_from", arg);
        return 0;
    case KEY_FREEZE:
        add_list(settings, "learner.freeze", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_settings_argp = {.options = option_table, .parser = parse};

void
cli_settings_free(cli_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->list[i]);
    }
    settings->count = 0;
}
