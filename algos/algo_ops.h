#ifndef ALGOS_ALGO_OPS_H
#define ALGOS_ALGO_OPS_H

#include <math.h>

#include "algos/algo.h"
#include "algos/algo_bytes.h"
#include "algos/algo_normaliser.h"
#include "algos/algo_share.h"
#include "nn/nn_categorical.h"
#include "nn/nn_trainer.h"

// One of an algorithm's networks.
typedef struct algo_network {
    const char *name; // "policy", "critic 1", "value"
    bool acts;        // its outputs are the head of the policy's spec
    nn_net *net;
    const nn_reparam *reparam;     // NULL: it learns its weights
    nn_trainer *trainer;           // of net
    nn_net *target;                // follows net; NULL: there is none
    const nn_support *support;     // of outputs that are atoms, else NULL
    const algo_normaliser *inside; // of what it observes; NULL: it reads observations as they are
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

// What an algorithm's file provides; algo.h says what each function does. An algorithm's state
// begins with the algo.
typedef struct algo_ops {
    const char *name;
    const algo_number *numbers; // [number_count], what update fills in
    uint32_t number_count;      // 1 .. ALGO_NUMBERS_MAX
    bool splits;                // learns from a part of a batch, with the ranks of a group
    // wants comes as n-step windows of algo.n_step; each_once follows from the configuration.
    oct_err (*make_spec)(const oct_config *config, policy_spec *spec, algo_wants *wants,
                         char *reason, size_t reason_size);
    oct_err (*create)(algo **out, nn_context *context, const oct_config *config,
                      const policy_spec *spec, uint64_t seed);
    void (*destroy)(algo *a);
    // An update is a gradient and its application: gradient computes it from the batch, fills in
    // priorities and numbers, and changes nothing when it fails; apply moves the parameters by the
    // last gradient, and cannot fail. Both see the number of their update (algo.turn,
    // algo.updates).
    oct_err (*gradient)(algo *a, const algo_batch *batch, float *priorities, float *numbers);
    void (*apply)(algo *a, float learning_rate);
    // Where an update is more than one gradient (PPO, TRPO) or none (tables): this instead of the
    // two.
    oct_err (*update)(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                      float *numbers);
    // Learners without a common update (algo_share): names all that apply changes, by algo_share_*.
    // With base NULL it only measures. NULL: the algorithm is not learned so.
    void (*share)(algo *a, algo_sharing *s);
    void (*fetched)(algo *a); // parameters were; NULL: nothing depends on them
    // NULL: make_spec refuses what asks for one.
    void (*set_projection)(algo *a, const algo_projection *projection);
    // The statistics that networks learn from observations by; gives NULL where they learn from
    // observations as they are, as all do where this is NULL.
    algo_normaliser *(*normaliser)(algo *a);
    // Names all networks, the acting one first; gives their number. NULL: there are none, either
    // because the policy is a table or because another process has them (external).
    uint32_t (*networks)(algo *a, algo_network out[ALGO_NETWORKS_MAX]);
    const float *(*policy_params)(const algo *a);
    const float *(*behaviour_params)(algo *a,
                                     uint32_t sample); // NULL: algo_behaviour_params gives NULL
    // The state below the algo; load gets exactly the bytes that save wrote (their checksum held)
    // and changes nothing before it has checked all.
    void (*save)(const algo *a, oct_writer *writer);
    oct_err (*load)(algo *a, oct_reader *reader);
} algo_ops;

struct algo {
    const algo_ops *ops;
    nn_context *own_context; // NULL: the caller's is used
    group *group;            // the context's
    uint64_t updates;
    uint64_t turn; // the number of the gradient that is computed, from 1 on, of all learners'
    algo_sharing *sharing; // NULL: nothing is shared
    algo_bytes bytes;      // of what observes
};

// The numbers of the algorithms that learn values.
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
// Their rows, for a list that goes on with an algorithm's own.
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

// Where there are no atoms nothing can be cut.
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

// Fills the layers from the configuration, for a network of so many outputs: network.conv,
// hidden, then a linear layer. OCT_EINVAL, reason: convolutions do not fit the
// observations.
OCT_CHECKED oct_err algo_make_layers(const oct_config *config, const oct_config_ints *hidden,
                                     policy_spec *spec, uint32_t outputs, char *reason,
                                     size_t reason_size);

// Whether x[n] are numbers, and of a size that an update can square and sum (below about 1e19).
bool algo_all_finite(const float *x, size_t n);
// Whether each of a few numbers is one, of whatever size.
bool algo_numbers_finite(const float *numbers, size_t n);

// In a group, what each rank's update is to do with all others' between the passes of networks, so
// that all of them go on alike. An error of any rank, the largest, as everybody's: none goes on
// alone. numbers[count] = the means of all ranks'.
OCT_CHECKED oct_err algo_agree(const algo *a, oct_err err);
void algo_mean(const algo *a, float *numbers, size_t count);

// The number of the next gradient.
void algo_turn_take(algo *a);

// The activation and the optimiser that the configuration names.
policy_activation algo_activation(const oct_config *config);
nn_adam algo_adam(const oct_config *config);

// First weights of a network that acts: its last layer begins at a hundredth of the others'
// deviation (Acme: variance 1e-4), so that the first actions are near the middle of a box and tanh
// is not saturated, and discrete ones about as likely as each other.
void algo_randomise_policy(nn_net *policy, oct_rng *rng);

#endif // ALGOS_ALGO_OPS_H
