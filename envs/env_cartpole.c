// CartPole-v1 as Gymnasium 1.4 defines it: a pole on a cart, pushed left or right. Double
// precision, explicit Euler, operations in the reference's order. State and observation: cart
// position, cart velocity, pole angle, pole angular velocity.
#include <math.h>

#include "envs/env_native.h"
#include "envs/env_registry.h"

#define PI             3.141592653589793
#define GRAVITY        9.8               // m/s^2
#define MASS_POLE      0.1               // kg
#define MASS           (MASS_POLE + 1.0) // kg, of pole and cart
#define LENGTH         0.5               // m, of half the pole
#define POLE_MOMENT    (MASS_POLE * LENGTH)
#define FORCE          10.0                // N, to the left or right
#define TAU            0.02                // s in a step
#define POSITION_LIMIT 2.4                 // m; beyond it the episode ends
#define ANGLE_LIMIT    (12 * 2 * PI / 360) // 12 degrees, likewise
#define OPTION_SUTTON  0                   // sutton_barto_reward

static const double obs_high[4] = {POSITION_LIMIT * 2, INFINITY, ANGLE_LIMIT * 2, INFINITY};
static const double obs_low[4] = {-POSITION_LIMIT * 2, -INFINITY, -ANGLE_LIMIT * 2, -INFINITY};

static int
configure(const octet_env_config *config, env_native_task *task, octet_env_spec *spec, char *error,
          uint32_t error_size)
{
    (void)config;
    (void)error;
    (void)error_size;
    if (task->options[OPTION_SUTTON] != 0) {
        spec->reward_low = -1;
        spec->reward_high = 0;
        spec->reward_threshold = NAN;
    }
    return 0;
}

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    for (int k = 0; k < 4; k++) {
        state[k] = oct_pcg64_uniform(rng, -0.05, 0.05);
    }
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    (void)rng;
    double x = state[0], v = state[1], angle = state[2], w = state[3];
    double force = turn->index == 1 ? FORCE : -FORCE;
    double cosine = cos(angle), sine = sin(angle);
    double temp = (force + POLE_MOMENT * (w * w) * sine) / MASS;
    double angular = (GRAVITY * sine - cosine * temp) /
                     (LENGTH * (4.0 / 3.0 - MASS_POLE * (cosine * cosine) / MASS));
    double linear = temp - POLE_MOMENT * angular * cosine / MASS;
    state[0] = x + TAU * v;
    state[1] = v + TAU * linear;
    state[2] = angle + TAU * w;
    state[3] = w + TAU * angular;
    turn->terminated = state[0] < -POSITION_LIMIT || state[0] > POSITION_LIMIT ||
                       state[2] < -ANGLE_LIMIT || state[2] > ANGLE_LIMIT;
    if (task->options[OPTION_SUTTON] != 0) {
        return turn->terminated ? -1 : 0;
    }
    return 1;
}

static void
observe(const double *state, void *row)
{
    float *obs = row;
    for (int k = 0; k < 4; k++) {
        obs[k] = (float)state[k];
    }
}

static const env_native_class cartpole = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "CartPole-v1",
             .obs = {.size = sizeof(octet_env_space),
                     .dtype = OCTET_ENV_F32,
                     .rank = 1,
                     .shape = {4},
                     .low = obs_low,
                     .high = obs_high},
             .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 2},
             .max_episode_steps = 500,
             .reward_threshold = 475,
             .reward_low = 1,
             .reward_high = 1,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = 4},
    .options = {{.key = "sutton_barto_reward", .initial = 0, .low = 0, .high = 1, .whole = true}},
    .configure = configure,
    .reset = reset,
    .step = step,
    .observe = observe,
};

ENV_NATIVE_API(env_cartpole_api, cartpole);
