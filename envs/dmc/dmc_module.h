#ifndef ENVS_DMC_DMC_MODULE_H
#define ENVS_DMC_DMC_MODULE_H

#include <stdint.h>

// What env_dmc.so exports besides octet_env_api_get: the ids of its tasks, "dmc:cheetah_run".
// NULL: there are no more than i. Threads: any.
const char *octet_env_dmc_id(uint32_t i);

#endif // ENVS_DMC_DMC_MODULE_H
