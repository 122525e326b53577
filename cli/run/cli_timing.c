// Measures a reset and a step of an environment, and chooses how many environments one process
// steps.
#include "cli/run/cli_timing.h"

#include <stdlib.h>

#include "cli/cli_env_actions.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "envs/env.h"
#include "envs/env_space.h"

#define SECONDS       1.0    // of steps
#define STEPS_LIMITED 100u   // if the environment has a limit: these time its steps
#define STEPS_ENDLESS 10000u // if it has none: these show whether episodes end
#define DRAWS         64u    // actions that are drawn and then repeated
#define MESSAGE_BYTES 4096
#define FLAGS_END     (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)

static double
since_s(uint64_t begin_ns)
{
    return 1e-9 * (double)(oct_clock_ns() - begin_ns);
}

// Steps until an episode ends, or the time or the steps are used up.
static void
steps_time(env *e, octet_env_io *io, const uint8_t *actions, cli_timing *out)
{
    uint64_t begin_ns = oct_clock_ns();
    uint32_t most = out->limit > 0 ? STEPS_LIMITED : STEPS_ENDLESS;
    double all_s = 0;
    while (out->steps < most && !out->has_ended && since_s(begin_ns) < SECONDS) {
        uint64_t step_ns = oct_clock_ns();
        io->action = actions + (size_t)(out->steps % DRAWS) * io->action_stride;
        if (env_step(e, io) != OCT_OK || (io->flags[0] & OCTET_ENV_FAILED) != 0) {
            break;
        }
        double took_s = since_s(step_ns);
        out->has_ended = (io->flags[0] & FLAGS_END) != 0; // the next episode began within this step
        // With autoreset the last step includes a reset, and counts as one.
        out->reset_s = out->has_ended ? OCT_MAX(out->reset_s, took_s) : out->reset_s;
        all_s += out->has_ended ? 0 : took_s;
        out->steps++;
    }
    uint32_t timed = out->steps - out->has_ended;
    out->step_s = timed > 0 ? all_s / timed : 0;
}

void
cli_timing_measure(env *e, cli_timing *out)
{
    const octet_env_spec *spec = env_spec(e);
    uint32_t obs_bytes = env_space_bytes(&spec->obs), action_bytes = env_space_bytes(&spec->action);
    float reward = 0;
    uint8_t flags = 0;
    octet_env_io io = {.size = sizeof(io),
                       .action_stride = action_bytes,
                       .obs = oct_alloc(obs_bytes),
                       .obs_stride = obs_bytes,
                       .reward = &reward,
                       .flags = &flags};
    uint8_t *actions = oct_alloc((size_t)DRAWS * action_bytes);
    cli_env_actions(&spec->action, 1, DRAWS, actions);
    *out = (cli_timing){.limit = spec->max_episode_steps};
    uint64_t begin_ns = oct_clock_ns();
    if (env_reset(e, NULL, NULL, &io) == OCT_OK) {
        out->reset_s = since_s(begin_ns);
        out->is_known = true;
        steps_time(e, &io, actions, out);
    }
    free(actions);
    free(io.obs);
}

bool
cli_timing_choose(const cli_timing *timing, config_experiment *config)
{
    config_experiment changed = *config;
    char message[MESSAGE_BYTES];
    double call_s = OCT_MAX(timing->reset_s, timing->step_s);
    bool has_envs = config->is_given[CONFIG_KEY_actor_envs];
    // environments whose slowest calls, one after the other, fit into a round
    uint32_t most = (uint32_t)OCT_MAX(1.0, CLI_TIMING_ROUND_S / OCT_MAX(call_s, 1e-6));
    if ((!timing->is_known && !timing->is_late) || config_turn_actors(config) > 0 ||
        config_is_offline(config)) {
        return false;
    }
    if (!has_envs && config->actor.envs > most) {
        changed.actor.envs = most;
        if (!config->is_given[CONFIG_KEY_actor_count]) {
            // The number of environments in all stays about the same.
            uint32_t actors = (config->actor.envs + most - 1) / most * config->actor.count;
            changed.actor.count =
                OCT_MAX(config->actor.count, OCT_MIN(actors, CLI_TIMING_ACTORS_MAX));
        }
    }
    if (!config->is_given[CONFIG_KEY_evaluation_envs]) {
        changed.evaluation.envs = OCT_MIN(config->evaluation.envs, most);
    }
    bool is_same = changed.actor.envs == config->actor.envs &&
                   changed.evaluation.envs == config->evaluation.envs;
    config_defaults_apply(&changed);
    if (is_same || config_check(&changed, message, sizeof(message)) != OCT_OK) {
        return false;
    }
    *config = changed;
    return true;
}

bool
cli_timing_is_endless(const cli_timing *timing)
{
    return timing->is_known && timing->limit == 0 && !timing->has_ended && timing->steps > 0;
}
