#ifndef IMPORT_IMPORT_PARITY_H
#define IMPORT_IMPORT_PARITY_H

#include "import/import_policy.h"

// Compares an imported policy with its model, which is computed in double precision, and says what
// the observations show of both: actions that are clipped, and numbers that never change.
//
// Threads: any. Owns: nothing.

// One action of a box over all rows, in the environment's units.
typedef struct import_action {
    double least, most; // of the model, before bounds
    double deviation;   // standard deviation of the policy's action
    double clipped;     // share of rows in which the bounds change it
} import_action;

typedef struct import_parity {
    uint32_t rows;
    double max_abs;   // discrete: of values or logits; box: of actions
    double mean_abs;  //
    double agreement; // share of rows with the same greedy action; box: of rows in which each
                      // action differs by at most 0.001 of its standard deviation
    double clipped; // share of rows in which the model clips an observation, which policies do not
    double actions_clipped;                    // box: share of rows with an action that is clipped
    import_action actions[POLICY_ACTIONS_MAX]; // box
} import_parity;

// obs[rows][obs_count] in the policy's order. Errors of policy_net_create.
OCT_CHECKED oct_err import_parity_measure(import_parity *out, const import_result *result,
                                          const policy_image *image, const float *obs,
                                          uint32_t rows);

#endif // IMPORT_IMPORT_PARITY_H
