#ifndef ENVS_ENV_PLUGIN_H
#define ENVS_ENV_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "include/octet/env.h"

// Environments in shared objects, and what every environment's table and spec must satisfy before
// the host uses them. Threads: any. Owns: a loaded object stays loaded.

#define ENV_PLUGIN_NUMBERS_MAX (1u << 24) // of one observation or action

// "x.so", "/x", "./x" and "a/b" where that file exists are paths of plug-ins; everything else is a
// registered id.
bool env_plugin_is_path(const char *id);
// fn is called before this process loads its first plug-in, in the thread that loads it. Threads:
// before others start.
void env_plugin_before(void (*fn)(void));
// OCT_ENOTFOUND (no such file), OCT_EINVAL (not a plug-in of this ABI), with one line in reason.
OCT_CHECKED oct_err env_plugin_load(const octet_env_api **out, const char *path, char *reason,
                                    size_t reason_size);
// Copies what theirs has of the spec, later fields zero. OCT_EINVAL with one line in reason.
OCT_CHECKED oct_err env_plugin_spec_read(octet_env_spec *out, const octet_env_api *api,
                                         const octet_env_spec *theirs, char *reason,
                                         size_t reason_size);

#endif // ENVS_ENV_PLUGIN_H
