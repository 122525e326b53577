#ifndef NN_GROUP_GROUP_FORK_H
#define NN_GROUP_GROUP_FORK_H

#include "nn/group/group.h"

// A group of processes on this machine: this process, which is rank 0, and copies that it forks.
// They communicate through shared memory; nothing listens, and nothing is left behind. When rank 0
// dies the kernel kills the others. When another rank dies, rank 0 notices in its next call.

// Forks size - 1 copies of this process, which must have one thread, and returns in each of them.
// *out is the group (NULL if size is 1). Copies ignore SIGINT, SIGTERM and SIGHUP, which rank 0
// handles. OCT_EIO: no memory or no process; no copy exists then.
OCT_CHECKED oct_err group_fork(group **out, uint32_t size);

#endif // NN_GROUP_GROUP_FORK_H
