#ifndef CLI_RUN_CLI_ENERGY_H
#define CLI_RUN_CLI_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// What a run on this machine took in joules: of a meter, never of a model. A meter is the kernel's
// counters of the processors' packages (powercap), or a command that prints the joules of the
// machine so far. The run's part is its share of the CPU time in which the machine was busy,
// interval by interval: what an idle machine would have used is shared out in the same way.
//
// A model, which whoever asks for it states in watts, is told beside it, as a model.
//
// Threads: one at a time. Errors: what cannot be measured is said in words in the report; the run
// goes on.
typedef struct cli_energy cli_energy;

// watts 0: no model. gco2_per_kwh 0: not said.
typedef struct cli_energy_model {
    double watts; // of a busy core
    double gco2_per_kwh;
} cli_energy_model;

typedef struct cli_energy_request {
    // Run by sh -c as long as the run goes on. It prints the joules used so far, a number on each
    // line, and more than one line. NULL: the kernel's counters.
    const char *command;
    const char *powercap; // where these are; NULL: $OCTET_POWERCAP, or /sys/class/powercap
} cli_energy_request;

#define CLI_ENERGY_REASON_MAX 256

typedef struct cli_energy_report {
    const char *source;                 // "powercap", "command"; NULL: not measured
    char reason[CLI_ENERGY_REASON_MAX]; // why it is not
    double joules;                      // of the run
    double machine_joules;              // of all packages, or of the meter
    double cpu_share;                   // of the busy CPU time, 0 … 1
    double measured_s;                  // between the first reading and the last
} cli_energy_report;

cli_energy *cli_energy_begin(const cli_energy_request *request);
// Whether a sample would be taken now: never where it is known that nothing can be measured.
bool cli_energy_is_due(const cli_energy *energy, double wall_s);
// Call a few times a second; the counters are read once a second. run_cpu_s: CPU time of all of the
// run's processes so far, machine_cpu_s: of the whole machine (cli_energy_machine_cpu_s).
void cli_energy_sample(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s);
// One last reading; ends the command. Destroys it.
void cli_energy_end(cli_energy *energy, double wall_s, double run_cpu_s, double machine_cpu_s,
                    cli_energy_report *out);

// Seconds in which the machine's cores were busy since it was started (/proc/stat); NaN: not known.
double cli_energy_machine_cpu_s(void);

// "watts=12,gco2_per_kwh=300". OCT_EINVAL: reason says what is wrong and what is allowed.
OCT_CHECKED oct_err cli_energy_model_parse(cli_energy_model *out, const char *text, char *reason,
                                           size_t reason_size);

#endif // CLI_RUN_CLI_ENERGY_H
