#ifndef RELAY_RELAY_NUMBERS_H
#define RELAY_RELAY_NUMBERS_H

#include "common/oct_numbers.h"

// A relay's numbers: the struct that holds their values, and the registry's rows for them.
//
// Threads: the loop thread. Owns: nothing.
typedef struct relay_measurements {
    double sessions, up, batches, batch_bytes, messages, message_bytes, acks, policies;
    double policy_bytes, stalls, bad;
} relay_measurements;

// Adds the rows; `now` is borrowed for as long as numbers.
void relay_numbers_add(oct_numbers *numbers, const relay_measurements *now);

#endif // RELAY_RELAY_NUMBERS_H
