#ifndef ALGOS_ALGO_SHARE_H
#define ALGOS_ALGO_SHARE_H

#include "nn/nn_trainer.h"

// The state that an algorithm shares with those of other learners (algo_share): the algorithm names
// its networks and the other numbers that its steps change. Parameters and moments are then in the
// shared memory. Of the other numbers the memory has a copy, which algo_apply reads before a step
// and writes after it.
//
// Threads: as algo.h. Owns: nothing.
#define ALGO_SHARED_NETS_MAX    8
#define ALGO_SHARED_NUMBERS_MAX 8

typedef struct algo_shared_number {
    void *own, *shared; // the algorithm's number, and its copy in memory (NULL: only measured)
    size_t bytes;
} algo_shared_number;

typedef struct algo_sharing {
    nn_carver carver; // base NULL: nothing is shared yet, only measured
    uint32_t learner; // 0: the first learner, whose state all begin with
    uint32_t net_count, number_count;
    nn_net *net[ALGO_SHARED_NETS_MAX];                  // borrowed; algo_fetch renews their copies
    algo_shared_number number[ALGO_SHARED_NUMBERS_MAX]; // [0]: the count of updates
} algo_sharing;

// Adds a network, a trainer with its count of steps, or another number to the shared state.
void algo_share_net(algo_sharing *s, nn_net *net);
void algo_share_trainer(algo_sharing *s, nn_trainer *trainer);
void algo_share_number(algo_sharing *s, void *own, size_t bytes);
// Derives this learner's own seed from *seed, which is the first learner's, and returns true.
// Returns false and leaves *seed if this is the first learner, or if memory is only measured.
bool algo_share_own_seed(const algo_sharing *s, uint64_t *seed);

#endif // ALGOS_ALGO_SHARE_H
