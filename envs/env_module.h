#ifndef ENVS_ENV_MODULE_H
#define ENVS_ENV_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "include/octet/env.h"

// The Control Suite, "dmc:TASK", is in a module of its own (env_dmc.so), which is loaded when it is
// first needed, so that nothing else needs MuJoCo. The module is searched in $OCTET_PLUGIN_DIR (and
// then nowhere else), where this program or liboctet.so was built, and where it is installed.
// Threads: any. Owns: the module stays loaded.

#define ENV_MODULE_PATH_MAX 1024

bool env_module_has(const char *id);         // true if id begins with "dmc:"
const char *env_module_task(const char *id); // what follows "dmc:"
// Finds the module's table for a task. Errors, with one line in reason: OCT_ENOTFOUND: no module
// (not built, not found), or no such task, with the nearest one; OCT_EINVAL: the module cannot be
// loaded.
OCT_CHECKED oct_err env_module_find(const octet_env_api **out, const char *id, oct_reason *why);
// Finds the module's file. OCT_ENOTFOUND: no module (not built, not found).
OCT_CHECKED oct_err env_module_path(char out[ENV_MODULE_PATH_MAX], oct_reason *why);
// env_module_ids is in envs/env.h.

#endif // ENVS_ENV_MODULE_H
