#ifndef DISTILL_DISTILL_STUDENT_H
#define DISTILL_DISTILL_STUDENT_H

#include "distill/distill_loss.h"
#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"

// A small network that learns to answer as a finished policy does, on observations that it is
// given. It reads observations less their mean, divided by their deviation (quantizer_observed.h),
// where it begins with QUANTIZER_OBSERVED_LEAST or more, else as they are; or bytes in the unit of
// the largest one that it begins with (policy_byte_unit). It learns values less their mean, in
// units of their deviation. So rates fit any policy; what it is written as has none of that. Its
// head is the teacher's; of a distribution of returns it learns the mean, as values. A Gaussian's
// deviations of its own are copied.
//
// The same calls with the same numbers give the same bits on one machine.
//
// Threads: one user. Owns: the network and a copy of the teacher; learn allocates nothing.
typedef struct distill_student distill_student;

typedef struct distill_options {
    const uint32_t *hidden; // [hidden_count] widths
    uint32_t hidden_count;
    policy_activation activation; // of hidden layers
    distill_kind kind;
    double temperature; // KL of logits: as it is; of values: in units of the mean difference
                        // between the best and the worst action
    policy_precision precision; // that it will be rounded to, for learn's aware
    quantizer_method method;
    uint32_t batch; // rows at most in one learn
    uint64_t seed;
} distill_options;

// OCT_EINVAL: layers or kind do not fit the teacher; OCT_ENOTFOUND: this machine cannot run it;
// with one line in reason.
OCT_CHECKED oct_err distill_create(distill_student **out, const policy_image *teacher,
                                   const distill_options *options, char *reason,
                                   size_t reason_size);
void distill_destroy(distill_student *student); // NULL is a no-op
const policy_spec *distill_spec(const distill_student *student);

// want[rows][outputs of the student] = what the teacher answers to obs[rows][obs_count] (floats,
// also of a policy of bytes), as the student learns it. Allocates.
void distill_teach(distill_student *student, const float *obs, uint32_t rows, float *want);
// Once, before the first learn: takes the scales from these rows; want, as distill_teach gave it,
// gets them as well, and so do later answers of distill_teach.
void distill_begin(distill_student *student, const float *obs, float *want, uint32_t rows);
// One step of Adam on the rows order[count] of obs and want. aware: with the weights that the
// student will be rounded to (straight-through estimator). Gives the loss; not finite: nothing was
// changed.
double distill_learn(distill_student *student, const float *obs, const float *want,
                     const uint32_t *order, uint32_t count, float learning_rate, bool aware);

// *image = the student as it is, of the teacher's origin, with `updates` of its own and without a
// return. OCT_EINVAL: a weight is not finite.
OCT_CHECKED oct_err distill_image(const distill_student *student, policy_precision precision,
                                  policy_image **image);

#endif // DISTILL_DISTILL_STUDENT_H
