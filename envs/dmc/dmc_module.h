#ifndef ENVS_DMC_DMC_MODULE_H
#define ENVS_DMC_DMC_MODULE_H

#include <stdint.h>

// Exported by env_dmc.so besides octet_env_api_get: returns the id of task i, such as
// "dmc:cheetah_run", or NULL after the last one. Threads: any.
const char *octet_env_dmc_id(uint32_t i);

#endif // ENVS_DMC_DMC_MODULE_H
