// What the tasks of several domains share: names in a model, the reward's tolerance function,
// random draws, randomised joints.
#include "envs/dmc/dmc_common.h"

#include <math.h>
#include <string.h>

#include "common/oct_base.h"

#define EXP_ZERO          (-746) // exp is 0 below this, and slow to compute
#define PI                3.141592653589793
#define RESET_DRAWS_MAX   1000
#define FREE_JOINT_NUMBER 7 // numbers of qpos; the last four are a quaternion

bool
dmc_prepare(dmc_sim *sim, const char **missing)
{
    const dmc_task *task = sim->task;
    const dmc_name *names = task->names;
    OCT_ASSERT(task->name_count <= DMC_IDS_MAX);
    for (uint32_t k = 0; k < task->name_count; k++) {
        int id = mj_name2id(sim->m, (int)names[k].type, names[k].name);
        if (id < 0) {
            *missing = names[k].name;
            return false;
        }
        switch (names[k].type) {
        case mjOBJ_SENSOR:
            sim->ids[k] = sim->m->sensor_adr[id];
            break;
        case mjOBJ_JOINT:
            sim->ids[k] = sim->m->jnt_qposadr[id];
            break;
        default:
            sim->ids[k] = id;
            break;
        }
    }
    return task->prepare == NULL || task->prepare(sim, missing);
}

double
dmc_tolerance(double x, double low, double high, double margin, dmc_shape shape,
              double value_at_margin)
{
    if (x >= low && x <= high) {
        return 1;
    }
    if (margin == 0) {
        return 0;
    }
    double distance = (x < low ? low - x : x - high) / margin, scaled;
    switch (shape) {
    case DMC_GAUSSIAN:
        // The compiler evaluates the usual value.
        scaled = distance *
                 (value_at_margin == 0.1 ? sqrt(-2 * log(0.1)) : sqrt(-2 * log(value_at_margin)));
        scaled = -0.5 * (scaled * scaled);
        return scaled < EXP_ZERO ? 0 : exp(scaled);
    case DMC_LINEAR:
        scaled = distance * (1 - value_at_margin);
        return fmax(1 - scaled, 0);
    case DMC_QUADRATIC:
        scaled = distance * sqrt(1 - value_at_margin);
        return fmax(1 - scaled * scaled, 0);
    case DMC_LONG_TAIL:
        scaled = distance * sqrt(1 / value_at_margin - 1);
        return 1 / (scaled * scaled + 1);
    }
    return 0;
}

double
dmc_uniform(dmc_sim *sim, double low, double high)
{
    return oct_pcg64_uniform(sim->rng, low, high);
}

// Marsaglia's polar method. It discards the second number, because resets draw only a few.
double
dmc_normal(dmc_sim *sim)
{
    double u, v, square;
    do {
        u = dmc_uniform(sim, -1, 1);
        v = dmc_uniform(sim, -1, 1);
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * log(square) / square);
}

void
dmc_randomise_joints(dmc_sim *sim)
{
    const mjModel *m = sim->m;
    for (int j = 0; j < m->njnt; j++) {
        double *q = sim->d->qpos + m->jnt_qposadr[j];
        if (m->jnt_type[j] == mjJNT_FREE) {
            double *quaternion = q + FREE_JOINT_NUMBER - 4;
            for (int k = 0; k < 4; k++) {
                quaternion[k] = dmc_uniform(sim, 0, 1);
            }
            mju_normalize4(quaternion);
        } else if (m->jnt_limited[j]) {
            *q = dmc_uniform(sim, m->jnt_range[2 * j], m->jnt_range[2 * j + 1]);
        } else if (m->jnt_type[j] == mjJNT_HINGE) {
            *q = dmc_uniform(sim, -PI, PI);
        }
    }
}

void
dmc_reset_without_contact(dmc_sim *sim, void (*draw)(dmc_sim *sim))
{
    for (int k = 0; k < RESET_DRAWS_MAX; k++) {
        draw(sim);
        dmc_forward_passive(sim);
        if (sim->d->ncon == 0) {
            return;
        }
    }
}
