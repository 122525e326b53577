#ifndef LEARNER_LEARNER_PEERS_H
#define LEARNER_LEARNER_PEERS_H

#include "learner/learner_actors.h"
#include "learner/learner_relays.h"
#include "proto/wire_peers.h"

// Who has registered, as LearnerPeers answers it: the most troubled first (wire.h says in which
// order), and the counts of all.
//
// Threads: the loop thread. Owns: the answer's columns, WIRE_PEERS_MAX rows, and 24 bytes for each
// that registered. Full: those in less trouble are counted and not listed.
typedef struct learner_peers learner_peers;

learner_peers *learner_peers_create(void);
void learner_peers_destroy(learner_peers *peers); // NULL is a no-op
// relays: with the actors of each counted; NULL: none. newest: the policy version that lag is
// counted from, 0: none. count_max: 1 .. WIRE_PEERS_MAX. The answer, but for run_id and lag_updates
// (NaN), is borrowed until the next call; the names of hosts are borrowed from actors and relays.
wire_peers *learner_peers_list(learner_peers *peers, const learner_actors *actors,
                               const learner_relays *relays, uint64_t now_ns, uint64_t newest,
                               uint32_t count_max);
// That column of the last answer, to be filled in by who knows of updates.
double *learner_peers_lag_updates(learner_peers *peers);

#endif // LEARNER_LEARNER_PEERS_H
