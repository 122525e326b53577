#ifndef ENVS_ENV_PLUGIN_H
#define ENVS_ENV_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "include/octet/env.h"

// Environments in shared objects, and the checks of every environment's table and spec before the
// host uses them. Threads: any. Owns: a loaded object stays loaded.

#define ENV_PLUGIN_NUMBERS_MAX (1u << 24) // numbers of one observation or action

// Returns true for the path of a plug-in: "x.so", "/x", "./x", and "a/b" if that file exists.
// Anything else is a registered id.
bool env_plugin_is_path(const char *id);
// Sets a function that is called before this process loads its first plug-in, on the thread that
// loads it. Call before other threads start.
void env_plugin_before(void (*fn)(void));
// Loads a plug-in. Errors, with one line in reason: OCT_ENOTFOUND: no such file; OCT_EINVAL: not a
// plug-in of this ABI.
OCT_CHECKED oct_err env_plugin_load(const octet_env_api **out, const char *path, oct_reason *why);
// Copies the fields that theirs has; later fields become zero. OCT_EINVAL, with one line in reason:
// the table or spec breaks a rule.
OCT_CHECKED oct_err env_plugin_spec_read(octet_env_spec *out, const octet_env_api *api,
                                         const octet_env_spec *theirs, oct_reason *why);

#endif // ENVS_ENV_PLUGIN_H
