#ifndef ALGOS_DISTILL_DISTILL_STUDENT_H
#define ALGOS_DISTILL_DISTILL_STUDENT_H

#include "algos/distill/distill_loss.h"
#include "common/oct_reason.h"
#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"

// A small network that learns to answer as a finished policy, its teacher, does on given
// observations.
//
// Scales. The network reads observations minus their mean, divided by their deviation
// (quantizer_observed.h), if distill_begin has at least QUANTIZER_OBSERVED_LEAST rows; otherwise it
// reads them as they are. It reads bytes in a unit that fits the largest byte of distill_begin
// (policy_byte_unit). It learns values minus their mean, in units of their deviation. So a learning
// rate suits every policy. The policy that distill_image makes reads and answers in the original
// units.
//
// The student has the teacher's head, but of a distribution of returns it learns the mean, as
// values. Separate deviations of a Gaussian are copied.
//
// The same calls with the same numbers give the same bits on one machine.
//
// Threads: one user at a time. Owns: the network and a copy of the teacher; distill_learn allocates
// nothing.
typedef struct distill_student distill_student;

typedef struct distill_options {
    const uint32_t *hidden; // [hidden_count], units per hidden layer
    uint32_t hidden_count;
    policy_activation activation; // of hidden layers
    distill_kind kind;
    // With KL: of logits, T itself; of values, T in units of the mean difference between the best
    // and the worst action.
    double temperature;
    policy_precision precision; // the precision that learn's aware rounds to
    quantizer_method method;    // of that rounding
    uint32_t batch;             // the most rows in a call of distill_learn
    uint64_t seed;              // of the first weights
} distill_options;

// Errors, each with one line in reason; *out is unchanged:
//   OCT_EINVAL     the hidden layers or the loss do not fit the teacher, or the network is too
//                  large
//   OCT_ENOTFOUND  this machine cannot run the teacher
OCT_CHECKED oct_err distill_create(distill_student **out, const policy_image *teacher,
                                   const distill_options *options, oct_reason *why);
void distill_destroy(distill_student *student); // NULL is a no-op
const policy_spec *distill_spec(const distill_student *student);

// Sets want[rows][outputs of the student] to the teacher's answers to obs[rows][obs_count], as the
// student learns them. obs are floats for a policy of bytes, too. Allocates during the call.
void distill_teach(distill_student *student, const float *obs, uint32_t rows, float *want);
// Takes the scales from these rows; once, before the first distill_learn. want, the answers of
// distill_teach, is rescaled in place, and later answers of distill_teach come scaled.
void distill_begin(distill_student *student, const float *obs, float *want, uint32_t rows);
// What the student learns from in one step.
typedef struct distill_examples {
    const float *obs;      // as in distill_teach
    const float *want;     // as in distill_teach
    const uint32_t *order; // [count], rows of obs and want
    uint32_t count;
} distill_examples;
// Takes one step of Adam on rows. aware: computes with the weights
// that the student will be rounded to (straight-through estimator). Returns the loss; if it is not
// finite, no parameter has changed.
double distill_learn(distill_student *student, const distill_examples *rows, float learning_rate,
                     bool aware);

// Sets *image to the student as it is now: with the teacher's origin, the student's count of
// updates, and no return. OCT_EINVAL: a weight is not finite.
OCT_CHECKED oct_err distill_image(const distill_student *student, policy_precision precision,
                                  policy_image **image);

#endif // ALGOS_DISTILL_DISTILL_STUDENT_H
