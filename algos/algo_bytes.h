#ifndef ALGOS_ALGO_BYTES_H
#define ALGOS_ALGO_BYTES_H

#include "algos/algo.h"

// Observations of bytes that may be above 1, such as pictures. Batches have them multiplied by
// policy_byte_unit, and everything that an algorithm learns, keeps and shares is a function of
// these scaled observations. What leaves the algorithm (policies, behaviour parameters) reads the
// bytes themselves: the weights of the first layer are multiplied by the unit. The unit is a power
// of two, so that neither direction rounds
// (docs/internals/decisions/0055-bytes-are-learned-from-divided.md).
//
// Threads: one user at a time. Owns: its copies of the parameters, which init reserves.
typedef struct algo_bytes {
    float unit;                 // 1: observations are not scaled
    policy_layer first;         // the policy's first layer
    size_t params;              // parameters of the policy
    float *raw, *projecting;    // [params] each; NULL if unit is 1
    algo_projection projection; // the caller's, of parameters that read bytes
} algo_bytes;

void algo_bytes_init(algo_bytes *b, nn_context *context, const policy_spec *policy);
void algo_bytes_fini(algo_bytes *b);

// Returns params[params], which read scaled observations, as parameters that read bytes: params
// itself if unit is 1, otherwise a copy that is valid until the next call.
const float *algo_bytes_raw(const algo_bytes *b, const float *params);
// The reverse, in place: params, which read bytes, become parameters that read scaled observations.
void algo_bytes_learn(const algo_bytes *b, float *params);
// Turns a projection of parameters that read bytes into one of parameters that read scaled
// observations. The result borrows b.
algo_projection algo_bytes_projection(algo_bytes *b, const algo_projection *projection);

#endif // ALGOS_ALGO_BYTES_H
