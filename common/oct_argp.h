#ifndef COMMON_OCT_ARGP_H
#define COMMON_OCT_ARGP_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"

// The options of octet's commands and of the daemons: argp, behind one check. argp's own message
// for an unknown option says neither which options there are nor which one was probably meant.
//
// All options are long. -h and -? stand for --help, -V for --version where a program has one.
//
// Threads: main thread, before any other starts. Owns: nothing.

#define OCT_ARGP_OPTIONS_MAX  64                         // of a table and its children
#define OCT_ARGP_NAMES_MAX    (OCT_ARGP_OPTIONS_MAX + 4) // with argp's own three and NULL
#define OCT_ARGP_REASON_BYTES 2048

typedef enum oct_argp_value {
    OCT_ARGP_NONE,     // --no-ui
    OCT_ARGP_OPTIONAL, // --dash or --dash=PORT, never --dash PORT
    OCT_ARGP_NEEDED,   // --seed=S or --seed S
} oct_argp_value;

// The options of a table and its children, then --help, --usage and --version.
typedef struct oct_argp_options {
    const char *name[OCT_ARGP_NAMES_MAX]; // without "--"; NULL ends the list
    oct_argp_value value[OCT_ARGP_NAMES_MAX];
    bool is_hidden[OCT_ARGP_NAMES_MAX]; // --help does not show the option
    size_t count;
} oct_argp_options;

void oct_argp_list(oct_argp_options *out, const struct argp *argp);

// Parses like argp_parse, after a check of the name of every option. program is the name that
// --help shows, such as "octet train". OCT_EINVAL: an option is unknown or ambiguous, lacks its
// value, or has one and takes none. Then the parser was not called, and reason, of one or two
// lines, names the option, the nearest known one and all that are allowed.
OCT_CHECKED oct_err oct_argp_parse(const struct argp *argp, const char *program, int argc,
                                   char **argv, void *input, char *reason, size_t reason_size);

#endif // COMMON_OCT_ARGP_H
