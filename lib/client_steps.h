#ifndef LIB_CLIENT_STEPS_H
#define LIB_CLIENT_STEPS_H

#include "actor/actor_batch.h"
#include "common/oct_reason.h"
#include "include/octet/replay.h"

// Turns the user's steps into rows, and knows where each stream is. A row holds an observation and
// an action; the observation after a step is the next row's. So the next observation of a step is
// stored only if the following step does not begin with it, in an end row.
//
// Threads: one user. Owns: its memory, reserved by init. Full: client_steps_fit says when a batch
// must be sealed.
typedef struct client_steps {
    actor_batch_shape shape;                    // of the batches; envs is the number of streams
    bool observation_is_float, action_is_float; // then numbers must be finite
    uint64_t *next;                             // [envs] number of the stream's next row
    bool *is_open;                              // [envs] no row follows the last step yet
    uint8_t *behind; // [envs][obs_bytes] next observation of the last step, if is_open
} client_steps;

// OCT_EINVAL, with one line in reason: the table or one message cannot hold batches of this number
// of streams.
OCT_CHECKED oct_err client_steps_init(client_steps *steps, const octet_replay_writer_config *config,
                                      oct_reason *why);
void client_steps_fini(client_steps *steps);

// OCT_EINVAL, with one line in reason: the struct has another size, or a number is not finite.
OCT_CHECKED oct_err client_steps_check(const client_steps *steps, const octet_replay_steps *given,
                                       oct_reason *why);
// Returns true if one more step of each stream fits, with the rows that may come with it.
bool client_steps_fit(const client_steps *steps, const actor_batch *batch);
// Appends steps that client_steps_check accepted, to a batch in which they fit.
void client_steps_append(client_steps *steps, actor_batch *batch, const octet_replay_steps *given);
// Ends the windows of all open streams with an end row each.
void client_steps_cut(client_steps *steps, actor_batch *batch);
bool client_steps_is_open(const client_steps *steps); // a stream is open

#endif // LIB_CLIENT_STEPS_H
