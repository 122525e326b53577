#ifndef ACTOR_ACTOR_PACE_H
#define ACTOR_ACTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

// How many batches an actor makes with one policy version. In lock-step: one. For rollouts: one,
// and up to algo.rollout_lag further ones before newer versions arrive
// (docs/internals/decisions/0031-rollouts.md). Otherwise there is no limit.
//
// Rollouts can be lost, or be too few for an update without those of another actor; then no new
// version comes. So one more rollout is made after actor.rollout_wait_s, or after ACTOR_PACE_WAITS
// times the shortest time that one of the last ACTOR_PACE_VERSIONS versions took, whichever is
// longer. An actor thus waits for a learner with slow updates, and one late version does not
// lengthen the waits that follow.
//
// Threads: the acting thread. Owns: plain value. Times: nanoseconds of one monotonic clock.
#define ACTOR_PACE_WAITS    4
#define ACTOR_PACE_VERSIONS 4

typedef struct actor_pace {
    bool is_on; // lock-step or rollouts; false: no limit
    bool has_rollouts;
    uint32_t most;      // limit of due: 1 + algo.rollout_lag
    uint32_t due;       // batches that may be made before the next version
    double wait_s;      // actor.rollout_wait_s
    uint64_t paused_ns; // when the last batch was made
    uint64_t asked_ns;  // when the first batch with this version was made; 0: none yet
    double version_s[ACTOR_PACE_VERSIONS]; // times from asked_ns to the version; a ring
    uint32_t versions;                     // number of times measured so far
} actor_pace;

void actor_pace_init(actor_pace *pace, const config_experiment *config);
// Records that policy version now has replaced version before (0: there was none).
void actor_pace_version(actor_pace *pace, uint64_t before, uint64_t now, uint64_t now_ns);
// Returns true if a batch may be begun at now_ns.
bool actor_pace_is_due(actor_pace *pace, uint64_t now_ns);
// Records that a batch was made.
void actor_pace_made(actor_pace *pace, uint64_t now_ns);

#endif // ACTOR_ACTOR_PACE_H
