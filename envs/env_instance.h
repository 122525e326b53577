#ifndef ENVS_ENV_INSTANCE_H
#define ENVS_ENV_INSTANCE_H

#include "common/oct_reason.h"
#include "envs/env.h"

// A handle and its table, of a native environment or a plug-in alike, with the spec checked and
// copied.
// Threads: as the handle. Owns: the handle, until env_instance_fini.
typedef struct env_instance {
    const octet_env_api *api;
    octet_env_handle *handle;
    octet_env_spec spec;
} env_instance;

// Creates the handle that request asks for. Errors as env_open.
OCT_CHECKED oct_err env_instance_init(env_instance *out, const env_request *request,
                                      oct_reason *why);
void env_instance_fini(env_instance *instance);
// Copies the environment's message about its last error: one line without control characters.
void env_instance_error(const env_instance *instance, char *out, size_t size);

#endif // ENVS_ENV_INSTANCE_H
