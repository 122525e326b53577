// Prints an experiment as YAML, and the table of keys as text for the terminal or as Markdown.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "config/config_algos.h"
#include "config/config_table.h"

// ---- experiments

// Returns true if no layer has set a key and its value is the default with algo.name, which
// followed has.
static bool
follows(const config_experiment *config, const config_experiment *followed, const config_key *key)
{
    char own[CONFIG_VALUE_MAX], value[CONFIG_VALUE_MAX];
    return !config->is_given[key - config_keys] && config_defaults_print(key, "", own)[0] != 0 &&
           strcmp(config_value_print(config, key, value), config_value_print(followed, key, own)) ==
               0;
}

// defaults: new keys that have the same value there are left out; NULL: none are.
// followed: keys that follow algo.name are left out; NULL: none are.
static char *
print(const config_experiment *config, const config_experiment *defaults,
      const config_experiment *followed)
{
    char value[CONFIG_VALUE_MAX], usual[CONFIG_VALUE_MAX];
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (config_key_begins_section(key)) {
            fprintf(stream, "%s:\n", key->section);
        }
        (void)config_value_print(config, key, value);
        if (followed != NULL && follows(config, followed, key)) {
            continue;
        }
        if (defaults == NULL || !key->is_new ||
            strcmp(value, config_value_print(defaults, key, usual)) != 0) {
            fprintf(stream, "  %s: %s\n", key->leaf, value);
        }
    }
    OCT_ASSERT(fclose(stream) == 0);
    return out;
}

char *
config_print(const config_experiment *config)
{
    return print(config, NULL, NULL);
}

char *
config_print_base(const config_experiment *config)
{
    config_experiment *followed = oct_alloc(sizeof(*followed));
    *followed = *config;
    config_defaults_apply(followed);
    char *text = print(config, NULL, followed);
    free(followed);
    return text;
}

char *
config_print_for_peers(const config_experiment *config)
{
    config_experiment *defaults = oct_alloc(sizeof(*defaults)), *sent = oct_alloc(sizeof(*sent));
    config_default(defaults);
    *sent = *config;
    sent->algo.n_step = config_n_step(config); // the last release refuses 0
    char *text = print(sent, defaults, NULL);
    free(sent);
    free(defaults);
    return text;
}

// ---- keys

// "d4pg, td3: ", which stands in front of the help.
static const char *
readers_print(const config_key *key, char out[CONFIG_READERS_MAX])
{
    return config_readers_brief(key->name, out);
}

static const char *
default_print(const config_key *key, const char *required)
{
    return key->default_text == NULL      ? required
           : key->default_text[0] == '\0' ? "\"\""
                                          : key->default_text;
}

static void
describe_markdown(FILE *stream, const config_key *key)
{
    bool is_whole = key->kind == CONFIG_U32 || key->kind == CONFIG_U64;
    const char *bold = key->is_basic ? "**" : "", *quote = key->default_text != NULL ? "`" : "";
    char allowed[CONFIG_VALUE_MAX], own[CONFIG_VALUE_MAX], readers[CONFIG_READERS_MAX];
    if (config_key_begins_section(key)) {
        fprintf(stream, "\n### %s\n\n| key | allowed | default | meaning |\n", key->section);
        fprintf(stream, "|---|---|---|---|\n");
    }
    (void)config_defaults_print(key, "`", own);
    fprintf(stream, "| %s`%s`%s | %s%s | %s%s%s%s%s | %s%s |\n", bold, key->name, bold,
            is_whole ? "whole, " : "", config_allowed(key, allowed), quote,
            default_print(key, "required"), quote, own[0] != 0 ? "; " : "", own,
            readers_print(key, readers), key->help);
}

char *
config_describe_markdown(void)
{
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        describe_markdown(stream, &config_keys[i]);
    }
    OCT_ASSERT(fclose(stream) == 0);
    return out;
}

static void
describe_plain(FILE *stream, const char *name, const config_key *key)
{
    static const char *const kinds[] = {
        [CONFIG_U32] = "whole number", [CONFIG_U64] = "whole number", [CONFIG_F64] = "number",
        [CONFIG_BOOL] = "switch",      [CONFIG_TEXT] = "text",        [CONFIG_WORD] = "word",
        [CONFIG_INTS] = "list",        [CONFIG_LAYERS] = "list",
    };
    char allowed[CONFIG_VALUE_MAX], own[CONFIG_VALUE_MAX], readers[CONFIG_READERS_MAX];
    (void)config_defaults_print(key, "", own);
    fprintf(stream, "%s: %s%s%s%s\n", name, default_print(key, "(required)"),
            own[0] != 0 ? " (" : "", own, own[0] != 0 ? ")" : "");
    fprintf(stream, "      %s; %s\n      %s%s\n", kinds[key->kind], config_allowed(key, allowed),
            readers_print(key, readers), key->help);
}

char *
config_describe(bool is_all)
{
    const char *section = NULL;
    char *out = NULL, name[CONFIG_NAME_MAX + 2];
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (!is_all && !key->is_basic) {
            continue;
        }
        if (section == NULL || strcmp(section, key->section) != 0) {
            fprintf(stream, "%s%s:\n", section != NULL ? "\n" : "", key->section);
            section = key->section;
        }
        (void)snprintf(name, sizeof(name), "  %s", key->leaf);
        describe_plain(stream, name, key);
    }
    OCT_ASSERT(fclose(stream) == 0);
    return out;
}

char *
config_describe_key(const char *name)
{
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    OCT_ASSERT(stream != NULL);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (strcmp(key->name, name) == 0 || strcmp(key->section, name) == 0) {
            describe_plain(stream, key->name, key);
        }
    }
    OCT_ASSERT(fclose(stream) == 0);
    if (length == 0) {
        free(out);
        return NULL;
    }
    return out;
}
