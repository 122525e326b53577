#ifndef ALGOS_ALGO_ROWS_H
#define ALGOS_ALGO_ROWS_H

#include "algos/algo.h"
#include "algos/algo_head.h"

// The rows with an action from a batch of sequences or rollouts, one after the other, and what
// follows each row; policy gradient methods learn from these.
//
// Threads: one user at a time. Owns: its columns, which init reserves; no later call allocates.
typedef struct algo_rows {
    uint32_t windows_max; // windows in a batch
    uint32_t steps;       // T
    uint32_t obs_count;
    uint32_t action_count;
    uint32_t extra_dim;
    bool is_box;
    float low[POLICY_ACTIONS_MAX], high[POLICY_ACTIONS_MAX];
    float reward_clip; // 0: no clipping

    // N rows with an action, in the batch's order, followed by the M observations to bootstrap
    // from; N + M <= windows_max * (T + 1).
    uint32_t N, M;
    float *x;         // [N + M][obs_count]
    int32_t *choice;  // [N], discrete actions
    float *drawn;     // [N][action_count], the numbers that actions in a box were made of
    float *log_mu;    // [N], log-probabilities that the acting policy recorded
    float *reward;    // [N], clipped to reward_clip
    uint32_t *behind; // [N], ALGO_BEHIND_NEXT, ALGO_BEHIND_NOTHING, or a row of x to bootstrap from
} algo_rows;

// The special values of behind: what follows a row.
#define ALGO_BEHIND_NEXT    UINT32_MAX       // the next row of the columns continues the episode
#define ALGO_BEHIND_NOTHING (UINT32_MAX - 1) // the episode terminated

// For batches of at most windows_max windows of `steps` rows. OCT_EINVAL: a count is 0, or there
// are more rows than 32 bits can number.
OCT_CHECKED oct_err algo_rows_init(algo_rows *rows, nn_context *context, const policy_spec *spec,
                                   uint32_t windows_max, uint32_t steps, float reward_clip);
void algo_rows_fini(algo_rows *rows);
// Takes the rows of a batch. On an error the columns hold nothing useful:
//   OCT_EINVAL     the shape differs, no row has an action, or an action is out of range
//   OCT_EINTERNAL  a number is not finite
OCT_CHECKED oct_err algo_rows_take(algo_rows *rows, const algo_batch *batch);
// Returns the actions of the rows.
algo_done algo_rows_done(const algo_rows *rows);

#endif // ALGOS_ALGO_ROWS_H
