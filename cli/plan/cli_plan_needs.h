#ifndef CLI_PLAN_CLI_PLAN_NEEDS_H
#define CLI_PLAN_CLI_PLAN_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/cli_preflight.h"

// Memory and disk that an experiment needs on this machine, from its configuration and its
// environment alone: what the daemons reserve when they start (docs/reference.md), and what a run
// writes to its folder.
//
// Threads: any; no state.

typedef struct cli_plan_needs {
    uint32_t learners, shards, actors; // processes; shards counts replays of live data
    // Memory, in bytes.
    uint64_t learner;   // of all learners together
    uint64_t replay;    // of each shard, without its table
    uint64_t table;     // of each shard: the rows that it keeps, when it is full
    uint64_t actor;     // of each actor: its batches
    bool table_in_file; // replay.path: the kernel may take the table's pages back
    // Disk, in bytes.
    uint64_t disk_table; // of all shards, in lock-step with the copies for checkpoints
    uint64_t disk_checkpoints;
    uint64_t disk_metrics; // metrics.csv and TensorBoard's file, at their largest
} cli_plan_needs;

// OCT_EINVAL: reason says why the experiment cannot run in this environment.
OCT_CHECKED oct_err cli_plan_needs_make(cli_plan_needs *out, const cli_environment *environment,
                                        const oct_config *config, char *reason, size_t reason_size);

#endif // CLI_PLAN_CLI_PLAN_NEEDS_H
