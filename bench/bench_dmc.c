// Control steps per second of 16 Control Suite environments (what an actor steps together) on one
// thread through the environment ABI, against bare loops over 16 copies of the same model with the
// same controls from the same starts, in the same run:
//     bare    ctrl = u; mj_step n times              what a plain simulation loop does
//     legacy  mj_step2, mj_step n - 1 times, mj_step1 (n times and mj_step1 with Runge-Kutta)
//                                                    dm_control's order, which observations need
// Observations, rewards, the checks of both sides and the copies are in the environments' time
// only. The loops place cameras and lights in every step, as mj_step does; the environments leave
// that to whoever draws. With Runge-Kutta the legacy order computes positions twice; the
// environments do not repeat what has been computed.
//
// Checked first: after every step the state of the environment is that of the legacy loop in every
// bit, and that of the bare loop within 1e-6. Then alternating blocks; each starts with a reset,
// which is timed apart. JSON lines; microseconds of the thread's CPU time, medians over rounds.
// "with resets" is one reset for 1000 control steps. usage: bench_dmc [quick]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "envs/dmc/dmc_model.h"
#include "envs/dmc/dmc_sim.h"
#include "envs/env.h"

enum { ENVS = 16, ROUNDS = 15, BLOCK_NS = 15000000, STEPS_MAX = 1000, CHECK_STEPS = 40 };

static const char *const ids[] = {
    "dmc:acrobot_swingup",  "dmc:ball_in_cup_catch", "dmc:cartpole_swingup", "dmc:cheetah_run",
    "dmc:finger_spin",      "dmc:finger_turn_hard",  "dmc:fish_swim",        "dmc:hopper_hop",
    "dmc:humanoid_run",     "dmc:pendulum_swingup",  "dmc:point_mass_easy",  "dmc:reacher_hard",
    "dmc:swimmer_swimmer6", "dmc:swimmer_swimmer15", "dmc:walker_run",
};

// Environments through the ABI, and their twins for the bare loops.
struct bench {
    env *e;
    octet_env_io io;
    float *obs, *actions; // obs[ENVS][], actions[STEPS_MAX][ENVS][nu]
    float reward[ENVS];
    uint8_t flags[ENVS];
    const dmc_task *task;
    dmc_sim sims[ENVS];
    oct_pcg64 rngs[ENVS];
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
pairs_open(struct bench *b)
{
    oct_reason why;
    mjModel *m;
    if (!dmc_model_load(&m, b->task->model, NULL, &why)) {
        fail(b->task->id, why.text);
    }
    for (uint32_t i = 0; i < ENVS; i++) {
        if (!dmc_sim_init(&b->sims[i], b->task, m, &b->rngs[i], &why)) {
            fail(b->task->id, why.text);
        }
        dmc_sim_cameras(&b->sims[i], true);
    }
    b->nu = (uint32_t)m->nu;
    mj_deleteModel(m);
}

static void
bench_open(struct bench *b, const char *id)
{
    *b = (struct bench){.task = task_find(id)};
    oct_reason why;
    env_request request = {.id = id, .options = "max_episode_steps=0", .count = ENVS};
    if (env_open(&b->e, &request, &why) != OCT_OK) {
        fail(id, why.text);
    }
    pairs_open(b);
    uint32_t obs_bytes = b->task->obs_count * (uint32_t)sizeof(float);
    b->obs = oct_alloc((size_t)ENVS * obs_bytes);
    b->actions = oct_alloc((size_t)STEPS_MAX * ENVS * b->nu * sizeof(float));
    oct_rng rng;
    oct_rng_init(&rng, 5, 5);
    for (uint32_t k = 0; k < STEPS_MAX * ENVS * b->nu; k++) {
        b->actions[k] = (float)(2 * oct_rng_double(&rng) - 1);
    }
    b->io = (octet_env_io){.size = sizeof(b->io),
                           .action_stride = b->nu * (uint32_t)sizeof(float),
                           .obs = b->obs,
                           .obs_stride = obs_bytes,
                           .reward = b->reward,
                           .flags = b->flags};
}

static void
bench_close(struct bench *b)
{
    env_close(b->e);
    for (uint32_t i = 0; i < ENVS; i++) {
        dmc_sim_fini(&b->sims[i]);
    }
    free(b->obs);
    free(b->actions);
}

static void
envs_begin(struct bench *b, uint64_t seed)
{
    uint64_t seeds[ENVS];
    for (uint32_t i = 0; i < ENVS; i++) {
        seeds[i] = seed * ENVS + i;
    }
    OCT_ASSERT(env_reset(b->e, NULL, seeds, &b->io) == OCT_OK);
}

static void
pairs_begin(struct bench *b, uint64_t seed)
{
    for (uint32_t i = 0; i < ENVS; i++) {
        oct_pcg64_init(&b->rngs[i], seed * ENVS + i);
        OCT_ASSERT(dmc_sim_reset(&b->sims[i]));
    }
}

static void
envs_run(struct bench *b, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        b->io.action = b->actions + (size_t)t * ENVS * b->nu;
        OCT_ASSERT(env_step(b->e, &b->io) == OCT_OK);
        for (uint32_t i = 0; i < ENVS; i++) {
            OCT_ASSERT(b->flags[i] == 0);
        }
    }
}

static void
controls_set(struct bench *b, uint32_t t, uint32_t i)
{
    const float *action = b->actions + ((size_t)t * ENVS + i) * b->nu;
    for (uint32_t k = 0; k < b->nu; k++) {
        b->sims[i].d->ctrl[k] = action[k];
    }
}

static void
bare_run(struct bench *b, uint32_t from, uint32_t to)
{
    for (uint32_t t = from; t < to; t++) {
        for (uint32_t i = 0; i < ENVS; i++) {
            controls_set(b, t, i);
            for (uint32_t k = 0; k < b->task->substeps; k++) {
                mj_step(b->sims[i].m, b->sims[i].d);
            }
        }
    }
}

static void
legacy_run(struct bench *b, uint32_t from, uint32_t to)
{
    uint32_t first = b->sims[0].m->opt.integrator == mjINT_RK4 ? 0 : 1;
    for (uint32_t t = from; t < to; t++) {
        for (uint32_t i = 0; i < ENVS; i++) {
            const dmc_sim *sim = &b->sims[i];
            controls_set(b, t, i);
            if (first == 1) {
                mj_step2(sim->m, sim->d);
            }
            for (uint32_t k = first; k < b->task->substeps; k++) {
                mj_step(sim->m, sim->d);
            }
            mj_step1(sim->m, sim->d);
        }
    }
}

static void
check(struct bench *b, void (*run)(struct bench *, uint32_t, uint32_t), double tolerance)
{
    double state[128];
    uint32_t step, nq = (uint32_t)b->sims[0].m->nq;
    OCT_ASSERT(env_spec(b->e)->state_count <= OCT_COUNTOF(state));
    envs_begin(b, 3);
    pairs_begin(b, 3);
    for (uint32_t t = 0; t < CHECK_STEPS; t++) {
        envs_run(b, t, t + 1);
        run(b, t, t + 1);
        for (uint32_t i = 0; i < ENVS; i++) {
            OCT_ASSERT(env_state_get(b->e, i, state, &step) == OCT_OK);
            mj_normalizeQuat(b->sims[i].m, state); // as the loops' are by now
            for (uint32_t k = 0; k < nq; k++) {
                double want = b->sims[i].d->qpos[k];
                if (!(fabs(state[k] - want) <= tolerance)) {
                    fprintf(stderr, "step %u, environment %u, qpos[%u]: %.17g, not %.17g\n", t, i,
                            k, state[k], want);
                    fail(b->task->id, "not the loop's state");
                }
            }
        }
    }
}

// Microseconds of one control step of one environment.
static double
us_of(struct bench *b, void (*run)(struct bench *, uint32_t, uint32_t))
{
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    run(b, 0, b->steps);
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-3 / (b->steps * ENVS);
}

// A block long enough for the clock, the same for all loops.
static void
block_choose(struct bench *b, bool quick)
{
    b->steps = 20;
    if (!quick) {
        envs_begin(b, 1);
        double us = us_of(b, envs_run);
        b->steps = (uint32_t)OCT_MAX(20, OCT_MIN(STEPS_MAX, BLOCK_NS * 1e-3 / (us * ENVS)));
    }
}

static void
measure(struct bench *b, uint32_t rounds)
{
    double abi[ROUNDS], bare[ROUNDS], legacy[ROUNDS], reset[ROUNDS], of_bare[ROUNDS],
        of_legacy[ROUNDS];
    for (uint32_t r = 0; r < rounds; r++) {
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        envs_begin(b, r);
        reset[r] = (double)(oct_clock_thread_cpu_ns() - begin_ns) * 1e-3 / ENVS;
        abi[r] = us_of(b, envs_run);
        pairs_begin(b, r);
        bare[r] = us_of(b, bare_run);
        pairs_begin(b, r);
        legacy[r] = us_of(b, legacy_run);
        of_bare[r] = bare[r] / abi[r];
        of_legacy[r] = legacy[r] / abi[r];
    }
    uint32_t substeps = b->task->substeps;
    double us = bench_median(abi, rounds), reset_us = bench_median(reset, rounds);
    printf("{\"bench\":\"dmc\",\"commit\":\"%s\",\"task\":\"%s\",\"integrator\":\"%s\","
           "\"physics_steps\":%u,\"us\":%.3f,\"bare_us\":%.3f,\"legacy_us\":%.3f,"
           "\"of_bare\":%.3f,\"of_legacy\":%.3f,\"control_steps_per_s\":%.0f,"
           "\"physics_steps_per_s\":%.0f,\"reset_us\":%.1f,\"with_resets_per_s\":%.0f}\n",
           OCT_COMMIT, b->task->id, b->sims[0].m->opt.integrator == mjINT_RK4 ? "rk4" : "euler",
           substeps, us, bench_median(bare, rounds), bench_median(legacy, rounds),
           bench_median(of_bare, rounds), bench_median(of_legacy, rounds), 1e6 / us,
           1e6 / us * substeps, reset_us, 1e9 / (1000 * us + reset_us));
    (void)fflush(stdout);
}

int
main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    for (size_t k = 0; k < OCT_COUNTOF(ids); k++) {
        static struct bench b;
        bench_open(&b, ids[k]);
        check(&b, legacy_run, 0);
        check(&b, bare_run, 1e-6);
        block_choose(&b, quick);
        measure(&b, quick ? 1 : ROUNDS);
        bench_close(&b);
    }
    return 0;
}
