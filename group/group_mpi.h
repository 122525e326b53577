#ifndef GROUP_GROUP_MPI_H
#define GROUP_GROUP_MPI_H

#include "group/group.h"

// A group of processes that mpirun or srun has started, on one host or on several. What they send
// each other over a network is not encrypted.

// Begins MPI, on the thread that calls; later calls may come from others, one at a time. want: the
// size that there must be. It begins before anything else that the process does, and group_destroy
// ends it: neither is possible twice. is_local: all ranks are on one host. OCT_EINVAL, reason:
// another size, or a build without MPI.
OCT_CHECKED oct_err group_mpi_open(group **out, uint32_t want, bool *is_local, char *reason,
                                   size_t reason_size);

#endif // GROUP_GROUP_MPI_H
