#ifndef ALGOS_ALGO_DQN_LOSS_H
#define ALGOS_ALGO_DQN_LOSS_H

#include "algos/algo_ops.h"
#include "algos/algo_target.h"
#include "nn/nn_categorical.h"

// DQN's two losses, computed from the networks' outputs, and their gradients. a* is the greedy
// action of `choose` in a row:
//   values  td = reward + discount target(a*) - online(a), and the Huber loss of td (Mnih et al.
//           2015). Other settings of algo.target replace target(a*), see algo_target.h.
//   atoms   the cross entropy of softmax(online(a)) against the projected distribution of reward +
//           discount Z, Z ~ softmax(target(a*)), where a* is greedy by the expectation (C51,
//           Bellemare et al. 2017, algorithm 1)
//
// Threads: the training thread. Owns: its rows, which init reserves.
typedef struct algo_dqn_loss {
    uint32_t action_count;
    uint32_t atoms; // 0: the loss of values
    nn_support support;
    float huber_delta;
    algo_target bootstrap;
    float *error; // [rows_max], of the last batch: td, or the KL divergence of online(a) from its
                  // target, which is 0 when nothing is left to learn
    float *slope; // [rows_max], the loss' derivative by error

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

// spec has the head VALUES or ATOMS.
void algo_dqn_loss_init(algo_dqn_loss *loss, nn_context *context, const config_experiment *config,
                        const policy_spec *spec, uint32_t rows_max);
void algo_dqn_loss_fini(algo_dqn_loss *loss);

// What the loss is computed from: outputs [B][outputs] of networks, and actions [B].
typedef struct algo_dqn_outputs {
    const float *online; // for s
    const float *choose; // for s'
    const float *target; // for s'
    // Actions taken in s'; -1: none. ALGO_DQN_NO_STEP: no action in s either, so that the row's
    // error is 0 and the means of values and errors leave the row out. NULL: no row has an action
    // in s'; always NULL with atoms. Actions are in range.
    const int32_t *taken;
} algo_dqn_outputs;

// In taken: the row is not a step.
#define ALGO_DQN_NO_STEP (-2)

// Fills dy[B][outputs], the gradient at online, loss->error, and numbers up to ALGO_CUT_ABOVE (the
// numbers of cut are 0 without atoms). The loss is not finite if a number of the batch or of the
// outputs is not.
void algo_dqn_loss_compute(algo_dqn_loss *loss, float *dy, const algo_batch *batch,
                           const algo_dqn_outputs *of, float *numbers);

#endif // ALGOS_ALGO_DQN_LOSS_H
