// Adds up the memory that the daemons of a run reserve, and the files that it writes.

#include "cli/plan/cli_plan_needs.h"

#include <string.h>
#include <sys/stat.h>

#include "actor/actor_worker.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "learner/learner_budget.h"
#include "learner/learner_source.h"
#include "replay/replay_config.h"
#include "replay/replay_file.h"

// A row of metrics.csv and its record in TensorBoard's file: the presets' have 1.2 to 1.9 KB.
#define METRICS_ROW_BYTES 2048
// A checkpoint holds the learner's state and the policies whose evaluations are not finished.
#define CHECKPOINT_POLICIES 6

// Adds the learners' memory, and the disk of their checkpoints.
static oct_err
learner_add(cli_plan_needs *needs, const config_experiment *config, const policy_spec *spec,
            const algo_wants *wants)
{
    const learner_budget_options options = {
        .config = config,
        .spec = spec,
        .wants = *wants,
        .context = algo_context_options(config, NULL),
        .learners = needs->learners,
    };
    learner_budget budget;
    OCT_TRY(learner_budget_make(&budget, &options));
    needs->learner = budget.total;
    needs->disk_checkpoints = (config->learner.checkpoints_kept + 1) *
                              (budget.state + CHECKPOINT_POLICIES * budget.publication);
    return OCT_OK;
}

// Adds replay with the table that the learner will ask it for.
static void
replay_add(cli_plan_needs *needs, const config_experiment *config, const policy_spec *spec,
           const algo_wants *wants)
{
    const learner_source_options options = {
        .config = config, .spec = spec, .wants = *wants, .batch_size = config->learner.batch_size};
    const wire_configure table = learner_source_table(&options);
    replay_budget_line lines[REPLAY_BUDGET_LINES];
    uint64_t total = replay_config_budget(&table, replay_config_layout(&table), lines);
    needs->table = replay_config_kept(&table);
    needs->replay = total - OCT_MIN(total, needs->table);
    needs->table_in_file = strcmp(config->replay.path, "none") != 0;
    if (needs->table_in_file) {
        // Replay reserves all of a file before it takes the first row.
        uint64_t files = 1 + config_table_copies(config);
        needs->disk_table = needs->shards * replay_file_bytes(&table) * files;
    }
}

// Adds replay of a run without actors, which serves the data set from its file.
static void
data_add(cli_plan_needs *needs, const config_experiment *config)
{
    struct stat file;
    needs->table = oct_file_stat(config->replay.data, &file) == 0 ? (uint64_t)file.st_size : 0;
    needs->table_in_file = true;
}

oct_err
cli_plan_needs_make(cli_plan_needs *out, const cli_environment *environment,
                    const config_experiment *config, oct_reason *why)
{
    policy_spec spec;
    algo_wants wants;
    actor_batch_shape shape;
    bool is_offline = config_is_offline(config);
    cli_plan_needs needs = {.learners = config->learner.count,
                            .shards = is_offline ? 1 : config_shards(config),
                            .actors = is_offline ? 0 : config->actor.count};
    OCT_TRY(cli_preflight_spec(&spec, &wants, environment, config, why));
    if (learner_add(&needs, config, &spec, &wants) != OCT_OK) {
        return oct_refuse(why, "algo.name: the algorithm cannot be created with these networks");
    }
    if (is_offline) {
        data_add(&needs, config);
    } else {
        replay_add(&needs, config, &spec, &wants);
        if (actor_run_batch_shape(&shape, config, &spec, config->actor.envs) != OCT_OK) {
            return oct_refuse(
                why, "actor.envs: %u environments produce more rows at once than replay accepts",
                config->actor.envs);
        }
        needs.actor = actor_worker_bytes(&shape, config);
    }
    needs.disk_metrics = config->learner.metrics_rows * METRICS_ROW_BYTES;
    *out = needs;
    return OCT_OK;
}
