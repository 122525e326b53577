#ifndef LIB_CLIENT_SAMPLING_H
#define LIB_CLIENT_SAMPLING_H

#include "common/oct_ring.h"
#include "lib/client_batch.h"
#include "proto/wire_rpc.h"

// Keeps samples on their way: asks replay for the batches that the user wants, in at most
// CLIENT_SAMPLES_INFLIGHT requests at the same time, and puts the answers into a ring. Requests
// may be answered in any order.
//
// Threads: the loop thread, except client_sampling_want and taking from the ready ring, which the
// user's thread does. Owns: the batches in the ring. Full: never, the user wants no more batches
// than the ring holds. Lost: a request that replay did not answer is sent again at the next tick,
// as a new request.
#define CLIENT_SAMPLES_INFLIGHT 2
#define CLIENT_READY_MAX        (2 * OCTET_REPLAY_PREFETCH_MAX) // twice the most that is wanted

typedef struct client_sampling client_sampling;

// Borrows the client, which must be closed before the sampling is destroyed.
client_sampling *client_sampling_create(wire_client *client, uint64_t run_id);
// Frees the ring and the batches in it. No call of the client may be open.
void client_sampling_destroy(client_sampling *sampling);
// Begins with other numbers: batches of batch_size windows, at most per_request of them in one
// request. No batch is wanted yet, and answers to earlier requests are dropped.
void client_sampling_set(client_sampling *sampling, uint32_t batch_size, uint32_t per_request);
// Adds to the number of wanted batches. The caller then wakes the loop thread for
// client_sampling_tick.
void client_sampling_want(client_sampling *sampling, uint32_t batches);
oct_ring *client_sampling_ready(const client_sampling *sampling); // of client_batch
// Sends the requests that are due.
void client_sampling_tick(client_sampling *sampling);

#endif // LIB_CLIENT_SAMPLING_H
