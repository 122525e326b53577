#ifndef NN_GROUP_GROUP_LAUNCH_H
#define NN_GROUP_GROUP_LAUNCH_H

#include <stdint.h>

// Detects whether mpirun or srun has started this process, from the environment variables that they
// set.
//
// Threads: while there is only one.

// Returns the number of processes that were started together: 1 without a launcher, or if the
// launcher started only this process; 0 if a launcher does not say how many, so that MPI has to.
uint32_t group_launch_size(void);
// Removes these variables. A launched process calls it before it starts processes, which the
// launcher did not start.
void group_launch_forget(void);

#endif // NN_GROUP_GROUP_LAUNCH_H
