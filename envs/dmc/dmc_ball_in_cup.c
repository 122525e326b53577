// Ball in cup: swing a ball on a string into the cup that it hangs from, in a plane. Observed:
// positions and velocities of cup and ball in x and z.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

enum { BALL_X, BALL_Z, TARGET, BALL_BODY, BALL_GEOM };

static const dmc_name names[] = {{mjOBJ_JOINT, "ball_x"},
                                 {mjOBJ_JOINT, "ball_z"},
                                 {mjOBJ_SITE, "target"},
                                 {mjOBJ_BODY, "ball"},
                                 {mjOBJ_GEOM, "ball"}};
static const char *const obs_names[] = {DMC_4("position"), DMC_4("velocity")};

static void
ball_draw(dmc_sim *sim)
{
    sim->d->qpos[sim->ids[BALL_X]] = dmc_uniform(sim, -0.2, 0.2);
    sim->d->qpos[sim->ids[BALL_Z]] = dmc_uniform(sim, 0.2, 0.5);
}

static void
reset(dmc_sim *sim)
{
    dmc_reset_without_contact(sim, ball_draw);
}

static void
observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, 0);
    dmc_write_qvel(sim, obs);
}

// Returns 1 if the whole ball is in the target, a box; otherwise 0.
static double
reward(const dmc_sim *sim)
{
    const double *target = dmc_site_position(sim, TARGET);
    const double *ball = dmc_body_position(sim, BALL_BODY);
    const double *half = sim->m->site_size + 3 * sim->ids[TARGET];
    double radius = sim->m->geom_size[3 * sim->ids[BALL_GEOM]];
    return fabs(target[0] - ball[0]) < half[0] - radius &&
           fabs(target[2] - ball[2]) < half[2] - radius;
}

const dmc_task dmc_ball_in_cup_catch = {
    .id = "dmc:ball_in_cup_catch",
    .model = "ball_in_cup",
    .substeps = 10,
    .obs_count = OCT_COUNTOF(obs_names),
    .obs_names = obs_names,
    .reward_name = "r_catch",
    .collision_check = true,
    .names = names,
    .name_count = OCT_COUNTOF(names),
    .reset = reset,
    .observe = observe,
    .reward = reward,
};
