#ifndef ALGOS_ALGO_HEAD_H
#define ALGOS_ALGO_HEAD_H

#include <stdint.h>

#include "nn/nn_context.h"
#include "policy/policy_spec.h"

// The distribution that a policy's outputs stand for, as methods of policy gradient need it: the
// log-probability of what was done and the entropy, row by row, and the gradient of both. Heads:
//   POLICY_HEAD_LOGITS    the softmax of y[actions]; done is the action
//   POLICY_HEAD_GAUSSIAN  N(y, exp(log deviation)) with deviations that are parameters of their
//                         own; done is the number drawn, before it was clipped
// Log-probabilities of several numbers are summed; those of a Gaussian are of the number drawn, in
// units where the action's range is [-1, 1] (policy_spec.h), as the actor records them.
//
// Threads: one user at a time. Owns: p and log_total, reserved by init; nothing allocates later.
typedef struct algo_head {
    policy_head kind;
    uint32_t dim;     // actions, or numbers of one action
    float *p;         // [rows_max][dim], of softmax; else NULL
    float *log_total; // [rows_max], of softmax; else NULL
} algo_head;

// What was done in each row: one of the two, by the head.
typedef struct algo_done {
    const int32_t *choice; // [rows], each below dim
    const float *drawn;    // [rows][dim]
} algo_done;

// Whether the head of a spec that passed policy_spec_check is one of the above.
bool algo_head_is_known(const policy_spec *spec);
void algo_head_init(algo_head *head, nn_context *context, const policy_spec *spec,
                    uint32_t rows_max);
void algo_head_fini(algo_head *head);

// log_prob[rows] and entropy[rows] (nats) for the outputs y[rows][dim]; log_std [dim] of a
// Gaussian, else NULL. Keeps what backward needs.
void algo_head_forward(algo_head *head, const float *y, const float *log_std, algo_done done,
                       uint32_t rows, float *log_prob, float *entropy);
// For y, log_std and done of the last forward: dy[rows][dim] and dlog_std[dim] (NULL without
// log_std) of sum over rows of dlog_prob[row] * log_prob[row] + dentropy * entropy[row].
void algo_head_backward(const algo_head *head, const float *y, const float *log_std, algo_done done,
                        uint32_t rows, const float *dlog_prob, float dentropy, float *dy,
                        float *dlog_std);

// For y of the last forward: a copy of the distributions, kept[rows][dim]: log-probabilities, or
// means; log deviations are the caller's to keep.
void algo_head_keep(const algo_head *head, const float *y, uint32_t rows, float *kept);
// Mean over rows of KL(p || q), p as kept, q of the last forward, which gave y.
double algo_head_kl(const algo_head *head, const float *kept, const float *kept_log_std,
                    const float *y, const float *log_std, uint32_t rows);
// The second derivative of that mean at q = p, by outputs and log deviations, times a vector, in
// place: dy[rows][dim], dlog_std[dim] (NULL without log_std). It is the Fisher matrix of the
// distributions: diag(p) - p p' of a softmax; 1 / s^2 for a mean, 2 for a log deviation.
void algo_head_fisher(const algo_head *head, const float *log_std, uint32_t rows, float *dy,
                      float *dlog_std);

#endif // ALGOS_ALGO_HEAD_H
