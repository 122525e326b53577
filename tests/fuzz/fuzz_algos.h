#ifndef TESTS_FUZZ_FUZZ_ALGOS_H
#define TESTS_FUZZ_FUZZ_ALGOS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algos/algo.h"
#include "algos/algo_external.h"
#include "common/oct_base.h"

// A small experiment for every algorithm of the table, and for its parts that are saved or fed in
// another way; inputs refer to them by number. Made once and kept to the end.

#define FUZZ_ALGO_PARTS 7
#define FUZZ_ALGOS      (CONFIG_ALGOS + FUZZ_ALGO_PARTS)
#define FUZZ_ALGO_B     2 // windows of a batch
#define FUZZ_ALGO_STEPS 3
#define FUZZ_ALGO_T_MAX 8 // rows of sequences and rollouts

typedef struct fuzz_algo {
    config_experiment config;
    policy_spec spec;
    algo_wants wants;
    algo *a;
    uint32_t T; // of its batches; 0: n-step windows
} fuzz_algo;

static inline void
fuzz_algo_set(fuzz_algo *experiment, const char *assignment)
{
    char message[256];
    oct_err err = config_set(&experiment->config, assignment, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK);
}

// Actions one of two, or two in a box.
static inline policy_spec
fuzz_algo_environment(bool is_box)
{
    policy_spec spec = {
        .env_id = "Fuzz-v0",
        .obs_dtype = is_box ? POLICY_F32 : POLICY_U8,
        .obs_count = 3,
        .obs_rank = 1,
        .obs_shape = {3},
        .action_kind = is_box ? POLICY_BOX : POLICY_DISCRETE,
        .action_count = 2,
    };
    for (uint32_t i = 0; is_box && i < spec.action_count; i++) {
        spec.action_low[i] = -2;
        spec.action_high[i] = 2;
    }
    return spec;
}

static inline bool
fuzz_algo_make(fuzz_algo *experiment, bool is_box)
{
    experiment->spec = fuzz_algo_environment(is_box);
    return algo_make_spec(&experiment->config, &experiment->spec, &experiment->wants, NULL) ==
           OCT_OK;
}

// Who learns where the algorithm leaves that to another process. Priorities are made of the batch's
// numbers: those that are not sound are refused.
static inline oct_err
fuzz_algo_answer(void *arg, const algo_batch *batch, float learning_rate,
                 algo_external_answer *answer)
{
    (void)arg;
    (void)learning_rate;
    answer->has_priorities = batch->T == 0;
    for (uint32_t i = 0; answer->has_priorities && i < batch->B; i++) {
        answer->priorities[i] = fabsf(batch->reward[i]) + batch->discount[i];
    }
    return OCT_OK;
}

static inline void
fuzz_algo_init(fuzz_algo *experiment, uint32_t number)
{
    static const struct {
        config_algo_name name;
        bool is_box;
        const char *settings[3];
    } parts[FUZZ_ALGO_PARTS] = {
        {CONFIG_ALGO_DQN, false, {"algo.dueling=true"}},
        {CONFIG_ALGO_DQN,
         false,
         {"algo.noisy=true", "algo.dueling=true", "algo.distributional=true"}},
        {CONFIG_ALGO_REINFORCE, true, {NULL}},
        {CONFIG_ALGO_PPO,
         true,
         {"algo.scale_rewards=true", "algo.value_clip=0.2", "algo.kl_max=0"}},
        {CONFIG_ALGO_A2C, true, {"algo.scale_rewards=true", "algo.normalise_observations=true"}},
        {CONFIG_ALGO_TRPO, true, {"algo.correction=decoupled"}},
        {CONFIG_ALGO_D4PG, true, {"algo.normalise_observations=true"}},
    };
    char steps[64];
    bool is_part = number >= CONFIG_ALGOS;
    config_default(&experiment->config);
    (void)snprintf(steps, sizeof(steps), "algo.sequence_steps=%d", FUZZ_ALGO_STEPS);
    fuzz_algo_set(experiment, steps);
    fuzz_algo_set(experiment, "network.hidden=[3]");
    fuzz_algo_set(experiment, "algo.atoms=3");
    fuzz_algo_set(experiment, "algo.minibatches=2");
    fuzz_algo_set(experiment, "algo.epochs=2");
    fuzz_algo_set(experiment, "algo.kl_max=0.1");
    experiment->config.learner.batch_size = FUZZ_ALGO_B;
    experiment->config.algo.name =
        is_part ? parts[number - CONFIG_ALGOS].name : (config_algo_name)number;
    for (int i = 0; is_part && i < 3 && parts[number - CONFIG_ALGOS].settings[i] != NULL; i++) {
        fuzz_algo_set(experiment, parts[number - CONFIG_ALGOS].settings[i]);
    }
    bool is_made = is_part ? fuzz_algo_make(experiment, parts[number - CONFIG_ALGOS].is_box)
                           : fuzz_algo_make(experiment, false) || fuzz_algo_make(experiment, true);
    OCT_ASSERT(is_made);
    experiment->T = experiment->wants.window == ALGO_WINDOW_N_STEP ? 0 : experiment->wants.steps;
    OCT_ASSERT(experiment->T <= FUZZ_ALGO_T_MAX);
    oct_err err = algo_create(&experiment->a, NULL, &experiment->config, &experiment->spec, 1);
    OCT_ASSERT(err == OCT_OK);
    if (experiment->config.algo.name == CONFIG_ALGO_EXTERNAL) {
        algo_external_set_learner(experiment->a,
                                  &(algo_external_learner){.learn = fuzz_algo_answer});
    }
}

static inline fuzz_algo *
fuzz_algo_get(uint32_t number)
{
    static fuzz_algo all[FUZZ_ALGOS];
    fuzz_algo *experiment = &all[number % FUZZ_ALGOS];
    if (experiment->a == NULL) {
        fuzz_algo_init(experiment, number % FUZZ_ALGOS);
    }
    return experiment;
}

// Flags of a window of T rows: one episode, which ends, or is cut, after so many steps.
static inline void
fuzz_algo_flags(uint8_t *flags, uint32_t T, uint32_t steps, uint8_t how)
{
    memset(flags, ALGO_END, T);
    memset(flags, 0, OCT_MIN(steps, T));
    flags[0] |= ALGO_FIRST | ALGO_ROLLOUT;
    if (steps < T) {
        flags[steps - 1] |= how;
    }
}

// algo_save, malloc'd.
static inline uint8_t *
fuzz_algo_save(const algo *a, size_t *length)
{
    oct_writer measure = {0};
    algo_save(a, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used), .capacity = measure.used};
    algo_save(a, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
    *length = writer.used;
    return writer.base;
}

#endif // TESTS_FUZZ_FUZZ_ALGOS_H
