// Parses the options that set keys of an experiment.

#include "cli/run/cli_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "common/oct_reason.h"

#define ACTORS_MAX 256
#define LIST_BYTES 128

oct_err
cli_settings_take(const oct_arg_given *given)
{
    cli_settings *settings = given->field;
    const char *key = given->row->key;
    if (settings->count == CLI_SETTINGS_MAX) {
        return oct_refuse(given->why, "more than %d settings", CLI_SETTINGS_MAX);
    }
    size_t size = strlen(key) + strlen(given->text) + 2;
    char *setting = oct_alloc(size);
    (void)snprintf(setting, size, "%s%s%s", key, key[0] != '\0' ? "=" : "", given->text);
    settings->list[settings->count++] = setting;
    return OCT_OK;
}

// Takes a list: "0,1" is [0,1].
static oct_err
take_layers(const oct_arg_given *given)
{
    char list[LIST_BYTES];
    oct_arg_given bracketed = *given;
    if (strspn(given->text, "0123456789,") != strlen(given->text) || given->text[0] == '\0' ||
        snprintf(list, sizeof(list), "[%s]", given->text) >= (int)sizeof(list)) {
        return OCT_EINVAL;
    }
    bracketed.text = list;
    return cli_settings_take(&bracketed);
}

static oct_err
take_data(const oct_arg_given *given)
{
    cli_settings *settings = given->field;
    if (settings->data != NULL) {
        return oct_refuse(given->why, "two data sets, '%s' and '%s'; name one with --data",
                          settings->data, given->text);
    }
    settings->data = given->text;
    return cli_settings_take(given);
}

const oct_arg cli_settings_rows[] = {
    {CLI_SETTING("set", "KEY=VALUE", TEXT, ""),
     .help = "Override one key of the experiment; may be repeated"},
    {CLI_SETTING("actors", "N", COUNT, "actor.count"), .min = 1, .max = ACTORS_MAX,

     .help = "Start N actors (actor.count)"},
    {CLI_SETTING("learners", "N", COUNT, "learner.count"), .min = 1, .max = CLI_LEARNERS_MAX,

     .help = "Start N learners, which share each batch (learner.count)"},
    {CLI_SETTING("precision", "NAME", TEXT, "policy.precision"), .words = cli_precisions,

     .help =
         "Publish policies in this precision: int8, fp32, bf16, fp16 or int4 (policy.precision)"},
    {CLI_SETTING("seed", "S", COUNT, "run.seed"), .max = CLI_SEED_MAX,

     .help = "Set the seed of the run (run.seed)"},
    {.name = "data",
     .value = "FILE",
     .kind = OCT_ARG_KIND_PATH,
     .take = take_data,
     .key = "replay.data",
     .help = "Learn from this data set (octet data) alone, without actors, for run.updates "
             "(replay.data)"},
    {CLI_SETTING("data-share", "X", TEXT, "replay.data_share"),
     .help = "Take this share of each batch from the data set and the rest from actors "
             "(replay.data_share)"},
    {CLI_SETTING("init-from", "RUN|POLICY", PATH, "learner.init_from"),
     .help = "Start from the layers of another run or of a policy file, where they fit "
             "(learner.init_from)"},
    {.name = "freeze",
     .value = "LAYERS",
     .kind = OCT_ARG_KIND_TEXT,
     .take = take_layers,
     .key = "learner.freeze",
     .allowed = "are layer numbers such as 0,1",
     .help = "Keep these layers of the policy unchanged, such as 0,1, numbered as octet inspect "
             "numbers them (learner.freeze)"},
    {CLI_SETTING("deterministic", NULL, FLAG, "run.deterministic"),
     .help =
         "Run in lock-step, so that the same seed produces the same weights (run.deterministic)"},
    {0},
};

void
cli_settings_free(cli_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        free(settings->list[i]);
    }
    settings->count = 0;
}
