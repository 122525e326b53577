#ifndef LEARNER_LEARNER_VERSIONS_H
#define LEARNER_LEARNER_VERSIONS_H

#include <stdint.h>

// How far policies are apart, counted in versions. A process that goes on with a run begins above
// all versions that the one before it may have published, which were reserved ahead of need. What
// is between those and the last one of the checkpoint is no distance. Threads: any.
typedef struct learner_versions {
    uint64_t kept;     // the last one of the checkpoint that the run goes on from; 0: a new run
    uint64_t reserved; // of that run, at least kept: this process's first one is the next
} learner_versions;

// How many versions before newest a version is, 0: it is that one or a later one. Versions above
// kept and up to reserved, of which the checkpoint knows nothing, count as kept.
uint64_t learner_versions_lag(const learner_versions *versions, uint64_t newest, uint64_t version);
// The oldest version that is at most lag_max before newest; 0: any is.
uint64_t learner_versions_oldest(const learner_versions *versions, uint64_t newest,
                                 uint64_t lag_max);

#endif // LEARNER_LEARNER_VERSIONS_H
