#ifndef COMMON_OCT_REWARD_H
#define COMMON_OCT_REWARD_H

#include "common/oct_base.h"

// Clips a reward to -most .. most (algo.reward_clip); most 0 leaves it as it is, and NaN stays NaN.
// Replay clips the rewards that it sums; algorithms and learners of sequences clip those that they
// receive. Threads: any.
static inline float
oct_reward_clip(float reward, float most)
{
    return most > 0 ? OCT_MAX(-most, OCT_MIN(most, reward)) : reward;
}

#endif // COMMON_OCT_REWARD_H
