#ifndef QUANTIZER_QUANTIZER_PROBE_H
#define QUANTIZER_QUANTIZER_PROBE_H

#include "policy/policy_format.h"

// How far a policy is from the one it was made from, a quantised one from its fp32 weights or a
// student from its teacher, both run by the actors' kernels on the same observations.
//
// The unit of a box's action is its standard deviation in fp32 over the rows; of an action that is
// the same in all rows, its size. So bounds do not enter, however wide they are.
//
// Threads: any. Owns: nothing.
typedef struct quantizer_divergence {
    uint32_t rows;
    // Outputs are compared as far as they decide: values and logits less their mean over actions,
    // atoms less their mean over those of one action (what ships is only right up to that mean,
    // quantizer_fold.h); outputs of a box as they are. NaN: their heads differ, or an output
    // is not finite.
    double relative_l2; // ||y - y_fp32||_2 / ||y_fp32||_2 over all outputs
    double max_abs;     // max |y - y_fp32|
    double agreement;   // discrete: share of rows with the same greedy action; box: share of rows
                        // in which each action differs by less than 0.1 of its unit
    double kl; // discrete: mean KL(softmax(y_fp32 / t) || softmax(y / t)), t = 1 for logits and
               // the mean over rows of the spread (max - min) of y_fp32 for values; NaN: box, or an
               // output that is not finite
    double action_l2; // box: mean over rows of the root mean square over dimensions of (a - a_fp32)
                      // / unit; NaN: discrete
} quantizer_divergence;

// Both are of the same observations and actions. obs[rows][obs_count] floats (also for u8 policies:
// whole numbers 0..255). Errors of policy_net_create.
OCT_CHECKED oct_err quantizer_probe(quantizer_divergence *out, const policy_image *image,
                                    const policy_image *fp32, const float *obs, uint32_t rows);

// The same of what two policies have answered already: outputs[rows][outputs of the spec] and
// actions[rows], int32 or float[action_count].
typedef struct quantizer_answers {
    const policy_spec *spec;
    const float *outputs;
    const void *actions;
} quantizer_answers;

void quantizer_compare(quantizer_divergence *out, const quantizer_answers *policy,
                       const quantizer_answers *fp32, uint32_t rows);

#endif // QUANTIZER_QUANTIZER_PROBE_H
