// Batches on their way: free ones are promised to requests, filled from replay's answers, put
// before the training thread, and come back with their priorities.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_clock.h"
#include "common/oct_log.h"
#include "learner/learner_run_state.h"

#define PROBE_PERIOD_NS  1000000000u
#define PRIORITY_BATCHES 16

void
learner_batches_begin(learner_run *run)
{
    uint32_t B = run->config->learner.batch_size;
    run->batch_count =
        OCT_MAX(2u, run->config->learner.prefetch) + run->config->learner.batches_per_request;
    run->batches = oct_alloc(run->batch_count * sizeof(*run->batches));
    run->free_batches = oct_alloc(run->batch_count * sizeof(*run->free_batches));
    for (uint32_t i = 0; i < run->batch_count; i++) {
        run->batches[i] = learner_batch_create(&run->spec, B, 0);
        run->free_batches[run->free_count++] = run->batches[i];
    }
    run->priority_room = PRIORITY_BATCHES * B;
    run->priority_key = oct_alloc(run->priority_room * sizeof(uint64_t));
    run->priority = oct_alloc(run->priority_room * sizeof(float));
}

void
learner_batches_end(learner_run *run)
{
    for (uint32_t i = 0; i < run->batch_count; i++) {
        learner_batch_destroy(run->batches[i]);
    }
    free(run->batches);
    free(run->free_batches);
    free(run->priority_key);
    free(run->priority);
}

uint32_t
learner_run_reserve(learner_run *run)
{
    if (run->phase != LEARNER_TRAINING || run->free_count <= run->reserved) {
        return 0;
    }
    uint32_t room =
        OCT_MIN(run->free_count - run->reserved, run->config->learner.batches_per_request);
    run->reserved += room;
    return room;
}

void
learner_run_missed(learner_run *run, uint32_t reserved)
{
    OCT_ASSERT(run->reserved >= reserved);
    run->reserved -= reserved;
}

void
learner_run_sampled(learner_run *run, uint32_t reserved, const wire_sampled *sampled)
{
    learner_run_missed(run, reserved);
    if (run->phase != LEARNER_TRAINING) {
        return;
    }
    bool same_replay = run->incarnation == sampled->incarnation;
    bool fresh = run->incarnation == 0 && run->env_steps_base == 0;
    if ((same_replay || fresh) && sampled->inserts > run->inserts) {
        run->inserted += sampled->inserts - run->inserts;
    }
    if (!same_replay) {
        run->priority_count = 0; // keys of another process
    }
    run->replay_size = sampled->size;
    run->inserts = sampled->inserts;
    run->samples = sampled->samples;
    run->incarnation = sampled->incarnation;
    uint32_t B = run->config->learner.batch_size;
    if (sampled->count > 0 && run->first_sample_ns == 0) {
        run->first_sample_ns = oct_clock_ns();
    }
    double exponent = learner_importance_exponent(run->config, learner_run_env_steps(run));
    for (uint32_t first = 0; first + B <= sampled->count && run->free_count > 0; first += B) {
        learner_batch *batch = run->free_batches[run->free_count - 1];
        oct_err err = learner_batch_fill(batch, &run->spec, sampled, first, exponent);
        if (err != OCT_OK) {
            if (run->bad_samples++ == 0) {
                oct_log_warn("LEARNER-BAD-SAMPLE",
                             "replay's answer does not fit: %s; more of these are only counted",
                             oct_strerror(err));
            }
            return;
        }
        run->free_count--;
        learner_train_put(run->train, batch);
        if (oct_clock_ns() - run->probe_ns > PROBE_PERIOD_NS) {
            run->probe_ns = oct_clock_ns();
            quantizer_stage_set_probe(learner_publisher_stage(run->publisher), batch->obs,
                                      OCT_MIN(B, run->config->learner.probe_rows));
        }
    }
}

// Why an update is not finite: first of all, observations whose squares no float holds.
static void
batch_refused(learner_run *run, const learner_batch *batch)
{
    run->refused_obs = 0;
    for (size_t i = 0; i < (size_t)batch->view.B * run->spec.obs_count; i++) {
        double magnitude = fabs((double)batch->view.obs[i]);
        if (magnitude > run->refused_obs) {
            run->refused_obs = magnitude;
            run->refused_obs_index = (uint32_t)(i % run->spec.obs_count);
        }
    }
}

static void
batch_learned(learner_run *run, learner_batch *batch)
{
    uint32_t B = batch->view.B;
    run->free_batches[run->free_count++] = batch;
    run->updates = batch->updates;
    if (!batch->learned) {
        batch_refused(run, batch);
        return;
    }
    const algo_result *result = &batch->result;
    learner_means_update(&run->report.means,
                         (float[]){result->loss, result->td_abs, result->value, result->grad_norm,
                                   result->policy_grad_norm});
    if (run->config->replay.sampler != OCT_SAMPLER_PRIORITIZED ||
        batch->incarnation != run->incarnation || run->priority_count + B > run->priority_room) {
        return;
    }
    memcpy(run->priority_key + run->priority_count, batch->key, B * sizeof(uint64_t));
    memcpy(run->priority + run->priority_count, batch->priority, B * sizeof(float));
    run->priority_count += B;
}

void
learner_run_collect(learner_run *run)
{
    if (run->train == NULL) {
        return;
    }
    learner_batch *batch;
    while ((batch = learner_train_take(run->train)) != NULL) {
        batch_learned(run, batch);
    }
    learner_state_bytes *state = learner_train_take_state(run->train);
    if (state != NULL) {
        learner_files_checkpoint(run, state, true);
    }
}

bool
learner_run_priorities(learner_run *run, wire_priorities *out)
{
    if (run->priority_count == 0) {
        return false;
    }
    *out = (wire_priorities){
        .incarnation = run->incarnation,
        .count = run->priority_count,
        .key = run->priority_key,
        .priority = run->priority,
    };
    run->priority_count = 0;
    return true;
}
