#ifndef LIB_CLIENT_BATCH_H
#define LIB_CLIENT_BATCH_H

#include "include/octet/replay.h"
#include "proto/wire_replay.h"

// A batch for octet_replay_sample: windows copied from a reply into one block of memory, or the
// reason why there are none.
//
// Threads: one at a time; the loop thread makes it and passes it through a ring. Owns:
// view.memory, until client_batch_give.
typedef struct client_batch {
    octet_replay_batch view; // its weights are computed by client_batch_give
    float *weight;           // [count], view.weights
    oct_err err;             // not OCT_OK: view is empty, and reason is set
    char reason[OCTET_REPLAY_ERROR_BYTES];
} client_batch;

// Copies windows first … first + count - 1 of the reply.
client_batch *client_batch_create(const wire_sampled *sampled, uint32_t first, uint32_t count);
// Makes a batch that carries an error.
client_batch *client_batch_fail(oct_err err, const char *reason);
void client_batch_destroy(client_batch *batch);
// Computes the importance weights, moves the view to *out, and frees the batch. The memory then
// belongs to the caller (octet_replay_batch_free).
void client_batch_give(client_batch *take, double importance_exponent, octet_replay_batch *out);

#endif // LIB_CLIENT_BATCH_H
