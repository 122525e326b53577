#ifndef POLICY_IMPORT_IMPORT_PARITY_H
#define POLICY_IMPORT_IMPORT_PARITY_H

#include "policy/import/import_policy.h"

// Compares an imported policy with its model on observations. The model is computed in double
// precision.
//
// Threads: any. Owns: nothing.

// An action of a box over all rows, in the environment's units.
typedef struct import_action {
    double least, most; // range of the model's action, before bounds
    double deviation;   // standard deviation of the policy's action
    double clipped;     // share of rows in which the bounds change the model's action
} import_action;

// Differences of outputs (discrete: values or logits) or actions (box), over all rows.
typedef struct import_parity {
    uint32_t rows;
    double max_abs;  // largest difference
    double mean_abs; // mean difference
    // Share of rows with the same greedy action; box: of rows in which each action differs by at
    // most 0.001 of its standard deviation.
    double agreement;
    // Share of rows in which the model clips an observation, which policies do not.
    double clipped;
    double actions_clipped; // box: share of rows in which bounds change an action
    import_action actions[POLICY_ACTIONS_MAX]; // [action_count] of a box
} import_parity;

// Compares rows observations, obs[rows][obs_count] in the policy's order and finite. Without rows,
// agreement is 1 and the rest 0. Errors: those of policy_net_create.
OCT_CHECKED oct_err import_parity_measure(import_parity *out, const import_result *result,
                                          const policy_image *image, const float *obs,
                                          uint32_t rows);

#endif // POLICY_IMPORT_IMPORT_PARITY_H
