// Checks the numbers of a batch against the range that they may have.
#include "replay/replay_range.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_box.h"
#include "common/oct_discrete.h"

// Returns the largest magnitude of float32 values at any alignment; infinite or NaN if one of them
// is.
static float
largest(const void *floats, size_t count)
{
    const uint8_t *at = floats;
    int32_t most = 0; // magnitudes have the order of their bits
    for (size_t i = 0; i < count; i++) {
        int32_t bits;
        memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    float magnitude;
    memcpy(&magnitude, &most, sizeof(magnitude));
    return magnitude;
}

// Returns the largest magnitude allowed when the largest one so far is `before`.
static float
limit_after(const replay_range *range, const wire_configure *configure, float before)
{
    if (range->rows < REPLAY_RANGE_ROWS || configure->turn_actors > 0) {
        return REPLAY_MAGNITUDE_MAX;
    }
    float limit = OCT_MAX(before * REPLAY_RANGE_TIMES, REPLAY_RANGE_FLOOR);
    return OCT_MIN(limit, REPLAY_MAGNITUDE_MAX);
}

static replay_fault
fault_of(const char *not_finite, const char *outside, float magnitude, float limit)
{
    bool is_finite = isfinite(magnitude);
    const char *reason = !is_finite ? not_finite : magnitude > limit ? outside : NULL;
    return (replay_fault){reason, is_finite ? magnitude : NAN, is_finite && reason != NULL};
}

// Finds a number of a box action outside its bounds. End rows have no action.
static replay_fault
action_judge(const wire_configure *configure, const wire_batch *batch)
{
    uint32_t numbers = configure->action_bounds;
    const uint8_t *at = batch->action;
    for (uint32_t row = 0; row < batch->count; row++, at += batch->action_bytes) {
        for (uint32_t i = 0; i < numbers && (batch->flags[row] & WIRE_END) == 0; i++) {
            float number;
            memcpy(&number, at + i * sizeof(number), sizeof(number));
            if (!oct_box_holds(number, configure->action_low[i], configure->action_high[i])) {
                return (replay_fault){"an action is outside its bounds", number, true};
            }
        }
    }
    return (replay_fault){0};
}

replay_fault
replay_range_judge(replay_range *range, const wire_configure *configure, const wire_batch *batch)
{
    size_t rows = batch->count;
    float obs = configure->obs_is_float ? largest(batch->obs, rows * batch->obs_bytes / 4) : 0;
    float reward = largest(batch->reward, rows);
    float extra = largest(batch->extra, rows * batch->extra_dim);
    float action =
        configure->action_is_float ? largest(batch->action, rows * batch->action_bytes / 4) : 0;
    const replay_fault faults[] = {
        fault_of("an observation is not finite", "an observation is too large", obs,
                 limit_after(range, configure, range->obs)),
        fault_of("an action is not finite", NULL, action, INFINITY),
        // Also actions of end rows, which are not used: the learner checks all rows of a window.
        {configure->action_count > 0 &&
                 !oct_discrete_holds(batch->action, batch->count, configure->action_count)
             ? "an action that the environment does not have"
             : NULL,
         NAN, false},
        fault_of("a reward is not finite", "a reward is too large", reward,
                 limit_after(range, configure, range->reward)),
        fault_of("an extra is not finite", "an extra is too large", extra, REPLAY_MAGNITUDE_MAX),
        action_judge(configure, batch),
    };
    for (size_t i = 0; i < OCT_COUNTOF(faults); i++) {
        if (faults[i].reason) {
            return faults[i];
        }
    }
    range->rows += rows;
    range->obs = OCT_MAX(range->obs, obs);
    range->reward = OCT_MAX(range->reward, reward);
    return (replay_fault){0};
}
