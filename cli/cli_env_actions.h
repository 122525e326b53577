#ifndef CLI_CLI_ENV_ACTIONS_H
#define CLI_CLI_ENV_ACTIONS_H

#include <stdint.h>

#include "include/octet/env.h"

// Draws random actions for trying an environment: rows of env_space_bytes(space), uniform in the
// space, and in [-1, 1] where it has no bounds. A seed always draws the same actions. Threads: any.
void cli_env_actions(const octet_env_space *space, uint64_t seed, uint32_t rows, uint8_t *actions);

#endif // CLI_CLI_ENV_ACTIONS_H
