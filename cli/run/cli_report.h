#ifndef CLI_RUN_CLI_REPORT_H
#define CLI_RUN_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/run/cli_energy.h"
#include "cli/run/cli_supervisor.h"
#include "cli/status/cli_state.h"
#include "common/oct_config.h"
#include "common/oct_err.h"

// The end of a run: what the supervisor adds to summary.json, and the short report for a person.
// Threads: main thread.

typedef struct cli_report_outcome {
    const char *folder; // as a person calls it
    const char *env_id;
    const cli_state *state;
    const cli_supervisor *supervisor; // NULL: of a run that has ended
    const char *exit_reason; // "finished", "interrupted", "failed"; the first is reported as
                             // "finished without a full evaluation" where summary.json says so
    int exit_code;
    bool can_resume;
    double wall_s; // since the command was typed
    const cli_energy_report *energy;
    cli_energy_model energy_model; // watts 0: none
} cli_report_outcome;

// Adds "daemons" (by name: cpu_s, starts, exit_status), "supervisor" (wall_s, cpu_s, restarts,
// exit_reason, exit_code) and "energy" to the learner's summary, or makes the file when there is
// none.
OCT_CHECKED oct_err cli_report_add_to_summary(const char *path, const cli_report_outcome *outcome);
// The learner's updates in a summary; NaN: none is there.
double cli_report_updates(const char *summary_path);
void cli_report_print(FILE *out, const char *summary_path, const cli_report_outcome *outcome);
// The line of what a run took: time, steps and updates.
void cli_report_print_spent(FILE *out, double wall_s, double env_steps, double updates);
// The same as cli_report_print of a run that has ended, from its folder, the working folder: folder
// is what a person calls it. False: it has no summary.
bool cli_report_print_ended(FILE *out, const char *folder, const oct_config *config);
// The last lines of a log after its first begin bytes, indented.
void cli_report_log_tail(FILE *out, const char *path, long begin);
#define CLI_REFUSAL_BYTES 1024
// What a daemon that refused or failed says in its log, after the first begin bytes: the last
// error, without its time and name. False: none.
bool cli_report_refusal(char *out, size_t size, const char *path, long begin);
// What octet train says in its log, after the first begin bytes, of why it failed: its last error.
// False: none.
bool cli_report_error(char *out, size_t size, const char *path, long begin);
// What happened to a daemon: a line in log/supervisor.log, with the time.
void cli_report_note(const char *note);
// The last of them, without the time; "": none.
void cli_report_last_note(char *out, size_t size);
// "exited with code 3", "was killed by signal 9 (Killed)", "was killed by the kernel: out of
// memory".
void cli_report_exit_text(char *out, size_t size, int exit_status, bool was_out_of_memory);
// CPU seconds, user and system, of all daemons of this command as last read, and of this process.
double cli_report_cpu_s(const cli_supervisor *supervisor);
// Seconds since this process was started by the kernel.
double cli_report_process_age_s(void);

#endif // CLI_RUN_CLI_REPORT_H
