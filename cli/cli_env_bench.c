// octet env bench: measures the steps per second of an environment on one thread.

#include "cli/cli_env_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_env_actions.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_space.h"
#include "envs/gym/env_gym.h"

// Actions that are drawn before the clock starts; enough that their repetition does not show.
#define BENCH_DRAWS 64u

// Steps all environments for settings->seconds and prints the rates. Returns the exit code.
static int
bench_loop(env *e, const cli_env_settings *settings, octet_env_io *io, const uint8_t *actions)
{
    // set: a step of all environments
    size_t set_bytes = (size_t)settings->envs * io->action_stride;
    uint64_t sets = 0, ends = 0;
    uint64_t wall_ns = oct_clock_ns(), cpu_ns = oct_clock_thread_cpu_ns();
    double seconds;
    // sets between two readings of the clock: few at first, because the first may be slow
    uint32_t round = 0;
    do {
        round = OCT_MIN(2 * round + 1, BENCH_DRAWS);
        for (uint32_t k = 0; k < round; k++) {
            io->action = actions + sets++ % BENCH_DRAWS * set_bytes;
            if (env_step(e, io) != OCT_OK) {
                return cli_env_failure(settings, env_error(e));
            }
            for (uint32_t i = 0; i < settings->envs; i++) {
                ends += (io->flags[i] & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0;
            }
        }
        seconds = (double)(oct_clock_ns() - wall_ns) * 1e-9;
    } while (seconds < settings->seconds);
    uint64_t steps = sets * settings->envs;
    double cpu_s = (double)(oct_clock_thread_cpu_ns() - cpu_ns) * 1e-9;
    printf("%s: %" PRIu32 " environments, one thread, %.2f s\n", env_spec(e)->id, settings->envs,
           seconds);
    printf("  %s steps/s of wall time", cli_text_count((double)steps / seconds).text);
    if (!env_gym_has(settings->id)) { // a Python environment spends the time of another process
        printf(", %s per CPU second (%.1f ns per step)", cli_text_count((double)steps / cpu_s).text,
               cpu_s * 1e9 / (double)steps);
    }
    putchar('\n');
    printf("  %" PRIu64 " steps, %" PRIu64 " episodes, %" PRIu64 " failures\n", steps, ends,
           env_failures(e));
    if (env_failures(e) > 0) {
        printf("  last failure: %s\n", env_failure(e));
    }
    return 0;
}

int
cli_env_bench(const cli_env_settings *settings)
{
    oct_reason why;
    env *e;
    env_request request = {.id = settings->id,
                           .options = settings->options,
                           .count = settings->envs,
                           .seed = settings->seed,
                           .autoreset = true};
    if (env_open(&e, &request, &why) != OCT_OK) {
        return cli_env_failure(settings, why.text);
    }
    const octet_env_spec *spec = env_spec(e);
    uint32_t obs_bytes = env_space_bytes(&spec->obs);
    octet_env_io io = {.size = sizeof(io),
                       .action_stride = env_space_bytes(&spec->action),
                       .obs_stride = obs_bytes,
                       .final_obs_stride = obs_bytes};
    uint8_t *actions = oct_alloc((size_t)BENCH_DRAWS * settings->envs * io.action_stride);
    cli_env_actions(&spec->action, 1, BENCH_DRAWS * settings->envs, actions);
    io.obs = oct_alloc((size_t)settings->envs * obs_bytes);
    io.final_obs = oct_alloc((size_t)settings->envs * obs_bytes);
    io.reward = oct_alloc(settings->envs * sizeof(*io.reward));
    io.flags = oct_alloc(settings->envs);
    int code = env_reset(e, NULL, NULL, &io) != OCT_OK ? cli_env_failure(settings, env_error(e))
                                                       : bench_loop(e, settings, &io, actions);
    free(actions);
    free(io.obs);
    free(io.final_obs);
    free(io.reward);
    free(io.flags);
    env_close(e);
    return code;
}
