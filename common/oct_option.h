#ifndef COMMON_OCT_OPTION_H
#define COMMON_OCT_OPTION_H

// Where an option of "key=value,key=value" ends: env.options, --env-options. A value that begins
// with a bracket or a quote, as Python's do, holds commas until that closes; any other ends at the
// next comma. Pure functions. Threads: any.

// Behind the option that text begins with: at a comma, or at the end. NULL: a bracket or a quote
// that its value begins with is not closed.
const char *oct_option_end(const char *text);

#endif // COMMON_OCT_OPTION_H
