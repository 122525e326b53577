#ifndef QUANTIZER_QUANTIZER_PROBE_H
#define QUANTIZER_QUANTIZER_PROBE_H

#include "policy/policy_format.h"

// Measures how far a policy is from the policy it was made from: a quantised one from its fp32
// weights, or a student from its teacher (here also called fp32). The kernels of the actors run
// both on the same observations.
//
// The unit of a box action is its standard deviation in fp32 over the rows, or its largest
// magnitude if it is the same in all rows. So the bounds of actions do not matter, however wide
// they are.
//
// Threads: any. Owns: nothing.
typedef struct quantizer_divergence {
    uint32_t rows;
    // relative_l2 and max_abs compare only what affects the action: values and logits without their
    // mean over actions, atoms without their mean over the atoms of one action (a published policy
    // is exact only up to that mean, quantizer_fold.h), box outputs as they are. NaN: the heads
    // differ, or an output is not finite.
    double relative_l2; // ||y - y_fp32||_2 / ||y_fp32||_2 over all outputs; ||y||_2 if y_fp32 is 0
    double max_abs;     // max |y - y_fp32|
    double agreement;   // discrete: share of rows with the same greedy action; box: share of rows
                        // in which each action differs by less than 0.1 of its unit
    // Discrete: the mean of KL(softmax(y_fp32 / t) || softmax(y / t)), where y of atoms are the
    // expectations. t is 1 for logits; for values and atoms, the mean over rows of max y_fp32 - min
    // y_fp32, or 1 if that is 0. NaN: box, or an output is not finite.
    double kl;
    double action_l2; // box: mean over rows of the root mean square over dimensions of (a - a_fp32)
                      // / unit; NaN: discrete
} quantizer_divergence;

// Runs both policies on obs[rows][obs_count] and compares their answers. Both specs have the same
// observations and actions. obs are floats, for u8 policies whole numbers 0 .. 255. rows > 0.
// Allocates. Errors as policy_net_create; *out is then unchanged.
OCT_CHECKED oct_err quantizer_probe(quantizer_divergence *out, const policy_image *image,
                                    const policy_image *fp32, const float *obs, uint32_t rows);

// The answers of one policy: outputs[rows][outputs of the spec] and actions[rows], int32 or
// float[action_count]. All pointers are borrowed.
typedef struct quantizer_answers {
    const policy_spec *spec;
    const float *outputs;
    const void *actions;
} quantizer_answers;

// Compares answers that two policies have already given to the same observations. rows > 0.
void quantizer_compare(quantizer_divergence *out, const quantizer_answers *policy,
                       const quantizer_answers *fp32, uint32_t rows);

#endif // QUANTIZER_QUANTIZER_PROBE_H
