#ifndef CLI_SWEEP_CLI_SWEEP_JOBS_H
#define CLI_SWEEP_CLI_SWEEP_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sweep/cli_sweep_optuna.h"
#include "cli/sweep/cli_sweep_plan.h"

// Runs the trials of a sweep, so many at a time, each as a process `octet train` in a folder of its
// own. sweep.json is written after each change, so that a sweep that is killed can be resumed.
//
// A job's processes get an equal share of the CPUs that this process may use, none of which two
// jobs share, when there are as many as jobs. The signals that stop (cli_signals.h) end the runs as
// they end octet train: each saves what it has; a second one kills them. Runs end with this process
// in any case: the kernel tells them.
//
// Threads: main thread, before any other starts.

#define CLI_SWEEP_JOBS_MAX 256

typedef struct cli_sweep_request {
    cli_sweep_plan *plan;
    cli_sweep_optuna *optuna; // NULL: the plan has all trials
    const char *folder;       // absolute
    const char *octet;        // absolute path of the program
    bool is_trusted;          // runs get --trust, too
    uint32_t jobs;
} cli_sweep_request;

// Prints a line for each run that ends. Answers 0: every run finished or was pruned;
// CLI_EXIT_FAILED: one failed, or sweep.json cannot be written; 128 + signal: stopped.
int cli_sweep_jobs_run(const cli_sweep_request *request);

#endif // CLI_SWEEP_CLI_SWEEP_JOBS_H
