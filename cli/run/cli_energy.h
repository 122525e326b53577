#ifndef CLI_RUN_CLI_ENERGY_H
#define CLI_RUN_CLI_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Measures what a run on this machine took in joules. The joules are a meter's, never a model's:
// the kernel's counters of the processor packages (powercap), or a command that prints the joules
// of the machine. The run's part is its share of the CPU time in which the machine was busy,
// interval by interval. What an idle machine would have used is divided in the same way.
//
// A model, for which the user states watts, is reported beside the measurement and is named a
// model.
//
// Threads: one at a time. Errors: the report says in words what could not be measured; the run
// continues.
typedef struct cli_energy cli_energy;

// An energy model. watts 0: none. gco2_per_kwh 0: not stated.
typedef struct cli_energy_model {
    double watts; // of a busy core
    double gco2_per_kwh;
} cli_energy_model;

typedef struct cli_energy_request {
    // A command that sh -c runs during the whole run. It prints the joules that the machine has
    // used so far, one number a line, several times. NULL: the kernel's counters.
    const char *command;
    const char *powercap; // folder of the counters; NULL: $OCTET_POWERCAP, or /sys/class/powercap
} cli_energy_request;

#define CLI_ENERGY_REASON_MAX 256

typedef struct cli_energy_report {
    const char *source;                 // "powercap" or "command"; NULL: not measured
    char reason[CLI_ENERGY_REASON_MAX]; // why it was not measured
    double joules;                      // of the run
    double machine_joules;              // of all packages, or of the meter
    double cpu_share;                   // of the run in the busy CPU time, 0 … 1
    double measured_s;                  // from the first reading to the last, seconds
} cli_energy_report;

// Starts to measure; an error shows only in the report. wall_s, below: seconds of any clock that
// does not go back.
cli_energy *cli_energy_begin(const cli_energy_request *request);
// Returns true if cli_energy_sample would take a reading now; always false once it is known that
// nothing can be measured.
bool cli_energy_is_due(const cli_energy *energy, double wall_s);
// Takes a reading if one is due. Call this a few times a second; the counters are read once a
// second. run_cpu_s: CPU time that all processes of the run have used. machine_cpu_s: that of the
// whole machine (cli_energy_machine_cpu_s).
void cli_energy_sample(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s);
// Takes a last reading, kills the command, writes the report and frees energy.
void cli_energy_end(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s,
                    cli_energy_report *out);

// Returns the seconds for which the machine's cores were busy since it started (/proc/stat). NaN:
// not known.
double cli_energy_machine_cpu_s(void);

// Parses "watts=12,gco2_per_kwh=300". OCT_EINVAL: reason says what is wrong and what is allowed.
OCT_CHECKED oct_err cli_energy_model_parse(cli_energy_model *out, const char *text,
                                           oct_reason *why);

#endif // CLI_RUN_CLI_ENERGY_H
