#ifndef CLI_CLUSTER_CLI_CLUSTER_NEEDS_H
#define CLI_CLUSTER_CLI_CLUSTER_NEEDS_H

#include "cli/cluster/cli_cluster_plan.h"

// Estimates what the processes of a run need on a host: memory, disk and CPU, with room beyond the
// budgets that the daemons reserve when they start (cli_plan_needs.h). The rules, whose numbers are
// in cli_cluster_needs.c:
//
// memory   160 MiB for a process (code, libraries, TLS, a probe, 64 MiB of /tmp) and 1.5 times its
//          budget, in steps of 32 MiB. Environments that do not come with Octet are unknown: their
//          actors and evaluators get 1 GiB in place of the 160 MiB.
// disk     1.5 times what is written (replay's file; checkpoints and metrics) and 256 MiB (512 MiB
//          for a run, with logs), in steps of 1 GiB.
// CPU      what a process needs to keep up, not what it can use. A learner: 250m, and for each of
//          its threads up to a CPU, in proportion to the policy's parameters times the rows of an
//          update. Replay: 100m, and 10m for each actor, up to 500m. Actors and evaluators: 100m
//          with a small environment of Octet, 500m with physics or code of others. In steps of 50m.
//
// Threads: main thread. A plain value.

typedef struct cli_cluster_needs {
    uint32_t learner_mib; // of all learners, which are on one host
    uint32_t replay_mib;  // of each shard
    uint32_t actor_mib;   // of each actor, and of each evaluator
    uint32_t run_gib;     // of the run folder
    uint32_t replay_gib;  // of the table of each shard
    uint32_t learner_millicpus, replay_millicpus, actor_millicpus;
} cli_cluster_needs;

// Estimates the needs. actors_max: the most actors that the run may ever have. The plan's
// experiment has passed the preflight. Ends the process with CLI_EXIT_USAGE if its actors cannot
// make batches.
void cli_cluster_needs_find(cli_cluster_needs *out, const cli_cluster_plan *plan,
                            uint32_t actors_max);

#endif // CLI_CLUSTER_CLI_CLUSTER_NEEDS_H
