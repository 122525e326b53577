#ifndef COMMON_OCT_REWARD_H
#define COMMON_OCT_REWARD_H

#include "common/oct_base.h"

// algo.reward_clip: what a reward counts for, within -most .. most; most 0: what it is. NaN stays
// NaN. Replay clips what it sums, algorithms and learners of sequences what they get.
// Threads: any.
static inline float
oct_reward_clip(float reward, float most)
{
    return most > 0 ? OCT_MAX(-most, OCT_MIN(most, reward)) : reward;
}

#endif // COMMON_OCT_REWARD_H
