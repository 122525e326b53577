// Acrobot: a double pendulum with a motor only in its elbow brings its tip to the target straight
// above (Coulom 2002). parameter[0]: margin around the target in which there is a partial reward, 0
// for a sparse one. Observed: sines of both arms, then cosines, velocities.
#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

enum { UPPER_ARM, LOWER_ARM, TARGET, TIP };

static const dmc_name names[] = {{mjOBJ_BODY, "upper_arm"},
                                 {mjOBJ_BODY, "lower_arm"},
                                 {mjOBJ_SITE, "target"},
                                 {mjOBJ_SITE, "tip"}};
static const char *const obs_names[] = {DMC_4("orientations"), DMC_2("velocity")};

static void
observe(const dmc_sim *sim, double *obs)
{
    const double *upper = dmc_body_rotation(sim, UPPER_ARM);
    const double *lower = dmc_body_rotation(sim, LOWER_ARM);
    *obs++ = upper[DMC_XZ];
    *obs++ = lower[DMC_XZ];
    *obs++ = upper[DMC_ZZ];
    *obs++ = lower[DMC_ZZ];
    dmc_write_qvel(sim, obs);
}

static double
reward(const dmc_sim *sim)
{
    double distance = dmc_distance(dmc_site_position(sim, TARGET), dmc_site_position(sim, TIP), 3);
    double radius = sim->m->site_size[3 * sim->ids[TARGET]];
    return dmc_tolerance(distance, 0, radius, sim->task->parameter[0], DMC_GAUSSIAN, 0.1);
}

#define ACROBOT                                                                                    \
    .model = "acrobot", .substeps = 1, .obs_count = OCT_COUNTOF(obs_names),                        \
    .obs_names = obs_names, .names = names, .name_count = OCT_COUNTOF(names),                      \
    .reset = dmc_randomise_joints, .observe = observe, .reward = reward

const dmc_task dmc_acrobot_swingup = {
    .id = "dmc:acrobot_swingup", .reward_name = "r_swingup", .parameter = {1}, ACROBOT};
const dmc_task dmc_acrobot_swingup_sparse = {
    .id = "dmc:acrobot_swingup_sparse", .reward_name = "r_swingup_sparse", ACROBOT};
