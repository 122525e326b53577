#ifndef ENVS_ENV_OPTIONS_H
#define ENVS_ENV_OPTIONS_H

#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "include/octet/env.h"

// The pairs of "key=value,key=value", in the form that common/oct_option.h specifies; keys and
// values are not empty, and no key comes twice. The key of a value that is JSON keeps its colon
// until env_options_decode.
// Threads: any. Owns: its copy of the text, freed by env_options_fini.
typedef struct env_options {
    char *text;
    octet_env_option *items;
    uint32_t count;
} env_options;

#define ENV_OPTIONS_MAX 64

// Splits text, which may be NULL or "". OCT_EINVAL with one line in reason.
OCT_CHECKED oct_err env_options_init(env_options *out, const char *text, oct_reason *why);
// Removes the colons of keys. A value of JSON that is a text becomes that text; any other stays
// JSON. OCT_EINVAL with one line in reason: a text is not JSON.
OCT_CHECKED oct_err env_options_decode(env_options *options, oct_reason *why);
// Removes an option from the list and returns its value, borrowed from options; NULL: there is
// none.
const char *env_options_take(env_options *options, const char *key);
void env_options_fini(env_options *options);

#endif // ENVS_ENV_OPTIONS_H
