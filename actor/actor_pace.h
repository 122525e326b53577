#ifndef ACTOR_ACTOR_PACE_H
#define ACTOR_ACTOR_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_config.h"

// How many batches an actor makes with a version of the policy. Versions say so in lock-step, one
// batch with each, and for rollouts, one with each and algo.rollout_lag of them ahead
// (docs/internals/decisions/0031-rollouts.md). Otherwise an actor makes as many as it can.
//
// Rollouts may be lost, or be too few without those of another actor: then no version comes, and
// one more rollout is made after actor.rollout_wait_s, or ACTOR_PACE_WAITS times as long as the
// quickest of the last ACTOR_PACE_VERSIONS versions took to come, whichever is longer. So a learner
// whose updates are slow is waited for, and a version that came late because something was lost
// does not make the next waits longer.
//
// Threads: the acting thread. Owns: nothing. Times: nanoseconds of one monotonic clock.
#define ACTOR_PACE_WAITS    4
#define ACTOR_PACE_VERSIONS 4

typedef struct actor_pace {
    bool is_on;
    bool has_rollouts;
    uint32_t most; // batches that one version may be due
    uint32_t due;  // batches to be made before another version is awaited
    double wait_s;
    uint64_t paused_ns; // when the last batch was made
    uint64_t asked_ns;  // when the first batch of this version was made; 0: it was not yet
    double version_s[ACTOR_PACE_VERSIONS]; // how long the last versions took to come
    uint32_t versions;                     // that came, ever
} actor_pace;

void actor_pace_init(actor_pace *pace, const oct_config *config);
// The policy was replaced: version before (0: there was none) by now.
void actor_pace_version(actor_pace *pace, uint64_t before, uint64_t now, uint64_t now_ns);
// Whether a batch may be begun at now_ns.
bool actor_pace_is_due(actor_pace *pace, uint64_t now_ns);
// A batch was made.
void actor_pace_made(actor_pace *pace, uint64_t now_ns);

#endif // ACTOR_ACTOR_PACE_H
