#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "learner/learner_run_state.h"
#include "quantizer/quantizer_project.h"

#define PROBE_CORE_SHARE 0.02

static policy_precision
precision_of(const oct_config *config)
{
    static const policy_precision all[] = {
        [OCT_PRECISION_INT8] = POLICY_INT8, [OCT_PRECISION_FP32] = POLICY_FP32,
        [OCT_PRECISION_BF16] = POLICY_BF16, [OCT_PRECISION_FP16] = POLICY_FP16,
        [OCT_PRECISION_INT4] = POLICY_INT4,
    };
    return all[config->policy.precision];
}

static quantizer_range
range_of(const oct_config *config)
{
    static const quantizer_range all[] = {
        [OCT_RANGE_ABSMAX] = QUANTIZER_ABSMAX,
        [OCT_RANGE_PERCENTILE] = QUANTIZER_PERCENTILE,
        [OCT_RANGE_MSE] = QUANTIZER_MSE,
    };
    return all[config->policy.range];
}

const char *
learner_policy_precision(const learner_run *run)
{
    return policy_precision_name(precision_of(run->config));
}

void
learner_policy_init(learner_run *run)
{
    learner_publishing *publishing = &run->publishing;
    publishing->bytes = publishing->ratio = publishing->changed_share = NAN;
    publishing->encode_ms = publishing->weight_error = NAN;
    for (int l = 0; l < POLICY_LAYERS_MAX; l++) {
        publishing->layer_error[l] = NAN;
    }
    publishing->divergence = (quantizer_divergence){
        .relative_l2 = NAN, .max_abs = NAN, .agreement = NAN, .kl = NAN, .action_l2 = NAN};
}

static quantizer_method
method_of(const oct_config *config)
{
    return (quantizer_method){
        .range = range_of(config),
        .percentile = config->policy.percentile,
        .per_tensor = config->policy.scale == OCT_SCALE_TENSOR,
        .dead_band = (float)config->policy.dead_band,
        .drift = (float)config->policy.drift,
    };
}

// ---- quantisation-aware training

struct learner_projection {
    quantizer_projector *projector;
    const quantizer_observed *observed; // NULL: observations are not scaled
    quantizer_method method;
    size_t params;
};

// Parameters that are not finite go through as they are: the update then sees that its loss is not.
static void
projection_project(void *arg, const float *params, float *out)
{
    struct learner_projection *projection = arg;
    quantizer_scaling scaling = {0};
    if (projection->observed != NULL) {
        scaling = quantizer_observed_scaling(projection->observed);
    }
    if (quantizer_project(projection->projector, &projection->method,
                          projection->observed != NULL ? &scaling : NULL, params, out) != OCT_OK) {
        memcpy(out, params, projection->params * sizeof(float));
    }
}

oct_err
learner_policy_project(learner_run *run, algo *algorithm)
{
    learner_policy_end(run); // of an actor that could not join
    if (run->spec.normalise) {
        run->observed = quantizer_observed_create(run->spec.obs_count);
    }
    if (!run->config->learner.quantisation_aware) {
        return OCT_OK;
    }
    struct learner_projection *projection = oct_alloc(sizeof(*projection));
    projection->method = method_of(run->config);
    projection->params = policy_spec_params(&run->spec);
    projection->observed = run->observed;
    oct_err err =
        quantizer_projector_create(&projection->projector, &run->spec, precision_of(run->config));
    if (err != OCT_OK) {
        free(projection);
        return err;
    }
    run->projection = projection;
    algo_set_projection(algorithm,
                        &(algo_projection){.arg = projection, .project = projection_project});
    return OCT_OK;
}

void
learner_policy_end(learner_run *run)
{
    if (run->projection != NULL) {
        quantizer_projector_destroy(run->projection->projector);
        free(run->projection);
        run->projection = NULL;
    }
    quantizer_observed_destroy(run->observed);
    run->observed = NULL;
}

// ---- publishing

oct_err
learner_policy_check(const learner_run *run, char *reason, size_t reason_size)
{
    policy_image measured = {.spec = run->spec, .precision = precision_of(run->config)};
    size_t bytes = policy_encoded_size(&measured) + POLICY_NAME_MAX;
    if (bytes > POLICY_BYTES_MAX) {
        (void)snprintf(reason, reason_size,
                       "a policy of %zu bytes in %s is more than one may have (%u): make "
                       "network.hidden smaller, or policy.precision",
                       bytes, policy_precision_name(measured.precision), POLICY_BYTES_MAX);
        return OCT_EINVAL;
    }
    return OCT_OK;
}

oct_err
learner_policy_begin(learner_run *run)
{
    const oct_config *config = run->config;
    quantizer_method method = method_of(config);
    quantizer_stage_options options = {
        .spec = &run->spec,
        .precision = precision_of(config),
        .method = &method,
        .delta = config->policy.delta,
        .key_frame_period = config->policy.key_frame_period,
        .run_id = run->run_id,
        .run_name = run->run_name,
        .last_version = run->resumed.policy_version,
        .core_share = config->learner.publish_core_share,
        .bytes_per_s = config->learner.publish_bytes_per_s,
        .probe_period_s = config->learner.metrics_s,
        .probe_core_share = PROBE_CORE_SHARE,
    };
    run->publishing.fp32_bytes = (double)policy_spec_params(&run->spec) * sizeof(float);
    return quantizer_stage_create(&run->stage, &options, run->options.notify, run->options.arg);
}

// ---- publications

bool
learner_policy_rises(double relative, double limit, bool *above)
{
    bool rises = limit > 0 && relative > limit && !*above;
    *above = rises || (*above && !(relative < limit / 2));
    return rises;
}

static void
divergence_note(learner_run *run, const quantizer_measurement *measurement)
{
    double limit = run->config->learner.divergence_warn;
    double relative = measurement->divergence.relative_l2;
    run->publishing.divergence = measurement->divergence;
    if (learner_policy_rises(relative, limit, &run->diverges)) {
        oct_log_warn("LEARNER-DIVERGENCE",
                     "version=%" PRIu64
                     " precision=%s divergence=%.3g learner.divergence_warn=%.3g: "
                     "actors may act worse than what was learned. policy.scale_observations, more "
                     "bits (policy.precision) or learner.quantisation_aware bring them together",
                     measurement->version, learner_policy_precision(run), relative, limit);
    }
}

static void
publication_note(learner_run *run, const quantizer_publication *publication)
{
    learner_publishing *publishing = &run->publishing;
    bool is_delta = publication->delta != NULL;
    run->publications++;
    run->versions[publication->version % LEARNER_VERSIONS_KEPT] =
        (learner_version){publication->version, publication->updates};
    publishing->deltas += is_delta;
    publishing->bytes = (double)(is_delta ? publication->delta_length : publication->length);
    publishing->ratio = publishing->bytes / publishing->fp32_bytes;
    run->published_bytes += publishing->bytes;
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
learner_run_publish(learner_run *run)
{
    if (run->stage == NULL) {
        return NULL;
    }
    quantizer_measurement measurement;
    if (quantizer_stage_take_measurement(run->stage, &measurement)) {
        divergence_note(run, &measurement);
    }
    quantizer_publication *publication = quantizer_stage_take(run->stage);
    if (publication == NULL) {
        return NULL;
    }
    learner_files_reserve(run, publication->version);
    publication_note(run, publication);
    quantizer_publication_release(run->latest);
    run->latest = publication;
    if (!publication->noisy) {
        quantizer_publication_release(run->policy);
        run->policy = quantizer_publication_retain(publication);
        learner_evals_newest(run->evals, publication);
    }
    return publication;
}

const quantizer_publication *
learner_run_latest(const learner_run *run)
{
    return run->latest;
}
