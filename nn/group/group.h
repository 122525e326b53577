#ifndef NN_GROUP_GROUP_H
#define NN_GROUP_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A group of processes that compute one thing together, each with a part of the data. Their ranks
// are 0 to size - 1. All ranks call the same functions in the same order, with the same sizes; each
// call returns when this rank has its result.
//
// Sums add number by number in the order of the ranks, for any size, host and time of arrival: the
// same inputs give the same bits, and all ranks have the same result.
//
// NULL is the group of a single process: sums and means are unchanged, and nothing is sent.
//
// No call returns an error. When a rank dies the group ends: a rank that notices logs GROUP-LOST
// and exits with code 1, because no computation that was begun can be finished. Under MPI the
// launcher ends the others.
//
// Threads: one at a time; group_counts_get any. Owns: its buffers, which grow to the largest use.
typedef struct group group;

// What one rank sends to another; bytes 0: nothing.
typedef struct group_part {
    void *data; // read where it is sent from, written where it is received
    size_t bytes;
} group_part;

// The transport between ranks (group_fork.h, group_mpi.h).
typedef struct group_link {
    // Sends out[r] to each rank r and receives in[r] from it; in[r].bytes is what r sends here. The
    // entries of the own rank are ignored.
    void (*exchange)(void *arg, const group_part *out, const group_part *in);
    // Maps zeroed memory that all ranks have; each call maps other memory, and the caller unmaps
    // it. The function is NULL, or returns NULL, if the ranks share no memory.
    void *(*share)(void *arg, size_t bytes);
    // Exits the process if another rank has died. NULL: only exchange notices.
    void (*look)(void *arg);
    // Leaves the group; the last call.
    void (*close)(void *arg);
    void *arg; // passed to each function
} group_link;

// The most ranks in a group; it bounds the arrays of parts.
#define GROUP_SIZE_MAX 64u

// Makes a rank other than 0 ignore the signals that ask a process to end, which mpirun, srun and
// terminals send to all ranks. Rank 0 handles them: it saves what the ranks have learned and then
// ends the others.
void group_follow(void);
// Copies *link; group_destroy closes it.
group *group_create(const group_link *link, uint32_t rank, uint32_t size);
// All ranks call it. NULL is a no-op.
void group_destroy(group *g);

uint32_t group_rank(const group *g);
uint32_t group_size(const group *g);
// Returns true if all ranks are certain to be on one machine, because they share memory.
bool group_is_local(const group *g);

// x[count] = the sum of all ranks' x.
void group_sum(group *g, double *x, size_t count);

// A part of count numbers. Rank 0 has the first part, rank 1 the second, and so on; parts are of
// nearly the same size.
typedef struct group_range {
    size_t at, count;
} group_range;
// Returns this rank's part; g NULL: all numbers.
group_range group_own(const group *g, size_t count);

// Numbers of each rank that all others can read in place. Ranks that share no memory have only
// their own.
typedef struct group_block {
    float *own;   // [count], this rank's; zeroed, aligned to a cache line
    size_t apart; // distance in numbers from one rank's numbers to the next rank's; 0: the others
                  // cannot read them
    void *memory; // of all ranks; NULL if apart is 0
    size_t bytes; // in memory
} group_block;
// group_block_make: all ranks call it, with the same count; it exits with GROUP-LOST if there is no
// memory. group_block_free may come after group_destroy.
void group_block_make(group_block *out, group *g, size_t count);
void group_block_free(group_block *block);

// In the next four functions x is either in such a block, with its apart, or any other array, with
// apart 0. Numbers of a block are read in place, and group_mean_own's may be read after it has
// returned: they must stay unchanged until this rank's next sum, mean or share has returned.
//
//
// Sets this rank's part of x[count] to the mean of all ranks' numbers there; the other parts are
// then unspecified. With group_set_bf16 numbers are rounded to bfloat16 before they are sent.
void group_mean_own(group *g, float *x, size_t count, size_t apart);
// Sets x[count] to what each rank has in its own part.
void group_share(group *g, float *x, size_t count, size_t apart);
// Like group_share, for an x that was the same on all ranks before each changed its own part:
// group_keep comes before the change, group_share_steps after it. With group_set_bf16 the changes
// are rounded to bfloat16, on all ranks alike, including the rank that made them.
void group_keep(group *g, const float *x, size_t count);
void group_share_steps(group *g, float *x, size_t count, size_t apart);
// Switches bfloat16 on or off for means and steps: half the bytes are sent, and each number has a
// relative error of 2^-8.
void group_set_bf16(group *g, bool bf16);

// Copies data[bytes] of rank 0 to all ranks.
void group_broadcast(group *g, void *data, size_t bytes);
// Sets own[bytes] to part r of rank 0's all[size][bytes]; all is ignored on other ranks.
void group_scatter(group *g, const void *all, void *own, size_t bytes);
// Sets all[size][bytes] of rank 0 to the own of all ranks; all is ignored on other ranks.
void group_gather(group *g, const void *own, void *all, size_t bytes);
// Like group_gather, but every rank gets all.
void group_gather_all(group *g, const void *own, void *all, size_t bytes);

// Returns zeroed memory that all ranks share until group_destroy, or NULL if they share none,
// because they may be on several hosts. At most once per group.
void *group_memory(group *g, size_t bytes);
// Exits as described above if a rank has died; for ranks that wait for each other in shared memory.
void group_look(group *g);

// A lock in shared memory: one rank at a time holds it. Zeroed memory is a free lock.
typedef struct group_lock {
    atomic_uint taken;
} group_lock;
// group_lock_take waits as long as necessary, and exits if a rank has died meanwhile.
void group_lock_take(group *g, group_lock *lock);
void group_lock_give(group_lock *lock);

typedef struct group_counts {
    double seconds; // time in calls, including the time spent waiting for others
    double bytes;   // sent and received by this rank
} group_counts;
void group_counts_get(const group *g, group_counts *out);

// Waits once, in a loop of a link: spins in the first rounds, then yields, then sleeps, up to a
// millisecond at a time, so that waiting ranks leave their cores to others. round counts from 0.
void group_wait(uint32_t round);
#define GROUP_LOOK_EVERY 512u // rounds between two calls of group_look: at most half a second

#endif // NN_GROUP_GROUP_H
