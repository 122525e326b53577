// Reacher: bring the tip of a planar arm of two links onto a target; parameter[0] is the target's
// radius. Observed: joint angles, the vector to the target in world x and y, joint velocities.
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define PI 3.141592653589793

enum { TARGET, FINGER };

static const dmc_name names[] = {{mjOBJ_GEOM, "target"}, {mjOBJ_GEOM, "finger"}};
static const char *const obs_names[] = {DMC_2("position"), DMC_2("to_target"), DMC_2("velocity")};
static const char *const value_names[] = {DMC_2("model.target_xy")};

static bool
prepare(dmc_sim *sim, const char **missing)
{
    (void)missing;
    sim->m->geom_size[3 * sim->ids[TARGET]] = sim->task->parameter[0];
    return true;
}

static void
place(dmc_sim *sim, const double *values)
{
    memcpy(sim->m->geom_pos + 3 * sim->ids[TARGET], values, 2 * sizeof(double));
}

static void
reset(dmc_sim *sim)
{
    dmc_randomise_joints(sim);
    double angle = dmc_uniform(sim, 0, 2 * PI);
    double radius = dmc_uniform(sim, 0.05, 0.20);
    sim->drawn[0] = radius * sin(angle);
    sim->drawn[1] = radius * cos(angle);
    place(sim, sim->drawn);
}

static void
observe(const dmc_sim *sim, double *obs)
{
    const double *target = dmc_geom_position(sim, TARGET);
    const double *finger = dmc_geom_position(sim, FINGER);
    obs = dmc_write_qpos(sim, obs, 0);
    *obs++ = target[0] - finger[0];
    *obs++ = target[1] - finger[1];
    dmc_write_qvel(sim, obs);
}

static double
reward(const dmc_sim *sim)
{
    const double *size = sim->m->geom_size;
    double radii = size[3 * sim->ids[TARGET]] + size[3 * sim->ids[FINGER]];
    return dmc_distance(dmc_geom_position(sim, TARGET), dmc_geom_position(sim, FINGER), 2) <= radii;
}

#define REACHER                                                                                    \
    .model = "reacher", .substeps = 1, .obs_count = OCT_COUNTOF(obs_names),                        \
    .obs_names = obs_names, .value_count = 2, .value_names = value_names, .names = names,          \
    .name_count = OCT_COUNTOF(names), .prepare = prepare, .reset = reset, .place = place,          \
    .observe = observe, .reward = reward

const dmc_task dmc_reacher_easy = {
    .id = "dmc:reacher_easy", .reward_name = "r_easy", .parameter = {0.05}, REACHER};
const dmc_task dmc_reacher_hard = {
    .id = "dmc:reacher_hard", .reward_name = "r_hard", .parameter = {0.015}, REACHER};
