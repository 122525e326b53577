// Finger: spin a body on a hinge, or turn it until its tip is in the target (Tassa et al. 2010).
// Observed: finger joints and the tip in x and z, relative to the spinner; velocities; touch of the
// finger's two sides; for turn also the target and the tip's distance from it. parameter[0]: 0 for
// spin, else the target's radius.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define PI           3.141592653589793
#define SPIN_DAMPING 0.03
#define SPIN_SPEED   15 // rad/s

enum {
    PROXIMAL,
    DISTAL,
    PROXIMAL_VELOCITY,
    DISTAL_VELOCITY,
    HINGE_VELOCITY,
    TIP,
    TARGET,
    SPINNER,
    TOUCH_TOP,
    TOUCH_BOTTOM,
    SITE_TARGET,
    GEOM_CAP
};

static const dmc_name names[] = {
    {mjOBJ_SENSOR, "proximal"},
    {mjOBJ_SENSOR, "distal"},
    {mjOBJ_SENSOR, "proximal_velocity"},
    {mjOBJ_SENSOR, "distal_velocity"},
    {mjOBJ_SENSOR, "hinge_velocity"},
    {mjOBJ_SENSOR, "tip"},
    {mjOBJ_SENSOR, "target"},
    {mjOBJ_SENSOR, "spinner"},
    {mjOBJ_SENSOR, "touchtop"},
    {mjOBJ_SENSOR, "touchbottom"},
    {mjOBJ_SITE, "target"},
    {mjOBJ_GEOM, "cap1"},
};
#define SPIN_NAMES DMC_4("position"), DMC_3("velocity"), DMC_2("touch")
static const char *const spin_names[] = {SPIN_NAMES};
// The last name is a column of recorded trajectories; dm_control calls it dist_to_target.
static const char *const easy_names[] = {SPIN_NAMES, DMC_2("target_position"),
                                         DMC_1("dist_to_target_easy")};
static const char *const hard_names[] = {SPIN_NAMES, DMC_2("target_position"),
                                         DMC_1("dist_to_target_hard")};
static const char *const value_names[] = {DMC_2("model.target_xz")};

static int
hinge(const dmc_sim *sim)
{
    return mj_name2id(sim->m, mjOBJ_JOINT, "hinge");
}

static bool
prepare(dmc_sim *sim, const char **missing)
{
    if (hinge(sim) < 0) {
        *missing = "hinge";
        return false;
    }
    if (sim->task->parameter[0] > 0) {
        sim->m->site_size[3 * sim->ids[SITE_TARGET]] = sim->task->parameter[0];
    } else {
        sim->m->dof_damping[sim->m->jnt_dofadr[hinge(sim)]] = SPIN_DAMPING;
    }
    return true;
}

static void
place(dmc_sim *sim, const double *values)
{
    double *position = sim->m->site_pos + 3 * sim->ids[SITE_TARGET];
    position[0] = values[0];
    position[2] = values[1];
}

static void
spin_reset(dmc_sim *sim)
{
    dmc_reset_without_contact(sim, dmc_randomise_joints);
}

// Draws a target that the spinner's tip can reach.
static void
turn_reset(dmc_sim *sim)
{
    double angle = dmc_uniform(sim, -PI, PI);
    const double *anchor = sim->d->xanchor + 3 * hinge(sim);
    const double *size = sim->m->geom_size + 3 * sim->ids[GEOM_CAP];
    double radius = size[0] + size[1] + size[2];
    sim->drawn[0] = anchor[0] + radius * sin(angle);
    sim->drawn[1] = anchor[2] + radius * cos(angle);
    place(sim, sim->drawn);
    spin_reset(sim);
}

static void
spin_observe(const dmc_sim *sim, double *obs)
{
    const double *tip = dmc_sensor(sim, TIP), *spinner = dmc_sensor(sim, SPINNER);
    *obs++ = *dmc_sensor(sim, PROXIMAL);
    *obs++ = *dmc_sensor(sim, DISTAL);
    *obs++ = tip[0] - spinner[0];
    *obs++ = tip[2] - spinner[2];
    *obs++ = *dmc_sensor(sim, PROXIMAL_VELOCITY);
    *obs++ = *dmc_sensor(sim, DISTAL_VELOCITY);
    *obs++ = *dmc_sensor(sim, HINGE_VELOCITY);
    *obs++ = log1p(*dmc_sensor(sim, TOUCH_TOP));
    *obs++ = log1p(*dmc_sensor(sim, TOUCH_BOTTOM));
}

// Returns the tip's distance from the target's edge, negative inside.
static double
distance_to_target(const dmc_sim *sim)
{
    const double *tip = dmc_sensor(sim, TIP), *target = dmc_sensor(sim, TARGET);
    const double *spinner = dmc_sensor(sim, SPINNER);
    double from[2] = {tip[0] - spinner[0], tip[2] - spinner[2]};
    double to[2] = {target[0] - spinner[0], target[2] - spinner[2]};
    return dmc_distance(to, from, 2) - sim->m->site_size[3 * sim->ids[SITE_TARGET]];
}

static void
turn_observe(const dmc_sim *sim, double *obs)
{
    const double *target = dmc_sensor(sim, TARGET), *spinner = dmc_sensor(sim, SPINNER);
    spin_observe(sim, obs);
    obs += OCT_COUNTOF(spin_names);
    *obs++ = target[0] - spinner[0];
    *obs++ = target[2] - spinner[2];
    *obs++ = distance_to_target(sim);
}

static double
spin_reward(const dmc_sim *sim)
{
    return *dmc_sensor(sim, HINGE_VELOCITY) <= -SPIN_SPEED;
}

static double
turn_reward(const dmc_sim *sim)
{
    return distance_to_target(sim) <= 0;
}

#define FINGER                                                                                     \
    .model = "finger", .substeps = 2, .collision_check = true, .names = names,                     \
    .name_count = OCT_COUNTOF(names), .prepare = prepare
#define TURN                                                                                       \
    .value_count = 2, .value_names = value_names, .reset = turn_reset, .place = place,             \
    .observe = turn_observe, .reward = turn_reward

const dmc_task dmc_finger_spin = {.id = "dmc:finger_spin",
                                  .obs_count = OCT_COUNTOF(spin_names),
                                  .obs_names = spin_names,
                                  .reward_name = "r_spin",
                                  .reset = spin_reset,
                                  .observe = spin_observe,
                                  .reward = spin_reward,
                                  FINGER};
const dmc_task dmc_finger_turn_easy = {.id = "dmc:finger_turn_easy",
                                       .obs_count = OCT_COUNTOF(easy_names),
                                       .obs_names = easy_names,
                                       .reward_name = "r_turn_easy",
                                       .parameter = {0.07},
                                       FINGER,
                                       TURN};
const dmc_task dmc_finger_turn_hard = {.id = "dmc:finger_turn_hard",
                                       .obs_count = OCT_COUNTOF(hard_names),
                                       .obs_names = hard_names,
                                       .reward_name = "r_turn_hard",
                                       .parameter = {0.03},
                                       FINGER,
                                       TURN};
