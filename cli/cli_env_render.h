#ifndef CLI_CLI_ENV_RENDER_H
#define CLI_CLI_ENV_RENDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// `octet env render`: draws an environment after some steps of random actions.
// Threads: main thread.
typedef struct cli_env_picture {
    const char *id;
    const char *options;
    uint64_t seed;
    uint32_t steps;
    uint32_t width, height; // 0: a size that suits the environment
    const char *path;       // "….png"
} cli_env_picture;

// Errors: reason gets one line.
OCT_CHECKED oct_err cli_env_render(const cli_env_picture *picture, oct_reason *why);

#endif // CLI_CLI_ENV_RENDER_H
