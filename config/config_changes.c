// Compares two experiments key by key, and reads single keys by their names.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_option.h"
#include "config/config_table.h"

// Returns true if the fields of key are equal, so that most keys need not be printed. False does
// not mean that their texts differ.
static bool
is_surely_same(const config_experiment *a, const config_experiment *b, const config_key *key)
{
    static const size_t bytes[] = {
        [CONFIG_U32] = sizeof(uint32_t),  [CONFIG_U64] = sizeof(uint64_t),
        [CONFIG_F64] = sizeof(double),    [CONFIG_BOOL] = sizeof(bool),
        [CONFIG_WORD] = sizeof(unsigned), [CONFIG_INTS] = sizeof(config_ints),
    };
    const char *left = (const char *)a + key->offset, *right = (const char *)b + key->offset;
    if (key->kind == CONFIG_TEXT || key->kind == CONFIG_LAYERS) {
        return strcmp(left, right) == 0;
    }
    return key->flag == 0 && memcmp(left, right, bytes[key->kind]) == 0;
}

bool
config_next_change(config_change *out, const config_experiment *before,
                   const config_experiment *now, size_t *at)
{
    while (*at < CONFIG_KEYS) {
        const config_key *key = &config_keys[(*at)++];
        if (is_surely_same(before, now, key)) {
            continue;
        }
        (void)config_value_print(before, key, out->before);
        (void)config_value_print(now, key, out->now);
        if (strcmp(out->before, out->now) != 0) {
            (void)snprintf(out->name, sizeof(out->name), "%s", key->name);
            return true;
        }
    }
    return false;
}

bool
config_key_is_number(const char *name, bool *is_whole)
{
    const config_key *key = config_key_find(name);
    *is_whole = key != NULL && (key->kind == CONFIG_U32 || key->kind == CONFIG_U64);
    return *is_whole || (key != NULL && key->kind == CONFIG_F64);
}

bool
config_key_print(const config_experiment *config, const char *name, char out[CONFIG_VALUE_MAX])
{
    static const char options[] = "env.options.";
    const config_key *key = config_key_find(name);
    if (key != NULL) {
        (void)config_value_print(config, key, out);
    } else if (strncmp(name, options, strlen(options)) == 0) {
        const char *option = oct_option_find(config->env.options, name + strlen(options));
        const char *end = option != NULL ? oct_option_end(option) : NULL;
        (void)snprintf(out, CONFIG_VALUE_MAX, "%.*s", end != NULL ? (int)(end - option) : 0,
                       option != NULL ? option : "");
        return true;
    }
    return key != NULL;
}

static bool
is_of_a_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

bool
config_key_in(char out[CONFIG_NAME_MAX], const char *text)
{
    const char *first = NULL;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const char *name = config_keys[i].name;
        for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
            char after = at[strlen(name)];
            bool is_whole =
                (at == text || !is_of_a_name(at[-1])) &&
                (!is_of_a_name(after) || (after == '.' && !is_of_a_name(at[strlen(name) + 1])));
            if (is_whole && (first == NULL || at < first)) {
                first = at;
                (void)snprintf(out, CONFIG_NAME_MAX, "%s", name);
            }
        }
    }
    return first != NULL;
}
