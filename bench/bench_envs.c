// Steps/s of every native environment on one thread, with random actions and autoreset, 64 stepped
// together; and how many times a step of CartPole-v1, the baseline, one of its steps takes: the two
// alternate, so that a busy machine slows both. Rates are per second of CPU time. First, 64
// environments together have to do what each does alone. usage: bench_envs [quick]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_sort.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "common/oct_rng.h"
#include "envs/env.h"

#define ENVS        64
#define ACTION_SETS 256
#define REPEATS_MAX 21
#define BASELINE    "CartPole-v1"

struct stepper {
    env *e;
    octet_env_io io;
    uint32_t action_bytes;
    uint8_t *actions; // [ACTION_SETS][ENVS][action_bytes]
};

static void
actions_draw(struct stepper *s)
{
    const octet_env_space *space = &env_spec(s->e)->action;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (size_t i = 0; i < (size_t)ACTION_SETS * ENVS; i++) {
        uint8_t *row = s->actions + i * s->action_bytes;
        if (space->n > 0) {
            uint32_t action = oct_rng_below(&rng, space->n);
            memcpy(row, &action, sizeof(action));
        } else {
            for (uint32_t k = 0; k < env_space_count(space); k++) {
                float action = 2 * oct_rng_float(&rng) - 1;
                memcpy(row + k * sizeof(action), &action, sizeof(action));
            }
        }
    }
}

static void
stepper_open(struct stepper *s, const char *id, uint32_t count, uint64_t seed)
{
    oct_reason why;
    env_request request = {
        .id = id, .options = "", .count = count, .seed = seed, .autoreset = true};
    *s = (struct stepper){0};
    if (env_open(&s->e, &request, &why) != OCT_OK) {
        fprintf(stderr, "bench_envs: %s\n", why.text);
        exit(1);
    }
    uint32_t obs_bytes = env_space_bytes(&env_spec(s->e)->obs);
    s->action_bytes = env_space_bytes(&env_spec(s->e)->action);
    s->actions = oct_alloc((size_t)ACTION_SETS * ENVS * s->action_bytes);
    actions_draw(s);
    s->io = (octet_env_io){.size = sizeof(s->io),
                           .action_stride = s->action_bytes,
                           .obs = oct_alloc((size_t)count * obs_bytes),
                           .obs_stride = obs_bytes,
                           .final_obs = oct_alloc((size_t)count * obs_bytes),
                           .final_obs_stride = obs_bytes,
                           .reward = oct_alloc(count * sizeof(float)),
                           .flags = oct_alloc(count)};
    OCT_ASSERT(env_reset(s->e, NULL, NULL, &s->io) == OCT_OK);
}

static void
stepper_close(struct stepper *s)
{
    env_close(s->e);
    free(s->actions);
    free(s->io.obs);
    free(s->io.final_obs);
    free(s->io.reward);
    free(s->io.flags);
}

// Step t with the actions of environment first on.
static void
stepper_step(struct stepper *s, uint32_t t, uint32_t first)
{
    size_t set = t % ACTION_SETS;
    s->io.action = s->actions + (set * ENVS + first) * s->action_bytes;
    OCT_ASSERT(env_step(s->e, &s->io) == OCT_OK);
}

static void
check(const char *id)
{
    struct stepper all, one;
    stepper_open(&all, id, ENVS, 9);
    for (uint32_t t = 0; t < ACTION_SETS; t++) {
        stepper_step(&all, t, 0);
    }
    for (uint32_t i = 0; i < ENVS; i += 21) {
        stepper_open(&one, id, 1, 9 + i);
        for (uint32_t t = 0; t < ACTION_SETS; t++) {
            stepper_step(&one, t, i);
        }
        const uint8_t *row = (const uint8_t *)all.io.obs + (size_t)i * all.io.obs_stride;
        if (memcmp(row, one.io.obs, one.io.obs_stride) != 0 ||
            all.io.reward[i] != one.io.reward[0] || all.io.flags[i] != one.io.flags[0]) {
            fprintf(stderr,
                    "bench_envs: %s: environment %" PRIu32 " does not do what it does "
                    "alone\n",
                    id, i);
            exit(1);
        }
        stepper_close(&one);
    }
    stepper_close(&all);
}

static double
ns_of_a_step(struct stepper *s, uint32_t batches)
{
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    for (uint32_t t = 0; t < batches; t++) {
        stepper_step(s, t, 0);
    }
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) / ((double)batches * ENVS);
}

static void
bench(const char *id, int repeats, uint32_t batches)
{
    struct stepper it, baseline;
    double ns[REPEATS_MAX], ratio[REPEATS_MAX];
    stepper_open(&it, id, ENVS, 1);
    stepper_open(&baseline, BASELINE, ENVS, 1);
    (void)ns_of_a_step(&it, ACTION_SETS); // not all episodes begin at once any more
    for (int r = 0; r < repeats; r++) {
        double base = ns_of_a_step(&baseline, batches);
        ns[r] = ns_of_a_step(&it, batches);
        ratio[r] = ns[r] / base;
    }
    double step_ns = bench_median(ns, repeats);
    printf("%-26s %6" PRIu32 " bytes  %7.1f ns a step  %6.2f M steps/s  %5.2f x " BASELINE "\n", id,
           it.io.obs_stride, step_ns, 1e3 / step_ns, bench_median(ratio, repeats));
    stepper_close(&it);
    stepper_close(&baseline);
}

int
main(int argc, char **argv)
{
    bool is_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    for (const char *const *id = env_ids(); *id != NULL; id++) {
        check(*id);
    }
    for (const char *const *id = env_ids(); *id != NULL; id++) {
        bench(*id, is_quick ? 1 : REPEATS_MAX, is_quick ? 64 : 4096);
    }
    return 0;
}
