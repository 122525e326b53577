#ifndef ALGOS_ALGO_OPS_H
#define ALGOS_ALGO_OPS_H

#include "algos/algo.h"

// What an algorithm's file provides; algo.h says what each function does. An algorithm's state
// begins with the algo.
typedef struct algo_ops {
    const char *name;
    const algo_number *numbers; // [number_count], what update fills in
    uint32_t number_count;      // 1 .. ALGO_NUMBERS_MAX
    // wants comes as n-step windows of algo.n_step.
    oct_err (*make_spec)(const oct_config *config, policy_spec *spec, algo_wants *wants,
                         char *reason, size_t reason_size);
    oct_err (*create)(algo **out, nn_context *context, const oct_config *config,
                      const policy_spec *spec, uint64_t seed);
    void (*destroy)(algo *a);
    oct_err (*update)(algo *a, const algo_batch *batch, float learning_rate, float *priorities,
                      float *numbers);
    void (*set_projection)(algo *a, const algo_projection *projection);
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
    uint64_t updates;
};

// The numbers of the algorithms that learn values.
enum {
    ALGO_LOSS,
    ALGO_TD_ABS,
    ALGO_VALUE,
    ALGO_GRAD_NORM,
    ALGO_POLICY_GRAD_NORM,
    ALGO_VALUE_NUMBERS
};
extern const algo_number algo_value_numbers[ALGO_VALUE_NUMBERS];

extern const algo_ops algo_dqn_ops;
extern const algo_ops algo_d4pg_ops;
extern const algo_ops algo_ddpg_ops;
extern const algo_ops algo_td3_ops;
extern const algo_ops algo_reinforce_ops;

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

// The activation that the configuration names.
policy_activation algo_activation(const oct_config *config);

#endif // ALGOS_ALGO_OPS_H
