#ifndef LEARNER_LEARNER_VERSIONS_H
#define LEARNER_LEARNER_VERSIONS_H

#include <stdint.h>

// The distance between policies, counted in versions. A process that resumes a run begins above all
// versions that the process before it may have published, which were reserved ahead of need.
// Versions between the checkpoint's last one and the end of that reserve do not count as distance.
// Threads: any.
typedef struct learner_versions {
    uint64_t kept;     // last version of the checkpoint that the run continues from; 0: a new run
    uint64_t reserved; // the last one reserved, >= kept: this process begins above it
} learner_versions;

// Returns how many versions a version is behind newest; 0: it is newest or later. Versions above
// kept and up to reserved, which the checkpoint does not know, count as kept.
uint64_t learner_versions_lag(const learner_versions *versions, uint64_t newest, uint64_t version);
// Returns the oldest version that is at most lag_max behind newest; 0: every version is.
uint64_t learner_versions_oldest(const learner_versions *versions, uint64_t newest,
                                 uint64_t lag_max);

#endif // LEARNER_LEARNER_VERSIONS_H
