// Finds the end of an option whose value may be a tuple, a list, a dictionary or a text of Python.
#include "common/oct_option.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool
is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

// Behind the quote that closes the one at text; NULL: there is none.
static const char *
quoted_end(const char *text)
{
    const char *at = text + 1;
    while (*at != '\0' && *at != *text) {
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    }
    return *at != '\0' ? at + 1 : NULL;
}

// Behind the bracket that closes the one at text, or the quote.
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
    at += at[0] == 'b' && is_one_of(at[1], "\"'"); // bytes
    if (is_one_of(*at, "([{\"'")) {
        at = enclosed_end(at);
    }
    return at != NULL ? at + strcspn(at, ",") : NULL;
}
