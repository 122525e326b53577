// Hopper: a leg in a plane that stands or hops forward (Lillicrap et al. 2015). Observed: positions
// except the distance hopped, velocities, touch of toe and heel.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define HOP_SPEED 2

enum { TORSO, FOOT, VELOCITY, TOE, HEEL };

static const dmc_name names[] = {{mjOBJ_BODY, "torso"},
                                 {mjOBJ_BODY, "foot"},
                                 {mjOBJ_SENSOR, "torso_subtreelinvel"},
                                 {mjOBJ_SENSOR, "touch_toe"},
                                 {mjOBJ_SENSOR, "touch_heel"}};
static const char *const obs_names[] = {DMC_6("position"), DMC_7("velocity"), DMC_2("touch")};

static void
observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, 1);
    obs = dmc_write_qvel(sim, obs);
    *obs++ = log1p(*dmc_sensor(sim, TOE));
    *obs++ = log1p(*dmc_sensor(sim, HEEL));
}

// Returns the height of the torso above the foot, between their centres of mass.
static double
standing(const dmc_sim *sim)
{
    const double *centre = sim->d->xipos;
    double height = centre[3 * sim->ids[TORSO] + 2] - centre[3 * sim->ids[FOOT] + 2];
    return height >= 0.6 && height <= 2;
}

static double
reward_stand(const dmc_sim *sim)
{
    return standing(sim) * dmc_effort(sim);
}

static double
reward_hop(const dmc_sim *sim)
{
    double speed = dmc_sensor(sim, VELOCITY)[0];
    return standing(sim) *
           dmc_tolerance(speed, HOP_SPEED, INFINITY, HOP_SPEED / 2.0, DMC_LINEAR, 0.5);
}

#define HOPPER                                                                                     \
    .model = "hopper", .substeps = 4, .obs_count = OCT_COUNTOF(obs_names), .obs_names = obs_names, \
    .names = names, .name_count = OCT_COUNTOF(names), .reset = dmc_randomise_joints,               \
    .observe = observe

const dmc_task dmc_hopper_stand = {
    .id = "dmc:hopper_stand", .reward_name = "r_stand", .reward = reward_stand, HOPPER};
const dmc_task dmc_hopper_hop = {
    .id = "dmc:hopper_hop", .reward_name = "r_hop", .reward = reward_hop, HOPPER};
