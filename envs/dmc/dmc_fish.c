// Fish: stay upright, or swim to a target, in water (Tassa et al. 2018). Observed: joint angles,
// how upright the torso is, for swim the vector to the target in the mouth's axes, velocities.
#include <string.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define JOINTS     7 // first number of qpos after the free joint
#define QUATERNION 3

enum { TORSO, TARGET, MOUTH };

static const dmc_name names[] = {
    {mjOBJ_BODY, "torso"}, {mjOBJ_GEOM, "target"}, {mjOBJ_GEOM, "mouth"}};
static const char *const upright_names[] = {DMC_7("joint_angles"), DMC_1("upright"),
                                            DMC_13("velocity")};
static const char *const swim_names[] = {DMC_7("joint_angles"), DMC_1("upright"), DMC_3("target"),
                                         DMC_13("velocity")};
static const char *const value_names[] = {DMC_3("model.target_xyz")};

static void
place(dmc_sim *sim, const double *values)
{
    memcpy(sim->m->geom_pos + 3 * sim->ids[TARGET], values, 3 * sizeof(double));
}

// Draws any orientation with equal probability.
static void
upright_reset(dmc_sim *sim)
{
    double *qpos = sim->d->qpos;
    for (int k = 0; k < 4; k++) {
        qpos[QUATERNION + k] = dmc_normal(sim);
    }
    mju_normalize4(qpos + QUATERNION);
    for (int k = JOINTS; k < sim->m->nq; k++) {
        qpos[k] = dmc_uniform(sim, -0.2, 0.2);
    }
}

static void
swim_reset(dmc_sim *sim)
{
    upright_reset(sim);
    sim->drawn[0] = dmc_uniform(sim, -0.4, 0.4);
    sim->drawn[1] = dmc_uniform(sim, -0.4, 0.4);
    sim->drawn[2] = dmc_uniform(sim, 0.1, 0.3);
    place(sim, sim->drawn);
}

static double
upright(const dmc_sim *sim)
{
    return dmc_body_rotation(sim, TORSO)[DMC_ZZ];
}

static void
upright_observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, JOINTS);
    *obs++ = upright(sim);
    dmc_write_qvel(sim, obs);
}

static double *
mouth_to_target(const dmc_sim *sim, double *out)
{
    return dmc_write_offset(out, dmc_geom_position(sim, TARGET), dmc_geom_position(sim, MOUTH),
                            sim->d->geom_xmat + 9 * sim->ids[MOUTH], 3);
}

static void
swim_observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, JOINTS);
    *obs++ = upright(sim);
    obs = mouth_to_target(sim, obs);
    dmc_write_qvel(sim, obs);
}

static double
upright_reward(const dmc_sim *sim)
{
    return dmc_tolerance(upright(sim), 1, 1, 1, DMC_GAUSSIAN, 0.1);
}

static double
swim_reward(const dmc_sim *sim)
{
    static const double nothing[3];
    const double *size = sim->m->geom_size;
    double radii = size[3 * sim->ids[MOUTH]] + size[3 * sim->ids[TARGET]], way[3];
    mouth_to_target(sim, way);
    double near =
        dmc_tolerance(dmc_distance(way, nothing, 3), 0, radii, 2 * radii, DMC_GAUSSIAN, 0.1);
    return (7 * near + 0.5 * (upright(sim) + 1)) / 8;
}

#define FISH .model = "fish", .substeps = 10, .names = names, .name_count = OCT_COUNTOF(names)

const dmc_task dmc_fish_upright = {.id = "dmc:fish_upright",
                                   .obs_count = OCT_COUNTOF(upright_names),
                                   .obs_names = upright_names,
                                   .reward_name = "r_upright",
                                   .reset = upright_reset,
                                   .observe = upright_observe,
                                   .reward = upright_reward,
                                   FISH};
const dmc_task dmc_fish_swim = {.id = "dmc:fish_swim",
                                .obs_count = OCT_COUNTOF(swim_names),
                                .obs_names = swim_names,
                                .reward_name = "r_swim",
                                .value_count = 3,
                                .value_names = value_names,
                                .reset = swim_reset,
                                .place = place,
                                .observe = swim_observe,
                                .reward = swim_reward,
                                FISH};
