// Estimates what the processes of a run need on a host, from their budgets.
#include "cli/cluster/cli_cluster_needs.h"

#include "cli/cli_options.h"
#include "cli/plan/cli_plan_needs.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/env.h"
#include "envs/env_module.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

// Memory, in bytes unless named otherwise.
#define PROCESS_BYTES (160 * MIB) // code, libraries, TLS, a probe, 64 MiB of /tmp
#define FOREIGN_BYTES GIB // instead, of a process with an environment that does not come with Octet
#define STEP_MIB      32
#define ACTOR_BYTES   (24u << 10) // of the learner, for each actor
#define SMALL_BYTES   (64u << 10) // of one environment
#define PHYSICS_BYTES (2 * MIB)   // of one environment of MuJoCo
#define WEIGHT_BYTES  8           // of a policy's parameter: once as received, once as it acts
// Disk.
#define TABLE_DISK (256 * MIB)
#define RUN_DISK   (512 * MIB)
// CPU.
#define STEP_MILLICPUS 50
#define LOOP_MILLICPUS 250
#define WORK_OF_A_CPU  10000000u // parameters times rows of an update that keep one thread busy

// Adds a half, for what the budgets do not count.
static uint64_t
with_room(uint64_t bytes)
{
    return bytes + bytes / 2;
}

// Rounds up to a multiple of step.
static uint32_t
up_to_step(uint64_t value, uint64_t step)
{
    return (uint32_t)((value + step - 1) / step * step);
}

static uint32_t
mib_of(uint64_t process_bytes, uint64_t budget)
{
    return up_to_step((process_bytes + with_room(budget) + MIB - 1) / MIB, STEP_MIB);
}

static uint32_t
gib_of(uint64_t fixed, uint64_t written)
{
    return (uint32_t)((fixed + with_room(written) + GIB - 1) / GIB);
}

static uint32_t
learner_millicpus(const config_experiment *config, const policy_spec *spec, const algo_wants *wants)
{
    uint32_t steps = wants->window != ALGO_WINDOW_N_STEP ? wants->steps : 1;
    uint64_t work = policy_spec_params(spec) * config->learner.batch_size * steps;
    uint64_t thread = OCT_MIN(work * 1000 / WORK_OF_A_CPU, (uint64_t)1000);
    return up_to_step(config->learner.count * (LOOP_MILLICPUS + config->learner.threads * thread),
                      STEP_MILLICPUS);
}

// Code of others may use any memory and CPU, so it gets fixed amounts.
static void
actor_find(cli_cluster_needs *out, const config_experiment *config, const policy_spec *spec,
           uint64_t batches)
{
    const char *id = config->env.id;
    bool is_foreign = !env_is_built_in(id), is_physics = env_module_has(id);
    uint32_t envs = OCT_MAX(config->actor.envs, config->evaluation.envs);
    uint64_t each = is_foreign ? 0 : is_physics ? PHYSICS_BYTES : SMALL_BYTES;
    out->actor_mib = mib_of(is_foreign ? FOREIGN_BYTES : PROCESS_BYTES,
                            batches + policy_spec_params(spec) * WEIGHT_BYTES + envs * each);
    out->actor_millicpus = is_foreign || is_physics ? 500 : 100;
}

void
cli_cluster_needs_find(cli_cluster_needs *out, const cli_cluster_plan *plan, uint32_t actors_max)
{
    const config_experiment *config = &plan->config;
    oct_reason why;
    policy_spec spec;
    algo_wants wants;
    cli_plan_needs needs;
    // The preflight of the plan has already built this network.
    oct_err err = cli_preflight_spec(&spec, &wants, &plan->environment, config, &why);
    OCT_ASSERT(err == OCT_OK);
    if (cli_plan_needs_make(&needs, &plan->environment, config, &why) != OCT_OK) {
        cli_usage_error(plan->options->command, "%s: %s", plan->options->file, why.text);
    }
    *out = (cli_cluster_needs){
        .learner_mib = mib_of(config->learner.count * PROCESS_BYTES,
                              needs.learner + (uint64_t)actors_max * ACTOR_BYTES),
        .replay_mib = mib_of(PROCESS_BYTES, needs.replay + needs.table),
        .run_gib = gib_of(RUN_DISK, needs.disk_checkpoints + needs.disk_metrics),
        .replay_gib = gib_of(TABLE_DISK, needs.table),
        .learner_millicpus = learner_millicpus(config, &spec, &wants),
        .replay_millicpus = up_to_step(100 + OCT_MIN(10 * actors_max, 400u), STEP_MILLICPUS),
    };
    actor_find(out, config, &spec, needs.actor);
}
