// Computes the distance of policies in versions, without versions that were reserved and never
// published.
#include "learner/learner_versions.h"

#include "common/oct_base.h"

// Numbers versions consecutively, without the reserved ones.
static uint64_t
rank_of(const learner_versions *versions, uint64_t version)
{
    return version > versions->reserved ? version - versions->reserved + versions->kept
                                        : OCT_MIN(version, versions->kept);
}

uint64_t
learner_versions_lag(const learner_versions *versions, uint64_t newest, uint64_t version)
{
    uint64_t last = rank_of(versions, newest), rank = rank_of(versions, version);
    return last > rank ? last - rank : 0;
}

uint64_t
learner_versions_oldest(const learner_versions *versions, uint64_t newest, uint64_t lag_max)
{
    uint64_t last = rank_of(versions, newest);
    if (last <= lag_max) {
        return 0;
    }
    uint64_t rank = last - lag_max;
    return rank > versions->kept ? rank - versions->kept + versions->reserved : rank;
}
