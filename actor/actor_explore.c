// Epsilon-greedy exploration: the epsilon of each environment, annealing, and random or repeated
// actions.
#include "actor/actor_explore.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define HOLD_STEPS_MAX 10000.0 // the tail is long

void
actor_explore_init(actor_explore *explore, const config_experiment *config, uint32_t action_count,
                   const actor_ladder *ladder, uint64_t seed)
{
    const uint32_t envs = ladder->envs;
    OCT_ASSERT(envs > 0 && action_count > 0);
    oct_rng_init(&explore->rng, seed, 0x65786c00u + ladder->actor_index);
    explore->envs = envs;
    explore->action_count = action_count;
    explore->anneal_steps = config->actor.epsilon_anneal_steps;
    explore->persistence = 0;
    explore->ladder = oct_alloc(envs * sizeof(float));
    explore->held = oct_alloc(envs * sizeof(int32_t));
    explore->left = oct_alloc(envs * sizeof(uint32_t));
    for (uint32_t i = 0; i < envs; i++) {
        double at = actor_ladder_at(ladder, i, 0);
        explore->ladder[i] =
            (float)pow(config->actor.epsilon_base, 1 + (config->actor.epsilon_power - 1) * at);
    }
}

void
actor_explore_fini(actor_explore *explore)
{
    free(explore->ladder);
    free(explore->held);
    free(explore->left);
    explore->ladder = NULL;
    explore->held = NULL;
    explore->left = NULL;
}

void
actor_explore_set_persistence(actor_explore *explore, double mu)
{
    OCT_ASSERT(mu == 0 || mu > 1);
    explore->persistence = mu;
}

// Samples how many further steps a new random action is held: inverse transform of P(n >= k) =
// k^(1 - mu).
static uint32_t
hold_steps(actor_explore *explore)
{
    if (explore->persistence == 0) {
        return 0;
    }
    double u = 1 - oct_rng_double(&explore->rng); // (0, 1]
    double n = floor(pow(u, -1 / (explore->persistence - 1)));
    return (uint32_t)OCT_MIN(n, HOLD_STEPS_MAX) - 1;
}

static float
anneal(const actor_explore *explore, float final, uint64_t env_steps)
{
    if (env_steps >= explore->anneal_steps) {
        return final;
    }
    float share = (float)env_steps / (float)explore->anneal_steps;
    return 1 + (final - 1) * share;
}

float
actor_explore_epsilon(const actor_explore *explore, uint32_t i, uint64_t env_steps)
{
    return anneal(explore, explore->ladder[i], env_steps);
}

void
actor_explore_begin(actor_explore *explore, uint32_t i)
{
    explore->left[i] = 0;
}

void
actor_explore_apply(actor_explore *explore, int32_t *actions, uint64_t env_steps, uint8_t *random)
{
    for (uint32_t i = 0; i < explore->envs; i++) {
        random[i] = 1;
        if (explore->left[i] > 0) {
            explore->left[i]--;
            actions[i] = explore->held[i];
        } else if (oct_rng_float(&explore->rng) < anneal(explore, explore->ladder[i], env_steps)) {
            actions[i] = (int32_t)oct_rng_below(&explore->rng, explore->action_count);
            explore->held[i] = actions[i];
            explore->left[i] = hold_steps(explore);
        } else {
            random[i] = 0;
        }
    }
}
