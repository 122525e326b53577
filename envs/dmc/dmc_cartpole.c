// Cart-pole: balance a pole on a cart, or swing it up first. Barto, Sutton & Anderson 1983, as in
// dm_control. Observed: cart position, cosine and sine of the pole, velocities of both.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define PI 3.141592653589793

enum { SLIDER, HINGE, POLE };

static const dmc_name names[] = {
    {mjOBJ_JOINT, "slider"}, {mjOBJ_JOINT, "hinge_1"}, {mjOBJ_BODY, "pole_1"}};
static const char *const obs_names[] = {DMC_3("position"), DMC_2("velocity")};

static void
velocities_draw(dmc_sim *sim)
{
    for (int k = 0; k < sim->m->nv; k++) {
        sim->d->qvel[k] = 0.01 * dmc_normal(sim);
    }
}

static void
balance_reset(dmc_sim *sim)
{
    sim->d->qpos[sim->ids[SLIDER]] = dmc_uniform(sim, -0.1, 0.1);
    sim->d->qpos[sim->ids[HINGE]] = dmc_uniform(sim, -0.034, 0.034);
    velocities_draw(sim);
}

static void
swingup_reset(dmc_sim *sim)
{
    sim->d->qpos[sim->ids[SLIDER]] = 0.01 * dmc_normal(sim);
    sim->d->qpos[sim->ids[HINGE]] = PI + 0.01 * dmc_normal(sim);
    velocities_draw(sim);
}

static void
observe(const dmc_sim *sim, double *obs)
{
    const double *pole = dmc_body_rotation(sim, POLE);
    *obs++ = dmc_joint_position(sim, SLIDER);
    *obs++ = pole[DMC_ZZ];
    *obs++ = pole[DMC_XZ];
    dmc_write_qvel(sim, obs);
}

static double
reward_dense(const dmc_sim *sim)
{
    double upright = (dmc_body_rotation(sim, POLE)[DMC_ZZ] + 1) / 2;
    double x = dmc_joint_position(sim, SLIDER);
    double centred = (1 + dmc_tolerance(x, 0, 0, 2, DMC_GAUSSIAN, 0.1)) / 2;
    double speed = sim->d->qvel[sim->ids[HINGE]];
    double slow = (1 + dmc_tolerance(speed, 0, 0, 5, DMC_GAUSSIAN, 0.1)) / 2;
    return upright * dmc_effort(sim) * slow * centred;
}

static double
reward_sparse(const dmc_sim *sim)
{
    double cosine = dmc_body_rotation(sim, POLE)[DMC_ZZ];
    return fabs(dmc_joint_position(sim, SLIDER)) <= 0.25 && cosine >= 0.995 && cosine <= 1;
}

#define CARTPOLE                                                                                   \
    .model = "cartpole", .substeps = 1, .obs_count = OCT_COUNTOF(obs_names),                       \
    .obs_names = obs_names, .names = names, .name_count = OCT_COUNTOF(names), .observe = observe

const dmc_task dmc_cartpole_balance = {.id = "dmc:cartpole_balance",
                                       .reward_name = "r_dense",
                                       .reset = balance_reset,
                                       .reward = reward_dense,
                                       CARTPOLE};
const dmc_task dmc_cartpole_balance_sparse = {.id = "dmc:cartpole_balance_sparse",
                                              .reward_name = "r_sparse",
                                              .reset = balance_reset,
                                              .reward = reward_sparse,
                                              CARTPOLE};
const dmc_task dmc_cartpole_swingup = {.id = "dmc:cartpole_swingup",
                                       .reward_name = "r_dense",
                                       .reset = swingup_reset,
                                       .reward = reward_dense,
                                       CARTPOLE};
const dmc_task dmc_cartpole_swingup_sparse = {.id = "dmc:cartpole_swingup_sparse",
                                              .reward_name = "r_sparse",
                                              .reset = swingup_reset,
                                              .reward = reward_sparse,
                                              CARTPOLE};
