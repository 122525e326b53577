// Swimmer: a chain of links in water brings its nose to a target (Coulom 2002). Observed: joint
// angles, the vector to the target in the head's axes, for each link its velocity in its own axes
// (x, y) and its angular velocity.
#include <string.h>

#include "common/oct_base.h"
#include "envs/dmc/dmc_common.h"

#define ROOT_NUMBERS 3 // of qpos: two slides and a hinge
#define BOX_NEAR     0.3
#define BOX_FAR      2

enum { HEAD, TARGET, NOSE, HEAD_VELOCITY };

// The velocimeters and gyros of the other links follow those of the head.
static const dmc_name names[] = {
    {mjOBJ_BODY, "head"}, {mjOBJ_GEOM, "target"}, {mjOBJ_GEOM, "nose"}, {mjOBJ_SENSOR, "head_vel"}};
static const char *const names6[] = {DMC_5("joints"), DMC_2("to_target"),
                                     DMC_18("body_velocities")};
static const char *const names15[] = {DMC_14("joints"), DMC_2("to_target"),
                                      DMC_45("body_velocities")};
static const char *const value_names[] = {DMC_2("model.target_xy")};

static void
place(dmc_sim *sim, const double *values)
{
    memcpy(sim->m->geom_pos + 3 * sim->ids[TARGET], values, 2 * sizeof(double));
}

static void
reset(dmc_sim *sim)
{
    dmc_randomise_joints(sim);
    double box = dmc_uniform(sim, 0, 1) < 0.2 ? BOX_NEAR : BOX_FAR;
    sim->drawn[0] = dmc_uniform(sim, -box, box);
    sim->drawn[1] = dmc_uniform(sim, -box, box);
    place(sim, sim->drawn);
}

static double *
nose_to_target(const dmc_sim *sim, double *out)
{
    return dmc_write_offset(out, dmc_geom_position(sim, TARGET), dmc_geom_position(sim, NOSE),
                            dmc_body_rotation(sim, HEAD), 2);
}

static void
observe(const dmc_sim *sim, double *obs)
{
    int links = sim->m->nq - ROOT_NUMBERS + 1;
    obs = dmc_write_qpos(sim, obs, ROOT_NUMBERS);
    obs = nose_to_target(sim, obs);
    for (int link = 0; link < links; link++) {
        const double *velocity = dmc_sensor(sim, HEAD_VELOCITY) + 6 * link, *gyro = velocity + 3;
        obs = dmc_write(obs, velocity, 2);
        *obs++ = gyro[2];
    }
}

static double
reward(const dmc_sim *sim)
{
    static const double nothing[2];
    double way[2], radius = sim->m->geom_size[3 * sim->ids[TARGET]];
    nose_to_target(sim, way);
    return dmc_tolerance(dmc_distance(way, nothing, 2), 0, radius, 5 * radius, DMC_LONG_TAIL, 0.1);
}

#define SWIMMER                                                                                    \
    .has_no_file = true, .substeps = 15, .reward_name = "r_swim", .value_count = 2,                \
    .value_names = value_names, .names = names, .name_count = OCT_COUNTOF(names), .reset = reset,  \
    .place = place, .observe = observe, .reward = reward

const dmc_task dmc_swimmer_swimmer6 = {.id = "dmc:swimmer_swimmer6",
                                       .model = "swimmer6",
                                       .obs_count = OCT_COUNTOF(names6),
                                       .obs_names = names6,
                                       SWIMMER};
const dmc_task dmc_swimmer_swimmer15 = {.id = "dmc:swimmer_swimmer15",
                                        .model = "swimmer15",
                                        .obs_count = OCT_COUNTOF(names15),
                                        .obs_names = names15,
                                        SWIMMER};
