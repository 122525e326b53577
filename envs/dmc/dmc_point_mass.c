// Point mass: bring a mass in a plane to the middle. Observed: position, velocity.
#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

enum { TARGET, MASS };

static const dmc_name names[] = {{mjOBJ_GEOM, "target"}, {mjOBJ_GEOM, "pointmass"}};
static const char *const obs_names[] = {DMC_2("position"), DMC_2("velocity")};

static void
observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, 0);
    dmc_write_qvel(sim, obs);
}

static double
reward(const dmc_sim *sim)
{
    double radius = sim->m->geom_size[3 * sim->ids[TARGET]];
    double distance = dmc_distance(dmc_geom_position(sim, TARGET), dmc_geom_position(sim, MASS), 3);
    return dmc_tolerance(distance, 0, radius, radius, DMC_GAUSSIAN, 0.1) * dmc_effort(sim);
}

const dmc_task dmc_point_mass_easy = {
    .id = "dmc:point_mass_easy",
    .model = "point_mass",
    .substeps = 1,
    .obs_count = OCT_COUNTOF(obs_names),
    .obs_names = obs_names,
    .reward_name = "r_easy",
    .names = names,
    .name_count = OCT_COUNTOF(names),
    .reset = dmc_randomise_joints,
    .observe = observe,
    .reward = reward,
};
