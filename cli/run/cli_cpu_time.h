#ifndef CLI_RUN_CLI_CPU_TIME_H
#define CLI_RUN_CLI_CPU_TIME_H

#include <stddef.h>
#include <stdint.h>

// Counts the CPU time, user and system, that one start of a daemon used, and all that it started:
// all processes of the session that it leads.
//
// The kernel reports for each process what it has used itself, and what the children had used that
// it waited for. So each process is read while it lives. When it has ended, its time appears again
// in its parent's, and only what exceeds the last reading is added. The time of a process that no
// process waits for is kept as last read. The sum never shrinks. Its error is at most what was used
// within two readings, and the kernel counts in hundredths of a second.
//
// Not seen: a process that leaves the session (setsid) before it is found. Its time counts if a
// process of this session has waited for it, and is lost otherwise.
//
// Threads: one at a time. Errors: what cannot be read now is counted at a later reading, the
// leader's at its end.
typedef struct cli_cpu_time cli_cpu_time;

// root: "" for this machine; in tests, a folder that contains proc/PID/stat. It is borrowed.
cli_cpu_time *cli_cpu_time_create(const char *root, int leader_pid);
// Reads the known processes: about 10 microseconds each.
void cli_cpu_time_read(cli_cpu_time *time);
// Searches all processes of the machine for new ones of these sessions: about 2 microseconds each.
void cli_cpu_time_find(cli_cpu_time *const *times, size_t count);
uint64_t cli_cpu_time_ns(const cli_cpu_time *time);
// Returns the memory that these processes had in RAM when last read, in bytes: the sum of their
// resident sets, in which shared pages count more than once.
uint64_t cli_cpu_time_resident(const cli_cpu_time *time);
// Returns the part of the sum that the kernel will report as the leader's when it is reaped: its
// own time, and that of the children that it waited for.
uint64_t cli_cpu_time_leader_ns(const cli_cpu_time *time);
// The leader was reaped, and the kernel counted leader_ns for it. Call this after a last reading.
void cli_cpu_time_end(cli_cpu_time *time, uint64_t leader_ns);
void cli_cpu_time_destroy(cli_cpu_time *time);

#endif // CLI_RUN_CLI_CPU_TIME_H
