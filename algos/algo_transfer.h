#ifndef ALGOS_ALGO_TRANSFER_H
#define ALGOS_ALGO_TRANSFER_H

#include "algos/algo.h"

// Fine-tuning: an algorithm begins with layers of other networks, where they fit, instead of random
// weights.
//
// The networks are the acting one ("policy"), its critics ("critic 1", "critic 2") or its values
// ("value"). Hidden layers are compared in their order, starting at the first, and output layers
// with each other. A layer is taken as a whole, and only if its kind, sizes, activation and layer
// norm are the same; an output layer also needs the same head (and atoms). Target networks get the
// layers of the source's target networks, or what their own networks get.
//
// First layers of normalised observations bring the statistics along. If the source has none,
// statistics restart, and the networks stay the same functions of observations until these are
// settled (algo_normaliser.h).
//
// Moments, counts of updates and generators are not taken: they stay as they were created.
//
// Threads: as algo.h; before the first update. Allocates during the call.

// The subject of a report: a layer, or something beside the layers.
typedef enum algo_taken_part {
    ALGO_TAKEN_LAYER,
    ALGO_TAKEN_DEVIATION,  // log deviations of a head, which follow the last layer
    ALGO_TAKEN_STATISTICS, // of normalised observations; they belong to no network
} algo_taken_part;
typedef struct algo_taken { // one report
    algo_taken_part part;
    const char *network;
    uint32_t layer; // index; the layer count for log deviations
    bool is_taken;
    char shape[64]; // "4 -> 64, relu"
    char why[112];  // why it is not taken, or which difference remains if it is; otherwise ""
} algo_taken;
typedef void (*algo_taken_fn)(void *arg, const algo_taken *taken);

// What layers are taken from: another algorithm, or the parameters of a policy.
typedef struct algo_source {
    const policy_spec *spec;
    algo *from; // not a table; NULL: a policy
    // [policy_spec_params(spec)], of raw observations. If spec->normalise is set they are of
    // normalised observations, and the first layer is not taken. NULL if from is not.
    const float *params;
} algo_source;

// Takes layers: of all networks if both are the same algorithm, otherwise of the policy alone. a is
// neither a table nor external. tell is called for every layer of a. Returns the number of layers
// taken, without log deviations, which come with layers of the policy, and statistics. 0: a is
// unchanged.
uint32_t algo_take(algo *a, const policy_spec *spec, const algo_source *source, algo_taken_fn tell,
                   void *arg);

// Replaces the acting network by params, [policy_spec_params], as algo_policy_params gives them;
// its target stays. Returns false and leaves a unchanged if a learns dueling streams or noise,
// which weights do not determine, or if another process learns.
bool algo_set_policy(algo *a, const float *params);

#endif // ALGOS_ALGO_TRANSFER_H
