// Comparing two experiments key by key, and finding the key that a message is about.

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_config_table.h"
#include "common/oct_config_text.h"
#include "common/oct_option.h"

// False: perhaps not. It spares the printing of most keys, whose texts are then the same.
static bool
is_surely_same(const oct_config *a, const oct_config *b, const oct_config_key *key)
{
    static const size_t bytes[] = {
        [OCT_CONFIG_U32] = sizeof(uint32_t),  [OCT_CONFIG_U64] = sizeof(uint64_t),
        [OCT_CONFIG_F64] = sizeof(double),    [OCT_CONFIG_BOOL] = sizeof(bool),
        [OCT_CONFIG_WORD] = sizeof(unsigned), [OCT_CONFIG_INTS] = sizeof(oct_config_ints),
    };
    const char *left = (const char *)a + key->offset, *right = (const char *)b + key->offset;
    if (key->kind == OCT_CONFIG_TEXT) {
        return strcmp(left, right) == 0;
    }
    return key->none_flag == 0 && memcmp(left, right, bytes[key->kind]) == 0;
}

bool
oct_config_next_change(oct_config_change *out, const oct_config *before, const oct_config *now,
                       size_t *at)
{
    while (*at < oct_config_key_count) {
        const oct_config_key *key = &oct_config_keys[(*at)++];
        if (is_surely_same(before, now, key)) {
            continue;
        }
        (void)oct_config_value_print(before, key, out->before);
        (void)oct_config_value_print(now, key, out->now);
        if (strcmp(out->before, out->now) != 0) {
            oct_config_key_name(key, out->name);
            return true;
        }
    }
    return false;
}

// NULL: there is none.
static const oct_config_key *
key_of(const char *name)
{
    for (size_t i = 0; i < oct_config_key_count; i++) {
        char key[OCT_CONFIG_NAME_MAX];
        oct_config_key_name(&oct_config_keys[i], key);
        if (strcmp(key, name) == 0) {
            return &oct_config_keys[i];
        }
    }
    return NULL;
}

bool
oct_config_key_is_number(const char *name, bool *is_whole)
{
    const oct_config_key *key = key_of(name);
    *is_whole = key != NULL && (key->kind == OCT_CONFIG_U32 || key->kind == OCT_CONFIG_U64);
    return *is_whole || (key != NULL && key->kind == OCT_CONFIG_F64);
}

bool
oct_config_key_print(const oct_config *config, const char *name, char out[OCT_CONFIG_VALUE_MAX])
{
    static const char options[] = "env.options.";
    const oct_config_key *key = key_of(name);
    if (key != NULL) {
        (void)oct_config_value_print(config, key, out);
    } else if (strncmp(name, options, strlen(options)) == 0) {
        const char *option = oct_option_find(config->env.options, name + strlen(options));
        const char *end = option != NULL ? oct_option_end(option) : NULL;
        (void)snprintf(out, OCT_CONFIG_VALUE_MAX, "%.*s", end != NULL ? (int)(end - option) : 0,
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
oct_config_key_in(char out[OCT_CONFIG_NAME_MAX], const char *text)
{
    const char *first = NULL;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        char name[OCT_CONFIG_NAME_MAX];
        oct_config_key_name(&oct_config_keys[i], name);
        for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
            char after = at[strlen(name)];
            bool is_whole =
                (at == text || !is_of_a_name(at[-1])) &&
                (!is_of_a_name(after) || (after == '.' && !is_of_a_name(at[strlen(name) + 1])));
            if (is_whole && (first == NULL || at < first)) {
                first = at;
                memcpy(out, name, sizeof(name));
            }
        }
    }
    return first != NULL;
}
