#ifndef ALGOS_ALGO_OPS_H
#define ALGOS_ALGO_OPS_H

#include <math.h>

#include "algos/algo.h"
#include "algos/algo_bytes.h"
#include "algos/algo_normaliser.h"
#include "algos/algo_share.h"
#include "common/oct_reason.h"
#include "nn/nn_categorical.h"
#include "nn/nn_trainer.h"

// One network of an algorithm.
typedef struct algo_network {
    const char *name; // "policy", "critic 1", "value"
    bool acts;        // its outputs are those of the policy's head
    nn_net *net;
    const nn_reparam *reparam;     // NULL: the net learns its weights
    nn_trainer *trainer;           // contains net
    nn_net *target;                // follows net; NULL: none
    const nn_support *support;     // of outputs that are atoms; otherwise NULL
    const algo_normaliser *inside; // normalises what the net reads; NULL: nothing does
} algo_network;
#define ALGO_NETWORKS_MAX 3

static inline algo_network
algo_network_of(const char *name, nn_trainer *trainer, nn_net *target)
{
    return (algo_network){.name = name,
                          .net = &trainer->tape.net,
                          .reparam = trainer->reparam,
                          .trainer = trainer,
                          .target = target};
}

// The functions that an algorithm's file provides; algo.h says what each does. The state of an
// algorithm begins with its algo.
typedef struct algo_ops {
    const char *name;
    const algo_number *numbers; // [number_count], what update fills in
    uint32_t number_count;      // 1 .. ALGO_NUMBERS_MAX
    bool splits;                // can learn from a part of a batch, as a rank of a group
    // *wants arrives as n-step windows of algo.n_step; algo_make_spec sets each_once afterwards.
    oct_err (*make_spec)(const config_experiment *config, policy_spec *spec, algo_wants *wants,
                         oct_reason *why);
    oct_err (*create)(algo **out, nn_context *context, const config_experiment *config,
                      const policy_spec *spec, uint64_t seed);
    void (*destroy)(algo *a);
    // An update is a gradient and its application. gradient computes it from the batch, fills in
    // priorities and numbers, and changes nothing if it fails. apply moves the parameters along the
    // last gradient and cannot fail. gradient sees the number of its update in algo.turn, apply in
    // algo.updates.
    oct_err (*gradient)(algo *a, const algo_batch *batch, float *priorities, float *numbers);
    void (*apply)(algo *a, float learning_rate);
    // Replaces the two where an update is more than one gradient (PPO, TRPO) or none (tables,
    // external); it counts the update itself.
    oct_err (*update)(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                      float *numbers);
    // Names everything that apply changes, by algo_share_net, _trainer and _number, for
    // asynchronous learners. With carver.base NULL it only measures. NULL: the algorithm cannot
    // learn asynchronously.
    void (*share)(algo *a, algo_sharing *s);
    void (*fetched)(algo *a); // called after parameters were fetched; NULL: nothing depends on them
    // NULL: make_spec refuses settings that need a projection.
    void (*set_projection)(algo *a, const algo_projection *projection);
    // Returns the statistics by which networks read observations, or NULL if they read observations
    // as they are. NULL: they always do.
    algo_normaliser *(*normaliser)(algo *a);
    // Lists all networks, the acting one first, and returns their number. NULL: there are none,
    // because the policy is a table or another process learns (external).
    uint32_t (*networks)(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
    const float *(*policy_params)(const algo *a);
    // NULL: algo_behaviour_params returns NULL.
    const float *(*behaviour_params)(algo *a, uint32_t sample);
    // The state after the header that algo.c writes. load receives exactly the bytes that save
    // wrote (their checksum was checked) and changes nothing before it has checked all of them.
    void (*save)(const algo *a, oct_writer *writer);
    oct_err (*load)(algo *a, oct_reader *reader);
} algo_ops;

struct algo {
    const algo_ops *ops;
    nn_context *own_context; // NULL: the caller's context is used
    group *group;            // of the context
    uint64_t updates;        // updates applied
    uint64_t turn;         // number of the current gradient, 1, 2, ..., among those of all learners
    algo_sharing *sharing; // NULL: not an asynchronous learner
    algo_bytes bytes;      // converts what leaves the algorithm
};

// Indices of the numbers of value methods.
enum {
    ALGO_LOSS,
    ALGO_TD_ABS,
    ALGO_VALUE,
    ALGO_CUT_BELOW,
    ALGO_CUT_ABOVE,
    ALGO_GRAD_NORM,
    ALGO_POLICY_GRAD_NORM,
    ALGO_VALUE_NUMBERS
};
// The rows of these numbers, for a list that continues with an algorithm's own.
#define ALGO_VALUE_ROWS                                                                            \
    [ALGO_LOSS] = {"loss", "loss", "Mean loss of the updates."},                                   \
    [ALGO_TD_ABS] =                                                                                \
        {"td_abs", "return",                                                                       \
         "Mean absolute TD error; dqn with algo.distributional: mean KL divergence, in nats."},    \
    [ALGO_VALUE] = {"value", "return", "Mean Q(s, a) of the sampled steps."},                      \
    [ALGO_CUT_BELOW] = {"cut_below", "range",                                                      \
                        "Mean amount by which algo.value_min raises a target's mean, as a share "  \
                        "of the atoms' range."},                                                   \
    [ALGO_CUT_ABOVE] = {"cut_above", "range",                                                      \
                        "Mean amount by which algo.value_max lowers a target's mean, as a share "  \
                        "of the atoms' range."},                                                   \
    [ALGO_GRAD_NORM] = {"grad_norm", "norm",                                                       \
                        "Mean gradient norm of the value network (td3, sac: the larger of two), "  \
                        "before clipping."},                                                       \
    [ALGO_POLICY_GRAD_NORM] = {"policy_grad_norm", "norm",                                         \
                               "Mean gradient norm of the policy network, before clipping."}
extern const algo_number algo_value_numbers[ALGO_VALUE_NUMBERS];

// Without atoms nothing can be cut: marks the two numbers as missing.
static inline void
algo_numbers_lack_cut(float *numbers)
{
    numbers[ALGO_CUT_BELOW] = numbers[ALGO_CUT_ABOVE] = NAN;
}

extern const algo_ops algo_dqn_ops;
extern const algo_ops algo_d4pg_ops;
extern const algo_ops algo_ddpg_ops;
extern const algo_ops algo_td3_ops;
extern const algo_ops algo_sac_ops;
extern const algo_ops algo_reinforce_ops;
extern const algo_ops algo_table_ops;
extern const algo_ops algo_ppo_ops;
extern const algo_ops algo_a2c_ops;
extern const algo_ops algo_vtrace_ops;
extern const algo_ops algo_trpo_ops;
extern const algo_ops algo_external_ops;

// Fills the layers for a network with this number of outputs: words (config_words), then a linear
// layer. OCT_EINVAL, reason: a layer does not fit what it reads.
OCT_CHECKED oct_err algo_make_layers(const config_experiment *config, const policy_words *words,
                                     policy_spec *spec, uint32_t outputs, oct_reason *why);

// Returns true if all x[n] are finite and small enough for an update to square and sum them (below
// about 1e19).
bool algo_all_finite(const float *x, size_t n);
// Returns true if all numbers[n] are finite, of any size.
bool algo_numbers_finite(const float *numbers, size_t n);

// Collectives that keep the ranks of a group in step between the passes of networks. algo_agree
// returns the largest error of all ranks, so that no rank continues alone. algo_mean sets
// numbers[count] to the means over all ranks.
OCT_CHECKED oct_err algo_agree(const algo *a, oct_err err);
void algo_mean(const algo *a, float *numbers, size_t count);

// Sets algo.turn to the number of the next gradient.
void algo_turn_take(algo *a);

// The optimiser of the configuration.
nn_adam algo_adam(const config_experiment *config);

// Sets the first weights of an acting network. The last layer begins with a hundredth of the other
// layers' deviation (Acme: variance 1e-4): so the first actions are near the middle of a box, where
// tanh is not saturated, and discrete actions are about equally likely.
void algo_randomise_policy(nn_net *policy, oct_rng *rng);

#endif // ALGOS_ALGO_OPS_H
