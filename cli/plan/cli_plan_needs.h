#ifndef CLI_PLAN_CLI_PLAN_NEEDS_H
#define CLI_PLAN_CLI_PLAN_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_preflight.h"
#include "common/oct_reason.h"

// Computes the memory that the daemons of an experiment reserve when they start, and the size of
// the files that the run writes. Nothing is measured: the numbers follow from the configuration and
// the environment, by the same functions that the daemons use.
//
// Threads: any; no state.

typedef struct cli_plan_needs {
    uint32_t learners, shards, actors; // numbers of processes; shards: replays
    // Memory in bytes.
    uint64_t learner;   // all learners together
    uint64_t replay;    // each shard, without its table
    uint64_t table;     // each shard: the rows of a full table
    uint64_t actor;     // each actor: its batches
    bool table_in_file; // the table lies in a file (replay.path), or is a data set
    // Disk in bytes.
    uint64_t disk_table;       // all shards; in lock-step with a copy for each checkpoint
    uint64_t disk_checkpoints; // learner.checkpoints_kept, plus the checkpoint being written
    uint64_t disk_metrics;     // metrics.csv and TensorBoard's file with learner.metrics_rows
} cli_plan_needs;

// OCT_EINVAL: the experiment cannot run in this environment; reason is one line for a person.
OCT_CHECKED oct_err cli_plan_needs_make(cli_plan_needs *out, const cli_environment *environment,
                                        const config_experiment *config, oct_reason *why);

#endif // CLI_PLAN_CLI_PLAN_NEEDS_H
