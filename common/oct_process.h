#ifndef COMMON_OCT_PROCESS_H
#define COMMON_OCT_PROCESS_H

#include "common/oct_numbers.h"

// Measures this process by what Linux and the supervisor report, and makes registry rows of that.
// The numbers from Linux have the names that Prometheus' client libraries use. NaN: Linux does not
// report it.
//
// Threads: any. Owns: nothing.
typedef struct oct_process {
    double cpu_s;   // user and system
    double start_s; // seconds since 1970
    double resident_bytes, virtual_bytes, threads, open_fds, max_fds;
    double restarts, hangs; // of all processes of the supervisor (oct_pulse.h)
} oct_process;

void oct_process_measure(oct_process *now);
// Returns the resident memory only, by reading one small file: for a report several times a second.
double oct_process_resident_bytes(void);
// Adds the rows; `now` is borrowed, and read whenever the registry is.
void oct_process_numbers_add(oct_numbers *numbers, const oct_process *now);

// Writes octet_build_info{daemon, version}, which is always 1, and then all numbers as of now.
// daemon: a static string.
void oct_process_prometheus(oct_prometheus *text, const char *daemon);

#endif // COMMON_OCT_PROCESS_H
