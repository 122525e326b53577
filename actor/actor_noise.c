// Gaussian exploration noise on actions in a box, with a separate deviation for each environment.
#include "actor/actor_noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define NOISE_STREAM 0x6e6f6900u // stream of the generator; the actor's index is added

static double
change_steps(const config_experiment *config)
{
    if (config->actor.noise_final_is_same) {
        return INFINITY;
    }
    uint64_t steps = config->actor.noise_steps;
    return (double)(steps > 0 ? steps : config->run.env_steps);
}

void
actor_noise_init(actor_noise *noise, const config_experiment *config, const policy_spec *spec,
                 const actor_ladder *ladder, uint64_t seed)
{
    const uint32_t envs = ladder->envs;
    OCT_ASSERT(spec->action_kind == POLICY_BOX && envs > 0);
    double correlation = config->actor.noise_correlation;
    uint32_t dim = spec->action_count;
    *noise = (actor_noise){
        .envs = envs,
        .dim = dim,
        .correlation = (float)correlation,
        .innovation = (float)sqrt(1 - correlation * correlation),
        .random_steps = config->actor.random_steps,
        .change_steps = change_steps(config),
        .final_share = (float)config->actor.noise_final,
        .share = oct_alloc(envs * sizeof(float)),
        .x = oct_alloc((size_t)envs * dim * sizeof(float)),
        .low = oct_alloc(dim * sizeof(float)),
        .high = oct_alloc(dim * sizeof(float)),
    };
    oct_rng_init(&noise->rng, seed, NOISE_STREAM + ladder->actor_index);
    memcpy(noise->low, spec->action_low, dim * sizeof(float));
    memcpy(noise->high, spec->action_high, dim * sizeof(float));
    double from = config->actor.noise_low, to = config->actor.noise;
    for (uint32_t i = 0; i < envs; i++) {
        noise->share[i] = (float)(from + (to - from) * actor_ladder_at(ladder, i, 1));
    }
    for (size_t k = 0; k < (size_t)envs * dim; k++) {
        noise->x[k] = oct_rng_normal(&noise->rng);
    }
}

void
actor_noise_fini(actor_noise *noise)
{
    free(noise->share);
    free(noise->x);
    free(noise->low);
    free(noise->high);
    *noise = (actor_noise){0};
}

void
actor_noise_begin(actor_noise *noise, uint32_t i)
{
    OCT_ASSERT(i < noise->envs);
    if (noise->correlation > 0) { // else the next noise is independent already
        for (uint32_t k = 0; k < noise->dim; k++) {
            noise->x[(size_t)i * noise->dim + k] = oct_rng_normal(&noise->rng);
        }
    }
}

// Returns how far the shares have moved to final_share: 0 at the beginning, 1 at the end.
static float
noise_changed(const actor_noise *noise, uint64_t env_steps)
{
    return (float)OCT_MIN(1.0, (double)env_steps / noise->change_steps);
}

static float
cut(float action, float low, float high)
{
    action = action > low ? action : low;
    return action < high ? action : high;
}

void
actor_noise_apply(actor_noise *noise, float *actions, uint64_t env_steps, uint8_t *random)
{
    bool uniform = env_steps < noise->random_steps;
    memset(random, uniform ? 1 : 0, noise->envs);
    float changed = noise_changed(noise, env_steps);
    float *x = noise->x;
    for (uint32_t i = 0; i < noise->envs; i++) {
        float share = noise->share[i] + changed * (noise->final_share - noise->share[i]);
        for (uint32_t k = 0; k < noise->dim; k++, actions++, x++) {
            float low = noise->low[k], high = noise->high[k];
            float half = 0.5f * (high - low);
            if (uniform) {
                *actions = cut(low + (high - low) * oct_rng_float(&noise->rng), low, high);
                continue;
            }
            *actions = cut(*actions + share * half * *x, low, high);
            // The noise of the next step is drawn here, after use.
            *x = noise->correlation * *x + noise->innovation * oct_rng_normal(&noise->rng);
        }
    }
}
