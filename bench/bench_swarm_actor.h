#ifndef BENCH_BENCH_SWARM_ACTOR_H
#define BENCH_BENCH_SWARM_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/actor_spec.h"
#include "bench/bench_swarm_proc.h"
#include "net/net_loop.h"
#include "net/net_url.h"
#include "proto/wire.h"

// Simulated actors: each with the links, the session and the protocol of a real one (registration,
// catching up, sequence numbers, a window of unacknowledged batches, sending again, reports), all
// in one loop. Instead of an environment they have a rate, and send zeros for observations.
//
// Threads: loop thread. Full: an actor whose window is full leaves the batch out and counts it as
// held back, as a real one would stop stepping.
#define SWARM_VERSIONS_MAX 65536

typedef struct swarm_plan {
    const char *learner; // address
    uint32_t actors;
    uint32_t subscribers; // the first so many get policies
    uint32_t pushers;     // the first so many send steps
    double batches_per_s; // of each
    double report_s;      // between two reports of one
    uint32_t rows;        // steps of a batch
} swarm_plan;

// One policy version, as the subscribers saw it. Times of the wall clock.
typedef struct swarm_version {
    uint64_t version; // 0: none
    uint64_t first_us, last_us;
    uint32_t seen; // by how many
    uint32_t check;
} swarm_version;

typedef struct swarm_counts {
    uint64_t offered, held_back; // batches that the rate asked for; for which there was no room
    uint64_t sent, resent, sent_bytes; // batches
    uint64_t acked;                    // batches
    uint64_t acks, ack_bytes;          // messages of one's own
    uint64_t policies, policy_bytes;   // messages
    uint64_t gaps, asked;              // versions missed; GetPolicy
    uint64_t reports, mismatches;      // of a version's check between subscribers
} swarm_counts;

typedef struct swarm swarm;

// Connects nobody yet.
swarm *swarm_create(net_loop *loop, const swarm_plan *plan);
// Lets the first count actors (at least those that did already) join.
void swarm_join(swarm *self, uint32_t count);
// How many of them run: registered, linked, with a policy.
uint32_t swarm_running(const swarm *self);
// Whether batches are made.
void swarm_push(swarm *self, bool on);
// No batch waits for its acknowledgement.
bool swarm_is_quiet(const swarm *self);
// Since the last call with measuring = true.
const swarm_counts *swarm_counts_get(const swarm *self);
void swarm_measure(swarm *self, bool measuring);
swarm_samples *swarm_ack_seconds(swarm *self);          // from first sending to acknowledgement
const swarm_version *swarm_versions(const swarm *self); // [SWARM_VERSIONS_MAX], while measuring
uint64_t swarm_made(const swarm *self);                 // steps, ever
uint32_t swarm_relayed(const swarm *self);              // actors that were given a relay
const char *swarm_replay_address(const swarm *self);    // of the last that registered
uint32_t swarm_batch_bytes(const swarm *self);          // packed

#endif // BENCH_BENCH_SWARM_ACTOR_H
