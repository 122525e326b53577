// What the module of the Control Suite exports: its environments' ids and their interface.
#include "envs/dmc/dmc_module.h"

#include "envs/dmc/dmc_env.h"

#define EXPORTED __attribute__((visibility("default")))

// The only two symbols that env_dmc.so exports.

EXPORTED const octet_env_api *
octet_env_api_get(uint32_t host_abi)
{
    return host_abi == OCTET_ENV_ABI ? dmc_env_api() : NULL;
}

EXPORTED const char *
octet_env_dmc_id(uint32_t i)
{
    const dmc_task *const *task = dmc_tasks();
    for (; i > 0 && *task != NULL; i--) {
        task++;
    }
    return *task != NULL ? (*task)->id : NULL;
}
