// Acrobot-v1 as Gymnasium 1.4 defines it ("book" dynamics): two links, torque on the joint between
// them. Double precision; one Runge-Kutta step of order 4 per step, operations in the reference's
// order. State: both angles, both angular velocities. Observation: cosine and sine of each angle,
// then the velocities. A reset gives float numbers.
#include <math.h>

#include "envs/env_native.h"
#include "envs/env_registry.h"

#define PI           3.141592653589793
#define GRAVITY      9.8 // m/s^2
#define LENGTH_1     1.0 // m, of the upper link
#define MASS_1       1.0 // kg
#define MASS_2       1.0
#define CENTRE_1     0.5 // m from the joint to the centre of mass
#define CENTRE_2     0.5
#define MOMENT_1     1.0 // kg m^2
#define MOMENT_2     1.0
#define DT           0.2      // s in a step
#define SPEED_1_HIGH (4 * PI) // rad/s; faster is clipped
#define SPEED_2_HIGH (9 * PI)
#define N            4 // numbers of the state

static const double obs_low[6] = {-1, -1, -1, -1, -SPEED_1_HIGH, -SPEED_2_HIGH};
static const double obs_high[6] = {1, 1, 1, 1, SPEED_1_HIGH, SPEED_2_HIGH};

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    for (int k = 0; k < N; k++) {
        volatile float rounded = (float)oct_pcg64_uniform(rng, -0.1, 0.1);
        state[k] = (double)rounded;
    }
}

static void
derive(const double *y, double torque, double *out)
{
    double t1 = y[0], t2 = y[1], w1 = y[2], w2 = y[3];
    double cos2 = cos(t2), sin2 = sin(t2);
    double d1 =
        MASS_1 * (CENTRE_1 * CENTRE_1) +
        MASS_2 * (LENGTH_1 * LENGTH_1 + CENTRE_2 * CENTRE_2 + 2 * LENGTH_1 * CENTRE_2 * cos2) +
        MOMENT_1 + MOMENT_2;
    double d2 = MASS_2 * (CENTRE_2 * CENTRE_2 + LENGTH_1 * CENTRE_2 * cos2) + MOMENT_2;
    double phi2 = MASS_2 * CENTRE_2 * GRAVITY * cos(t1 + t2 - PI / 2.0);
    double phi1 = -MASS_2 * LENGTH_1 * CENTRE_2 * env_native_pow2(w2) * sin2 -
                  2 * MASS_2 * LENGTH_1 * CENTRE_2 * w2 * w1 * sin2 +
                  (MASS_1 * CENTRE_1 + MASS_2 * LENGTH_1) * GRAVITY * cos(t1 - PI / 2) + phi2;
    double a2 = (torque + d2 / d1 * phi1 -
                 MASS_2 * LENGTH_1 * CENTRE_2 * env_native_pow2(w1) * sin2 - phi2) /
                (MASS_2 * (CENTRE_2 * CENTRE_2) + MOMENT_2 - env_native_pow2(d2) / d1);
    out[0] = w1;
    out[1] = w2;
    out[2] = -(d2 * a2 + phi1) / d1;
    out[3] = a2;
}

static void
runge_kutta(double *y, double torque)
{
    double k1[N], k2[N], k3[N], k4[N], at[N];
    derive(y, torque, k1);
    for (int k = 0; k < N; k++) {
        at[k] = y[k] + DT / 2.0 * k1[k];
    }
    derive(at, torque, k2);
    for (int k = 0; k < N; k++) {
        at[k] = y[k] + DT / 2.0 * k2[k];
    }
    derive(at, torque, k3);
    for (int k = 0; k < N; k++) {
        at[k] = y[k] + DT * k3[k];
    }
    derive(at, torque, k4);
    for (int k = 0; k < N; k++) {
        y[k] = y[k] + DT / 6.0 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
    }
}

// Turns an angle into [-pi, pi] by whole turns, one at a time as the reference does. Far outside,
// where rounding loses a turn or the loop would not end, it uses the remainder.
static double
wrap(double angle)
{
    if (!(fabs(angle) < 1e6)) {
        return remainder(angle, 2 * PI);
    }
    while (angle > PI) {
        angle -= 2 * PI;
    }
    while (angle < -PI) {
        angle += 2 * PI;
    }
    return angle;
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    (void)rng;
    (void)task;
    runge_kutta(state, turn->index - 1.0);
    state[0] = wrap(state[0]);
    state[1] = wrap(state[1]);
    state[2] = env_native_clip(state[2], -SPEED_1_HIGH, SPEED_1_HIGH);
    state[3] = env_native_clip(state[3], -SPEED_2_HIGH, SPEED_2_HIGH);
    turn->terminated = -cos(state[0]) - cos(state[1] + state[0]) > 1.0;
    return turn->terminated ? 0 : -1;
}

static void
observe(const double *state, void *row)
{
    float *obs = row;
    obs[0] = (float)cos(state[0]);
    obs[1] = (float)sin(state[0]);
    obs[2] = (float)cos(state[1]);
    obs[3] = (float)sin(state[1]);
    obs[4] = (float)state[2];
    obs[5] = (float)state[3];
}

static const env_native_class acrobot = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "Acrobot-v1",
             .obs = {.size = sizeof(octet_env_space),
                     .dtype = OCTET_ENV_F32,
                     .rank = 1,
                     .shape = {6},
                     .low = obs_low,
                     .high = obs_high},
             .action = {.size = sizeof(octet_env_space), .dtype = OCTET_ENV_I32, .n = 3},
             .max_episode_steps = 500,
             .reward_threshold = -100,
             .reward_low = -1,
             .reward_high = 0,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = N},
    .reset = reset,
    .step = step,
    .observe = observe,
};

ENV_NATIVE_API(env_acrobot_api, acrobot);
