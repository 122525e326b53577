#ifndef CLIENT_CLIENT_SAMPLING_H
#define CLIENT_CLIENT_SAMPLING_H

#include "client/client_batch.h"
#include "common/oct_ring.h"
#include "proto/wire_rpc.h"

// Keeps samples on their way: batches that are wanted, at most two requests in flight, and what
// came of them in a ring that the caller of the handle takes from. Of two requests in flight either
// may be answered first.
//
// Threads: the loop thread, but for client_sampling_want and the ready ring's pop, which are the
// caller's. Lost: what replay could not answer is asked for again at the next tick.
#define CLIENT_SAMPLES_INFLIGHT 2
#define CLIENT_READY_MAX        (2 * OCTET_REPLAY_PREFETCH_MAX)

typedef struct client_sampling client_sampling;

client_sampling *client_sampling_create(wire_client *client, uint64_t run_id);
// The client answers no more.
void client_sampling_destroy(client_sampling *sampling);
// From now on batches of this size, so many of them in a request; none is wanted yet, and those on
// their way are for nobody.
void client_sampling_set(client_sampling *sampling, uint32_t batch_size, uint32_t per_request);
// So many more batches are wanted. The loop thread is to look (client_sampling_tick).
void client_sampling_want(client_sampling *sampling, uint32_t batches);
oct_ring *client_sampling_ready(const client_sampling *sampling); // of client_batch
void client_sampling_tick(client_sampling *sampling);

#endif // CLIENT_CLIENT_SAMPLING_H
