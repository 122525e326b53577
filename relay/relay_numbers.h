#ifndef RELAY_RELAY_NUMBERS_H
#define RELAY_RELAY_NUMBERS_H

#include "common/oct_numbers.h"

// A relay's numbers: where their values lie, and the rows of the registry that name them.
//
// Threads: the loop thread. Owns: nothing.
typedef struct relay_measurements {
    double sessions, up, batches, batch_bytes, messages, message_bytes, acks, policies;
    double policy_bytes, stalls, bad;
} relay_measurements;

// The rows; `now` is borrowed.
void relay_numbers_add(oct_numbers *numbers, const relay_measurements *now);

#endif // RELAY_RELAY_NUMBERS_H
