#ifndef CLIENT_CLIENT_BATCH_H
#define CLIENT_CLIENT_BATCH_H

#include "include/octet/replay.h"
#include "proto/wire_replay.h"

// What a sampler is given for a call: windows of a reply, copied into memory of their own, or why
// there are none.
//
// Threads: one at a time. Owns: view.memory, until the caller has it.
typedef struct client_batch {
    octet_replay_batch view; // without weights, which the taker computes into weight
    float *weight;           // [count], in the same memory
    oct_err err;             // not OCT_OK: there are none
    char reason[OCTET_REPLAY_ERROR_BYTES];
} client_batch;

// Windows first .. first + count - 1 of the reply.
client_batch *client_batch_create(const wire_sampled *sampled, uint32_t first, uint32_t count);
client_batch *client_batch_fail(oct_err err, const char *reason);
void client_batch_destroy(client_batch *batch);
// Gives the caller its view, with weights, and destroys the rest.
void client_batch_give(client_batch *take, double importance_exponent, octet_replay_batch *out);

#endif // CLIENT_CLIENT_BATCH_H
