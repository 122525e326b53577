// Prints an experiment as YAML, and the table of keys as Markdown or as text for the terminal.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_algos.h"
#include "common/oct_config_table.h"
#include "common/oct_config_text.h"

static bool
begins_section(size_t index)
{
    return index == 0 ||
           strcmp(oct_config_keys[index - 1].section, oct_config_keys[index].section) != 0;
}

// Whether a key has its value from algo.name alone, as in followed.
static bool
follows(const oct_config *config, const oct_config *followed, size_t index)
{
    const oct_config_key *key = &oct_config_keys[index];
    char own[OCT_CONFIG_VALUE_MAX], value[OCT_CONFIG_VALUE_MAX];
    return !config->is_given[index] && oct_config_defaults_print(key, "", own)[0] != 0 &&
           strcmp(oct_config_value_print(config, key, value),
                  oct_config_value_print(followed, key, own)) == 0;
}

// defaults: of which new keys are left out; NULL: of none. followed: keys that have their values
// from there are left out; NULL: none are.
static char *
print(const oct_config *config, const oct_config *defaults, const oct_config *followed)
{
    char value[OCT_CONFIG_VALUE_MAX], usual[OCT_CONFIG_VALUE_MAX];
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        if (begins_section(i)) {
            fprintf(stream, "%s:\n", key->section);
        }
        (void)oct_config_value_print(config, key, value);
        if (followed != NULL && follows(config, followed, i)) {
            continue;
        }
        if (defaults == NULL || !key->is_new ||
            strcmp(value, oct_config_value_print(defaults, key, usual)) != 0) {
            fprintf(stream, "  %s: %s\n", key->name, value);
        }
    }
    OCT_ASSERT(fclose(stream) == 0);
    return out;
}

char *
oct_config_print(const oct_config *config)
{
    return print(config, NULL, NULL);
}

char *
oct_config_print_base(const oct_config *config)
{
    oct_config *followed = oct_alloc(sizeof(*followed));
    *followed = *config;
    oct_config_defaults_apply(followed);
    char *text = print(config, NULL, followed);
    free(followed);
    return text;
}

char *
oct_config_print_for_peers(const oct_config *config)
{
    oct_config *defaults = oct_alloc(sizeof(*defaults)), *told = oct_alloc(sizeof(*told));
    oct_config_default(defaults);
    *told = *config;
    told->algo.n_step = oct_config_n_step(config); // the last release has no 0 there
    char *text = print(told, defaults, NULL);
    free(told);
    free(defaults);
    return text;
}

static const char *
kind_text(oct_config_kind kind)
{
    switch (kind) {
    case OCT_CONFIG_U32:
    case OCT_CONFIG_U64:
        return "whole number";
    case OCT_CONFIG_F64:
        return "number";
    case OCT_CONFIG_BOOL:
        return "switch";
    case OCT_CONFIG_TEXT:
        return "text";
    case OCT_CONFIG_WORD:
        return "word";
    case OCT_CONFIG_INTS:
        return "list";
    }
    return "";
}

// "d4pg, td3: ", before what a key means.
static const char *
readers_print(const oct_config_key *key, char out[OCT_CONFIG_READERS_MAX])
{
    char name[OCT_CONFIG_NAME_MAX];
    oct_config_key_name(key, name);
    return oct_config_readers_brief(name, out);
}

static void
describe_markdown(FILE *stream, const oct_config_key *key, const char *allowed, bool section)
{
    if (section) {
        fprintf(stream, "\n### %s\n\n| key | allowed | default | meaning |\n", key->section);
        fprintf(stream, "|---|---|---|---|\n");
    }
    bool is_whole = key->kind == OCT_CONFIG_U32 || key->kind == OCT_CONFIG_U64;
    char own[OCT_CONFIG_VALUE_MAX], readers[OCT_CONFIG_READERS_MAX];
    (void)oct_config_defaults_print(key, "`", own);
    fprintf(stream, "| `%s.%s` | %s%s | %s%s%s%s%s | %s%s |\n", key->section, key->name,
            is_whole ? "whole, " : "", allowed, key->preset != NULL ? "`" : "",
            key->preset == NULL   ? "required"
            : key->preset[0] == 0 ? "\"\""
                                  : key->preset,
            key->preset != NULL ? "`" : "", own[0] != 0 ? "; " : "", own,
            readers_print(key, readers), key->help);
}

static void
describe_plain(FILE *stream, const oct_config_key *key, const char *allowed, bool section)
{
    if (section) {
        fprintf(stream, "%s%s:\n", key == oct_config_keys ? "" : "\n", key->section);
    }
    char own[OCT_CONFIG_VALUE_MAX], readers[OCT_CONFIG_READERS_MAX];
    (void)oct_config_defaults_print(key, "", own);
    fprintf(stream, "  %s: %s%s%s%s\n", key->name,
            key->preset == NULL   ? "(required)"
            : key->preset[0] == 0 ? "\"\""
                                  : key->preset,
            own[0] != 0 ? " (" : "", own, own[0] != 0 ? ")" : "");
    fprintf(stream, "      %s; %s\n      %s%s\n", kind_text(key->kind), allowed,
            readers_print(key, readers), key->help);
}

char *
oct_config_describe(bool markdown)
{
    char allowed[OCT_CONFIG_VALUE_MAX];
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        (markdown ? describe_markdown : describe_plain)(
            stream, key, oct_config_allowed(key, allowed), begins_section(i));
    }
    OCT_ASSERT(fclose(stream) == 0);
    return out;
}
