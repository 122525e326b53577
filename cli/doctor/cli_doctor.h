#ifndef CLI_DOCTOR_CLI_DOCTOR_H
#define CLI_DOCTOR_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "config/config.h"

// Checks whether this machine and a folder suit a run. Each check adds findings; a finding is one
// line with a level and what to do. The checks change nothing, except that they write a small file
// to the folder and remove it.
//
// Threads: main thread, before any other starts. Owns: plain values. Full: findings beyond
// CLI_DOCTOR_FINDINGS_MAX are left out.

#define CLI_DOCTOR_FINDINGS_MAX 96
#define CLI_DOCTOR_PYTHON_MS    2000u // after which Python and ffmpeg are killed

typedef enum cli_doctor_level {
    CLI_DOCTOR_OK,
    CLI_DOCTOR_NOTE, // only some runs need what is missing
    CLI_DOCTOR_WARN, // runs work, but slowly, or not for long
    CLI_DOCTOR_FAIL, // runs do not work
    CLI_DOCTOR_LEVELS,
} cli_doctor_level;
extern const char *const cli_doctor_level_words[CLI_DOCTOR_LEVELS]; // "ok", "note", "warn", "FAIL"

typedef struct cli_doctor_finding {
    char name[24]; // name of the check: "memory"
    cli_doctor_level level;
    char text[CLI_PATH_MAX + 256];
    char advice[256]; // what to do; "": nothing
} cli_doctor_finding;

typedef struct cli_doctor {
    char folder[CLI_PATH_MAX];       // a run folder, or the folder in which runs will be; absolute
    bool is_writable;                // this user may make files there
    const config_experiment *config; // of the experiment that the user named; NULL: none
    const char *tls;                 // the folder of certificates; NULL: none
    size_t count;
    cli_doctor_finding finding[CLI_DOCTOR_FINDINGS_MAX];
} cli_doctor;

// Adds a finding; advice "" for none.
void cli_doctor_add(cli_doctor *doctor, const char *name, cli_doctor_level level,
                    const char *advice, const char *format, ...) OCT_PRINTF(5, 6);

// The checks.
void cli_doctor_machine(cli_doctor *doctor);  // CPU, BLAS, cores, memory, limits, clock
void cli_doctor_network(cli_doctor *doctor);  // sockets, ports, certificates
void cli_doctor_folder(cli_doctor *doctor);   // disk, locks, the run in the folder
void cli_doctor_programs(cli_doctor *doctor); // daemons, MuJoCo, ffmpeg, Python, GPU

// Returns the number of findings of this level.
size_t cli_doctor_count(const cli_doctor *doctor, cli_doctor_level level);
void cli_doctor_print(const cli_doctor *doctor);
json_t *cli_doctor_json(const cli_doctor *doctor); // a new reference

#endif // CLI_DOCTOR_CLI_DOCTOR_H
