#ifndef ALGOS_ALGO_TRANSFER_H
#define ALGOS_ALGO_TRANSFER_H

#include "algos/algo.h"

// Fine-tuning: an algorithm begins with the layers of other networks, where they fit, instead of
// random weights. Networks are the acting one ("policy"), its critics ("critic 1", "critic 2") or
// its values ("value"). Hidden layers are compared in their order from the first on, output layers
// with each other. A layer is taken as a whole, and only if its kind, its sizes, its activation and
// its layer norm are the same; an output layer also needs the same head (and atoms). Target
// networks get the layers of the other's target networks, or what their own networks get.
//
// First layers of normalised observations bring the statistics along. Where there are none to
// bring, statistics begin anew and the networks stay the functions that they are until these are
// settled (algo_normaliser.h).
//
// Moments, counts of updates and generators stay those of a beginning.
//
// Threads: as algo.h; before the first update. Allocates during the call.

// What became of a layer, or of what is beside layers.
typedef enum algo_taken_part {
    ALGO_TAKEN_LAYER,
    ALGO_TAKEN_DEVIATION,  // log deviations of a head, which are behind the last layer
    ALGO_TAKEN_STATISTICS, // of normalised observations, of no network
} algo_taken_part;
typedef struct algo_taken {
    algo_taken_part part;
    const char *network;
    uint32_t layer;
    bool is_taken;
    char shape[64]; // "4 -> 64, relu"
    char why[112];  // it is not taken, or what it was for is different here; else ""
} algo_taken;
typedef void (*algo_taken_fn)(void *arg, const algo_taken *taken);

// a is no table and not external. From another algorithm with the spec from_spec, which is no
// table: all networks if it is of the same kind, else the policy alone. tell hears of every layer
// of a. Gives how many were taken, not counting log deviations, which come with layers of the
// policy, and statistics; 0: a is as it was.
uint32_t algo_take(algo *a, const policy_spec *spec, algo *from, const policy_spec *from_spec,
                   algo_taken_fn tell, void *arg);
// From a policy's parameters, [policy_spec_params(from_spec)], of raw observations. With
// from_spec->normalise they are of normalised ones, and its first layer is not taken.
uint32_t algo_take_policy(algo *a, const policy_spec *spec, const float *params,
                          const policy_spec *from_spec, algo_taken_fn tell, void *arg);

// The acting network becomes params, [policy_spec_params], as algo_policy_params gives them; its
// target stays. false, and a is as it was: it learns dueling streams or noise, which weights do not
// give, or is another process's.
bool algo_set_policy(algo *a, const float *params);

#endif // ALGOS_ALGO_TRANSFER_H
