#ifndef COMMON_OCT_PROCESS_H
#define COMMON_OCT_PROCESS_H

#include "common/oct_numbers.h"

// What Linux and its supervisor say about this process, and the registry's rows for it; Linux's are
// under the names that Prometheus' client libraries use. NaN: Linux does not say.
//
// Threads: any. Owns: nothing.
typedef struct oct_process {
    double cpu_s;   // user and system
    double start_s; // since 1970
    double resident_bytes, virtual_bytes, threads, open_fds, max_fds;
    double restarts, hangs; // of all processes that its supervisor has (oct_pulse.h)
} oct_process;

void oct_process_measure(oct_process *now);
// Resident memory alone, for a report several times a second: one small file is read.
double oct_process_resident_bytes(void);
// The rows; `now` is borrowed.
void oct_process_numbers_add(oct_numbers *numbers, const oct_process *now);

// All of them as of now, after octet_build_info{daemon, version}, which is 1. daemon: static.
void oct_process_prometheus(oct_prometheus *text, const char *daemon);

#endif // COMMON_OCT_PROCESS_H
