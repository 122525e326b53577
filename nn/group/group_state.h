#ifndef NN_GROUP_GROUP_STATE_H
#define NN_GROUP_GROUP_STATE_H

#include "nn/group/group.h"

// The state of a group, and the calls that group.c, group_fork.c and group_parts.c share.
//
// Threads, Owns: as group.h.

struct group {
    group_link link;
    uint32_t rank, size;
    bool bf16;    // means and steps travel as bfloat16
    void *space;  // group_space's; NULL: nothing yet
    size_t room;  // bytes in space
    void *memory; // of group_memory
    size_t memory_bytes;
    group_part out[GROUP_SIZE_MAX], in[GROUP_SIZE_MAX]; // the parts of the next exchange, by rank
    atomic_uint_fast64_t ns;                            // time in calls
    atomic_uint_fast64_t bytes;                         // sent and received
};

// Returns work space of at least `bytes`. When the space grows its contents are lost.
void *group_space(group *g, size_t bytes);
// Sends out and receives in, which the caller has filled.
void group_exchange(group *g);
// A barrier: returns when all ranks have called it. Each rank then sees what the others wrote
// before.
void group_meet(group *g);
// Counts work outside of exchanges: the time since begin_ns, and the bytes that it moved.
void group_counts_add(group *g, uint64_t begin_ns, uint64_t bytes);

#endif // NN_GROUP_GROUP_STATE_H
