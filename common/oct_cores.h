#ifndef COMMON_OCT_CORES_H
#define COMMON_OCT_CORES_H

// How many CPUs this process and those that it starts may use: the CPUs of its affinity (taskset,
// cpuset), or less where a control group has a quota of CPU time (oct_cgroup.h).
//
// Threads: any.

// CPUs of the affinity mask, at least 1.
unsigned oct_cores_affine(void);
// CPUs' worth of time that may be used, above 0; a quota makes it a fraction. root: as of
// oct_cgroup.h.
double oct_cores_usable(const char *root);

#endif // COMMON_OCT_CORES_H
