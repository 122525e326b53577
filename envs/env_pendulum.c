// Pendulum-v1 as Gymnasium 1.4 defines it: swing up and hold, torque bounded. Double precision;
// option numpy=2 rounds the two products of the float action as numpy 2 or later does. State: angle
// (never wrapped), angular velocity. Observation: cosine, sine, velocity.
#include <math.h>

#include "envs/env_native.h"
#include "envs/env_registry.h"

#define PI           3.141592653589793
#define DT           0.05       // s in a step
#define TORQUE_HIGH  2.0        // an action beyond it is clipped
#define SPEED_HIGH   8.0        // rad/s; faster is clipped
#define COST_MAX     16.2736045 // pi^2 + 0.1 * 8^2 + 0.001 * 2^2, rounded up
#define OPTION_NUMPY 0          // index of option numpy
#define OPTION_G     1          // index of option g

static const double obs_low[3] = {-1, -1, -SPEED_HIGH};
static const double obs_high[3] = {1, 1, SPEED_HIGH};
static const double action_low[1] = {-TORQUE_HIGH};
static const double action_high[1] = {TORQUE_HIGH};

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    state[0] = oct_pcg64_uniform(rng, -PI, PI);
    state[1] = oct_pcg64_uniform(rng, -1, 1);
}

// Returns the remainder with the divisor's sign.
static double
floor_mod(double x, double divisor)
{
    double rest = fmod(x, divisor);
    if (rest != 0) {
        return rest < 0 ? rest + divisor : rest;
    }
    return 0.0;
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    (void)rng;
    double angle = state[0], speed = state[1];
    float torque = (float)env_native_clip((double)turn->value, -TORQUE_HIGH, TORQUE_HIGH);
    double torque_cost, torque_push;
    if (task->options[OPTION_NUMPY] == 2) {
        torque_cost = (double)(0.001f * env_native_pow2f(torque));
        torque_push = (double)(3.0f * torque);
    } else {
        // The square of a float is exact in double.
        torque_cost = 0.001 * ((double)torque * (double)torque);
        torque_push = 3.0 * (double)torque;
    }
    double upright = floor_mod(angle + PI, 2 * PI) - PI;
    double cost = env_native_pow2(upright) + 0.1 * env_native_pow2(speed) + torque_cost;
    speed += (3 * task->options[OPTION_G] / 2.0 * sin(angle) + torque_push) * DT;
    speed = env_native_clip(speed, -SPEED_HIGH, SPEED_HIGH);
    state[0] = angle + speed * DT;
    state[1] = speed;
    turn->terminated = false;
    return -cost;
}

static void
observe(const double *state, void *row)
{
    float *obs = row;
    obs[0] = (float)cos(state[0]);
    obs[1] = (float)sin(state[0]);
    obs[2] = (float)state[1];
}

static const env_native_class pendulum = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "Pendulum-v1",
             .obs = {.size = sizeof(octet_env_space),
                     .dtype = OCTET_ENV_F32,
                     .rank = 1,
                     .shape = {3},
                     .low = obs_low,
                     .high = obs_high},
             .action = {.size = sizeof(octet_env_space),
                        .dtype = OCTET_ENV_F32,
                        .rank = 1,
                        .shape = {1},
                        .low = action_low,
                        .high = action_high},
             .max_episode_steps = 200,
             .reward_threshold = NAN,
             .reward_low = -COST_MAX,
             .reward_high = 0,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = 2},
    .options = {{.key = "numpy", .initial = 1, .low = 1, .high = 2, .whole = true},
                {.key = "g", .initial = 10, .low = -1000, .high = 1000}},
    .reset = reset,
    .step = step,
    .observe = observe,
};

ENV_NATIVE_API(env_pendulum_api, pendulum);
