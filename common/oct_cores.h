#ifndef COMMON_OCT_CORES_H
#define COMMON_OCT_CORES_H

// Counts the CPUs that this process and its children may use: those of its affinity mask (taskset,
// cpuset), or fewer if a control group has a quota of CPU time (oct_cgroup.h).
//
// Threads: any.

// Returns the number of CPUs in the affinity mask, at least 1.
unsigned oct_cores_affine(void);
// Returns the CPU seconds that may be used in each second, above 0: a quota can make it a fraction.
// root is as in oct_cgroup.h.
double oct_cores_usable(const char *root);

#endif // COMMON_OCT_CORES_H
