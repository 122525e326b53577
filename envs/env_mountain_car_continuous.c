// MountainCarContinuous-v0 as Gymnasium 1.4 defines it. State and observation: position, velocity.
//
// Precision: a reset leaves a double state; after every step it is rounded to float. Inside a step
// the reference computes in double under numpy 1. Under numpy 2 or later a float number makes the
// Python numbers that it meets float, too, so the push of an action within its bounds (a float; a
// clipped one is a Python number) and, from the second step on, the state are computed in float.
// Option numpy chooses: 1, the default, or 2.
#include <math.h>

#include "envs/env_native.h"
#include "envs/env_registry.h"

#define POSITION_LOW         (-1.2)
#define POSITION_HIGH        0.6
#define SPEED_HIGH           0.07   // of a step; faster is clipped
#define GOAL                 0.45   // position at which the episode ends
#define POWER                0.0015 // times the action: added to the velocity
#define GRAVITY              0.0025 // times cos(3 position): taken from the velocity
#define OPTION_GOAL_VELOCITY 0      // index of option goal_velocity
#define OPTION_NUMPY         1      // index of option numpy

static const double obs_low[2] = {POSITION_LOW, -SPEED_HIGH};
static const double obs_high[2] = {POSITION_HIGH, SPEED_HIGH};
static const double action_low[1] = {-1};
static const double action_high[1] = {1};

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    state[0] = oct_pcg64_uniform(rng, -0.6, -0.4);
    state[1] = 0;
}

// Stores the state as floats. Volatile, because gcc 12's SLP vectoriser drops the rounding of two
// neighbouring doubles to float and back.
static void
state_store(double *state, double position, double velocity)
{
    volatile float rounded_position = (float)position;
    volatile float rounded_velocity = (float)velocity;
    state[0] = (double)rounded_position;
    state[1] = (double)rounded_velocity;
}

static bool
advance_double(double *state, double change, double goal_velocity)
{
    double velocity = env_native_clip(state[1] + change, -SPEED_HIGH, SPEED_HIGH);
    double position = env_native_clip(state[0] + velocity, POSITION_LOW, POSITION_HIGH);
    if (position == POSITION_LOW && velocity < 0) {
        velocity = 0;
    }
    state_store(state, position, velocity);
    return position >= GOAL && velocity >= goal_velocity;
}

static bool
advance_float(double *state, float change, float goal_velocity)
{
    const float position_low = (float)POSITION_LOW, position_high = (float)POSITION_HIGH;
    const float speed_high = (float)SPEED_HIGH;
    float velocity = (float)state[1] + change;
    velocity = velocity < -speed_high ? -speed_high : velocity > speed_high ? speed_high : velocity;
    float position = (float)state[0] + velocity;
    position = position < position_low    ? position_low
               : position > position_high ? position_high
                                          : position;
    if (position == position_low && velocity < 0) {
        velocity = 0;
    }
    state_store(state, (double)position, (double)velocity);
    return position >= (float)GOAL && velocity >= goal_velocity;
}

// Returns what a step adds to the velocity under numpy 2. hill: gravity's part, a double.
static double
change_numpy2(float action, double hill)
{
    if (action < -1 || action > 1) {
        return (action < 0 ? -1.0 : 1.0) * POWER - hill;
    }
    return (double)(action * (float)POWER - (float)hill);
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    (void)rng;
    double goal_velocity = task->options[OPTION_GOAL_VELOCITY];
    bool numpy2 = task->options[OPTION_NUMPY] == 2;
    if (numpy2 && turn->elapsed > 0) {
        float triple = 3 * (float)state[0];
        double change = change_numpy2(turn->value, GRAVITY * cos((double)triple));
        turn->terminated = advance_float(state, (float)change, (float)goal_velocity);
    } else {
        double hill = GRAVITY * cos(3 * state[0]);
        double force = env_native_clip((double)turn->value, -1, 1);
        double change = numpy2 ? change_numpy2(turn->value, hill) : force * POWER - hill;
        turn->terminated = advance_double(state, change, goal_velocity);
    }
    // The cost is that of the action as given, not as clipped. The square of a float is exact in
    // double.
    return (turn->terminated ? 100.0 : 0.0) - (double)turn->value * (double)turn->value * 0.1;
}

static void
observe(const double *state, void *row)
{
    float *obs = row;
    obs[0] = (float)state[0];
    obs[1] = (float)state[1];
}

static const env_native_class mountain_car_continuous = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "MountainCarContinuous-v0",
             .obs = {.size = sizeof(octet_env_space),
                     .dtype = OCTET_ENV_F32,
                     .rank = 1,
                     .shape = {2},
                     .low = obs_low,
                     .high = obs_high},
             .action = {.size = sizeof(octet_env_space),
                        .dtype = OCTET_ENV_F32,
                        .rank = 1,
                        .shape = {1},
                        .low = action_low,
                        .high = action_high},
             .max_episode_steps = 999,
             .reward_threshold = 90,
             .reward_low = -INFINITY, // the cost of an action beyond the bounds is unlimited
             .reward_high = 100,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = 2},
    .options = {{.key = "goal_velocity", .initial = 0, .low = -1, .high = 1},
                {.key = "numpy", .initial = 1, .low = 1, .high = 2, .whole = true}},
    .reset = reset,
    .step = step,
    .observe = observe,
};

ENV_NATIVE_API(env_mountain_car_continuous_api, mountain_car_continuous);
