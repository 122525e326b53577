#ifndef ALGOS_ALGO_HEAD_H
#define ALGOS_ALGO_HEAD_H

#include <stdint.h>

#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// The distribution that a policy's outputs define, for policy gradient methods: the log-probability
// of each row's action and the entropy, and the gradients of both. Heads:
//   POLICY_HEAD_LOGITS    the softmax of y[actions]; done is the action
//   POLICY_HEAD_GAUSSIAN  N(y, exp(log deviation)), where log deviations are separate parameters;
//                         done is the number drawn, before it was clipped
// The log-probability of several numbers is the sum of theirs. Those of a Gaussian refer to the
// number drawn, in units where the action's range is [-1, 1] (policy_spec.h), as the actor records
// them.
//
// Threads: one user at a time. Owns: p and log_total, which init reserves; no later call allocates.

// The outputs of a policy that define a distribution for each row.
typedef struct algo_outputs {
    const float *y;       // [rows][dim]
    const float *log_std; // [dim], of a Gaussian; otherwise NULL
} algo_outputs;

// What was done in each row: choice for a softmax, drawn for a Gaussian.
typedef struct algo_done {
    const int32_t *choice; // [rows], each below dim
    const float *drawn;    // [rows][dim]
    uint32_t rows;
} algo_done;

typedef struct algo_head {
    policy_head kind;
    uint32_t dim;         // number of actions, or of numbers in one action
    float *p;             // [rows_max][dim], probabilities of a softmax; otherwise NULL
    float *log_total;     // [rows_max], of a softmax; otherwise NULL
    algo_outputs outputs; // of the last forward
    algo_done done;       // of the last forward
} algo_head;

// Returns true if the head of a spec that passed policy_spec_check is one of these two.
bool algo_head_is_known(const policy_spec *spec);
void algo_head_init(algo_head *head, nn_context *context, const policy_spec *spec,
                    uint32_t rows_max);
void algo_head_fini(algo_head *head);

// Computes log_prob[rows] and entropy[rows] (nats). The functions below are of the last forward:
// they read its outputs and done again, so the caller leaves these as they are until then.
void algo_head_forward(algo_head *head, algo_outputs outputs, algo_done done, float *log_prob,
                       float *entropy);
// Computes the gradient of sum over rows of dlog_prob[row] * log_prob[row] + dentropy *
// entropy[row]: dy[rows][dim], and dlog_std[dim] (NULL if log_std is).
void algo_head_backward(const algo_head *head, const float *dlog_prob, float dentropy, float *dy,
                        float *dlog_std);

// Copies the distributions to kept[rows][dim]: log-probabilities, or means. The caller keeps log
// deviations.
void algo_head_keep(const algo_head *head, float *kept);
// Returns the mean over rows of KL(p || q): p was kept, q is of the last forward.
double algo_head_kl(const algo_head *head, const float *kept, const float *kept_log_std);
// Multiplies dy[rows][dim] and dlog_std[dim] (NULL without log_std), in place, by the second
// derivative of that mean at q = p by outputs and log deviations. That is the Fisher matrix of the
// distributions: diag(p) - p p' for a softmax; 1 / s^2 for a mean and 2 for a log deviation of a
// Gaussian.
void algo_head_fisher(const algo_head *head, float *dy, float *dlog_std);

#endif // ALGOS_ALGO_HEAD_H
