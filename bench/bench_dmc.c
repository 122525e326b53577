// Control steps per second of one Control Suite environment on one thread through the environment
// ABI, against bare loops over the same model with the same controls from the same starts, in the
// same run:
//     bare    ctrl = u; mj_step n times              what a plain simulation loop does
//     legacy  mj_step2, mj_step n - 1 times, mj_step1 (n times and mj_step1 with Runge-Kutta)
//                                                    dm_control's order, which observations need
// With Runge-Kutta the legacy order costs half a forward pass more per control step than the bare
// one; with Euler's method nothing, because it only cuts the same work elsewhere.
//
// Checked first: after every step the state of the environment is that of the legacy loop in every
// bit, and that of the bare loop within 1e-6. Then alternating blocks; each starts with a reset,
// which is timed apart. JSON lines; microseconds of the thread's CPU time, medians over rounds.
// "with resets" is one reset for 1000 control steps. usage: bench_dmc [quick]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_commit.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_rng.h"
#include "envs/dmc/dmc_model.h"
#include "envs/dmc/dmc_sim.h"
#include "envs/env.h"

enum { ROUNDS = 15, BLOCK_NS = 15000000, STEPS_MAX = 4000, CHECK_STEPS = 40, ACTIONS_MAX = 24 };

static const char *const ids[] = {
    "dmc:acrobot_swingup",  "dmc:ball_in_cup_catch", "dmc:cartpole_swingup", "dmc:cheetah_run",
    "dmc:finger_spin",      "dmc:finger_turn_hard",  "dmc:fish_swim",        "dmc:hopper_hop",
    "dmc:humanoid_run",     "dmc:pendulum_swingup",  "dmc:point_mass_easy",  "dmc:reacher_hard",
    "dmc:swimmer_swimmer6", "dmc:swimmer_swimmer15", "dmc:walker_run",
};

// One environment through the ABI, and its twin for the bare loops.
struct bench {
    env *e;
    octet_env_io io;
    float *obs, *actions; // actions[STEPS_MAX][nu]
    float reward;
    uint8_t flags;
    dmc_sim sim;
    oct_pcg64 rng;
    uint32_t nu, steps; // of a block
};

static void
fail(const char *id, const char *what)
{
    fprintf(stderr, "bench_dmc: %s: %s\n", id, what);
    exit(1);
}

static const dmc_task *
task_find(const char *id)
{
    const dmc_task *const *task = dmc_tasks();
    while (strcmp((*task)->id, id) != 0) {
        task++;
        OCT_ASSERT(*task != NULL);
    }
    return *task;
}

static void
bench_open(struct bench *b, const char *id)
{
    *b = (struct bench){0};
    char reason[256];
    env_request request = {.id = id, .options = "max_episode_steps=0", .count = 1};
    if (env_open(&b->e, &request, reason, sizeof(reason)) != OCT_OK) {
        fail(id, reason);
    }
    mjModel *m;
    const dmc_task *task = task_find(id);
    if (!dmc_model_load(&m, task->model, NULL, reason, sizeof(reason)) ||
        !dmc_sim_init(&b->sim, task, m, &b->rng, reason, sizeof(reason))) {
        fail(id, reason);
    }
    mj_deleteModel(m);
    b->nu = (uint32_t)b->sim.m->nu;
    b->obs = oct_alloc(task->obs_count * sizeof(float));
    b->actions = oct_alloc((size_t)STEPS_MAX * b->nu * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 5, 5);
    for (uint32_t k = 0; k < STEPS_MAX * b->nu; k++) {
        b->actions[k] = (float)(2 * oct_rng_double(&rng) - 1);
    }
    b->io = (octet_env_io){.size = sizeof(b->io),
                           .action_stride = b->nu * (uint32_t)sizeof(float),
                           .obs = b->obs,
                           .obs_stride = task->obs_count * (uint32_t)sizeof(float),
                           .reward = &b->reward,
                           .flags = &b->flags};
}

static void
bench_close(struct bench *b)
{
    env_close(b->e);
    dmc_sim_fini(&b->sim);
    free(b->obs);
    free(b->actions);
}

static void
env_begin(struct bench *b, uint64_t seed)
{
    OCT_ASSERT(env_reset(b->e, NULL, &seed, &b->io) == OCT_OK);
}

static void
twin_begin(struct bench *b, uint64_t seed)
{
    oct_pcg64_init(&b->rng, seed);
    OCT_ASSERT(dmc_sim_reset(&b->sim));
}

static void
env_run(struct bench *b, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        b->io.action = b->actions + (size_t)t * b->nu;
        OCT_ASSERT(env_step(b->e, &b->io) == OCT_OK && b->flags == 0);
    }
}

static void
controls_set(struct bench *b, uint32_t t)
{
    const float *action = b->actions + (size_t)t * b->nu;
    for (uint32_t k = 0; k < b->nu; k++) {
        b->sim.d->ctrl[k] = action[k];
    }
}

static void
bare_run(struct bench *b, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        controls_set(b, t);
        for (uint32_t k = 0; k < b->sim.task->substeps; k++) {
            mj_step(b->sim.m, b->sim.d);
        }
    }
}

static void
legacy_run(struct bench *b, uint32_t from, uint32_t to)
{
    uint32_t first = b->sim.m->opt.integrator == mjINT_RK4 ? 0 : 1;
    for (uint32_t t = from; t < to; t++) {
        controls_set(b, t);
        if (first == 1) {
            mj_step2(b->sim.m, b->sim.d);
        }
        for (uint32_t k = first; k < b->sim.task->substeps; k++) {
            mj_step(b->sim.m, b->sim.d);
        }
        mj_step1(b->sim.m, b->sim.d);
    }
}

static void
check(struct bench *b, const char *id, void (*run)(struct bench *, uint32_t, uint32_t),
      double tolerance)
{
    double state[128];
    uint32_t step, nq = (uint32_t)b->sim.m->nq;
    OCT_ASSERT(env_spec(b->e)->state_count <= OCT_COUNTOF(state));
    env_begin(b, 3);
    twin_begin(b, 3);
    for (uint32_t t = 0; t < CHECK_STEPS; t++) {
        env_run(b, t, t + 1);
        run(b, t, t + 1);
        OCT_ASSERT(env_state_get(b->e, 0, state, &step) == OCT_OK);
        for (uint32_t k = 0; k < nq; k++) {
            if (!(fabs(state[k] - b->sim.d->qpos[k]) <= tolerance)) {
                fprintf(stderr, "step %u, qpos[%u]: %.17g, the loop has %.17g\n", t, k, state[k],
                        b->sim.d->qpos[k]);
                fail(id, "not the loop's state");
            }
        }
    }
}

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
median(double *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), ascending);
    return values[count / 2];
}

// Microseconds of one call.
static double
us_of(struct bench *b, void (*run)(struct bench *, uint32_t, uint32_t))
{
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    run(b, 0, b->steps);
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-3 / b->steps;
}

// A block long enough for the clock, the same for all loops.
static void
block_choose(struct bench *b, bool quick)
{
    b->steps = 50;
    if (!quick) {
        env_begin(b, 1);
        double us = us_of(b, env_run);
        b->steps = (uint32_t)OCT_MAX(50, OCT_MIN(STEPS_MAX, BLOCK_NS * 1e-3 / us));
    }
}

static void
measure(struct bench *b, const char *id, uint32_t rounds)
{
    double abi[ROUNDS], bare[ROUNDS], legacy[ROUNDS], reset[ROUNDS], of_bare[ROUNDS],
        of_legacy[ROUNDS];
    for (uint32_t r = 0; r < rounds; r++) {
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        env_begin(b, r);
        reset[r] = (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-3;
        abi[r] = us_of(b, env_run);
        twin_begin(b, r);
        bare[r] = us_of(b, bare_run);
        twin_begin(b, r);
        legacy[r] = us_of(b, legacy_run);
        of_bare[r] = bare[r] / abi[r];
        of_legacy[r] = legacy[r] / abi[r];
    }
    uint32_t substeps = b->sim.task->substeps;
    double us = median(abi, rounds), reset_us = median(reset, rounds);
    printf("{\"bench\":\"dmc\",\"commit\":\"%s\",\"task\":\"%s\",\"integrator\":\"%s\","
           "\"physics_steps\":%u,\"us\":%.3f,\"bare_us\":%.3f,\"legacy_us\":%.3f,"
           "\"of_bare\":%.3f,\"of_legacy\":%.3f,\"control_steps_per_s\":%.0f,"
           "\"physics_steps_per_s\":%.0f,\"reset_us\":%.1f,\"with_resets_per_s\":%.0f}\n",
           BENCH_COMMIT, id, b->sim.m->opt.integrator == mjINT_RK4 ? "rk4" : "euler", substeps, us,
           median(bare, rounds), median(legacy, rounds), median(of_bare, rounds),
           median(of_legacy, rounds), 1e6 / us, 1e6 / us * substeps, reset_us,
           1e9 / (1000 * us + reset_us));
    (void)fflush(stdout);
}

int
main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        struct bench b;
        bench_open(&b, ids[k]);
        check(&b, ids[k], legacy_run, 0);
        check(&b, ids[k], bare_run, 1e-6);
        block_choose(&b, quick);
        measure(&b, ids[k], quick ? 1 : ROUNDS);
        bench_close(&b);
    }
    return 0;
}
