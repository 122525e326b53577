// Splits "key=value,key=value" into pairs, and refuses empty and repeated keys.
#include "envs/env_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_option.h"

static oct_err
item_check(const env_options *options, const char *word, const char *equals, char *reason,
           size_t reason_size)
{
    if (equals == NULL || equals == word || equals[1] == '\0') {
        snprintf(reason, reason_size, "option \"%s\" is not of the form key=value", word);
        return OCT_EINVAL;
    }
    size_t length = (size_t)(equals - word);
    for (uint32_t i = 0; i < options->count; i++) {
        const char *key = options->items[i].key;
        if (strlen(key) == length && memcmp(key, word, length) == 0) {
            snprintf(reason, reason_size, "option \"%s\" is given twice", key);
            return OCT_EINVAL;
        }
    }
    if (options->count == ENV_OPTIONS_MAX) {
        snprintf(reason, reason_size, "more than %d options", ENV_OPTIONS_MAX);
        return OCT_EINVAL;
    }
    return OCT_OK;
}

oct_err
env_options_init(env_options *out, const char *text, char *reason, size_t reason_size)
{
    env_options options = {0};
    size_t bytes = strlen(text != NULL ? text : "") + 1;
    options.text = oct_alloc(bytes);
    memcpy(options.text, text != NULL ? text : "", bytes);
    options.items = oct_alloc(ENV_OPTIONS_MAX * sizeof(*options.items));
    char *word = options.text[0] != '\0' ? options.text : NULL;
    while (word != NULL) {
        const char *end = oct_option_end(word);
        if (end == NULL) {
            snprintf(reason, reason_size,
                     "option \"%s\": the bracket or quote that its value begins with is not closed",
                     word);
            env_options_fini(&options);
            return OCT_EINVAL;
        }
        char *comma = *end == ',' ? word + (end - word) : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
        char *equals = strchr(word, '=');
        if (item_check(&options, word, equals, reason, reason_size) != OCT_OK) {
            env_options_fini(&options);
            return OCT_EINVAL;
        }
        *equals = '\0';
        options.items[options.count++] = (octet_env_option){.key = word, .value = equals + 1};
        word = comma != NULL ? comma + 1 : NULL;
    }
    *out = options;
    return OCT_OK;
}

const char *
env_options_take(env_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (strcmp(options->items[i].key, key) == 0) {
            const char *value = options->items[i].value;
            options->count--;
            memmove(&options->items[i], &options->items[i + 1],
                    (options->count - i) * sizeof(*options->items));
            return value;
        }
    }
    return NULL;
}

void
env_options_fini(env_options *options)
{
    free(options->text);
    free(options->items);
    *options = (env_options){0};
}
