// MountainCar-v0 as Gymnasium 1.4 defines it: an engine too weak for the hill, pushed left, not at
// all, or right. Double precision. State and observation: position, velocity.
#include <math.h>

#include "envs/env_native.h"
#include "envs/env_registry.h"

#define POSITION_LOW         (-1.2)
#define POSITION_HIGH        0.6
#define SPEED_HIGH           0.07   // of a step; faster is clipped
#define GOAL                 0.5    // position at which the episode ends
#define FORCE                0.001  // added to the velocity by a push
#define GRAVITY              0.0025 // times cos(3 position): taken from the velocity
#define OPTION_GOAL_VELOCITY 0      // index of option goal_velocity

static const double obs_low[2] = {POSITION_LOW, -SPEED_HIGH};
static const double obs_high[2] = {POSITION_HIGH, SPEED_HIGH};

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    state[0] = oct_pcg64_uniform(rng, -0.6, -0.4);
    state[1] = 0;
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    (void)rng;
    double position = state[0], velocity = state[1];
    velocity += (turn->index - 1) * FORCE + cos(3 * position) * -GRAVITY;
    velocity = env_native_clip(velocity, -SPEED_HIGH, SPEED_HIGH);
    position = env_native_clip(position + velocity, POSITION_LOW, POSITION_HIGH);
    if (position == POSITION_LOW && velocity < 0) {
        velocity = 0;
    }
    state[0] = position;
    state[1] = velocity;
    turn->terminated = position >= GOAL && velocity >= task->options[OPTION_GOAL_VELOCITY];
    return -1;
}

static void
observe(const double *state, void *row)
{
    float *obs = row;
    obs[0] = (float)state[0];
    obs[1] = (float)state[1];
}

static const env_native_class mountain_car = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "MountainCar-v0",
             .obs = {.size = sizeof(octet_env_space),
                     .dtype = OCTET_ENV_F32,
                     .rank = 1,
                     .shape = {2},
                     .low = obs_low,
                     .high = obs_high},
             .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 3},
             .max_episode_steps = 200,
             .reward_threshold = -110,
             .reward_low = -1,
             .reward_high = -1,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = 2},
    .options = {{.key = "goal_velocity", .initial = 0, .low = -1, .high = 1}},
    .reset = reset,
    .step = step,
    .observe = observe,
};

ENV_NATIVE_API(env_mountain_car_api, mountain_car);
