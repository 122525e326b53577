// Pendulum: swing up a pole that its motor cannot lift in one go, and keep it there. Observed:
// cosine and sine of the pole, its velocity.
#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define COSINE_8_DEGREES 0.9902680687415704

enum { POLE };

static const dmc_name names[] = {{mjOBJ_BODY, "pole"}};
static const char *const obs_names[] = {DMC_2("orientation"), DMC_1("velocity")};

static void
observe(const dmc_sim *sim, double *obs)
{
    const double *pole = dmc_body_rotation(sim, POLE);
    *obs++ = pole[DMC_ZZ];
    *obs++ = pole[DMC_XZ];
    dmc_write_qvel(sim, obs);
}

static double
reward(const dmc_sim *sim)
{
    double cosine = dmc_body_rotation(sim, POLE)[DMC_ZZ];
    return cosine >= COSINE_8_DEGREES && cosine <= 1;
}

const dmc_task dmc_pendulum_swingup = {
    .id = "dmc:pendulum_swingup",
    .model = "pendulum",
    .substeps = 1,
    .obs_count = OCT_COUNTOF(obs_names),
    .obs_names = obs_names,
    .reward_name = "r_swingup",
    .names = names,
    .name_count = OCT_COUNTOF(names),
    .reset = dmc_randomise_joints,
    .observe = observe,
    .reward = reward,
};
