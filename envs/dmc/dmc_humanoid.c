// Humanoid: stands, walks or runs (Tassa et al. 2012); parameter[0] is the target speed in m/s, 0
// for standing. Observed: joint angles, height of the head, hands and feet relative to the torso,
// direction of up in the torso's axes, velocity of the centre of mass, velocities.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define STAND_HEIGHT 1.4
#define ROOT_NUMBERS 7 // of qpos: the free joint
#define LIMB_COUNT   4

enum { TORSO, HEAD, LIMBS, VELOCITY = LIMBS + LIMB_COUNT };

static const dmc_name names[] = {
    {mjOBJ_BODY, "torso"},
    {mjOBJ_BODY, "head"},
    {mjOBJ_BODY, "left_hand"},
    {mjOBJ_BODY, "left_foot"},
    {mjOBJ_BODY, "right_hand"},
    {mjOBJ_BODY, "right_foot"},
    {mjOBJ_SENSOR, "torso_subtreelinvel"},
};
static const char *const obs_names[] = {DMC_21("joint_angles"), DMC_1("head_height"),
                                        DMC_12("extremities"),  DMC_3("torso_vertical"),
                                        DMC_3("com_velocity"),  DMC_27("velocity")};

static void
reset(dmc_sim *sim)
{
    dmc_reset_without_contact(sim, dmc_randomise_joints);
}

static void
observe(const dmc_sim *sim, double *obs)
{
    const double *torso = dmc_body_position(sim, TORSO);
    const double *rotation = dmc_body_rotation(sim, TORSO);
    obs = dmc_write_qpos(sim, obs, ROOT_NUMBERS);
    *obs++ = dmc_body_position(sim, HEAD)[2];
    for (int limb = LIMBS; limb < LIMBS + LIMB_COUNT; limb++) {
        obs = dmc_write_offset(obs, dmc_body_position(sim, limb), torso, rotation, 3);
    }
    obs = dmc_write(obs, rotation + DMC_ZX, 3);
    obs = dmc_write(obs, dmc_sensor(sim, VELOCITY), 3);
    dmc_write_qvel(sim, obs);
}

static double
standing(const dmc_sim *sim)
{
    double height = dmc_body_position(sim, HEAD)[2];
    double upright = dmc_body_rotation(sim, TORSO)[DMC_ZZ];
    return dmc_tolerance(height, STAND_HEIGHT, INFINITY, STAND_HEIGHT / 4, DMC_GAUSSIAN, 0.1) *
           dmc_tolerance(upright, 0.9, INFINITY, 1.9, DMC_LINEAR, 0);
}

static double
reward_stand(const dmc_sim *sim)
{
    const double *velocity = dmc_sensor(sim, VELOCITY);
    double still = (dmc_tolerance(velocity[0], 0, 0, 2, DMC_GAUSSIAN, 0.1) +
                    dmc_tolerance(velocity[1], 0, 0, 2, DMC_GAUSSIAN, 0.1)) /
                   2;
    return dmc_effort(sim) * standing(sim) * still;
}

static double
reward_move(const dmc_sim *sim)
{
    static const double nothing[2];
    double wanted = sim->task->parameter[0];
    double speed = dmc_distance(dmc_sensor(sim, VELOCITY), nothing, 2);
    double move = dmc_tolerance(speed, wanted, INFINITY, wanted, DMC_LINEAR, 0);
    return dmc_effort(sim) * standing(sim) * ((5 * move + 1) / 6);
}

#define HUMANOID                                                                                   \
    .model = "humanoid", .substeps = 5, .obs_count = OCT_COUNTOF(obs_names),                       \
    .obs_names = obs_names, .collision_check = true, .names = names,                               \
    .name_count = OCT_COUNTOF(names), .reset = reset, .observe = observe

const dmc_task dmc_humanoid_stand = {
    .id = "dmc:humanoid_stand", .reward_name = "r_stand", .reward = reward_stand, HUMANOID};
const dmc_task dmc_humanoid_walk = {.id = "dmc:humanoid_walk",
                                    .reward_name = "r_walk",
                                    .reward = reward_move,
                                    .parameter = {1},
                                    HUMANOID};
const dmc_task dmc_humanoid_run = {.id = "dmc:humanoid_run",
                                   .reward_name = "r_run",
                                   .reward = reward_move,
                                   .parameter = {10},
                                   HUMANOID};
