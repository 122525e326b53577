#ifndef ALGOS_ALGO_ROWS_H
#define ALGOS_ALGO_ROWS_H

#include "algos/algo.h"
#include "algos/algo_head.h"

// The rows of a batch of sequences or rollouts that have an action, one behind the other, as
// methods of policy gradient learn from them, and what is behind each.
//
// Threads: one user at a time. Owns: its columns, reserved by init; nothing allocates later.
typedef struct algo_rows {
    uint32_t windows_max;
    uint32_t steps; // T
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t extra_dim;
    bool is_box;
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    float reward_clip; // 0: off

    // N rows that have an action, in the batch's order, and behind them the M observations to
    // bootstrap from; N + M <= windows_max * (T + 1).
    uint32_t N, M;
    float *x;         // [N + M][obs_count]
    int32_t *choice;  // [N], discrete actions
    float *drawn;     // [N][action_count], numbers that actions in a box were made of
    float *log_mu;    // [N], as the policy that acted recorded it
    float *reward;    // [N]
    uint32_t *behind; // [N], ALGO_BEHIND_ …, or a row of x
} algo_rows;

// What is behind a row, beside a row of observations to bootstrap from.
#define ALGO_BEHIND_NEXT    UINT32_MAX // the next row with an action
#define ALGO_BEHIND_NOTHING (UINT32_MAX - 1)

// For batches of at most windows_max windows of steps rows. OCT_EINVAL: none, or more than can be
// numbered.
OCT_CHECKED oct_err algo_rows_init(algo_rows *rows, nn_context *context, const policy_spec *spec,
                                   uint32_t windows_max, uint32_t steps, float reward_clip);
void algo_rows_fini(algo_rows *rows);
// OCT_EINVAL: another shape, no row with an action, or an action out of range; OCT_EINTERNAL: a
// number that is not finite. Then the columns hold nothing useful.
OCT_CHECKED oct_err algo_rows_take(algo_rows *rows, const algo_batch *batch);
// What was done in them.
algo_done algo_rows_done(const algo_rows *rows);

#endif // ALGOS_ALGO_ROWS_H
