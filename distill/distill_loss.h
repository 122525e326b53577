#ifndef DISTILL_DISTILL_LOSS_H
#define DISTILL_DISTILL_LOSS_H

#include "policy/policy_spec.h"

// What a student learns from a teacher's outputs (policy distillation, Rusu et al. 2016), by the
// student's head:
//   VALUES, LOGITS   KL(softmax(t / T) || softmax(y / T)), temperature T; or squares: (y - t)^2 / 2
//   TANH             (y - t)^2 / 2 before tanh
//   GAUSSIANs        KL(teacher || student) of the normal distributions, of a squashed one before
//                    tanh; or squares: of the means
// Sums over an action's numbers, means over values. Outputs before tanh that are beyond
// DISTILL_SATURATED count as at it, and so do those of a student beyond it on the same side: an
// action within half a percent of its range from its end is there. Deviations in a KL are at least
// DISTILL_DEVIATION_MIN: a teacher that hardly draws would count without end.
//
// Threads: any. Owns: nothing.
#define DISTILL_SATURATED     3.0f
#define DISTILL_DEVIATION_MIN 0.05f

typedef enum distill_kind {
    DISTILL_KL,
    DISTILL_SQUARES,
} distill_kind;

typedef struct distill_loss {
    distill_kind kind;
    policy_head head; // of the student; not ATOMS
    uint32_t actions; // or numbers of one
    uint32_t outputs;
    float temperature;      // VALUES and LOGITS by KL
    bool has_deviations;    // a Gaussian's outputs are means, then log deviations
    const float *deviation; // [actions], log: a Gaussian's own, else NULL
} distill_loss;

// The mean over rows of the loss for the student's outputs y[rows][outputs] and the teacher's,
// want[rows][outputs]; dy[rows][outputs] is its derivative.
double distill_loss_of(const distill_loss *loss, const float *y, const float *want, uint32_t rows,
                       float *dy);

// Whether a head's outputs are a distribution, or values, for which there is a KL.
static inline bool
distill_has_kl(policy_head head)
{
    return head != POLICY_HEAD_TANH;
}

#endif // DISTILL_DISTILL_LOSS_H
