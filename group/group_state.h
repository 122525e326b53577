#ifndef GROUP_GROUP_STATE_H
#define GROUP_GROUP_STATE_H

#include "group/group.h"

// What the files of a group share: its state, and the calls that everything is made of.
//
// Threads, Owns: as group.h.

struct group {
    group_link link;
    uint32_t rank, size;
    bool bf16;
    void *space;
    size_t room;
    void *memory; // of group_memory
    size_t memory_bytes;
    group_part out[GROUP_SIZE_MAX], in[GROUP_SIZE_MAX];
    atomic_uint_fast64_t ns;
    atomic_uint_fast64_t bytes;
};

// In a rank other than 0: signals that ask a process to end are not for it, though mpirun, srun and
// a terminal send them to all. Rank 0 saves what they have learned together, and tells the others.
void group_follow(void);
// At least bytes of the group's own; forgets what was there when it grows.
void *group_space(group *g, size_t bytes);
// Sends out and receives in, as the caller has filled them.
void group_exchange(group *g);
// Returns when all ranks have called it: they see what each wrote before.
void group_meet(group *g);
// Work outside of exchanges: since when, and the bytes that were sent and received by it.
void group_counts_add(group *g, uint64_t begin_ns, uint64_t bytes);

#endif // GROUP_GROUP_STATE_H
