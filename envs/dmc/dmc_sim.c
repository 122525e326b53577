// Resets and steps one MuJoCo simulation in dm_control's order of calls, and saves and restores its
// state exactly.
#include "envs/dmc/dmc_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "envs/dmc/dmc_guard.h"

#define NUMBERS_MAX 256 // of qpos, qvel and values

static _Thread_local char fault[200];

// Arguments of work that runs under the guard.
struct call {
    dmc_sim *sim;
    const float *action;
    const double *numbers;
    bool settle;
};

const char *
dmc_sim_fault(void)
{
    return fault;
}

static bool
has_quaternions(const mjModel *m)
{
    return m->nq != m->nv;
}

static void
qpos_note(dmc_sim *sim)
{
    if (has_quaternions(sim->m)) {
        memcpy(sim->raw_qpos, sim->d->qpos, (size_t)sim->m->nq * sizeof(double));
    }
}

// Runs mj_step without its first half, which was done for the same numbers at the end of the
// control step before. dm_control repeats it with the same result (a quaternion might change).
static void
rk4_step2(const mjModel *m, mjData *d)
{
    if (has_quaternions(m) || m->opt.enableflags != 0) {
        mj_step(m, d);
        return;
    }
    mj_fwdActuation(m, d);
    mj_fwdAcceleration(m, d);
    mj_fwdConstraint(m, d);
    mj_sensorAcc(m, d);
    mj_checkAcc(m, d);
    mj_RungeKutta(m, d, 4);
}

static void
switch_off(dmc_sim *sim, int flags)
{
    sim->m->opt.disableflags = sim->disableflags | flags;
}

// Computes what follows from position and velocity; sensors of forces are read only in the last
// physics step.
static void
physics_step2(dmc_sim *sim, bool last)
{
    switch_off(sim, last ? 0 : mjDSBL_SENSOR);
    mj_step2(sim->m, sim->d);
}

// Steps as in dm_control's legacy stepping: the first half of a step was done at the end of the one
// before, so that positions and velocities are those of the state. Sensors change nothing, and a
// task reads them only at the end, so they are off in between. (Except with Runge-Kutta, mj_step is
// mj_step1 and mj_step2.)
static void
physics_step(dmc_sim *sim, uint32_t substeps)
{
    const mjModel *m = sim->m;
    mjData *d = sim->d;
    if (m->opt.integrator == mjINT_RK4) {
        rk4_step2(m, d);
        for (uint32_t k = 1; k < substeps; k++) {
            mj_step(m, d);
        }
    } else {
        physics_step2(sim, substeps == 1);
        for (uint32_t k = 1; k < substeps; k++) {
            mj_step1(m, d);
            physics_step2(sim, k + 1 == substeps);
        }
    }
    qpos_note(sim);
    mj_step1(m, d);
}

void
dmc_forward_passive(dmc_sim *sim)
{
    switch_off(sim, mjDSBL_ACTUATION);
    mj_forward(sim->m, sim->d);
    switch_off(sim, 0);
}

static void
forward(dmc_sim *sim)
{
    qpos_note(sim);
    dmc_forward_passive(sim);
}

// Goes from qpos before settling to the state in which the episode begins.
static void
settle(dmc_sim *sim)
{
    memcpy(sim->drawn, sim->d->qpos, (size_t)sim->m->nq * sizeof(double));
    for (uint32_t k = 0; k < sim->task->settle_steps; k++) {
        physics_step(sim, 1);
    }
    sim->d->time = 0;
}

static void
reset_work(void *arg)
{
    dmc_sim *sim = ((struct call *)arg)->sim;
    mj_resetData(sim->m, sim->d);
    forward(sim);
    sim->task->reset(sim);
    if (sim->task->settle_steps > 0) {
        settle(sim);
    }
    forward(sim);
}

static void
place_work(void *arg)
{
    const struct call *call = arg;
    dmc_sim *sim = call->sim;
    mjModel *m = sim->m;
    mjData *d = sim->d;
    const double *qpos = call->numbers, *qvel = qpos + m->nq, *values = qvel + m->nv;
    mj_resetData(m, d);
    forward(sim);
    if (sim->task->place != NULL && sim->task->value_count > 0) {
        sim->task->place(sim, values);
    }
    if (call->settle) {
        memcpy(d->qpos, values, (size_t)m->nq * sizeof(double));
        settle(sim);
    } else {
        memcpy(d->qpos, qpos, (size_t)m->nq * sizeof(double));
        if (sim->task->collision_check) {
            forward(sim); // this normalises quaternions
            memcpy(d->qpos, qpos, (size_t)m->nq * sizeof(double));
        }
        memcpy(d->qvel, qvel, (size_t)m->nv * sizeof(double));
    }
    forward(sim);
}

// Not inline: every step checks for warnings, and hardly any has one.
static __attribute__((noinline, cold)) void
fault_note(const mjWarningStat *warnings)
{
    for (int k = 0; k < mjNWARNING; k++) {
        if (warnings[k].number > 0) {
            snprintf(fault, sizeof(fault), "%s", mju_warningText(k, warnings[k].lastinfo));
            return;
        }
    }
}

// Returns true after a warning: MuJoCo continues from a state that it has reset, dm_control raises
// an error.
static bool
warned(const dmc_sim *sim)
{
    const mjWarningStat *warnings = sim->d->warning;
    int any = 0;
    for (int k = 0; k < mjNWARNING; k++) {
        any |= warnings[k].number;
    }
    if (any != 0) {
        fault_note(warnings);
    }
    return any != 0;
}

static bool
ran_well(dmc_sim *sim, void (*work)(void *), struct call *call)
{
    sim->broken = true;
    if (dmc_guard_run(work, call, fault, sizeof(fault))) {
        sim->broken = warned(sim);
    }
    return !sim->broken;
}

bool
dmc_sim_step_guarded(dmc_sim *sim, const float *action)
{
    double *ctrl = sim->d->ctrl;
    for (int k = 0; k < sim->m->nu; k++) {
        double u = action[k];
        ctrl[k] = u < -1 ? -1 : u > 1 ? 1 : u;
    }
    sim->broken = true;
    physics_step(sim, sim->task->substeps);
    sim->broken = warned(sim);
    return !sim->broken;
}

static void
step_work(void *arg)
{
    const struct call *call = arg;
    (void)dmc_sim_step_guarded(call->sim, call->action);
}

bool
dmc_sim_reset(dmc_sim *sim)
{
    struct call call = {.sim = sim};
    return ran_well(sim, reset_work, &call);
}

bool
dmc_sim_step(dmc_sim *sim, const float *action)
{
    struct call call = {.sim = sim, .action = action};
    return ran_well(sim, step_work, &call);
}

// MuJoCo takes a state with a number beyond mjMAXVAL for broken.
static bool
numbers_are_sane(const double *numbers, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        if (!(fabs(numbers[k]) <= mjMAXVAL)) {
            snprintf(fault, sizeof(fault), "number %u, %g, is not finite or beyond %g", k,
                     numbers[k], mjMAXVAL);
            return false;
        }
    }
    return true;
}

bool
dmc_sim_place(dmc_sim *sim, const double *state, bool settle_values)
{
    uint32_t own = (uint32_t)(sim->m->nq + sim->m->nv), count = sim->task->value_count;
    double numbers[NUMBERS_MAX];
    memcpy(numbers, state, (own + count) * sizeof(double));
    bool known = true;
    for (uint32_t k = 0; k < count; k++) {
        if (isnan(numbers[own + k])) {
            numbers[own + k] = sim->drawn[k];
            known = false;
        }
    }
    if (!numbers_are_sane(numbers, own + count)) {
        return false;
    }
    struct call call = {.sim = sim,
                        .numbers = numbers,
                        .settle = settle_values && known && sim->task->settle_steps > 0};
    memcpy(sim->drawn, numbers + own, count * sizeof(double));
    return ran_well(sim, place_work, &call);
}

const double *
dmc_sim_qpos(const dmc_sim *sim)
{
    return has_quaternions(sim->m) ? sim->raw_qpos : sim->d->qpos;
}

// Parts of the memory. What follows from the state is computed again by the second half of a
// control step; the rest must be kept: sensors of forces (touch) belong to the last physics step,
// and the solver begins at the acceleration that it found last. Normalising a quaternion twice may
// give other bits than once, so the numbers from before normalising are kept.
struct part {
    double *numbers;
    int count;
};

#define PARTS 7

static void
memory_parts(const dmc_sim *sim, struct part parts[PARTS])
{
    const mjModel *m = sim->m;
    mjData *d = sim->d;
    double *qpos = has_quaternions(m) ? sim->raw_qpos : d->qpos;
    const struct part all[PARTS] = {{&d->time, 1},
                                    {qpos, m->nq},
                                    {d->qvel, m->nv},
                                    {d->qacc_warmstart, m->nv},
                                    {d->ctrl, m->nu},
                                    {d->sensordata, m->nsensordata},
                                    {(double *)sim->drawn, (int)sim->task->value_count}};
    memcpy(parts, all, sizeof(all));
}

uint32_t
dmc_sim_memory_count(const dmc_sim *sim)
{
    struct part parts[PARTS];
    memory_parts(sim, parts);
    uint32_t count = 0;
    for (uint32_t k = 0; k < PARTS; k++) {
        count += (uint32_t)parts[k].count;
    }
    return count;
}

void
dmc_sim_memory_get(const dmc_sim *sim, double *memory)
{
    struct part parts[PARTS];
    memory_parts(sim, parts);
    for (uint32_t k = 0; k < PARTS; k++) {
        memcpy(memory, parts[k].numbers, (size_t)parts[k].count * sizeof(double));
        memory += parts[k].count;
    }
}

static void
memory_work(void *arg)
{
    const struct call *call = arg;
    dmc_sim *sim = call->sim;
    struct part parts[PARTS];
    memory_parts(sim, parts);
    mj_resetData(sim->m, sim->d);
    const double *from = call->numbers;
    for (uint32_t k = 0; k < PARTS; k++) {
        memcpy(parts[k].numbers, from, (size_t)parts[k].count * sizeof(double));
        from += parts[k].count;
    }
    if (sim->task->place != NULL && sim->task->value_count > 0) {
        sim->task->place(sim, sim->drawn);
    }
    if (has_quaternions(sim->m)) {
        memcpy(sim->d->qpos, sim->raw_qpos, (size_t)sim->m->nq * sizeof(double));
    }
    switch_off(sim, 0);
    mj_step1(sim->m, sim->d);
}

bool
dmc_sim_memory_set(dmc_sim *sim, const double *memory)
{
    if (!numbers_are_sane(memory, dmc_sim_memory_count(sim))) {
        return false;
    }
    struct call call = {.sim = sim, .numbers = memory};
    return ran_well(sim, memory_work, &call);
}

// Hides cameras and lights, unless a sensor reads a camera.
static void
cameras_hide(dmc_sim *sim)
{
    mjModel *m = sim->m;
    bool read = false;
    for (int k = 0; k < m->nsensor; k++) {
        read = read || m->sensor_objtype[k] == mjOBJ_CAMERA || m->sensor_reftype[k] == mjOBJ_CAMERA;
    }
    sim->ncam = m->ncam;
    sim->nlight = m->nlight;
    m->ncam = read ? m->ncam : 0;
    m->nlight = 0;
}

void
dmc_sim_cameras(dmc_sim *sim, bool shown)
{
    if (!shown) {
        cameras_hide(sim);
        return;
    }
    sim->m->ncam = sim->ncam;
    sim->m->nlight = sim->nlight;
    mj_camlight(sim->m, sim->d);
}

static bool
model_fits(const dmc_sim *sim, oct_reason *why)
{
    const mjModel *m = sim->m;
    const dmc_task *task = sim->task;
    OCT_ASSERT(task->value_count <= DMC_VALUES_MAX && task->substeps > 0);
    if (m->na != 0 || m->nu == 0 || m->nq + m->nv + (int)task->value_count > NUMBERS_MAX ||
        (task->settle_steps > 0 && (int)task->value_count != m->nq)) {
        oct_reason_set(why, "%s: the model has %d joint positions, %d actuators and %d activations",
                       task->id, m->nq, m->nu, m->na);
        return false;
    }
    return true;
}

struct init {
    dmc_sim *sim;
    const mjModel *compiled;
};

static void
init_work(void *arg)
{
    struct init *init = arg;
    init->sim->m = mj_copyModel(NULL, init->compiled);
    init->sim->d = mj_makeData(init->sim->m);
}

bool
dmc_sim_init(dmc_sim *sim, const dmc_task *task, const mjModel *compiled, oct_pcg64 *rng,
             oct_reason *why)
{
    *sim = (dmc_sim){.task = task, .rng = rng};
    struct init init = {.sim = sim, .compiled = compiled};
    if (!dmc_guard_run(init_work, &init, fault, sizeof(fault))) {
        oct_reason_set(why, "%s: %s", task->id, fault);
        dmc_sim_fini(sim);
        return false;
    }
    sim->raw_qpos = oct_alloc((size_t)sim->m->nq * sizeof(double));
    const char *missing = NULL;
    bool fits = model_fits(sim, why);
    if (fits && !dmc_prepare(sim, &missing)) {
        oct_reason_set(why, "%s: the model has no %s", task->id, missing);
        fits = false;
    }
    if (!fits) {
        dmc_sim_fini(sim);
        return false;
    }
    sim->disableflags = sim->m->opt.disableflags;
    cameras_hide(sim);
    return true;
}

void
dmc_sim_fini(dmc_sim *sim)
{
    if (sim->d != NULL) {
        mj_deleteData(sim->d);
    }
    if (sim->m != NULL) {
        mj_deleteModel(sim->m);
    }
    free(sim->raw_qpos);
    *sim = (dmc_sim){0};
}
