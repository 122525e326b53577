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
#include "common/oct_ring.h"
#include "policy/policy_net.h"

#define SNAPSHOTS        2
#define PUBLICATIONS_MAX 64
#define IDLE_TIMEOUT_MS  200

struct snapshot {
    float *params;
    uint64_t updates;
    uint64_t env_steps;
};

// Observations to compare the two precisions on.
struct probe {
    uint32_t rows;
    float obs[];
};

struct quantizer_stage {
    quantizer_stage_options options;
    quantizer_notify_fn notify;
    void *arg;
    pthread_t thread;
    size_t params;
    struct snapshot snapshots[SNAPSHOTS];
    oct_ring *idle;    // snapshots: stage -> training thread
    oct_ring *offered; // snapshots: training thread -> stage
    oct_ring *ready;   // publications: stage -> loop
    oct_latest probe;  // loop -> stage
    atomic_uint_fast64_t failures;

    // stage thread only
    policy_image *image;
    policy_image *reference; // fp32, for the probe
    struct probe *probe_now;
    quantizer_method method;
    uint64_t version;
    float *last_params; // of the last published version
    uint64_t probed_ns;
};

quantizer_publication *
quantizer_publication_retain(quantizer_publication *publication)
{
    publication->references++;
    return publication;
}

void
quantizer_publication_release(quantizer_publication *publication)
{
    if (publication != NULL && --publication->references == 0) {
        free(publication->bytes);
        free(publication);
    }
}

// ---- probe

static uint32_t
row_argmax(const float *row, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (row[i] > row[best]) {
            best = i;
        }
    }
    return best;
}

static void
probe_compare(quantizer_publication *publication, const float *y, const float *want, uint32_t rows,
              uint32_t outputs)
{
    double difference = 0, norm = 0, worst = 0;
    uint32_t agreed = 0;
    for (size_t i = 0; i < (size_t)rows * outputs; i++) {
        double d = (double)y[i] - want[i];
        difference += d * d;
        norm += (double)want[i] * want[i];
        worst = OCT_MAX(worst, fabs(d));
    }
    for (uint32_t r = 0; r < rows; r++) {
        agreed += row_argmax(y + (size_t)r * outputs, outputs) ==
                  row_argmax(want + (size_t)r * outputs, outputs);
    }
    publication->probed = true;
    publication->agreement = (double)agreed / rows;
    publication->divergence = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    publication->divergence_max = worst;
}

// The published policy against the fp32 one, both run by the actors' own code.
static void
stage_probe(quantizer_stage *stage, quantizer_publication *publication, const float *params)
{
    struct probe *newer = oct_latest_take(&stage->probe);
    if (newer != NULL) {
        free(stage->probe_now);
        stage->probe_now = newer;
    }
    uint64_t now_ns = oct_clock_ns();
    bool due = (double)(now_ns - stage->probed_ns) * 1e-9 >= stage->options.probe_period_s;
    const struct probe *probe = stage->probe_now;
    if (probe == NULL || !due || stage->options.precision != POLICY_INT8) {
        return;
    }
    stage->probed_ns = now_ns;
    const policy_spec *spec = &stage->image->spec;
    policy_net *net = NULL, *reference = NULL;
    if (quantizer_convert(stage->reference, params, &stage->method) == OCT_OK &&
        policy_net_create(&net, stage->image, POLICY_ISA_BEST) == OCT_OK &&
        policy_net_create(&reference, stage->reference, POLICY_ISA_BEST) == OCT_OK) {
        uint32_t outputs = policy_spec_outputs(spec);
        policy_scratch *scratch = policy_scratch_create(spec, probe->rows);
        float *y = oct_alloc((size_t)probe->rows * outputs * 2 * sizeof(float));
        float *want = y + (size_t)probe->rows * outputs;
        size_t stride = spec->obs_count * sizeof(float);
        policy_forward(net, scratch, probe->obs, stride, probe->rows, y);
        policy_forward(reference, scratch, probe->obs, stride, probe->rows, want);
        probe_compare(publication, y, want, probe->rows, outputs);
        free(y);
        policy_scratch_destroy(scratch);
    }
    policy_net_destroy(net);
    policy_net_destroy(reference);
}

// ---- stage thread

static void
stage_publish(quantizer_stage *stage, const struct snapshot *snapshot)
{
    if (stage->version > stage->options.last_version &&
        memcmp(snapshot->params, stage->last_params, stage->params * sizeof(float)) == 0) {
        return;
    }
    uint64_t begin_ns = oct_clock_ns();
    if (quantizer_convert(stage->image, snapshot->params, &stage->method) != OCT_OK) {
        atomic_fetch_add_explicit(&stage->failures, 1, memory_order_relaxed);
        return;
    }
    quantizer_publication *publication = oct_alloc(sizeof(*publication));
    policy_origin *origin = &stage->image->origin;
    origin->version = stage->version + 1;
    origin->updates = snapshot->updates;
    origin->env_steps = snapshot->env_steps;
    publication->references = 1;
    publication->version = origin->version;
    publication->updates = snapshot->updates;
    publication->env_steps = snapshot->env_steps;
    publication->made_ns = begin_ns;
    publication->length = policy_encoded_size(stage->image);
    publication->bytes = oct_alloc(publication->length);
    policy_encode(stage->image, publication->bytes);
    publication->encode_s = (double)(oct_clock_ns() - begin_ns) * 1e-9;
    publication->layer_count = stage->image->spec.layer_count;
    if (stage->options.precision == POLICY_INT8) {
        quantizer_report(stage->image, snapshot->params, publication->error);
    }
    stage_probe(stage, publication, snapshot->params);
    uint64_t version = publication->version; // once pushed, it is the loop thread's
    if (oct_ring_push(stage->ready, publication) != OCT_OK) {
        quantizer_publication_release(publication); // the loop is behind: a later version follows
        return;
    }
    stage->version = version;
    memcpy(stage->last_params, snapshot->params, stage->params * sizeof(float));
    stage->notify(stage->arg);
}

static void *
stage_main(void *arg)
{
    quantizer_stage *stage = arg;
    for (;;) {
        void *item;
        oct_err err = oct_ring_pop_wait(stage->offered, &item, IDLE_TIMEOUT_MS);
        if (err == OCT_ECLOSED) {
            return NULL;
        }
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
        quantizer_publication_release(item);
    }
    for (int i = 0; i < SNAPSHOTS; i++) {
        free(stage->snapshots[i].params);
    }
    free(stage->last_params);
    free(stage->probe_now);
    free(oct_latest_take(&stage->probe));
    policy_image_destroy(stage->image);
    policy_image_destroy(stage->reference);
    oct_ring_destroy(stage->idle);
    oct_ring_destroy(stage->offered);
    oct_ring_destroy(stage->ready);
    free(stage);
}

oct_err
quantizer_stage_create(quantizer_stage **out, const quantizer_stage_options *options,
                       quantizer_notify_fn notify, void *arg)
{
    quantizer_stage *stage = oct_alloc(sizeof(*stage));
    stage->options = *options;
    stage->notify = notify;
    stage->arg = arg;
    stage->params = policy_spec_params(options->spec);
    stage->version = options->last_version;
    oct_latest_init(&stage->probe);
    stage->idle = oct_ring_create(SNAPSHOTS);
    stage->offered = oct_ring_create(SNAPSHOTS);
    stage->ready = oct_ring_create(PUBLICATIONS_MAX);
    stage->last_params = oct_alloc(stage->params * sizeof(float));
    for (int i = 0; i < SNAPSHOTS; i++) {
        stage->snapshots[i].params = oct_alloc(stage->params * sizeof(float));
        OCT_ASSERT(oct_ring_push(stage->idle, &stage->snapshots[i]) == OCT_OK);
    }
    oct_err err = policy_image_create(&stage->image, options->spec, options->precision);
    if (err == OCT_OK) {
        err = policy_image_create(&stage->reference, options->spec, POLICY_FP32);
    }
    if (err == OCT_OK) {
        stage->method = QUANTIZER_METHOD_DEFAULT;
        stage->method.per_tensor = options->per_tensor;
        stage->image->origin.run_id = options->run_id;
        stage->image->origin.eval_return = NAN;
        (void)snprintf(stage->image->origin.run_name, POLICY_NAME_MAX, "%s", options->run_name);
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
quantizer_stage_offer(quantizer_stage *stage, const float *params, uint64_t updates,
                      uint64_t env_steps)
{
    void *item;
    if (oct_ring_pop(stage->idle, &item) != OCT_OK) {
        return false;
    }
    struct snapshot *snapshot = item;
    memcpy(snapshot->params, params, stage->params * sizeof(float));
    snapshot->updates = updates;
    snapshot->env_steps = env_steps;
    OCT_ASSERT(oct_ring_push(stage->offered, snapshot) == OCT_OK);
    return true;
}

void
quantizer_stage_set_probe(quantizer_stage *stage, const float *obs, uint32_t rows)
{
    // A u8 policy reads bytes; its probe would need them, so it is not probed.
    if (rows == 0 || stage->options.spec->obs_dtype != POLICY_F32) {
        return;
    }
    size_t bytes = (size_t)rows * stage->options.spec->obs_count * sizeof(float);
    struct probe *probe = oct_alloc(sizeof(*probe) + bytes);
    probe->rows = rows;
    memcpy(probe->obs, obs, bytes);
    free(oct_latest_put(&stage->probe, probe));
}

quantizer_publication *
quantizer_stage_take(quantizer_stage *stage)
{
    void *item;
    return oct_ring_pop(stage->ready, &item) == OCT_OK ? item : NULL;
}

uint64_t
quantizer_stage_failures(const quantizer_stage *stage)
{
    return atomic_load_explicit(&stage->failures, memory_order_relaxed);
}
