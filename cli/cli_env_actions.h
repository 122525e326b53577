#ifndef CLI_CLI_ENV_ACTIONS_H
#define CLI_CLI_ENV_ACTIONS_H

#include <stdint.h>

#include "include/octet/env.h"

// Random actions for looking at environments: rows of env_space_bytes(space), uniform in the space
// (in [-1, 1] where it has no bounds). The same seed draws the same. Threads: any.
void cli_env_actions(const octet_env_space *space, uint64_t seed, uint32_t rows, uint8_t *actions);

#endif // CLI_CLI_ENV_ACTIONS_H
