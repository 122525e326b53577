#ifndef GROUP_GROUP_H
#define GROUP_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// Processes that compute one thing together, each with a part of the data: their ranks are 0 to
// size - 1. All ranks call the same functions in the same order, with the same sizes; each call
// returns when this rank has what it is to have.
//
// Sums are formed number by number in the order of the ranks, whatever the sizes, hosts and
// arrival: the same inputs give the same bits, and all ranks have the same.
//
// NULL is the group of one: sums and means are what they were, and nothing is sent.
//
// No call fails. A rank that dies ends the group: whoever notices logs GROUP-LOST and leaves the
// process with code 1, because nothing that was begun could be ended.
//
// Threads: one at a time; group_counts_get any. Owns: its buffers, which grow to the largest use.
typedef struct group group;

// What goes from a rank to another; bytes 0: nothing.
typedef struct group_part {
    void *data; // is only read where it is sent from
    size_t bytes;
} group_part;

// How ranks reach each other (group_fork.h, group_mpi.h).
typedef struct group_link {
    // Sends out[r] to each rank r, and receives in[r] from it: as many bytes as it sends here. The
    // own rank's are not looked at.
    void (*exchange)(void *arg, const group_part *out, const group_part *in);
    // Maps zeroed memory that all ranks have, each call another; who asked unmaps it. NULL, or
    // returns NULL: ranks have none together.
    void *(*share)(void *arg, size_t bytes);
    // Ends the process if one of the others has died. NULL: exchange alone notices.
    void (*look)(void *arg);
    // Leaves: no call follows.
    void (*close)(void *arg);
    void *arg;
} group_link;

#define GROUP_SIZE_MAX 64u

// Takes link.
group *group_create(const group_link *link, uint32_t rank, uint32_t size);
// All ranks; NULL is a no-op.
void group_destroy(group *g);

uint32_t group_rank(const group *g);
uint32_t group_size(const group *g);
// Whether all ranks are certain to be on one machine: they have memory together.
bool group_is_local(const group *g);

// x[count] = the sum of all ranks' x.
void group_sum(group *g, double *x, size_t count);

// Of many numbers, each rank has a part: the first is rank 0's, and so on, of nearly the same size.
typedef struct group_range {
    size_t at, count;
} group_range;
// The own one. NULL: all.
group_range group_own(const group *g, size_t count);

// Numbers of each rank that all others can read where they are. Ranks on several hosts have none:
// each then has its own alone.
typedef struct group_block {
    float *own;   // [count], zeroed, on a cache line
    size_t apart; // numbers from a rank's to those of the next; 0: nobody else can read them
    void *memory; // of all
    size_t bytes;
} group_block;
// All ranks, with the same count. free may follow group_destroy.
void group_block_make(group_block *out, group *g, size_t count);
void group_block_free(group_block *block);

// x and apart, in the following: of such a block, or any numbers and 0. Those of a block are read
// where they are, by a mean still after the call: they stay until this rank's next sum, mean or
// share has returned.
//
// The own part of x[count] = the mean of all ranks' numbers there; what the others then have is not
// said. Rounded to bfloat16 on their way where group_set_bf16 says so.
void group_mean_own(group *g, float *x, size_t count, size_t apart);
// x[count] = what each rank has in its own part of it.
void group_share(group *g, float *x, size_t count, size_t apart);
// The same for an x that all had alike before each rank moved its own part: keep before, share
// after. Where group_set_bf16 says so the steps are rounded to bfloat16, everybody's own too.
void group_keep(group *g, const float *x, size_t count);
void group_share_steps(group *g, float *x, size_t count, size_t apart);
// Of means and steps: half the bytes are sent, and each number has a relative error of 2^-8.
void group_set_bf16(group *g, bool bf16);

// data[bytes] of rank 0 becomes everybody's.
void group_broadcast(group *g, void *data, size_t bytes);
// own[bytes] = part r of rank 0's all[size][bytes]; others' all is not looked at.
void group_scatter(group *g, const void *all, void *own, size_t bytes);
// Rank 0's all[size][bytes] = everybody's own; others' all is not looked at.
void group_gather(group *g, const void *own, void *all, size_t bytes);
// The same for everybody.
void group_gather_all(group *g, const void *own, void *all, size_t bytes);

// Memory, zeroed, that all ranks have until group_destroy; once. NULL: the ranks have none
// together, because they may be on several hosts.
void *group_memory(group *g, size_t bytes);
// Leaves as above if a rank has died: for ranks that wait for each other in that memory.
void group_look(group *g);

// In such memory: one rank at a time. Zeroed it is free.
typedef struct group_lock {
    atomic_uint taken;
} group_lock;
void group_lock_take(group *g, group_lock *lock);
void group_lock_give(group_lock *lock);

typedef struct group_counts {
    double seconds; // in calls, waiting for others included
    double bytes;   // sent and received by this rank
} group_counts;
void group_counts_get(const group *g, group_counts *out);

// What a link does while it waits: spins, then gives way, then sleeps, longer and longer up to a
// millisecond, so that ranks that wait leave their cores to others. round: counts from 0.
void group_wait(uint32_t round);
#define GROUP_LOOK_EVERY 512u // rounds between two looks at the others: half a second at most

#endif // GROUP_GROUP_H
