#ifndef GROUP_GROUP_LAUNCH_H
#define GROUP_GROUP_LAUNCH_H

#include <stdint.h>

// Whether mpirun or srun has started this process, by the environment that they give it. Threads:
// while there is one.

// How many processes were started together. 1: this one alone, by a launcher or without; 0: by a
// launcher that does not say how many, so that MPI has to.
uint32_t group_launch_size(void);
// For a process that was launched and starts others: those were not.
void group_launch_forget(void);

#endif // GROUP_GROUP_LAUNCH_H
