#ifndef CLI_PLAN_CLI_PLAN_TRIAL_H
#define CLI_PLAN_CLI_PLAN_TRIAL_H

#include "cli/plan/cli_plan_meter.h"
#include "cli/run/cli_preflight.h"
#include "common/oct_reason.h"

// Runs an experiment for some seconds and measures it. The daemons are those of octet train, in a
// folder that is removed afterwards. Environments run in the daemons' processes, so an environment
// that crashes or hangs does not harm the caller.
//
// The trial differs from the run in three ways. It has no goal and no budget. replay.min_size is
// as small as a batch allows, so that the learner starts at once, and replay.tolerance is raised so
// that the limiter's band keeps its width. The table has at most a million rows, and its file lies
// in the trial's folder.
//
// Threads: main thread, before any other starts. The working folder is that of the trial while it
// runs. A signal that stops (cli_signals.h) ends the trial.

#define CLI_PLAN_START_S 60.0 // seconds for the daemons to start and the first actor to join

typedef struct cli_plan_trial_request {
    const config_experiment *config;
    const cli_environment *environment;
    const char *parent;    // absolute path of the folder in which the trial makes its folder
    double seconds;        // length of the measurement
    double patience_s;     // at most this many seconds from the first actor to the first update
    cli_plan_meter *meter; // filled
} cli_plan_trial_request;

// Fills the meter, with nothing if the environment is too slow. On an error reason is one line for
// a person:
//   OCT_EIO        the folder cannot be made, or the daemons are missing
//   OCT_EINTERNAL  a daemon crashed or refused the experiment
//   OCT_ECLOSED    a signal ended the trial; stop_signal is its number
OCT_CHECKED oct_err cli_plan_trial_run(const cli_plan_trial_request *request, int *stop_signal,
                                       oct_reason *why);

#endif // CLI_PLAN_CLI_PLAN_TRIAL_H
