// Walker: a biped in a plane that stands, walks or runs; parameter[0] is the target speed in m/s.
// Observed: orientation of the seven bodies, height of the torso, velocities.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define STAND_HEIGHT 1.2

enum { TORSO, BODY_COUNT = 7, VELOCITY = BODY_COUNT };

static const dmc_name names[] = {
    {mjOBJ_BODY, "torso"},      {mjOBJ_BODY, "right_thigh"},
    {mjOBJ_BODY, "right_leg"},  {mjOBJ_BODY, "right_foot"},
    {mjOBJ_BODY, "left_thigh"}, {mjOBJ_BODY, "left_leg"},
    {mjOBJ_BODY, "left_foot"},  {mjOBJ_SENSOR, "torso_subtreelinvel"},
};
static const char *const obs_names[] = {DMC_14("orientations"), DMC_1("height"), DMC_9("velocity")};

static void
observe(const dmc_sim *sim, double *obs)
{
    for (int body = 0; body < BODY_COUNT; body++) {
        const double *rotation = dmc_body_rotation(sim, body);
        *obs++ = rotation[DMC_XX];
        *obs++ = rotation[DMC_XZ];
    }
    *obs++ = dmc_body_position(sim, TORSO)[2];
    dmc_write_qvel(sim, obs);
}

static double
reward_stand(const dmc_sim *sim)
{
    double height = dmc_body_position(sim, TORSO)[2];
    double standing =
        dmc_tolerance(height, STAND_HEIGHT, INFINITY, STAND_HEIGHT / 2, DMC_GAUSSIAN, 0.1);
    double upright = (1 + dmc_body_rotation(sim, TORSO)[DMC_ZZ]) / 2;
    return (3 * standing + upright) / 4;
}

static double
reward_move(const dmc_sim *sim)
{
    double speed = sim->task->parameter[0];
    double move =
        dmc_tolerance(dmc_sensor(sim, VELOCITY)[0], speed, INFINITY, speed / 2, DMC_LINEAR, 0.5);
    return reward_stand(sim) * (5 * move + 1) / 6;
}

#define WALKER                                                                                     \
    .model = "walker", .substeps = 10, .obs_count = OCT_COUNTOF(obs_names),                        \
    .obs_names = obs_names, .names = names, .name_count = OCT_COUNTOF(names),                      \
    .reset = dmc_randomise_joints, .observe = observe

const dmc_task dmc_walker_stand = {
    .id = "dmc:walker_stand", .reward_name = "r_stand", .reward = reward_stand, WALKER};
const dmc_task dmc_walker_walk = {.id = "dmc:walker_walk",
                                  .reward_name = "r_walk",
                                  .reward = reward_move,
                                  .parameter = {1},
                                  WALKER};
const dmc_task dmc_walker_run = {.id = "dmc:walker_run",
                                 .reward_name = "r_run",
                                 .reward = reward_move,
                                 .parameter = {8},
                                 WALKER};
