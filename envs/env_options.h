#ifndef ENVS_ENV_OPTIONS_H
#define ENVS_ENV_OPTIONS_H

#include <stddef.h>

#include "common/oct_err.h"
#include "include/octet/env.h"

// "key=value,key=value" taken apart, as common/oct_option.h says; neither part may be empty and no
// key may come twice. The key of a value that is JSON keeps its colon, until decode.
// Threads: any. Owns: its copy of the text, freed by env_options_fini.
typedef struct env_options {
    char *text;
    octet_env_option *items;
    uint32_t count;
} env_options;

#define ENV_OPTIONS_MAX 64

// OCT_EINVAL with one line in reason. text may be NULL or "".
OCT_CHECKED oct_err env_options_init(env_options *out, const char *text, char *reason,
                                     size_t reason_size);
// Takes the colons away; a value of JSON that is a text becomes what it says, any other stays JSON.
// OCT_EINVAL with one line in reason: a text is not JSON.
OCT_CHECKED oct_err env_options_decode(env_options *options, char *reason, size_t reason_size);
// Takes an option out of the list: its value, borrowed from options; NULL: it is not there.
const char *env_options_take(env_options *options, const char *key);
void env_options_fini(env_options *options);

#endif // ENVS_ENV_OPTIONS_H
