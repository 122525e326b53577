#ifndef ALGOS_ALGO_BYTES_H
#define ALGOS_ALGO_BYTES_H

#include "algos/algo.h"

// Observations of bytes that may be above 1, as pictures are: batches have them multiplied by
// policy_byte_unit, and what an algorithm learns, keeps and shares are functions of those. What
// leaves it reads the bytes themselves: the first layer's weights times the unit. The unit is a
// power of two, so neither way rounds anything
// (docs/internals/decisions/0055-bytes-are-learned-from-divided.md).
//
// Threads: one user at a time. Owns: its copies of the parameters, reserved by init.
typedef struct algo_bytes {
    float unit;         // 1: observations are learned from as they are
    policy_layer first; // of the policy, which has this many parameters:
    size_t params;
    float *raw, *projecting;    // [params] each; NULL: unit is 1
    algo_projection projection; // of what ships
} algo_bytes;

void algo_bytes_init(algo_bytes *b, nn_context *context, const policy_spec *policy);
void algo_bytes_fini(algo_bytes *b);

// params[params] of what batches have, as a function of bytes: params itself where unit is 1, else
// valid until the next call.
const float *algo_bytes_raw(const algo_bytes *b, const float *params);
// params, which read bytes, as a function of what batches have, in place.
void algo_bytes_learn(const algo_bytes *b, float *params);
// projection, which is of parameters that read bytes, as one of those that read what batches have.
// Borrows b.
algo_projection algo_bytes_projection(algo_bytes *b, const algo_projection *projection);

#endif // ALGOS_ALGO_BYTES_H
