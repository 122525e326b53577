// Publishing: turns the weights of a snapshot into a publication for the actors.
#include "learner/learner_publisher.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "common/oct_reason.h"
#include "quantizer/quantizer_project.h"

#define PROBE_CORE_SHARE 0.02

static policy_precision
precision_of(const config_experiment *config)
{
    static const policy_precision all[] = {
        [CONFIG_PRECISION_INT8] = POLICY_INT8, [CONFIG_PRECISION_FP32] = POLICY_FP32,
        [CONFIG_PRECISION_BF16] = POLICY_BF16, [CONFIG_PRECISION_FP16] = POLICY_FP16,
        [CONFIG_PRECISION_INT4] = POLICY_INT4,
    };
    return all[config->policy.precision];
}

static quantizer_range
range_of(const config_experiment *config)
{
    static const quantizer_range all[] = {
        [CONFIG_RANGE_ABSMAX] = QUANTIZER_ABSMAX,
        [CONFIG_RANGE_PERCENTILE] = QUANTIZER_PERCENTILE,
        [CONFIG_RANGE_MSE] = QUANTIZER_MSE,
    };
    return all[config->policy.range];
}

// The count of updates from which a version was made.
typedef struct version_kept {
    uint64_t version; // entry number is version modulo LEARNER_VERSIONS_KEPT; 0: empty
    uint64_t updates;
} version_kept;

struct learner_publisher {
    const config_experiment *config;
    struct projection *projection; // NULL: not quantisation-aware
    quantizer_observed *observed;  // NULL: observations are not scaled; the training thread owns it
    quantizer_stage *stage;        // NULL before begin
    quantizer_publication *latest; // what actors run
    quantizer_publication *before; // what an earlier process published
    quantizer_publication *policy; // the newest without noise
    quantizer_publication *newest[CONFIG_NOISY_SAMPLES_MAX + 1]; // by audience; entry 0 is unused
    learner_publishing publishing;
    uint64_t first_updates; // of the first publication
    bool diverges; // a divergence was logged, and has not fallen since (learner_publisher_rises)
    version_kept versions[LEARNER_VERSIONS_KEPT];
};

const char *
learner_publisher_precision(const learner_publisher *publisher)
{
    return policy_precision_name(precision_of(publisher->config));
}

learner_publisher *
learner_publisher_create(const config_experiment *config)
{
    learner_publisher *publisher = oct_alloc(sizeof(*publisher));
    publisher->config = config;
    learner_publishing *publishing = &publisher->publishing;
    publishing->fp32_bytes = NAN;
    publishing->bytes = publishing->ratio = publishing->changed_share = NAN;
    publishing->encode_ms = publishing->weight_error = NAN;
    for (int l = 0; l < POLICY_LAYERS_MAX; l++) {
        publishing->layer_error[l] = NAN;
    }
    publishing->divergence = (quantizer_divergence){
        .relative_l2 = NAN, .max_abs = NAN, .agreement = NAN, .kl = NAN, .action_l2 = NAN};
    return publisher;
}

static void projection_end(learner_publisher *publisher);

void
learner_publisher_destroy(learner_publisher *publisher)
{
    if (publisher == NULL) {
        return;
    }
    projection_end(publisher);
    quantizer_publication_release(publisher->latest);
    quantizer_publication_release(publisher->before);
    quantizer_publication_release(publisher->policy);
    learner_publisher_forget(publisher, 0);
    quantizer_stage_destroy(publisher->stage);
    free(publisher);
}

static quantizer_method
method_of(const config_experiment *config)
{
    return (quantizer_method){
        .range = range_of(config),
        .percentile = config->policy.percentile,
        .per_tensor = config->policy.scale == CONFIG_SCALE_TENSOR,
        .dead_band = (float)config->policy.dead_band,
        .drift = (float)config->policy.drift,
    };
}

// ---- quantisation-aware training

struct projection {
    quantizer_projector *projector;
    const quantizer_observed *observed; // NULL: observations are not scaled
    quantizer_method method;
    size_t params;
};

// Parameters that are not finite pass through unchanged: the update then finds that its loss is not
// finite.
static void
projection_project(void *arg, const float *params, float *out)
{
    struct projection *projection = arg;
    quantizer_scaling scaling = {0};
    if (projection->observed != NULL) {
        scaling = quantizer_observed_scaling(projection->observed);
    }
    if (quantizer_project(projection->projector, &projection->method,
                          projection->observed != NULL ? &scaling : NULL, params, out) != OCT_OK) {
        memcpy(out, params, projection->params * sizeof(float));
    }
}

static void
projection_end(learner_publisher *publisher)
{
    if (publisher->projection != NULL) {
        quantizer_projector_destroy(publisher->projection->projector);
        free(publisher->projection);
        publisher->projection = NULL;
    }
    quantizer_observed_destroy(publisher->observed);
    publisher->observed = NULL;
}

oct_err
learner_publisher_project(learner_publisher *publisher, const policy_spec *spec, algo *algorithm)
{
    projection_end(publisher); // it belongs to an actor that could not register
    if (spec->normalise) {
        publisher->observed = quantizer_observed_create(spec->obs_count);
    }
    if (!publisher->config->learner.quantisation_aware) {
        return OCT_OK;
    }
    struct projection *projection = oct_alloc(sizeof(*projection));
    projection->method = method_of(publisher->config);
    projection->params = policy_spec_params(spec);
    projection->observed = publisher->observed;
    oct_err err =
        quantizer_projector_create(&projection->projector, spec, precision_of(publisher->config));
    if (err != OCT_OK) {
        free(projection);
        return err;
    }
    publisher->projection = projection;
    algo_set_projection(algorithm,
                        &(algo_projection){.arg = projection, .project = projection_project});
    return OCT_OK;
}

size_t
learner_publisher_fold_bytes(const config_experiment *config, const policy_spec *spec)
{
    size_t bytes = quantizer_fold_bytes(spec, precision_of(config));
    return config->learner.quantisation_aware ? 2 * bytes : bytes;
}

quantizer_observed *
learner_publisher_observed(const learner_publisher *publisher)
{
    return publisher->observed;
}

// ---- publishing

oct_err
learner_publisher_check(const config_experiment *config, const policy_spec *spec, oct_reason *why)
{
    policy_image measured = {.spec = *spec, .precision = precision_of(config)};
    size_t bytes = policy_encoded_size(&measured) + POLICY_NAME_MAX;
    if (bytes > POLICY_BYTES_MAX) {
        return oct_refuse(
            why,
            "network.hidden: a policy of %zu bytes in %s exceeds the limit of %u; make "
            "the layers smaller, or lower policy.precision",
            bytes, policy_precision_name(measured.precision), POLICY_BYTES_MAX);
    }
    return OCT_OK;
}

oct_err
learner_publisher_begin(learner_publisher *publisher, const learner_publisher_options *begin)
{
    const config_experiment *config = publisher->config;
    quantizer_method method = method_of(config);
    bool is_paced = config_actors_wait(config);
    quantizer_stage_options options = {
        .spec = begin->spec,
        .precision = precision_of(config),
        .method = &method,
        .delta = config->policy.delta,
        .key_frame_period = config->policy.key_frame_period,
        .run_id = begin->run_id,
        .run_name = begin->run_name,
        .last_version = begin->last_version,
        .publish_all = is_paced,
        .core_share = is_paced ? 0 : config->learner.publish_core_share,
        .bytes_per_s = is_paced ? 0 : config->learner.publish_bytes_per_s,
        .probe_period_s = config->learner.metrics_s,
        .probe_core_share = PROBE_CORE_SHARE,
    };
    publisher->publishing.fp32_bytes = (double)policy_spec_params(begin->spec) * sizeof(float);
    return quantizer_stage_create(&publisher->stage, &options, begin->notify, begin->arg);
}

quantizer_stage *
learner_publisher_stage(const learner_publisher *publisher)
{
    return publisher->stage;
}

// ---- publications

bool
learner_publisher_rises(double relative, double limit, bool *above)
{
    bool rises = limit > 0 && relative > limit && !*above;
    *above = rises || (*above && !(relative < limit / 2));
    return rises;
}

static void
divergence_note(learner_publisher *publisher, const quantizer_measurement *measurement)
{
    double limit = publisher->config->learner.divergence_warn;
    double relative = measurement->divergence.relative_l2;
    publisher->publishing.divergence = measurement->divergence;
    if (learner_publisher_rises(relative, limit, &publisher->diverges)) {
        bool is_scaled = publisher->config->policy.scale_observations;
        oct_log_warn("LEARNER-DIVERGENCE",
                     "version=%" PRIu64
                     " precision=%s divergence=%.3g learner.divergence_warn=%.3g: actors may act "
                     "worse than the fp32 policy; %smore bits (policy.precision) or "
                     "learner.quantisation_aware reduce the difference",
                     measurement->version, learner_publisher_precision(publisher), relative, limit,
                     is_scaled ? "" : "policy.scale_observations, ");
    }
}

static void
publication_note(learner_publisher *publisher, const quantizer_publication *publication)
{
    learner_publishing *publishing = &publisher->publishing;
    bool is_delta = publication->delta != NULL;
    if (publishing->publications++ == 0) {
        publisher->first_updates = publication->updates;
    }
    publisher->versions[publication->version % LEARNER_VERSIONS_KEPT] =
        (version_kept){publication->version, publication->updates};
    publishing->deltas += is_delta;
    publishing->bytes = (double)(is_delta ? publication->delta_length : publication->length);
    publishing->ratio = publishing->bytes / publishing->fp32_bytes;
    publishing->published_bytes += publishing->bytes;
    publishing->encode_ms = publication->encode_s * 1e3;
    const quantizer_changes *changes = &publication->changes;
    publishing->changed_share =
        changes->weights > 0 ? (double)changes->codes / (double)changes->weights : NAN;
    publishing->weight_error = 0;
    for (uint32_t l = 0; l < publication->layer_count; l++) {
        double error = (double)publication->error[l].relative_l2;
        publishing->layer_error[l] = error;
        publishing->weight_error = OCT_MAX(publishing->weight_error, error);
    }
}

const quantizer_publication *
learner_publisher_take(learner_publisher *publisher)
{
    if (publisher->stage == NULL) {
        return NULL;
    }
    quantizer_measurement measurement;
    if (quantizer_stage_take_measurement(publisher->stage, &measurement)) {
        divergence_note(publisher, &measurement);
    }
    quantizer_publication *publication = quantizer_stage_take(publisher->stage);
    if (publication == NULL) {
        return NULL;
    }
    publication_note(publisher, publication);
    quantizer_publication_release(publisher->latest);
    publisher->latest = publication;
    if (!publication->noisy) {
        quantizer_publication_release(publisher->policy);
        publisher->policy = quantizer_publication_retain(publication);
    }
    if (publication->audience > 0) {
        quantizer_publication **newest = &publisher->newest[publication->audience];
        quantizer_publication_release(*newest);
        *newest = quantizer_publication_retain(publication);
    }
    return publication;
}

void
learner_publisher_restore(learner_publisher *publisher, quantizer_publication *publication)
{
    OCT_ASSERT(publisher->latest == NULL && publisher->before == NULL);
    publisher->before = quantizer_publication_retain(publication);
}

quantizer_publication *
learner_publisher_newest(const learner_publisher *publisher, uint32_t audience)
{
    if (publisher->latest == NULL) {
        return publisher->before;
    }
    if (audience == 0) {
        return publisher->latest;
    }
    quantizer_publication *newest = publisher->newest[audience];
    return newest != NULL ? newest : publisher->policy;
}

void
learner_publisher_forget(learner_publisher *publisher, uint64_t samples)
{
    for (uint32_t s = 0; s < CONFIG_NOISY_SAMPLES_MAX; s++) {
        if ((samples >> s & 1) == 0) {
            quantizer_publication_release(publisher->newest[s + 1]);
            publisher->newest[s + 1] = NULL;
        }
    }
}

bool
learner_publisher_is_rare(learner_publisher *publisher, uint32_t updates_at_once)
{
    if (publisher->publishing.publications != LEARNER_INTERVAL_VERSIONS + 1) {
        return false;
    }
    uint64_t updates = publisher->latest->updates - publisher->first_updates;
    return updates >= (uint64_t)updates_at_once * LEARNER_INTERVAL_MAX * LEARNER_INTERVAL_VERSIONS;
}

quantizer_publication *
learner_publisher_latest(const learner_publisher *publisher)
{
    return publisher->latest;
}

quantizer_publication *
learner_publisher_policy(const learner_publisher *publisher)
{
    return publisher->policy;
}

uint64_t
learner_publisher_version(const learner_publisher *publisher)
{
    const quantizer_publication *newest = learner_publisher_newest(publisher, 0);
    return newest != NULL ? newest->version : 0;
}

double
learner_publisher_updates_of(const learner_publisher *publisher, uint64_t version)
{
    const version_kept *kept = &publisher->versions[version % LEARNER_VERSIONS_KEPT];
    return version > 0 && kept->version == version ? (double)kept->updates : NAN;
}

learner_publishing
learner_publisher_counts(const learner_publisher *publisher)
{
    learner_publishing publishing = publisher->publishing;
    if (publisher->stage != NULL) {
        publishing.refused = quantizer_stage_failures(publisher->stage);
        publishing.unchanged = quantizer_stage_unchanged(publisher->stage);
        publishing.core_s = quantizer_stage_core_s(publisher->stage);
    }
    return publishing;
}
