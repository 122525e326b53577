#ifndef REPLAY_REPLAY_KEPT_H
#define REPLAY_REPLAY_KEPT_H

#include <stdint.h>

#include "proto/wire_replay.h"

// The configuration of a table as its file stores it: numbers of fixed sizes, separate from the
// message that brings it (proto/wire_replay.h), so that a new field of the message leaves the files
// of earlier releases as they are. A table from a file lacks the fields that the file does not
// store until a learner configures it, which is before anything else.
//
// Threads: any; no state.

typedef struct replay_kept_configure {
    // Fields as of wire_configure; unused fields are 0.
    uint64_t run_id, capacity;
    uint32_t streams, obs_bytes;
    uint8_t obs_is_float, unused_1[3]; // 0 or 1
    uint32_t action_bytes;
    uint8_t action_is_float, unused_2[3]; // 0 or 1
    uint32_t extra_dim, sampler, unused_3;
    double priority_exponent;
    uint32_t window, window_steps, window_stride, unused_4;
    double discount, reward_clip;
    uint64_t min_size;
    double samples_per_insert, tolerance;
    uint64_t seed, unused_5;
    uint64_t epoch, table, samples;
    uint32_t turn_actors, unused_6;
    uint64_t turn;
    uint8_t turn_digest[WIRE_HASH_BYTES];
    uint8_t unused_7[32];
} replay_kept_configure;

// Converts to the stored form. The token key and requests that do not describe a table are not
// stored.
replay_kept_configure replay_kept_of(const wire_configure *configure);
// Converts back to a complete message with an empty key. Returns false if a number that must be 0
// or 1 is neither; checks nothing else.
bool replay_kept_give(const replay_kept_configure *kept, wire_configure *out);

#endif // REPLAY_REPLAY_KEPT_H
