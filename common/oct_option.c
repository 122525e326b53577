// Splits the options of an environment, whose values may be tuples, lists, dictionaries or strings
// of Python.
#include "common/oct_option.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool
is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

// Returns the position after the closing quote of the string at text. NULL: the string is not
// closed.
static const char *
quoted_end(const char *text)
{
    const char *at = text + 1;
    while (*at != '\0' && *at != *text) {
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1; // an escaped quote does not close
    }
    return *at != '\0' ? at + 1 : NULL;
}

// Returns the position after the closing bracket or quote of the value at text. NULL: it is not
// closed. Brackets are counted, not matched by kind.
static const char *
enclosed_end(const char *text)
{
    const char *at = text;
    uint32_t depth = 0;
    do {
        if (is_one_of(*at, "\"'")) {
            at = quoted_end(at);
        } else {
            depth += is_one_of(*at, "([{");
            depth -= is_one_of(*at, ")]}");
            at++;
        }
    } while (at != NULL && *at != '\0' && depth > 0);
    return depth == 0 ? at : NULL;
}

const char *
oct_option_end(const char *text)
{
    const char *at = text + strcspn(text, "=,");
    at += *at == '=';
    at += at[0] == 'b' && is_one_of(at[1], "\"'"); // a bytes literal of Python
    if (is_one_of(*at, "([{\"'")) {
        at = enclosed_end(at);
    }
    return at != NULL ? at + strcspn(at, ",") : NULL;
}

size_t
oct_option_key(const char *text)
{
    size_t length = strcspn(text, "=,");
    // without the colon of ":="
    return length - (length > 0 && text[length] == '=' && text[length - 1] == ':');
}

static bool
has_key(const char *text, const char *key)
{
    return oct_option_key(text) == strlen(key) && memcmp(text, key, strlen(key)) == 0;
}

// Returns the position of the next option, and the length of this one. An unclosed option reaches
// to the end of the text.
static const char *
option_next(const char *text, size_t *length)
{
    const char *end = oct_option_end(text);
    *length = end != NULL ? (size_t)(end - text) : strlen(text);
    return text + *length + (text[*length] == ',');
}

const char *
oct_option_find(const char *options, const char *key)
{
    size_t length;
    while (*options != '\0' && !has_key(options, key)) {
        options = option_next(options, &length);
    }
    return *options != '\0' ? options : NULL;
}

void
oct_option_add_others(oct_text *text, const char *options, const char *key)
{
    for (size_t length; *options != '\0';) {
        const char *next = option_next(options, &length);
        if (!has_key(options, key)) {
            oct_text_add(text, "%s%.*s", text->used > 0 ? "," : "", (int)length, options);
        }
        options = next;
    }
}
