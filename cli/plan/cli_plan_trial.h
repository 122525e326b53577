#ifndef CLI_PLAN_CLI_PLAN_TRIAL_H
#define CLI_PLAN_CLI_PLAN_TRIAL_H

#include "cli/plan/cli_plan_meter.h"
#include "cli/run/cli_preflight.h"

// A short run of an experiment, to be measured: the daemons themselves, as octet train starts them,
// in a folder that is removed afterwards. Environments run in the daemons' processes, so one that
// crashes or hangs there does the caller no harm.
//
// How it differs from the run: it has no goal and no budget; replay.min_size is as small as a batch
// allows, with a replay.tolerance that leaves the limiter's band as it is, so that the learner
// begins at once; the table has at most a million rows, and lies in the folder if in a file.
// Daemons that are not ready within CLI_PLAN_START_S are given up.
//
// Threads: main thread, before any other starts. The working folder is that of the trial while it
// runs. Signals that stop (cli_signals.h) end it.

#define CLI_PLAN_START_S 60.0

typedef struct cli_plan_trial_request {
    const oct_config *config;
    const cli_environment *environment;
    const char *parent;    // absolute: the folder that the trial's folder is made in
    double seconds;        // to measure, from soon after the first update
    double patience_s;     // from the first actor to the first update, at most
    cli_plan_meter *meter; // filled
} cli_plan_trial_request;

// OCT_OK: the meter has what was measured, which may be nothing where the environment is too slow.
// OCT_EINTERNAL: a daemon crashed, hung or refused the experiment; OCT_EIO: the folder cannot be
// made or the daemons are missing; OCT_ECLOSED: a signal ended it, whose number is in
// stop_signal. reason is one line for a person.
OCT_CHECKED oct_err cli_plan_trial_run(const cli_plan_trial_request *request, int *stop_signal,
                                       char *reason, size_t reason_size);

#endif // CLI_PLAN_CLI_PLAN_TRIAL_H
