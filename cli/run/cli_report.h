#ifndef CLI_RUN_CLI_REPORT_H
#define CLI_RUN_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/run/cli_energy.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_snapshot.h"
#include "common/oct_err.h"
#include "config/config.h"

// The end of a run: what the supervisor adds to the learner's summary.json, and the short report
// for a person.
// Threads: main thread.

typedef struct cli_report_outcome {
    const char *folder; // as the user named it, for messages
    const char *env_id;
    const cli_snapshot *state;
    const cli_supervisor *supervisor; // NULL: the run has ended, and the summary has its part
    const char *exit_reason; // "finished", "interrupted", "failed"; the first is reported as
                             // "finished without a full evaluation" where summary.json says so
    int exit_code;
    bool can_resume;
    double wall_s; // since the command was started
    const cli_energy_report *energy;
    cli_energy_model energy_model; // watts 0: none
} cli_report_outcome;

// Adds "daemons" (by name: cpu_s, starts, exit_status and so on, and the error that a daemon
// recorded), "supervisor" (wall_s, cpu_s, restarts, exit_reason, exit_code) and "energy" to the
// learner's summary. Makes the file if there is none.
OCT_CHECKED oct_err cli_report_add_to_summary(const char *path, const cli_report_outcome *outcome);
// Returns the learner's updates in a summary; NaN: the summary has none.
double cli_report_updates(const char *summary_path);
void cli_report_print(FILE *out, const char *summary_path, const cli_report_outcome *outcome);
// Prints the line with the time, steps and updates of a run.
void cli_report_print_spent(FILE *out, double wall_s, double env_steps, double updates);
// Prints the report of a run that has ended. The working folder is the run folder; folder is its
// name for people. Returns false if the run has no summary.
bool cli_report_print_ended(FILE *out, const char *folder, const config_experiment *config);
// Prints the last lines of a log after its first begin bytes, indented.
void cli_report_log_tail(FILE *out, const char *path, long begin);
// Appends what happened to a daemon to log/supervisor.log: one line, with the time.
void cli_report_note(const char *note);
// Reads the last of these lines, without the time; "": there is none.
void cli_report_last_note(char *out, size_t size);
// Prints "exited with code 3", "was killed by signal 9 (Killed)" or "was killed by the kernel: out
// of memory" to out.
void cli_report_exit_text(char *out, size_t size, int exit_status, bool was_out_of_memory);
// Returns the CPU seconds, user and system, of this process and of all its daemons, as last read.
double cli_report_cpu_s(const cli_supervisor *supervisor);
// Returns the seconds since the kernel started this process.
double cli_report_process_age_s(void);

#endif // CLI_RUN_CLI_REPORT_H
