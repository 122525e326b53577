#ifndef TESTS_LEARNER_LEARNER_FIXTURE_H
#define TESTS_LEARNER_LEARNER_FIXTURE_H

#include <pthread.h>

#include "common/oct_rng.h"
#include "config/config.h"
#include "policy/policy_spec.h"
#include "proto/wire_replay.h"
#include "tests/support/oct_test.h"

// A small experiment, a replay that answers at once, and a bell that the learner's threads ring.

enum { FIXTURE_OBS = 4, FIXTURE_ACTIONS = 2, FIXTURE_ROWS_MAX = 64, FIXTURE_B = 8 };

typedef struct fixture_bell {
    pthread_mutex_t mutex;
    pthread_cond_t rung;
    int rings;
} fixture_bell;

#define FIXTURE_BELL                                                                               \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .rung = PTHREAD_COND_INITIALIZER                       \
    }

static inline void
fixture_ring(void *arg)
{
    fixture_bell *bell = arg;
    (void)pthread_mutex_lock(&bell->mutex);
    bell->rings++;
    (void)pthread_cond_signal(&bell->rung);
    (void)pthread_mutex_unlock(&bell->mutex);
}

static inline void
fixture_listen(fixture_bell *bell)
{
    (void)pthread_mutex_lock(&bell->mutex);
    while (bell->rings == 0) {
        (void)pthread_cond_wait(&bell->rung, &bell->mutex);
    }
    bell->rings = 0;
    (void)pthread_mutex_unlock(&bell->mutex);
}

static inline config_experiment
fixture_config(void)
{
    config_experiment config;
    config_default(&config);
    (void)snprintf(config.env.id, sizeof(config.env.id), "Fixture-v0");
    config.run.seed = 3;
    config.run.env_steps = 100000;
    config.run.stop_at_return = NAN;
    config.network.hidden = (config_ints){.count = 1, .value = {16}};
    config.learner.batch_size = FIXTURE_B;
    config.learner.prefetch = 4;
    config.learner.batches_per_request = 2;
    config.learner.publish_period = 1;
    config.learner.publish_s_min = 0;
    config.learner.checkpoint_s = 0;
    config.learner.metrics_s = 3600;
    config.evaluation.episodes = 4;
    config.evaluation.screen_episodes = 2;
    config.evaluation.period_s = 0;
    return config;
}

static inline policy_spec
fixture_spec(uint32_t obs_count, uint32_t action_count)
{
    return (policy_spec){.obs_dtype = POLICY_F32,
                         .obs_count = obs_count,
                         .action_kind = POLICY_DISCRETE,
                         .action_count = action_count,
                         .head = POLICY_HEAD_VALUES};
}

// Random windows, the same for the same rng.
typedef struct fixture_rows {
    float obs[FIXTURE_ROWS_MAX][FIXTURE_OBS], next[FIXTURE_ROWS_MAX][FIXTURE_OBS];
    float reward[FIXTURE_ROWS_MAX], discount[FIXTURE_ROWS_MAX], probability[FIXTURE_ROWS_MAX];
    int32_t action[FIXTURE_ROWS_MAX];
    uint64_t key[FIXTURE_ROWS_MAX];
} fixture_rows;

static inline wire_sampled
fixture_sampled(fixture_rows *rows, uint32_t count, oct_rng *rng)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int k = 0; k < FIXTURE_OBS; k++) {
            rows->obs[i][k] = 2 * oct_rng_float(rng) - 1;
            rows->next[i][k] = 2 * oct_rng_float(rng) - 1;
        }
        rows->reward[i] = oct_rng_float(rng);
        rows->discount[i] = i % 5 == 0 ? 0 : 0.9f;
        rows->probability[i] = 0.001f + 0.001f * oct_rng_float(rng);
        rows->action[i] = (int32_t)oct_rng_below(rng, FIXTURE_ACTIONS);
        rows->key[i] = oct_rng_u64(rng);
    }
    return (wire_sampled){
        .incarnation = 9,
        .configured = true,
        .count = count,
        .obs_bytes = sizeof(rows->obs[0]),
        .action_bytes = 4,
        .obs = (const uint8_t *)rows->obs,
        .next = (const uint8_t *)rows->next,
        .action = (const uint8_t *)rows->action,
        .reward = rows->reward,
        .discount = rows->discount,
        .probability = rows->probability,
        .key = rows->key,
        .size = 1000,
        .inserts = 1000,
        .samples = 8000,
    };
}

#endif // TESTS_LEARNER_LEARNER_FIXTURE_H
