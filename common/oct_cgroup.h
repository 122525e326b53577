#ifndef COMMON_OCT_CGROUP_H
#define COMMON_OCT_CGROUP_H

#include <stdint.h>

// Memory and CPU time that the control groups of this process leave it. systemd, Slurm and
// containers set limits at any level of the hierarchy, so all of them count, from the group of the
// process up to the root: memory.max and cpu.max of version 2, memory.limit_in_bytes and
// cpu.cfs_quota_us of version 1 (mounted where every distribution mounts them). File cache does not
// count as used: the kernel takes it back before it refuses memory.
//
// Threads: any. Source: Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and
// scheduler/sched-bwc.rst.

// The lowest limit, in bytes; UINT64_MAX: none is set. root: "" for this machine; a folder that has
// proc/self/cgroup and sys/fs/cgroup for tests.
uint64_t oct_cgroup_memory_limit(const char *root);
// Bytes until the nearest limit.
uint64_t oct_cgroup_memory_left(const char *root);
// Returns how many processes the kernel has killed for want of memory: in the nearest group that
// counts them (memory.events, memory.oom_control), else on the machine (/proc/vmstat). UINT64_MAX:
// neither is there. A killed process is counted before it can be waited for.
uint64_t oct_cgroup_oom_kills(const char *root);
// Returns the lowest quota of CPU time, in thousandths of a CPU; UINT64_MAX: none is set.
uint64_t oct_cgroup_cpu_millis(const char *root);

#endif // COMMON_OCT_CGROUP_H
