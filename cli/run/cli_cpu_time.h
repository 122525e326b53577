#ifndef CLI_RUN_CLI_CPU_TIME_H
#define CLI_RUN_CLI_CPU_TIME_H

#include <stddef.h>
#include <stdint.h>

// CPU time, user and system, of one start of a daemon and of what it started: of all processes of
// the session that it leads.
//
// The kernel tells of each process what it has used itself, and what its children had used that it
// waited for. So each process is read while it lives. When it has ended, its time comes once more,
// as its parent's, and only what is beyond the last reading is added. What nobody waits for is kept
// as it was last read. The sum never shrinks. Where it errs, it errs by no more than was used from
// one reading to the next but one; and the kernel tells hundredths of a second.
//
// Not known: a process that leaves the session (setsid) before it is found. It counts when a
// process of this session has waited for it, and not at all if none does.
//
// Threads: one at a time. Errors: what cannot be read now counts later, the leader's at its end.
typedef struct cli_cpu_time cli_cpu_time;

// root: "" for this machine; a folder that has proc/PID/stat for tests.
cli_cpu_time *cli_cpu_time_create(const char *root, int leader_pid);
// What the processes that are known have used: some 10 microseconds for each.
void cli_cpu_time_read(cli_cpu_time *time);
// Looks for new ones among all processes of the machine: some 2 microseconds for each of these.
void cli_cpu_time_find(cli_cpu_time *const *times, size_t count);
uint64_t cli_cpu_time_ns(const cli_cpu_time *time);
// Memory that these processes had in RAM when they were last read, in bytes: the sum of their
// resident sets. Pages that two of them share count twice.
uint64_t cli_cpu_time_resident(const cli_cpu_time *time);
// Of this, what the kernel is going to count as the leader's: its own, and its children's that it
// waited for.
uint64_t cli_cpu_time_leader_ns(const cli_cpu_time *time);
// The leader was waited for, and the kernel counted so much. Call it after a last reading.
void cli_cpu_time_end(cli_cpu_time *time, uint64_t leader_ns);
void cli_cpu_time_destroy(cli_cpu_time *time);

#endif // CLI_RUN_CLI_CPU_TIME_H
