#ifndef CLIENT_CLIENT_STEPS_H
#define CLIENT_CLIENT_STEPS_H

#include "actor/actor_batch.h"
#include "include/octet/replay.h"

// How steps become rows: where each stream is, and what its last step was followed by.
//
// Threads: one user. Owns: its memory.
typedef struct client_steps {
    actor_batch_shape shape;
    bool observation_is_float, action_is_float;
    uint64_t *next;  // [envs] number of the next row
    bool *is_open;   // [envs] the last step is not followed by a row yet
    uint8_t *behind; // [envs][obs_bytes] what follows it
} client_steps;

// OCT_EINVAL, with one line in reason: too many streams for the table, or for one message.
OCT_CHECKED oct_err client_steps_init(client_steps *steps, const octet_replay_writer_config *config,
                                      char *reason, size_t reason_size);
void client_steps_fini(client_steps *steps);

// Whether these can be appended. OCT_EINVAL: not, reason says why.
OCT_CHECKED oct_err client_steps_check(const client_steps *steps, const octet_replay_steps *given,
                                       char *reason, size_t reason_size);
// Whether one more step of each stream, and the rows that may come with it, fit.
bool client_steps_fit(const client_steps *steps, const actor_batch *batch);
// Checked ones, into a batch that they fit into.
void client_steps_append(client_steps *steps, actor_batch *batch, const octet_replay_steps *given);
// Ends the windows of all streams: adds what follows their last steps.
void client_steps_cut(client_steps *steps, actor_batch *batch);
bool client_steps_is_open(const client_steps *steps); // there is something to cut

#endif // CLIENT_CLIENT_STEPS_H
