#ifndef COMMON_OCT_OPTION_H
#define COMMON_OCT_OPTION_H

#include <stddef.h>

#include "common/oct_text.h"

// Splits the options of an environment, "key=value,key=value" (env.options, --options). A value
// that begins with a bracket or a quote, as Python's do, ends where that closes, and may contain
// commas; any other value ends at the next comma. In "key:=value" the value is JSON. Pure
// functions. Threads: any.

// Returns the end of the first option in text: its comma, or the end of text. NULL: the value
// begins with a bracket or a quote that is not closed.
const char *oct_option_end(const char *text);
// Returns the length of the first option's key in bytes.
size_t oct_option_key(const char *text);
// Returns where the option with that key begins; NULL: there is none.
const char *oct_option_find(const char *options, const char *key);
// Adds all options except the one with that key to text.
void oct_option_add_others(oct_text *text, const char *options, const char *key);

#endif // COMMON_OCT_OPTION_H
