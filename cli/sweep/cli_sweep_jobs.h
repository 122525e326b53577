#ifndef CLI_SWEEP_CLI_SWEEP_JOBS_H
#define CLI_SWEEP_CLI_SWEEP_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sweep/cli_sweep_optuna.h"
#include "cli/sweep/cli_sweep_plan.h"

// Runs the trials of a sweep, `jobs` runs at a time, each as a process `octet train` in a folder of
// its own. sweep.json is written after each change, so that a killed sweep can be resumed.
//
// If there are at least as many CPUs as jobs, each job has an equal share of the CPUs that this
// process may use, and no two jobs share one. Signals that stop (cli_signals.h) reach the runs as
// SIGINT: each saves its state; a second signal kills. If this process is killed, the kernel
// signals the runs (--follow-parent).
//
// Threads: main thread, before any other starts.

#define CLI_SWEEP_JOBS_MAX 256

typedef struct cli_sweep_request {
    cli_sweep_plan *plan;
    cli_sweep_optuna *optuna; // NULL: the plan has all trials
    const char *folder;       // absolute
    const char *octet;        // absolute path of the program
    bool is_trusted;          // runs get --trust
    uint32_t jobs;            // runs at a time, 1 .. CLI_SWEEP_JOBS_MAX
} cli_sweep_request;

// Prints a line for each run that ends. Returns 0 if every run finished or was pruned,
// CLI_EXIT_FAILED if one failed or sweep.json cannot be written, and 128 + signal if the sweep was
// stopped.
int cli_sweep_jobs_run(const cli_sweep_request *request);

#endif // CLI_SWEEP_CLI_SWEEP_JOBS_H
