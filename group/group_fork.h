#ifndef GROUP_GROUP_FORK_H
#define GROUP_GROUP_FORK_H

#include "group/group.h"

// A group of processes on this machine: this process, rank 0, and copies of it that it makes. They
// reach each other through memory that they share; nothing listens, and nothing is left behind.
// When rank 0 dies, the kernel kills the others; when one of them dies, rank 0 notices in its next
// call.

// Makes size - 1 copies of this process, which must have one thread. Returns in each of them: *out
// is its group (NULL: size 1). A copy ignores SIGINT, SIGTERM and SIGHUP, which are for rank 0.
// OCT_EIO: no memory or no process; then there is no copy.
OCT_CHECKED oct_err group_fork(group **out, uint32_t size);

#endif // GROUP_GROUP_FORK_H
