#ifndef BENCH_BENCH_SWARM_CREW_H
#define BENCH_BENCH_SWARM_CREW_H

#include "bench/bench_swarm_actor.h"

// A swarm in several processes, each with its part of the actors: so many connections as thousands
// of them have need more open files than a process may have, and more than one loop.
//
// What they are told and say lies in shared memory; they look at it every few milliseconds.
//
// Threads: one user. Owns: the processes, which end with it. A process that ends early is found by
// swarm_crew_check.
#define SWARM_CREW_MAX 16

typedef struct swarm_crew swarm_crew;

// Forks, so nothing of net/ may be in use yet. plan->learner is not looked at.
swarm_crew *swarm_crew_create(const swarm_plan *plan, uint32_t processes);
// Where the learner is; before anything else.
void swarm_crew_begin(swarm_crew *crew, const char *learner);
// The first count actors of all: 1, or all of them.
void swarm_crew_join(swarm_crew *crew, uint32_t count);
uint32_t swarm_crew_running(const swarm_crew *crew);
void swarm_crew_push(swarm_crew *crew, bool on);
// No batch waits for its acknowledgement, a moment after swarm_crew_push(false).
bool swarm_crew_is_quiet(const swarm_crew *crew);
uint64_t swarm_crew_made(const swarm_crew *crew);
uint32_t swarm_crew_relayed(const swarm_crew *crew);
uint32_t swarm_crew_batch_bytes(const swarm_crew *crew);
const char *swarm_crew_replay_address(const swarm_crew *crew);
// Begins or ends. The counts of all are there when swarm_crew_is_told after the end.
void swarm_crew_measure(swarm_crew *crew, bool measuring);
bool swarm_crew_is_told(const swarm_crew *crew);
// Adds up what they told; borrowed.
void swarm_crew_add_up(swarm_crew *crew);
const swarm_counts *swarm_crew_counts(const swarm_crew *crew);
swarm_samples *swarm_crew_ack_seconds(swarm_crew *crew);
const swarm_version *swarm_crew_versions(const swarm_crew *crew);
// CPU time, memory and descriptors of all of them and of this process.
void swarm_crew_usage(const swarm_crew *crew, swarm_usage *out);
// Ends this process with a line if one of them has ended.
void swarm_crew_check(const swarm_crew *crew);
void swarm_crew_destroy(swarm_crew *crew);

#endif // BENCH_BENCH_SWARM_CREW_H
