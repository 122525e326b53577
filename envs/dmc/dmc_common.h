#ifndef ENVS_DMC_DMC_COMMON_H
#define ENVS_DMC_DMC_COMMON_H

#include <math.h>

#include "envs/dmc/dmc_task.h"

// What the tasks of several domains share: reading the numbers that observations consist of, and
// drawing.
//
// Threads: as dmc_task.h. Owns: nothing. Sizes: positions have 3 numbers, rotations 9, by rows.

// Functions of every step are inline: in the smallest models calls take a measurable share.

// By slot in sim->ids; a body's position is that of its frame.
static inline const double *
dmc_body_position(const dmc_sim *sim, int slot)
{
    return sim->d->xpos + 3 * sim->ids[slot];
}

static inline const double *
dmc_body_rotation(const dmc_sim *sim, int slot)
{
    return sim->d->xmat + 9 * sim->ids[slot];
}

static inline const double *
dmc_geom_position(const dmc_sim *sim, int slot)
{
    return sim->d->geom_xpos + 3 * sim->ids[slot];
}

static inline const double *
dmc_site_position(const dmc_sim *sim, int slot)
{
    return sim->d->site_xpos + 3 * sim->ids[slot];
}

static inline const double *
dmc_sensor(const dmc_sim *sim, int slot)
{
    return sim->d->sensordata + sim->ids[slot];
}

static inline double
dmc_joint_position(const dmc_sim *sim, int slot)
{
    return sim->d->qpos[sim->ids[slot]];
}

// Elements of a rotation in dm_control's names: row and column.
enum { DMC_XX, DMC_XY, DMC_XZ, DMC_YX, DMC_YY, DMC_YZ, DMC_ZX, DMC_ZY, DMC_ZZ };

// Write numbers of an observation to obs, and return where the next number goes.
static inline double *
dmc_write(double *obs, const double *values, int count)
{
    for (int k = 0; k < count; k++) { // few numbers: faster than a call of memcpy
        obs[k] = values[k];
    }
    return obs + count;
}

// Writes qpos[first..nq).
static inline double *
dmc_write_qpos(const dmc_sim *sim, double *obs, int first)
{
    return dmc_write(obs, sim->d->qpos + first, sim->m->nq - first);
}

static inline double *
dmc_write_qvel(const dmc_sim *sim, double *obs)
{
    return dmc_write(obs, sim->d->qvel, sim->m->nv);
}

// Writes a - b in the axes of a rotation: the first count of three numbers.
static inline double *
dmc_write_offset(double *obs, const double *a, const double *b, const double *rotation, int count)
{
    double offset[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    for (int k = 0; k < count; k++) {
        obs[k] =
            offset[0] * rotation[k] + offset[1] * rotation[3 + k] + offset[2] * rotation[6 + k];
    }
    return obs + count;
}

static inline double
dmc_distance(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int k = 0; k < count; k++) {
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sqrt(sum);
}

// Returns tolerance(u; margin 1, value 0, quadratic), averaged over the actuators.
static inline double
dmc_small_control(const dmc_sim *sim)
{
    double sum = 0;
    for (int k = 0; k < sim->m->nu; k++) {
        double u = sim->d->ctrl[k], left = 1 - u * u;
        sum += left > 0 ? left : 0;
    }
    return sum / sim->m->nu;
}

// Returns the factor by which most tasks reward small controls.
static inline double
dmc_effort(const dmc_sim *sim)
{
    return (4 + dmc_small_control(sim)) / 5;
}

double dmc_uniform(dmc_sim *sim, double low, double high);
double dmc_normal(dmc_sim *sim); // mean 0, variance 1
// Calls draw until no bodies touch; after 1000 draws the last one stays.
void dmc_reset_without_contact(dmc_sim *sim, void (*draw)(dmc_sim *sim));

// Names of an observation's numbers: DMC_3("velocity") is "velocity[0]", "velocity[1]",
// "velocity[2]".
#define DMC_1(key)  key "[0]"
#define DMC_2(key)  DMC_1(key), key "[1]"
#define DMC_3(key)  DMC_2(key), key "[2]"
#define DMC_4(key)  DMC_3(key), key "[3]"
#define DMC_5(key)  DMC_4(key), key "[4]"
#define DMC_6(key)  DMC_5(key), key "[5]"
#define DMC_7(key)  DMC_6(key), key "[6]"
#define DMC_8(key)  DMC_7(key), key "[7]"
#define DMC_9(key)  DMC_8(key), key "[8]"
#define DMC_12(key) DMC_9(key), key "[9]", key "[10]", key "[11]"
#define DMC_13(key) DMC_12(key), key "[12]"
#define DMC_14(key) DMC_13(key), key "[13]"
#define DMC_18(key) DMC_14(key), key "[14]", key "[15]", key "[16]", key "[17]"
#define DMC_21(key) DMC_18(key), key "[18]", key "[19]", key "[20]"
#define DMC_27(key)                                                                                \
    DMC_21(key), key "[21]", key "[22]", key "[23]", key "[24]", key "[25]", key "[26]"
#define DMC_36(key)                                                                                \
    DMC_27(key), key "[27]", key "[28]", key "[29]", key "[30]", key "[31]", key "[32]",           \
        key "[33]", key "[34]", key "[35]"
#define DMC_45(key)                                                                                \
    DMC_36(key), key "[36]", key "[37]", key "[38]", key "[39]", key "[40]", key "[41]",           \
        key "[42]", key "[43]", key "[44]"

#endif // ENVS_DMC_DMC_COMMON_H
