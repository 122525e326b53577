// The learner's publishing stage. Three threads exchange pointers through rings:
//
//   training thread -- offered: snapshots --> stage thread -- ready: publications --> loop thread
//                   <-- idle: snapshots ----              <-- pool: publications ---
//
// 1. An offer takes an idle snapshot and copies parameters and scaling into it. It is declined if
//    no snapshot is idle (one of the two is in work, the other waits) or before open_ns, the time
//    up to which earlier publications have used up the budget.
// 2. The stage thread folds the first and the last layer and quantises into the image `next`.
//    Normally it updates `previous`, so that few codes change. It converts from scratch, which
//    makes a key frame, for its first publication, for new observation statistics, and if the offer
//    asks for it.
// 3. It gives the policy the next version and encodes it complete. It also encodes a delta against
//    `previous`, except for key frames, a changed audience, and every key_frame_period-th policy.
// 4. The publication gets the snapshot's buffer of parameters in exchange for its own, and goes to
//    the loop thread. `next` and `previous` exchange their roles, so each delta refers to the
//    publication before it.
// 5. The CPU time and the bytes of the publication move open_ns into the future. After the
//    publication is sent, so that no actor waits for it, the stage thread runs the probe, which has
//    its own budget.
//
// What failures lead to:
// - The ready ring is full, because the loop thread is behind: the snapshot is dropped before it
//   gets a version, and a later one is published instead.
// - A parameter is not finite: the snapshot is counted as a failure. No version is used up and
//   `previous` stays, so the chain continues with the next snapshot.
// - The policy equals `previous`: it is counted as unchanged. Its CPU
//   time is still charged.
// - The delta is not shorter than the complete policy: the publication has no delta; the chain
//   continues.
// - The probe has no observations yet, or fails: that version is not measured.
// - The stage is destroyed: the thread first works off what was offered. Publications that the loop
//   thread holds live until their last release (quantizer_pool.c).
#include "quantizer/quantizer_stage.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_latest.h"
#include "common/oct_pulse.h"
#include "common/oct_ring.h"
#include "policy/codec/codec_delta.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_pool.h"

#define SNAPSHOTS        2
#define PUBLICATIONS_MAX 16     // publications that wait for the loop thread
#define IDLE_TIMEOUT_MS  200    // so that the pulse of a waiting thread is renewed
#define PAUSE_NS_MAX     3.6e12 // one hour, the most that one publication delays the next

// A copy of the training state; the fields are those of quantizer_offer.
struct snapshot {
    float *params; // exchanged with the buffer of the publication that is made from it
    float *scale;  // [2][obs_count] mean and deviation; NULL: observations are not scaled
    uint64_t updates;
    uint64_t env_steps;
    bool noisy;
    bool from_scratch;
    uint32_t audience;
    uint64_t taken_ns; // oct_clock_ns of the offer
    uint64_t copy_ns;  // CPU time of the training thread for the copy
};

// The observations on which the two precisions are compared.
struct probe {
    uint32_t rows;
    float obs[];
};

struct quantizer_stage {
    quantizer_stage_options options;
    quantizer_notify_fn notify;
    void *arg;
    pthread_t thread;
    size_t params; // floats in a snapshot
    float *scale;  // training thread: [2][obs_count] of the next snapshot; NULL: no scaling
    struct snapshot snapshots[SNAPSHOTS];
    oct_ring *idle;    // snapshots: stage -> training thread
    oct_ring *offered; // snapshots: training thread -> stage
    oct_ring *ready;   // publications: stage -> loop
    quantizer_pool *pool;
    oct_latest probe;    // loop -> stage
    oct_latest measured; // quantizer_measurement: stage -> loop
    atomic_uint_fast64_t failures;
    atomic_uint_fast64_t unchanged;
    atomic_uint_fast64_t core_ns;
    atomic_uint_fast64_t open_ns; // oct_clock_ns before which offers are declined
    atomic_uint listeners;

    // stage thread only
    quantizer_method method;
    quantizer_fold *fold;
    quantizer_layers layers; // of the snapshot in work, folded
    policy_image *previous;  // the last publication, if chain > 0
    policy_image *next;      // the image in work
    policy_image *reference; // the fp32 policy for the probe; NULL: the stage publishes fp32, or an
                             // fp32 policy would be too large
    codec_coder *coder;      // NULL: no deltas
    uint64_t chain;          // count of publications of this stage
    uint32_t audience;       // of the last publication
    bool is_key_frame;       // next was converted from scratch
    uint64_t version;        // of the last publication; at first options.last_version
    struct probe *probe_now; // the newest observations; NULL: none yet
    uint64_t probed_ns;      // oct_clock_ns of the last measurement; 0: none yet
    uint64_t probe_open_ns;  // oct_clock_ns before which no measurement begins
    quantizer_layer_error error[POLICY_LAYERS_MAX]; // as last measured
};

// ---- probe

// Measures the errors of the weights if a measurement is due. Returns true if the divergence is to
// be measured, too; reference then is the fp32 policy that next was made from. This runs before the
// publication is sent, while the layers still borrow from the snapshot.
static bool
probe_begin(quantizer_stage *stage, uint64_t now_ns)
{
    double since_s = (double)(now_ns - stage->probed_ns) * 1e-9;
    bool first = stage->probed_ns == 0; // the clock may have begun less than a period ago
    bool due =
        (first || since_s >= stage->options.probe_period_s) && now_ns >= stage->probe_open_ns;
    if (!due || stage->reference == NULL) {
        return false;
    }
    quantizer_report_layers(stage->next, &stage->layers, stage->error);
    struct probe *newer = oct_latest_take(&stage->probe);
    if (newer != NULL) {
        free(stage->probe_now);
        stage->probe_now = newer;
    }
    if (stage->probe_now == NULL) {
        return false; // replay has not sent observations yet: the next version tries again
    }
    stage->probed_ns = now_ns;
    if (stage->reference->spec.normalise) {
        size_t bytes = stage->reference->spec.obs_count * sizeof(float);
        memcpy(stage->reference->obs_mean, stage->next->obs_mean, bytes);
        memcpy(stage->reference->obs_inverse_std, stage->next->obs_inverse_std, bytes);
    }
    return quantizer_convert_layers(stage->reference, &stage->layers, &stage->method) == OCT_OK;
}

// Measures the divergence of the published policy from the fp32 one and hands it to the loop
// thread, instead of an older measurement that was not taken.
static void
probe_run(quantizer_stage *stage, const policy_image *image)
{
    quantizer_measurement *measurement = oct_alloc(sizeof(*measurement));
    measurement->version = image->origin.version;
    if (quantizer_probe(&measurement->divergence, image, stage->reference, stage->probe_now->obs,
                        stage->probe_now->rows) != OCT_OK) {
        free(measurement);
        return;
    }
    free(oct_latest_put(&stage->measured, measurement));
    stage->notify(stage->arg);
}

// Delays the next measurement until this one is within probe_core_share.
static void
probe_pay(quantizer_stage *stage, uint64_t cpu_ns)
{
    if (stage->options.probe_core_share > 0) {
        stage->probe_open_ns =
            oct_clock_ns() + (uint64_t)((double)cpu_ns / stage->options.probe_core_share);
    }
}

// ---- budget

// Delays the next offer by the time in which the budget allows the CPU time and the bytes of a
// publication, the longer of the two. The delays of two publications in a row add up. A delay
// counts from the beginning of the work, so the work is part of it.
static void
budget_pay(quantizer_stage *stage, uint64_t begin_ns, uint64_t cpu_ns, size_t bytes)
{
    double pause_ns = 0;
    if (stage->options.core_share > 0) {
        pause_ns = (double)cpu_ns / stage->options.core_share;
    }
    if (stage->options.bytes_per_s > 0) {
        double sent = (double)bytes * atomic_load_explicit(&stage->listeners, memory_order_relaxed);
        pause_ns = OCT_MAX(pause_ns, sent / stage->options.bytes_per_s * 1e9);
    }
    uint64_t open_ns = atomic_load_explicit(&stage->open_ns, memory_order_relaxed);
    open_ns = OCT_MAX(open_ns, begin_ns) + (uint64_t)OCT_MIN(pause_ns, PAUSE_NS_MAX);
    atomic_store_explicit(&stage->open_ns, open_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&stage->core_ns, cpu_ns, memory_order_relaxed);
}

// ---- stage thread

// Returns true if next, whose observation statistics are set, cannot be an update of previous: it
// is the first publication, or previous has other statistics.
static bool
is_beginning(const quantizer_stage *stage)
{
    const policy_image *next = stage->next, *previous = stage->previous;
    size_t bytes = next->spec.normalise ? next->spec.obs_count * sizeof(float) : 0;
    return stage->chain == 0 ||
           (bytes > 0 && (memcmp(next->obs_mean, previous->obs_mean, bytes) != 0 ||
                          memcmp(next->obs_inverse_std, previous->obs_inverse_std, bytes) != 0));
}

// Quantises a snapshot into next. OCT_EAGAIN: the policy equals previous and need not be published.
// OCT_EINVAL: a parameter is not finite.
static oct_err
stage_quantise(quantizer_stage *stage, const struct snapshot *snapshot, quantizer_changes *changes)
{
    quantizer_scaling scaling = {0};
    if (snapshot->scale != NULL) {
        scaling.mean = snapshot->scale;
        scaling.deviation = snapshot->scale + stage->options.spec->obs_count;
    }
    const quantizer_scaling *used = snapshot->scale != NULL ? &scaling : NULL;
    stage->layers = quantizer_fold_layers(stage->fold, snapshot->params, used);
    quantizer_scaling_set(stage->next, used);
    stage->is_key_frame = snapshot->from_scratch || is_beginning(stage);
    if (stage->is_key_frame) {
        OCT_TRY(quantizer_convert_layers(stage->next, &stage->layers, &stage->method));
        *changes = (quantizer_changes){0};
        const policy_spec *spec = &stage->next->spec;
        for (uint32_t l = 0; l < spec->layer_count; l++) {
            changes->weights += policy_layer_weights(&spec->layers[l]);
            changes->scales += policy_layer_rows(&spec->layers[l]);
        }
        changes->codes = changes->weights;
        return OCT_OK;
    }
    OCT_TRY(quantizer_update_layers(stage->next, stage->previous, &stage->layers, &stage->method,
                                    changes));
    bool same = memcmp(stage->next->block, stage->previous->block, stage->next->block_bytes) == 0;
    return same && !stage->options.publish_all ? OCT_EAGAIN : OCT_OK;
}

// Encodes next complete, and as a delta against previous if the receivers have previous and the
// delta is shorter.
static void
stage_encode(quantizer_stage *stage, quantizer_publication *publication)
{
    bool same_audience = publication->audience == stage->audience;
    quantizer_pool_fit(publication, policy_encoded_size(stage->next));
    policy_encode(stage->next, publication->bytes);
    uint32_t period = stage->options.key_frame_period;
    bool key_frame =
        stage->is_key_frame || !same_audience || (period > 0 && stage->chain % period == 0);
    const uint8_t *delta;
    size_t length;
    if (stage->coder != NULL && !key_frame &&
        codec_delta_encode(stage->coder, stage->previous, stage->next, &delta, &length) == OCT_OK) {
        publication->base_version = stage->previous->origin.version;
        quantizer_pool_set_delta(publication, delta, length);
    }
}

// Sets origin and version of next and of its publication. stage->version changes when it is sent.
static void
stage_name(quantizer_stage *stage, const struct snapshot *snapshot,
           quantizer_publication *publication)
{
    policy_origin *origin = &stage->next->origin;
    origin->run_id = stage->options.run_id;
    origin->version = stage->version + 1;
    origin->base_version = 0;
    origin->updates = snapshot->updates;
    origin->env_steps = snapshot->env_steps;
    origin->eval_return = NAN;
    (void)snprintf(origin->run_name, POLICY_NAME_MAX, "%s", stage->options.run_name);
    publication->version = origin->version;
    publication->updates = snapshot->updates;
    publication->env_steps = snapshot->env_steps;
    publication->noisy = snapshot->noisy;
    publication->audience = snapshot->audience;
    publication->made_ns = snapshot->taken_ns;
    publication->layer_count = stage->next->spec.layer_count;
}

// Sends the publication to the loop thread, which owns it afterwards.
static void
stage_send(quantizer_stage *stage, quantizer_publication *publication)
{
    stage->version = publication->version;
    stage->audience = publication->audience;
    stage->chain++;
    OCT_ASSERT(oct_ring_push(stage->ready, publication) == OCT_OK); // there was room before
    stage->notify(stage->arg);
    policy_image *published = stage->next;
    stage->next = stage->previous;
    stage->previous = published;
}

static void
stage_publish(quantizer_stage *stage, struct snapshot *snapshot)
{
    if (oct_ring_count(stage->ready) == PUBLICATIONS_MAX) {
        return; // the loop thread is behind: drop this snapshot, a later one follows
    }
    uint64_t begin_ns = oct_clock_ns();
    uint64_t begin_cpu_ns = oct_clock_thread_cpu_ns() - snapshot->copy_ns; // charges the copy, too
    quantizer_changes changes;
    oct_err err = stage_quantise(stage, snapshot, &changes);
    if (err != OCT_OK) {
        atomic_fetch_add_explicit(err == OCT_EAGAIN ? &stage->unchanged : &stage->failures, 1,
                                  memory_order_relaxed);
        budget_pay(stage, begin_ns, oct_clock_thread_cpu_ns() - begin_cpu_ns, 0);
        return;
    }
    quantizer_publication *publication = quantizer_pool_make(stage->pool);
    publication->changes = changes;
    stage_name(stage, snapshot, publication);
    stage_encode(stage, publication);
    uint64_t end_ns = oct_clock_ns(), end_cpu_ns = oct_clock_thread_cpu_ns();
    publication->encode_s = (double)(end_ns - begin_ns) * 1e-9;
    bool probed = probe_begin(stage, end_ns);
    memcpy(publication->error, stage->error, sizeof(stage->error));
    float *params = publication->params;
    publication->params = snapshot->params;
    snapshot->params = params;
    budget_pay(stage, begin_ns, end_cpu_ns - begin_cpu_ns,
               publication->delta != NULL ? publication->delta_length : publication->length);
    stage_send(stage, publication);
    if (probed) {
        probe_run(stage, stage->previous);
        probe_pay(stage, oct_clock_thread_cpu_ns() - end_cpu_ns);
    }
}

// The stage's thread. It ends when the offered ring is closed and empty.
static void *
stage_main(void *arg)
{
    quantizer_stage *stage = arg;
    for (;;) {
        void *item;
        oct_pulse_beat(OCT_PULSE_ENCODE, OCT_PULSE_WAITS);
        oct_err err = oct_ring_pop_wait(stage->offered, &item, IDLE_TIMEOUT_MS);
        if (err == OCT_ECLOSED) {
            oct_pulse_beat(OCT_PULSE_ENCODE, OCT_PULSE_ABSENT);
            return NULL;
        }
        oct_pulse_beat(OCT_PULSE_ENCODE, OCT_PULSE_WORKS);
        if (err == OCT_OK) {
            stage_publish(stage, item);
            OCT_ASSERT(oct_ring_push(stage->idle, item) == OCT_OK);
        }
    }
}

// ---- the other threads

static void
stage_release(quantizer_stage *stage)
{
    void *item;
    while (oct_ring_pop(stage->ready, &item) == OCT_OK) {
        quantizer_pool_discard(item);
    }
    quantizer_pool_close(stage->pool);
    for (int i = 0; i < SNAPSHOTS; i++) {
        free(stage->snapshots[i].params);
        free(stage->snapshots[i].scale);
    }
    free(stage->scale);
    quantizer_fold_destroy(stage->fold);
    free(stage->probe_now);
    free(oct_latest_take(&stage->probe));
    free(oct_latest_take(&stage->measured));
    policy_image_destroy(stage->previous);
    policy_image_destroy(stage->next);
    policy_image_destroy(stage->reference);
    codec_coder_destroy(stage->coder);
    oct_ring_destroy(stage->idle);
    oct_ring_destroy(stage->offered);
    oct_ring_destroy(stage->ready);
    free(stage);
}

static oct_err
stage_images(quantizer_stage *stage)
{
    const quantizer_stage_options *options = &stage->options;
    OCT_TRY(policy_image_create(&stage->previous, options->spec, options->precision));
    OCT_TRY(policy_image_create(&stage->next, options->spec, options->precision));
    if (options->delta && policy_is_integer(options->precision)) {
        stage->coder = codec_coder_create(options->spec, options->precision);
    }
    if (options->precision == POLICY_FP32) {
        return OCT_OK;
    }
    if (policy_image_create(&stage->reference, options->spec, POLICY_FP32) != OCT_OK) {
        stage->reference = NULL; // larger than POLICY_BYTES_MAX: the stage works without a probe
    }
    return OCT_OK;
}

// Returns mean 0 and deviation 1 for each entry, or NULL if the spec has no normalise.
static float *
scale_create(const policy_spec *spec)
{
    if (!spec->normalise) {
        return NULL;
    }
    float *scale = oct_alloc(2 * (size_t)spec->obs_count * sizeof(float));
    for (uint32_t i = 0; i < spec->obs_count; i++) {
        scale[spec->obs_count + i] = 1.0f;
    }
    return scale;
}

oct_err
quantizer_stage_create(quantizer_stage **out, const quantizer_stage_options *options,
                       quantizer_notify_fn notify, void *arg)
{
    quantizer_stage *stage = oct_alloc(sizeof(*stage));
    stage->options = *options;
    stage->method = options->method != NULL ? *options->method : QUANTIZER_METHOD_DEFAULT;
    stage->notify = notify;
    stage->arg = arg;
    stage->params = policy_spec_params(options->spec);
    stage->version = options->last_version;
    atomic_init(&stage->listeners, 1);
    oct_latest_init(&stage->probe);
    oct_latest_init(&stage->measured);
    stage->idle = oct_ring_create(SNAPSHOTS);
    stage->offered = oct_ring_create(SNAPSHOTS);
    stage->ready = oct_ring_create(PUBLICATIONS_MAX);
    stage->pool = quantizer_pool_create(stage->params);
    stage->fold = quantizer_fold_create(options->spec, options->precision);
    stage->scale = scale_create(options->spec);
    for (int i = 0; i < SNAPSHOTS; i++) {
        stage->snapshots[i].params = oct_alloc(stage->params * sizeof(float));
        stage->snapshots[i].scale = scale_create(options->spec);
        OCT_ASSERT(oct_ring_push(stage->idle, &stage->snapshots[i]) == OCT_OK);
    }
    oct_err err = stage_images(stage);
    if (err == OCT_OK) {
        err = pthread_create(&stage->thread, NULL, stage_main, stage) == 0 ? OCT_OK : OCT_EIO;
    }
    if (err != OCT_OK) {
        stage_release(stage);
        return err;
    }
    *out = stage;
    return OCT_OK;
}

void
quantizer_stage_destroy(quantizer_stage *stage)
{
    if (stage == NULL) {
        return;
    }
    oct_ring_close(stage->offered);
    (void)pthread_join(stage->thread, NULL);
    stage_release(stage);
}

bool
quantizer_stage_is_open(const quantizer_stage *stage)
{
    return oct_clock_ns() >= atomic_load_explicit(&stage->open_ns, memory_order_relaxed) &&
           oct_ring_count(stage->idle) > 0;
}

bool
quantizer_stage_offer_to(quantizer_stage *stage, const quantizer_offer *offer)
{
    uint64_t now_ns = oct_clock_ns();
    uint64_t open_ns = atomic_load_explicit(&stage->open_ns, memory_order_relaxed);
    void *item;
    if ((now_ns < open_ns && !offer->last) || oct_ring_pop(stage->idle, &item) != OCT_OK) {
        return false;
    }
    struct snapshot *snapshot = item;
    uint64_t begin_cpu_ns = oct_clock_thread_cpu_ns();
    memcpy(snapshot->params, offer->params, stage->params * sizeof(float));
    if (stage->scale != NULL) {
        memcpy(snapshot->scale, stage->scale,
               2 * (size_t)stage->options.spec->obs_count * sizeof(float));
    }
    snapshot->updates = offer->updates;
    snapshot->env_steps = offer->env_steps;
    snapshot->noisy = offer->noisy;
    snapshot->from_scratch = offer->from_scratch;
    snapshot->audience = offer->audience;
    snapshot->taken_ns = now_ns;
    snapshot->copy_ns = oct_clock_thread_cpu_ns() - begin_cpu_ns;
    OCT_ASSERT(oct_ring_push(stage->offered, snapshot) == OCT_OK);
    return true;
}

bool
quantizer_stage_offer(quantizer_stage *stage, const float *params, uint64_t updates,
                      uint64_t env_steps)
{
    return quantizer_stage_offer_to(
        stage, &(quantizer_offer){.params = params, .updates = updates, .env_steps = env_steps});
}

// Takes all snapshots from the idle ring, which works once the stage's thread has returned them,
// and puts them back.
void
quantizer_stage_settle(quantizer_stage *stage)
{
    void *held[SNAPSHOTS];
    for (int i = 0; i < SNAPSHOTS; i++) {
        while (oct_ring_pop_wait(stage->idle, &held[i], IDLE_TIMEOUT_MS) != OCT_OK) {
        }
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        OCT_ASSERT(oct_ring_push(stage->idle, held[i]) == OCT_OK);
    }
}

void
quantizer_stage_set_scaling(quantizer_stage *stage, const quantizer_scaling *scaling)
{
    if (stage->scale != NULL) {
        size_t count = stage->options.spec->obs_count;
        memcpy(stage->scale, scaling->mean, count * sizeof(float));
        memcpy(stage->scale + count, scaling->deviation, count * sizeof(float));
    }
}

void
quantizer_stage_set_probe(quantizer_stage *stage, const float *obs, uint32_t rows)
{
    if (rows == 0 || stage->options.precision == POLICY_FP32) {
        return;
    }
    size_t bytes = (size_t)rows * stage->options.spec->obs_count * sizeof(float);
    struct probe *probe = oct_alloc(sizeof(*probe) + bytes);
    probe->rows = rows;
    memcpy(probe->obs, obs, bytes);
    free(oct_latest_put(&stage->probe, probe));
}

void
quantizer_stage_set_listeners(quantizer_stage *stage, uint32_t count)
{
    atomic_store_explicit(&stage->listeners, count, memory_order_relaxed);
}

quantizer_publication *
quantizer_stage_take(quantizer_stage *stage)
{
    void *item;
    if (oct_ring_pop(stage->ready, &item) != OCT_OK) {
        return NULL;
    }
    quantizer_pool_taken(stage->pool);
    return item;
}

bool
quantizer_stage_take_measurement(quantizer_stage *stage, quantizer_measurement *out)
{
    quantizer_measurement *measurement = oct_latest_take(&stage->measured);
    if (measurement == NULL) {
        return false;
    }
    *out = *measurement;
    free(measurement);
    return true;
}

uint64_t
quantizer_stage_failures(const quantizer_stage *stage)
{
    return atomic_load_explicit(&stage->failures, memory_order_relaxed);
}

uint64_t
quantizer_stage_unchanged(const quantizer_stage *stage)
{
    return atomic_load_explicit(&stage->unchanged, memory_order_relaxed);
}

double
quantizer_stage_core_s(const quantizer_stage *stage)
{
    return (double)atomic_load_explicit(&stage->core_ns, memory_order_relaxed) * 1e-9;
}
