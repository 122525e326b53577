#ifndef TESTS_ENVS_DMC_DMC_RIG_H
#define TESTS_ENVS_DMC_DMC_RIG_H

#include "envs/dmc/dmc_task.h"

// A task with a model and data of its own, stepped as tests/data/dmc/README.md says: written from
// that text alone, so that it can be held against envs/dmc/dmc_sim.c as well.
//
// Threads: one user at a time. Owns: model, data and generator, until rig_close. Errors fail the
// running test.
typedef struct rig {
    dmc_sim sim;
    oct_pcg64 rng;
} rig;

// Tasks and the files of tests/data/dmc that were recorded for them, without ".csv".
#define RIG_RECORDED 28
extern const char *const rig_recorded[RIG_RECORDED][2];

const dmc_task *rig_task(const char *id);
mjModel *rig_compile(const char *text, const char *name);
void rig_open(rig *r, const dmc_task *task, uint64_t seed);
void rig_close(rig *r);

void rig_passive(rig *r); // forward without actuation
void rig_reset(rig *r);   // an episode's start, drawn
// A recorded start: values are the task's, for the cheetah qpos before settling.
void rig_place(rig *r, const double *qpos, const double *qvel, const double *values);
void rig_step(rig *r, const double *action);

#endif // TESTS_ENVS_DMC_DMC_RIG_H
