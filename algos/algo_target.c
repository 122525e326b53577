// Targets of Q-learning, SARSA and expected SARSA, and n-step returns from sequences.
#include "algos/algo_target.h"

#include "common/oct_reward.h"
#include "config/config.h"

algo_target
algo_target_of(const config_experiment *config)
{
    return (algo_target){config->algo.target, (float)config->algo.target_epsilon};
}

// Returns the expected value under the epsilon-greedy policy.
static float
expectation(const algo_target *target, const float *choose, const float *value, uint32_t A,
            float best)
{
    double all = 0, of_best = 0;
    uint32_t ties = 0;
    for (uint32_t a = 0; a < A; a++) {
        bool is_best = choose[a] == best;
        ties += is_best;
        of_best += is_best ? (double)value[a] : 0;
        all += (double)value[a];
    }
    double epsilon = (double)target->epsilon;
    return (float)((1 - epsilon) * of_best / ties + epsilon * all / A); // NaN: no action is best
}

uint32_t
algo_target_best(const float *choose, uint32_t A)
{
    uint32_t best = 0;
    for (uint32_t a = 1; a < A; a++) {
        best = choose[a] > choose[best] ? a : best;
    }
    return best;
}

float
algo_target_value(const algo_target *target, const float *choose, const float *value, uint32_t A,
                  int32_t taken)
{
    uint32_t best = algo_target_best(choose, A);
    if (target->kind == CONFIG_TARGET_Q_LEARNING) {
        return value[best];
    }
    if (target->kind == CONFIG_TARGET_SARSA && taken >= 0) {
        return value[taken];
    }
    return expectation(target, choose, value, A, choose[best]);
}

algo_returns
algo_returns_of(const config_experiment *config)
{
    return (algo_returns){
        .n = config_n_step(config),
        .discount = (float)config->algo.discount,
        .reward_clip = (float)config->algo.reward_clip,
    };
}

bool
algo_returns_at(algo_step *out, const algo_returns *returns, const algo_batch *batch, uint32_t b,
                uint32_t t)
{
    size_t window = (size_t)b * batch->T;
    const uint8_t *flags = batch->flags + window;
    const int32_t *action = (const int32_t *)batch->action + window;
    if ((flags[t] & ALGO_END) != 0) {
        return false;
    }
    *out = (algo_step){.discount = 1, .behind = t, .taken = -1};
    for (uint32_t k = 0; k < returns->n; k++) {
        uint32_t row = t + k;
        out->reward +=
            out->discount * oct_reward_clip(batch->reward[window + row], returns->reward_clip);
        out->discount *= returns->discount;
        out->behind = row + 1;
        if ((flags[row] & ALGO_TERMINATED) != 0) {
            out->discount = 0;
            return true;
        }
        if ((flags[row] & ALGO_TRUNCATED) != 0 || (flags[row + 1] & ALGO_END) != 0) {
            return true;
        }
    }
    out->taken = action[out->behind];
    return true;
}
