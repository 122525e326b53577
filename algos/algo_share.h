#ifndef ALGOS_ALGO_SHARE_H
#define ALGOS_ALGO_SHARE_H

#include "nn/nn_trainer.h"

// What an algorithm shares with those of other learners (algo_share): it names its networks, and
// the other numbers that its steps change. Parameters and moments then lie in the shared memory; of
// the other numbers there is a copy in it, which is read before a step and written after it.
//
// Threads: as algo.h. Owns: nothing.
#define ALGO_SHARED_NETS_MAX    8
#define ALGO_SHARED_NUMBERS_MAX 8

typedef struct algo_shared_number {
    void *own, *shared;
    size_t bytes;
} algo_shared_number;

typedef struct algo_sharing {
    nn_carver carver; // base NULL: nothing is shared yet, the room is measured
    uint32_t learner; // 0: the first, whose state all begin with
    uint32_t net_count, number_count;
    nn_net *net[ALGO_SHARED_NETS_MAX];
    algo_shared_number number[ALGO_SHARED_NUMBERS_MAX];
} algo_sharing;

void algo_share_net(algo_sharing *s, nn_net *net);
void algo_share_trainer(algo_sharing *s, nn_trainer *trainer);
void algo_share_number(algo_sharing *s, void *own, size_t bytes);
// Makes *seed, the first learner's, this learner's own. false, and nothing changed: it is the first
// one, or memory is only being measured.
bool algo_share_own_seed(const algo_sharing *s, uint64_t *seed);

#endif // ALGOS_ALGO_SHARE_H
