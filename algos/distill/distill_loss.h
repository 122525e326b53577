#ifndef ALGOS_DISTILL_DISTILL_LOSS_H
#define ALGOS_DISTILL_DISTILL_LOSS_H

#include "policy/policy_spec.h"

// What a student learns from a teacher's outputs (policy distillation, Rusu et al. 2016), by the
// student's head. y is an output of the student and t that of the teacher:
//   VALUES, LOGITS  KL(softmax(t / T) || softmax(y / T)), T the temperature; or squares:
//                   (y - t)^2 / 2
//   TANH            (y - t)^2 / 2, before tanh
//   GAUSSIANs       KL(teacher || student) of the normal distributions, before tanh for a squashed
//                   Gaussian; or squares of the means
// The loss of a row is the sum over the numbers of an action, or the mean over values.
//
// Before tanh, a teacher's output beyond DISTILL_SATURATED counts as DISTILL_SATURATED, and the
// error is 0 if the student's output is beyond it on the same side: there an action is within half
// a percent of its range from its end. In a KL, deviations are at least DISTILL_DEVIATION_MIN,
// because the weight of an error would grow without bound for a teacher that is almost
// deterministic.
//
// Threads: any. Owns: nothing.
#define DISTILL_SATURATED     3.0f
#define DISTILL_DEVIATION_MIN 0.05f

// SQUARES is possible for all heads, KL for those of distill_has_kl.
typedef enum distill_kind {
    DISTILL_KL,
    DISTILL_SQUARES,
} distill_kind;

typedef struct distill_loss {
    distill_kind kind;
    policy_head head;       // the student's; not ATOMS
    uint32_t actions;       // actions, or numbers in an action
    uint32_t outputs;       // numbers in a row of outputs
    float temperature;      // T; used by KL for VALUES and LOGITS
    bool has_deviations;    // Gaussian whose outputs are means, then log deviations
    const float *deviation; // [actions], a Gaussian's separate log deviations, borrowed; or NULL
} distill_loss;

// Returns the mean over rows of the loss of the student's outputs y[rows][outputs] against the
// teacher's outputs want[rows][outputs]. dy[rows][outputs] is its derivative by y.
double distill_loss_of(const distill_loss *loss, const float *y, const float *want, uint32_t rows,
                       float *dy);

// Returns true if the head's outputs are a distribution, or values, which can be compared by KL.
static inline bool
distill_has_kl(policy_head head)
{
    return head != POLICY_HEAD_TANH;
}

#endif // ALGOS_DISTILL_DISTILL_LOSS_H
