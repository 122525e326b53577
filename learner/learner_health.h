#ifndef LEARNER_LEARNER_HEALTH_H
#define LEARNER_LEARNER_HEALTH_H

#include "learner/learner_actors.h"
#include "proto/wire_peers.h"

// Finds the most urgent problem of an actor or evaluator. An actor is compared with the medians of
// all live actors, because one stalled actor would move a mean.
//
// Threads: the loop thread. Owns: room for one number of each actor. Full: never, it grows.
typedef struct learner_health learner_health;

// An actor to which replay acknowledges nothing for this long is WIRE_PEER_UNACKED. Replay repeats
// an acknowledgement at least every 2 s.
#define LEARNER_HEALTH_UNACKED_S 10

learner_health *learner_health_create(void);
void learner_health_destroy(learner_health *health); // NULL is a no-op
// Renews the medians. newest: the policy version from which lag is counted; 0: none yet.
void learner_health_renew(learner_health *health, const learner_actors *actors, uint64_t now_ns,
                          uint64_t newest);
// The most urgent problem of a registered peer, by the medians of the last learner_health_renew.
wire_peer_health learner_health_of(const learner_health *health, const learner_actor *actor,
                                   uint64_t now_ns, uint64_t newest);
// Versions of the policy that an actor is behind newest; NaN: not known, or not an actor.
double learner_health_lag(const learner_actor *actor, uint64_t newest);
// The median of all live actors' rates, in environment steps/s; NaN: none is known.
double learner_health_rate(const learner_health *health);

#endif // LEARNER_LEARNER_HEALTH_H
