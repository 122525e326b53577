#ifndef COMMON_OCT_OPTION_H
#define COMMON_OCT_OPTION_H

#include <stddef.h>

#include "common/oct_text.h"

// The options of an environment as text, "key=value,key=value": env.options, --options. A value
// that begins with a bracket or a quote, as Python's do, holds commas until that closes; any other
// ends at the next comma. Of "key:=value" the value is JSON. Pure functions. Threads: any.

// Behind the option that text begins with: at a comma, or at the end. NULL: a bracket or a quote
// that its value begins with is not closed.
const char *oct_option_end(const char *text);
// Bytes of the key that text begins with.
size_t oct_option_key(const char *text);
// The option with that key; NULL: there is none.
const char *oct_option_find(const char *options, const char *key);
// Adds options, but the one with that key, to text.
void oct_option_add_others(oct_text *text, const char *options, const char *key);

#endif // COMMON_OCT_OPTION_H
