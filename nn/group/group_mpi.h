#ifndef NN_GROUP_GROUP_MPI_H
#define NN_GROUP_GROUP_MPI_H

#include "common/oct_reason.h"
#include "nn/group/group.h"

// A group of processes that mpirun or srun has started, on one host or on several. What they send
// over a network is not encrypted.

// Initialises MPI and makes the group. It is the first thing a process does, on the thread that
// calls it, and group_destroy finalises MPI; neither is possible twice. Later calls may come from
// other threads, one at a time. want: the size that the group must have. *is_local: all ranks are
// on one host. OCT_EINVAL, with reason: MPI cannot be initialised with threads, the size differs,
// or the build has no MPI.
OCT_CHECKED oct_err group_mpi_open(group **out, uint32_t want, bool *is_local, oct_reason *why);

#endif // NN_GROUP_GROUP_MPI_H
