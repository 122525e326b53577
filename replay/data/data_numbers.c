// Computes statistics of recorded steps: ranges, returns, and how often exploration chose the
// action.
#include "replay/data/data_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define DTYPE_F32       1u // policy_dtype
#define ACTION_DISCRETE 1u // policy_action_kind

// ---- spreads

static int
value_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Interpolates linearly between neighbours. n is at least 1.
static double
quantile(const double *sorted, uint64_t n, double q)
{
    double at = q * (double)(n - 1);
    uint64_t below = (uint64_t)at;
    uint64_t above = OCT_MIN(below + 1, n - 1);
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

data_spread
data_spread_of(double *values, uint64_t n)
{
    if (n == 0) {
        return (data_spread){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    }
    qsort(values, n, sizeof(*values), value_compare);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += values[i];
    }
    double mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return (data_spread){
        .mean = mean,
        .sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0,
        .least = values[0],
        .q25 = quantile(values, n, 0.25),
        .median = quantile(values, n, 0.5),
        .q75 = quantile(values, n, 0.75),
        .most = values[n - 1],
    };
}

// ---- rows

static void
range_add(data_range *range, double value)
{
    range->least = fmin(range->least, value); // fmin and fmax of NaN and a number return the number
    range->most = fmax(range->most, value);
}

static void
obs_add(data_numbers *out, const data_source *source, const replay_block *block, uint32_t row)
{
    const replay_data_env *env = &data_source_header(source)->env;
    const uint8_t *obs = replay_block_obs(data_source_layout(source), block, row);
    for (uint32_t i = 0; i < env->obs_count; i++) {
        float value = env->obs_dtype == DTYPE_F32 ? 0 : (float)obs[i];
        if (env->obs_dtype == DTYPE_F32) {
            memcpy(&value, obs + i * sizeof(value), sizeof(value));
        }
        range_add(&out->obs, (double)value);
    }
}

static void
action_add(data_numbers *out, const data_source *source, const replay_block *block, uint32_t row)
{
    const replay_data_env *env = &data_source_header(source)->env;
    const uint8_t *bytes = replay_block_action(data_source_layout(source), block, row);
    if (env->action_kind == ACTION_DISCRETE) {
        int32_t action;
        memcpy(&action, bytes, sizeof(action));
        if (action >= 0 && (uint32_t)action < env->action_count) {
            out->action_steps[action]++;
        }
        return;
    }
    for (uint32_t i = 0; i < env->action_count; i++) {
        float value;
        memcpy(&value, bytes + i * sizeof(value), sizeof(value));
        range_add(&out->action[i], (double)value);
    }
}

static void
block_add(data_numbers *out, const data_source *source, const replay_block *block)
{
    const replay_layout *layout = data_source_layout(source);
    for (uint32_t row = 0; row < block->count; row++) {
        uint8_t flags = *replay_block_flags(layout, block, row);
        obs_add(out, source, block, row);
        if ((flags & WIRE_END) != 0) {
            continue;
        }
        uint32_t version = *replay_block_version(layout, block, row);
        out->steps++;
        out->random += (flags & WIRE_RANDOM) != 0;
        out->version_least = OCT_MIN(out->version_least, version);
        out->version_most = OCT_MAX(out->version_most, version);
        range_add(&out->reward, (double)*replay_block_reward(layout, block, row));
        action_add(out, source, block, row);
    }
    out->rows += block->count;
}

// ---- episodes

// Counts how a complete episode ended: by the flags of its last action.
static void
end_add(data_numbers *out, const data_episode *episode)
{
    out->episodes++;
    out->failed += episode->is_failed;
    out->terminated += (episode->last_flags & WIRE_TERMINATED) != 0;
    out->truncated += (episode->last_flags & (WIRE_TERMINATED | WIRE_TRUNCATED)) == WIRE_TRUNCATED;
}

static void
episodes_add(data_numbers *out, const data_episodes *episodes)
{
    double *returns = oct_alloc(OCT_MAX(episodes->count, 1) * sizeof(*returns));
    double *lengths = oct_alloc(OCT_MAX(episodes->count, 1) * sizeof(*lengths));
    for (uint64_t i = 0; i < episodes->count; i++) {
        const data_episode *episode = &episodes->list[i];
        if (!data_episode_is_complete(episode)) {
            out->incomplete++;
            out->steps_of_parts += data_episode_steps(episode);
            continue;
        }
        returns[out->episodes] = episode->total;
        lengths[out->episodes] = (double)data_episode_steps(episode);
        end_add(out, episode);
    }
    out->returns = data_spread_of(returns, out->episodes);
    out->lengths = data_spread_of(lengths, out->episodes);
    free(returns);
    free(lengths);
}

void
data_numbers_find(data_numbers *out, const data_source *source, const data_episodes *episodes)
{
    const replay_data_env *env = &data_source_header(source)->env;
    bool is_discrete = env->action_kind == ACTION_DISCRETE;
    const data_range none = {NAN, NAN};
    *out = (data_numbers){.version_least = UINT32_MAX, .reward = none, .obs = none};
    out->action = oct_alloc(env->action_count * sizeof(*out->action));
    out->action_steps = oct_alloc(env->action_count * sizeof(*out->action_steps));
    for (uint32_t i = 0; !is_discrete && i < env->action_count; i++) {
        out->action[i] = none;
    }
    for (uint32_t i = 0; i < data_source_blocks(source); i++) {
        out->streams += !data_source_continues(source, i);
        block_add(out, source, data_source_block(source, i));
    }
    episodes_add(out, episodes);
}

void
data_numbers_free(data_numbers *numbers)
{
    free(numbers->action);
    free(numbers->action_steps);
}
