// Until the tasks are there.
#include "envs/dmc/dmc_task.h"
#include <math.h>
#include <string.h>
static bool
prepare(dmc_sim *sim, const char **missing)
{
    (void)missing;
    sim->ids[0] = mj_name2id(sim->m, mjOBJ_BODY, "pole");
    return true;
}
static void
reset(dmc_sim *sim)
{
    sim->d->qpos[0] = oct_pcg64_uniform(sim->rng, -3.14159265358979, 3.14159265358979);
}
static void
observe(const dmc_sim *sim, double *o)
{
    const double *x = sim->d->xmat + 9 * sim->ids[0];
    o[0] = x[8];
    o[1] = x[2];
    o[2] = sim->d->qvel[0];
}
static double
reward(const dmc_sim *sim)
{
    return sim->d->xmat[9 * sim->ids[0] + 8] >= cos(8 * 3.14159265358979323846 / 180);
}
static const char *const names[] = {"orientation[0]", "orientation[1]", "velocity[0]"};
static const dmc_task pendulum = {.id = "dmc:pendulum_swingup",
                                  .model = "pendulum",
                                  .substeps = 1,
                                  .obs_count = 3,
                                  .obs_names = names,
                                  .reward_name = "r_swingup",
                                  .prepare = prepare,
                                  .reset = reset,
                                  .observe = observe,
                                  .reward = reward};
static const dmc_task *const tasks[] = {&pendulum, NULL};
const dmc_task *const *
dmc_tasks(void)
{
    return tasks;
}
const char *
dmc_model_text(const char *name)
{
    (void)name;
    return "<mujoco model='pendulum'><compiler angle='radian'/><option timestep='0.02'><flag "
           "contact='disable'/></option><default><geom type='plane'/><joint axis='0 1 0' "
           "damping='0.1'/><general ctrllimited='true' ctrlrange='-1 "
           "1'/></default><worldbody><body name='pole' pos='0 0 0.6'><inertial pos='0 0 0.5' "
           "mass='1' diaginertia='0.0010000000000000002 0.0010000000000000002 "
           "0.0010000000000000002'/><joint name='hinge'/><geom name='pole' type='capsule' "
           "size='0.02 0.25' pos='0 0 0.25' /></body></worldbody><actuator><general name='torque' "
           "joint='hinge'/></actuator></mujoco>";
}
