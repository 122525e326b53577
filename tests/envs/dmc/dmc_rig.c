// A second implementation of a Control Suite step, written from the description in tests/data/dmc
// alone, to compare dmc_sim.c with.
#include "tests/envs/dmc/dmc_rig.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

const char *const rig_recorded[RIG_RECORDED][2] = {
    {"dmc:acrobot_swingup", "acrobot"},
    {"dmc:acrobot_swingup_sparse", "acrobot"},
    {"dmc:ball_in_cup_catch", "ball_in_cup"},
    {"dmc:cartpole_balance", "cartpole"},
    {"dmc:cartpole_balance_sparse", "cartpole"},
    {"dmc:cartpole_swingup", "cartpole"},
    {"dmc:cartpole_swingup_sparse", "cartpole"},
    {"dmc:cheetah_run", "cheetah"},
    {"dmc:finger_spin", "finger_spin"},
    {"dmc:finger_turn_easy", "finger_turn"},
    {"dmc:finger_turn_hard", "finger_turn"},
    {"dmc:fish_swim", "fish"},
    {"dmc:fish_upright", "fish"},
    {"dmc:hopper_hop", "hopper"},
    {"dmc:hopper_stand", "hopper"},
    {"dmc:humanoid_run", "humanoid"},
    {"dmc:humanoid_stand", "humanoid"},
    {"dmc:humanoid_walk", "humanoid"},
    {"dmc:humanoid_stand", "humanoid_contact"},
    {"dmc:pendulum_swingup", "pendulum"},
    {"dmc:point_mass_easy", "point_mass"},
    {"dmc:reacher_easy", "reacher"},
    {"dmc:reacher_hard", "reacher"},
    {"dmc:swimmer_swimmer6", "swimmer6"},
    {"dmc:swimmer_swimmer15", "swimmer15"},
    {"dmc:walker_run", "walker"},
    {"dmc:walker_stand", "walker"},
    {"dmc:walker_walk", "walker"},
};

const dmc_task *
rig_task(const char *id)
{
    for (const dmc_task *const *task = dmc_tasks(); *task != NULL; task++) {
        if (strcmp((*task)->id, id) == 0) {
            return *task;
        }
    }
    fail_msg("no task %s", id);
    return NULL;
}

mjModel *
rig_compile(const char *text, const char *name)
{
    char error[500] = "";
    mjVFS *vfs = malloc(sizeof(*vfs));
    assert_non_null(vfs);
    mj_defaultVFS(vfs);
    assert_int_equal(mj_makeEmptyFileVFS(vfs, name, (int)strlen(text)), 0);
    memcpy(vfs->filedata[mj_findFileVFS(vfs, name)], text, strlen(text));
    mjModel *m = mj_loadXML(name, vfs, error, sizeof(error));
    mj_deleteVFS(vfs);
    free(vfs);
    if (m == NULL || error[0] != '\0') {
        fail_msg("%s: %s", name, error);
    }
    return m;
}

void
rig_open(rig *r, const dmc_task *task, uint64_t seed)
{
    *r = (rig){.sim = {.task = task, .rng = &r->rng}};
    oct_pcg64_init(&r->rng, seed);
    const char *text = dmc_model_text(task->model), *missing = "";
    assert_non_null(text);
    r->sim.m = rig_compile(text, task->model);
    r->sim.disableflags = r->sim.m->opt.disableflags;
    r->sim.d = mj_makeData(r->sim.m);
    assert_non_null(r->sim.d);
    if (!dmc_prepare(&r->sim, &missing)) {
        fail_msg("%s has no %s", task->model, missing);
    }
}

void
rig_close(rig *r)
{
    for (int k = 0; k < mjNWARNING; k++) {
        assert_int_equal(r->sim.d->warning[k].number, 0);
    }
    mj_deleteData(r->sim.d);
    mj_deleteModel(r->sim.m);
}

void
rig_passive(rig *r)
{
    dmc_forward_passive(&r->sim);
}

static void
physics(rig *r, uint32_t substeps)
{
    mjModel *m = r->sim.m;
    uint32_t done = 0;
    if (m->opt.integrator == mjINT_EULER) {
        mj_step2(m, r->sim.d);
        done = 1;
    }
    for (; done < substeps; done++) {
        mj_step(m, r->sim.d);
    }
    mj_step1(m, r->sim.d);
}

static void
settle(rig *r)
{
    for (uint32_t k = 0; k < r->sim.task->settle_steps; k++) {
        physics(r, 1);
    }
    r->sim.d->time = 0;
}

void
rig_reset(rig *r)
{
    mj_resetData(r->sim.m, r->sim.d);
    rig_passive(r);
    r->sim.task->reset(&r->sim);
    settle(r);
    rig_passive(r);
}

void
rig_place(rig *r, const double *qpos, const double *qvel, const double *values)
{
    const dmc_task *task = r->sim.task;
    mjModel *m = r->sim.m;
    mjData *d = r->sim.d;
    mj_resetData(m, d);
    rig_passive(r);
    if (task->settle_steps > 0) {
        memcpy(d->qpos, values, (size_t)m->nq * sizeof(double));
        settle(r);
    } else {
        if (task->value_count > 0) {
            task->place(&r->sim, values);
        }
        memcpy(d->qpos, qpos, (size_t)m->nq * sizeof(double));
        if (task->collision_check) {
            rig_passive(r);
        }
        memcpy(d->qvel, qvel, (size_t)m->nv * sizeof(double));
    }
    rig_passive(r);
}

void
rig_step(rig *r, const double *action)
{
    memcpy(r->sim.d->ctrl, action, (size_t)r->sim.m->nu * sizeof(double));
    physics(r, r->sim.task->substeps);
}
