// Takes the rows with an action out of a batch of sequences, and checks them.
#include "algos/algo_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/algo_ops.h"
#include "common/oct_base.h"
#include "common/oct_box.h"
#include "common/oct_reward.h"

oct_err
algo_rows_init(algo_rows *rows, nn_context *context, const policy_spec *spec, uint32_t windows_max,
               uint32_t steps, float reward_clip)
{
    uint64_t observed = (uint64_t)windows_max * ((uint64_t)steps + 1);
    if (windows_max < 1 || steps < 1 || observed >= ALGO_BEHIND_NOTHING) {
        return OCT_EINVAL;
    }
    size_t count = (size_t)windows_max * steps;
    *rows = (algo_rows){
        .windows_max = windows_max,
        .steps = steps,
        .obs_count = spec->obs_count,
        .action_count = spec->action_count,
        .extra_dim = policy_spec_extra_dim(spec),
        .is_box = spec->action_kind == POLICY_BOX,
        .reward_clip = reward_clip,
        .x = nn_context_alloc(context, observed * spec->obs_count * sizeof(float)),
        .choice = nn_context_alloc(context, count * sizeof(int32_t)),
        .log_mu = nn_context_alloc(context, count * sizeof(float)),
        .reward = nn_context_alloc(context, count * sizeof(float)),
        .behind = nn_context_alloc(context, count * sizeof(uint32_t)),
    };
    rows->drawn =
        nn_context_alloc(context, (rows->is_box ? count * spec->action_count : 1) * sizeof(float));
    memcpy(rows->low, spec->action_low, sizeof(rows->low));
    memcpy(rows->high, spec->action_high, sizeof(rows->high));
    return OCT_OK;
}

void
algo_rows_fini(algo_rows *rows)
{
    void *blocks[] = {rows->x, rows->choice, rows->drawn, rows->log_mu, rows->reward, rows->behind};
    for (size_t i = 0; i < OCT_COUNTOF(blocks); i++) {
        free(blocks[i]);
    }
    *rows = (algo_rows){0};
}

// Makes the action of the batch's row `from` row N. OCT_EINVAL: the action is out of range.
// OCT_EINTERNAL: one of its numbers is not finite.
static oct_err
take_action(algo_rows *rows, const algo_batch *batch, size_t from)
{
    const float *extra = batch->extra + from * rows->extra_dim;
    rows->log_mu[rows->N] = extra[0];
    if (!rows->is_box) {
        int32_t choice = ((const int32_t *)batch->action)[from];
        rows->choice[rows->N] = choice;
        return (uint32_t)choice < rows->action_count ? OCT_OK : OCT_EINVAL; // or negative
    }
    const float *action = (const float *)batch->action + from * rows->action_count;
    for (uint32_t i = 0; i < rows->action_count; i++) {
        if (!isfinite(action[i])) {
            return OCT_EINTERNAL;
        }
        if (!oct_box_holds(action[i], rows->low[i], rows->high[i])) {
            return OCT_EINVAL;
        }
    }
    memcpy(rows->drawn + (size_t)rows->N * rows->action_count, extra + 1,
           rows->action_count * sizeof(*extra));
    return OCT_OK;
}

// Returns what follows row t of a window. The last action before an end row, and the last row of
// the window, are followed by an observation to bootstrap from, unless the episode terminated.
static uint32_t
take_behind(const algo_batch *batch, const uint8_t *flags, uint32_t t)
{
    if ((flags[t] & ALGO_TERMINATED) != 0) {
        return ALGO_BEHIND_NOTHING;
    }
    bool continues =
        t + 1 < batch->T && (flags[t + 1] & ALGO_END) == 0 && (flags[t] & ALGO_TRUNCATED) == 0;
    return continues ? ALGO_BEHIND_NEXT : 0; // 0: take_bootstraps replaces it by a row of x
}

static void
take_obs(algo_rows *rows, const float *obs, uint32_t row)
{
    memcpy(rows->x + (size_t)row * rows->obs_count, obs, rows->obs_count * sizeof(*obs));
}

// Takes rows with an action to the front of the columns; returns OCT_EINVAL if there are none.
static oct_err
take_actions(algo_rows *rows, const algo_batch *batch)
{
    rows->N = 0;
    for (uint32_t b = 0; b < batch->B; b++) {
        const uint8_t *flags = batch->flags + (size_t)b * batch->T;
        const float *obs = batch->obs + (size_t)b * (batch->T + 1) * rows->obs_count;
        for (uint32_t t = 0; t < batch->T; t++) {
            size_t from = (size_t)b * batch->T + t;
            if ((flags[t] & ALGO_END) == 0) {
                OCT_TRY(take_action(rows, batch, from));
                take_obs(rows, obs + (size_t)t * rows->obs_count, rows->N);
                rows->reward[rows->N] = oct_reward_clip(batch->reward[from], rows->reward_clip);
                rows->behind[rows->N++] = take_behind(batch, flags, t);
            }
        }
    }
    return rows->N > 0 ? OCT_OK : OCT_EINVAL;
}

// Takes the observations to bootstrap from, after the N rows, in the order of the rows that they
// follow.
static void
take_bootstraps(algo_rows *rows, const algo_batch *batch)
{
    rows->M = 0;
    for (uint32_t b = 0, n = 0; b < batch->B; b++) {
        const uint8_t *flags = batch->flags + (size_t)b * batch->T;
        const float *obs = batch->obs + (size_t)b * (batch->T + 1) * rows->obs_count;
        for (uint32_t t = 0; t < batch->T; t++) {
            if ((flags[t] & ALGO_END) != 0) {
                continue;
            }
            if (rows->behind[n] < ALGO_BEHIND_NOTHING) {
                rows->behind[n] = rows->N + rows->M++;
                take_obs(rows, obs + (size_t)(t + 1) * rows->obs_count, rows->behind[n]);
            }
            n++;
        }
    }
}

oct_err
algo_rows_take(algo_rows *rows, const algo_batch *batch)
{
    if (batch->B < 1 || batch->B > rows->windows_max || batch->T != rows->steps) {
        return OCT_EINVAL;
    }
    OCT_TRY(take_actions(rows, batch));
    take_bootstraps(rows, batch);
    size_t observed = (size_t)(rows->N + rows->M) * rows->obs_count;
    bool finite =
        algo_all_finite(rows->x, observed) && algo_all_finite(rows->reward, rows->N) &&
        algo_all_finite(rows->log_mu, rows->N) &&
        (!rows->is_box || algo_all_finite(rows->drawn, (size_t)rows->N * rows->action_count));
    return finite ? OCT_OK : OCT_EINTERNAL;
}

algo_done
algo_rows_done(const algo_rows *rows)
{
    return (algo_done){rows->choice, rows->drawn, rows->N};
}
