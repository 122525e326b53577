#ifndef TESTS_ENVS_ENV_TEST_H
#define TESTS_ENVS_ENV_TEST_H

#include "common/oct_reason.h"
#include "tests/support/oct_test.h"

#include <stdlib.h>

#include "envs/env.h"

// One line that the test asks for: text somewhere in where.
#define T_SAYS(where, text)                                                                        \
    do {                                                                                           \
        if (strstr((where), (text)) == NULL) {                                                     \
            fail_msg("\"%s\" does not say \"%s\"", (where), (text));                               \
        }                                                                                          \
    } while (0)

// The path of a plug-in built for the tests, in static storage.
__attribute__((unused)) static inline const char *
plugin_path(const char *name)
{
    static char path[512];
    const char *folder = getenv("OCTET_TEST_PLUGINS");
    snprintf(path, sizeof(path), "%s/%s.so", folder != NULL ? folder : "build/tests/envs", name);
    return path;
}

__attribute__((unused)) static inline env *
env_opened(const char *id, const char *options, uint32_t count, uint64_t seed, bool autoreset)
{
    oct_reason why = {""};
    env *e = NULL;
    env_request request = {
        .id = id, .options = options, .count = count, .seed = seed, .autoreset = autoreset};
    if (env_open(&e, &request, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return e;
}

// Buffers for up to ROWS environments with up to 8 float numbers, and one metric.
#define ROWS 8
struct rows {
    int32_t action[ROWS];
    float obs[ROWS][8], final_obs[ROWS][8];
    float reward[ROWS], ep_return[ROWS], metrics[ROWS];
    double reward64[ROWS];
    uint8_t flags[ROWS];
    int32_t ep_length[ROWS];
    octet_env_io io;
};

__attribute__((unused)) static inline void
rows_init(struct rows *r)
{
    memset(r, 0, sizeof(*r));
    r->io = (octet_env_io){.size = sizeof(r->io),
                           .action = r->action,
                           .action_stride = sizeof(r->action[0]),
                           .obs = r->obs,
                           .obs_stride = sizeof(r->obs[0]),
                           .final_obs = r->final_obs,
                           .final_obs_stride = sizeof(r->final_obs[0]),
                           .reward = r->reward,
                           .flags = r->flags,
                           .ep_return = r->ep_return,
                           .ep_length = r->ep_length,
                           .metrics = r->metrics,
                           .reward64 = r->reward64};
}

#endif // TESTS_ENVS_ENV_TEST_H
