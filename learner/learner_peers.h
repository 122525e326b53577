#ifndef LEARNER_LEARNER_PEERS_H
#define LEARNER_LEARNER_PEERS_H

#include "learner/learner_actors.h"
#include "learner/learner_relays.h"
#include "proto/wire_peers.h"

// The answer to LearnerPeers: registered actors, evaluators and relays, the most urgent first
// (wire.h defines the order), and counts of all.
//
// Threads: the loop thread. Owns: the answer's columns, WIRE_PEERS_MAX rows, and 24 bytes for each
// registered peer. Full: the less urgent peers are counted but not listed.
typedef struct learner_peers learner_peers;

learner_peers *learner_peers_create(void);
void learner_peers_destroy(learner_peers *peers); // NULL is a no-op
// Makes the answer, except run_id and lag_updates (NaN). relays: the relays with the actors of each
// counted; NULL: none. newest: the policy version from which lag is counted, 0: none. count_max: 1
// .. WIRE_PEERS_MAX. The answer is borrowed until the next call; names of hosts are borrowed from
// actors and relays.
wire_peers *learner_peers_list(learner_peers *peers, const learner_actors *actors,
                               const learner_relays *relays, uint64_t now_ns, uint64_t newest,
                               uint32_t count_max);
// Returns the lag_updates column of the last answer, for the caller to fill in.
double *learner_peers_lag_updates(learner_peers *peers);

#endif // LEARNER_LEARNER_PEERS_H
