// Cheetah: run forward in a plane, up to 10 m/s (Wawrzynski 2009, as in dm_control). Observed:
// positions except the distance run, velocities.
#include <math.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define SPEED        10
#define SETTLE_STEPS 200
#define STATE_COUNT  9 // nq and nv

enum { VELOCITY };

static const dmc_name names[] = {{mjOBJ_SENSOR, "torso_subtreelinvel"}};
static const char *const obs_names[] = {DMC_8("position"), DMC_9("velocity")};
static const char *const value_names[] = {DMC_9("model.pre_settle_qpos")};

// Draws the joints with limits; those of the root have none and stay.
static void
reset(dmc_sim *sim)
{
    const mjModel *m = sim->m;
    for (int j = 0; j < m->njnt; j++) {
        if (m->jnt_limited[j]) {
            sim->d->qpos[m->jnt_qposadr[j]] =
                dmc_uniform(sim, m->jnt_range[2 * j], m->jnt_range[2 * j + 1]);
        }
    }
}

static void
observe(const dmc_sim *sim, double *obs)
{
    obs = dmc_write_qpos(sim, obs, 1);
    dmc_write_qvel(sim, obs);
}

static double
reward(const dmc_sim *sim)
{
    return dmc_tolerance(dmc_sensor(sim, VELOCITY)[0], SPEED, INFINITY, SPEED, DMC_LINEAR, 0);
}

const dmc_task dmc_cheetah_run = {
    .id = "dmc:cheetah_run",
    .model = "cheetah",
    .substeps = 1,
    .obs_count = OCT_COUNTOF(obs_names),
    .obs_names = obs_names,
    .reward_name = "r_run",
    .value_count = STATE_COUNT,
    .value_names = value_names,
    .settle_steps = SETTLE_STEPS,
    .names = names,
    .name_count = OCT_COUNTOF(names),
    .reset = reset,
    .observe = observe,
    .reward = reward,
};
