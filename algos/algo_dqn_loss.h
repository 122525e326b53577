#ifndef ALGOS_ALGO_DQN_LOSS_H
#define ALGOS_ALGO_DQN_LOSS_H

#include "algos/algo_ops.h"
#include "algos/algo_target.h"
#include "nn/nn_categorical.h"

// DQN's two losses on what the networks gave out, and their gradients. For each row, a* is the
// greedy action of `choose`:
//   values   td = reward + discount target(a*) - online(a); Huber's loss of it (Mnih et al. 2015).
//            In place of target(a*): what algo.target says (algo_target.h)
//   atoms    the cross entropy of softmax(online(a)) against the projected distribution of
//            reward + discount Z, Z ~ softmax(target(a*)), where greedy goes by the expectation
//            (C51, Bellemare et al. 2017, algorithm 1)
//
// Threads: the training thread. Owns: its rows, reserved by init.
typedef struct algo_dqn_loss {
    uint32_t action_count;
    uint32_t atoms; // 0: values
    nn_support support;
    float huber_delta;
    algo_target bootstrap;
    float *error; // [rows_max], of the last batch: td, or the KL divergence of online(a) from what
                  // it should be, which is 0 when there is nothing left to learn
    float *slope; // [rows_max]

    // atoms only
    const nn_categorical_ops *categorical;
    float *p;             // [rows_max][action_count][atoms], softmax(choose)
    float *mean;          // [rows_max][action_count], its expectations
    float *logits;        // [rows_max][atoms], of one action of each row
    float *next;          // [rows_max][atoms], softmax(target(a*))
    float *targets;       // [rows_max][atoms], projected target distributions
    float *dlogits;       // [rows_max][atoms]
    float *log_total;     // [rows_max][action_count]
    float *cross_entropy; // [rows_max]
    void *block;
} algo_dqn_loss;

// spec: head VALUES or ATOMS.
void algo_dqn_loss_init(algo_dqn_loss *loss, nn_context *context, const policy_spec *spec,
                        float huber_delta, algo_target bootstrap, uint32_t rows_max);
void algo_dqn_loss_fini(algo_dqn_loss *loss);

#define ALGO_DQN_NO_STEP (-2)

// online, choose, target, dy: [B][outputs], of s, s', s' and for the gradient at online. taken[B]:
// the actions taken in s', -1: none, ALGO_DQN_NO_STEP: none in s, either, so that the row's error
// is 0 and the means of values and errors are without it; NULL: none in any s'. With atoms it is
// NULL. Actions are in range. Fills dy, loss->error and numbers up to ALGO_CUT_ABOVE (0 without
// atoms). Not finite when any number of the batch or the outputs is not.
void algo_dqn_loss_compute(algo_dqn_loss *loss, float *dy, const algo_batch *batch,
                           const int32_t *taken, const float *online, const float *choose,
                           const float *target, float *numbers);

#endif // ALGOS_ALGO_DQN_LOSS_H
