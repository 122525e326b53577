// Splits "key=value,key=value" into pairs, refuses empty and repeated keys, and decodes texts of
// JSON.
#include "envs/env_options.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_option.h"
#include "common/oct_reason.h"

#define HEX "0123456789abcdef"

// Returns true if an item has that key, with or without a colon.
static bool
is_key(const char *item, const char *key, size_t length)
{
    return strncmp(item, key, length) == 0 &&
           (item[length] == '\0' || (item[length] == ':' && item[length + 1] == '\0'));
}

static oct_err
item_check(const env_options *options, const char *word, const char *equals, oct_reason *why)
{
    size_t length = oct_option_key(word);
    if (equals == NULL || length == 0 || equals[1] == '\0') {
        oct_reason_set(why, "option \"%s\" is not of the form key=value", word);
        return OCT_EINVAL;
    }
    for (uint32_t i = 0; i < options->count; i++) {
        if (is_key(options->items[i].key, word, length)) {
            oct_reason_set(why, "option \"%.*s\" is given twice", (int)length, word);
            return OCT_EINVAL;
        }
    }
    if (options->count == ENV_OPTIONS_MAX) {
        return oct_refuse(why, "more than %d options", ENV_OPTIONS_MAX);
    }
    return OCT_OK;
}

oct_err
env_options_init(env_options *out, const char *text, oct_reason *why)
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
            oct_reason_set(
                why, "option \"%s\": the bracket or quote that its value begins with is not closed",
                word);
            env_options_fini(&options);
            return OCT_EINVAL;
        }
        char *comma = *end == ',' ? word + (end - word) : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
        char *equals = strchr(word, '=');
        if (item_check(&options, word, equals, why) != OCT_OK) {
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

// ---- JSON

// Four hexadecimal digits. False: they are none.
static bool
code_read(const char *text, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const char *digit = text[i] != '\0' ? strchr(HEX, tolower((unsigned char)text[i])) : NULL;
        if (digit == NULL) {
            return false;
        }
        *code = 16 * *code + (uint32_t)(digit - HEX);
    }
    return true;
}

// The character of "u1234", or of "ud83d\ude00", at text as UTF-8. Gives the bytes that were read;
// 0: it is none, or NUL.
static size_t
character_read(const char *text, char **out)
{
    uint32_t code, low;
    if (!code_read(text + 1, &code) || code == 0 || (code >= 0xDC00 && code < 0xE000)) {
        return 0;
    }
    size_t read = 5;
    if (code >= 0xD800 && code < 0xDC00) {
        if (text[5] != '\\' || text[6] != 'u' || !code_read(text + 7, &low) || low < 0xDC00 ||
            low >= 0xE000) {
            return 0;
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        read = 11;
    }
    uint32_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xC0, 0xE0, 0xF0};
    *(*out)++ = (char)(first[more] | code >> (6 * more));
    while (more-- > 0) {
        *(*out)++ = (char)(0x80 | (code >> (6 * more) & 0x3F));
    }
    return read;
}

// A text of JSON becomes what it says, which is no longer. False: it is none, or has a NUL.
static bool
text_decode(char *text)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *out = text;
    for (const char *at = text + 1; *at != '\0';) {
        if (*at == '"') {
            *out = '\0';
            return at[1] == '\0';
        }
        const char *letter = at[0] == '\\' && at[1] != '\0' ? strchr(letters, at[1]) : NULL;
        size_t read = letter != NULL ? 2 : 1;
        if (letter != NULL) {
            *out++ = meant[letter - letters];
        } else if (*at != '\\') {
            *out++ = *at;
        } else if (at[1] != 'u' || (read = 1 + character_read(at + 1, &out)) == 1) {
            return false;
        }
        at += read;
    }
    return false;
}

oct_err
env_options_decode(env_options *options, oct_reason *why)
{
    for (uint32_t i = 0; i < options->count; i++) {
        char *key = options->text + (options->items[i].key - options->text);
        char *value = options->text + (options->items[i].value - options->text);
        char *last = key + strlen(key) - 1;
        if (*last != ':') {
            continue;
        }
        *last = '\0';
        if (*value == '"' && !text_decode(value)) {
            return oct_refuse(why, "option \"%s\": its text is not JSON", key);
        }
    }
    return OCT_OK;
}

const char *
env_options_take(env_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (is_key(options->items[i].key, key, strlen(key))) {
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
