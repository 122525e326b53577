#ifndef TESTS_QUANTIZER_STAGE_FIXTURE_H
#define TESTS_QUANTIZER_STAGE_FIXTURE_H

#include <pthread.h>
#include <stdlib.h>

#include "common/oct_reason.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_stage.h"
#include "tests/policy/random_policy.h"

// A small stage. The test is both its training thread and its loop thread; it waits for
// notifications with a condition, never with time.

static pthread_mutex_t stage_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stage_woken = PTHREAD_COND_INITIALIZER;
static policy_spec spec;
static size_t param_count;

static inline void
stage_notify(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&stage_mutex);
    pthread_cond_signal(&stage_woken);
    pthread_mutex_unlock(&stage_mutex);
}

// Nothing is measured unless the options say so.
static inline quantizer_stage_options
stage_options(policy_precision precision)
{
    static const uint32_t widths[] = {4, 48, 3};
    spec = random_spec(widths, 3, POLICY_RELU, false);
    param_count = policy_spec_params(&spec);
    return (quantizer_stage_options){
        .spec = &spec,
        .precision = precision,
        .delta = true,
        .run_id = 77,
        .run_name = "a run",
    };
}

static inline quantizer_stage *
stage_open(const quantizer_stage_options *options)
{
    quantizer_stage *stage = NULL;
    T_OK(quantizer_stage_create(&stage, options, stage_notify, NULL));
    return stage;
}

static inline quantizer_stage *
stage_begin(policy_precision precision, uint64_t last_version)
{
    quantizer_stage_options options = stage_options(precision);
    options.last_version = last_version;
    return stage_open(&options);
}

static inline quantizer_publication *
stage_next(quantizer_stage *stage)
{
    quantizer_publication *publication;
    pthread_mutex_lock(&stage_mutex);
    while ((publication = quantizer_stage_take(stage)) == NULL) {
        pthread_cond_wait(&stage_woken, &stage_mutex);
    }
    pthread_mutex_unlock(&stage_mutex);
    return publication;
}

static inline quantizer_measurement
stage_measurement(quantizer_stage *stage)
{
    quantizer_measurement measurement;
    pthread_mutex_lock(&stage_mutex);
    while (!quantizer_stage_take_measurement(stage, &measurement)) {
        pthread_cond_wait(&stage_woken, &stage_mutex);
    }
    pthread_mutex_unlock(&stage_mutex);
    return measurement;
}

static inline void
offer(quantizer_stage *stage, const float *params, uint64_t updates)
{
    while (!quantizer_stage_offer(stage, params, updates, 10 * updates)) {
    }
}

static inline float *
params_of(uint64_t seed)
{
    oct_rng rng;
    float *params = oct_alloc(param_count * sizeof(float));
    oct_rng_init(&rng, seed, 0);
    random_floats(params, param_count, 1, &rng);
    return params;
}

static inline policy_image *
publication_decode(const quantizer_publication *publication)
{
    oct_reason why = {""};
    policy_image *image = NULL;
    T_OK(policy_decode(&image, publication->bytes, publication->length, &why));
    return image;
}

#endif // TESTS_QUANTIZER_STAGE_FIXTURE_H
