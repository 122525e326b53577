// Finished fp32 policies quantised with and without the learner's steps at publication.
// usage: bench_quantisation_ways [episodes=N] [seed=S] [env=ID] POLICY...
//
// For each policy: int8 and int4, on observations as they are and scaled by the statistics that the
// policy carries, values as they are and less what all actions share, with and without corrected
// biases, each played on the same episodes as fp32. One JSON line each: the mean return, its mean
// difference to fp32 episode by episode with the standard error, and how far outputs and actions
// are from fp32 on observations of fp32's episodes. The weights without scaling are those that were
// trained: deviations are powers of two.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actor_evaluate.h"
#include "bench/bench_must.h"
#include "cli/cli_observe.h"
#include "common/oct_base.h"
#include "common/oct_commit.h"
#include "common/oct_reason.h"
#include "common/oct_spread.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_calibrate.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_ptq.h"

#define PROBE_ROWS 4096
#define ENVS       16

typedef struct ways_options {
    const char *env_id; // NULL: the policy's own
    uint32_t episodes;
    uint64_t seed;
} ways_options;

typedef struct way {
    policy_precision precision;
    quantizer_range range;
    bool calibrated;
    bool scaled;
    bool centred;
} way;

// A finished policy as it was trained, and what it is played with.
typedef struct finished {
    const char *path;
    const char *env_id;
    policy_image *fp32;          // as the file has it
    float *params;               // of raw observations
    float *deviation;            // [obs_count]
    bool is_scaled;              // the file's observations are
    quantizer_reservoir *probe;  // observations of the episodes that are played
    quantizer_reservoir *others; // of ten other ones, to scale and to calibrate by
    float *fp32_returns;         // [episodes]
    float *returns;              // [episodes]
} finished;

static const char *const range_names[] = {"absmax", "percentile", "mse"};

// Plays image on the episodes that all ways share; probe NULL: observations are not kept.
static void
play(const finished *f, const ways_options *options, const policy_image *image,
     quantizer_reservoir *probe, actor_evaluate_result *result)
{
    oct_reason why = {""};
    policy_net *net;
    bench_must(policy_net_create(&net, image, POLICY_ISA_BEST), "policy_net_create");
    actor_evaluate_request request = {
        .env_id = f->env_id,
        .options = "",
        .episodes = options->episodes,
        .envs = OCT_MIN(ENVS, options->episodes),
        .seed = options->seed,
        .observe = probe != NULL ? cli_observe_row : NULL,
        .observe_arg = probe,
    };
    if (actor_evaluate(net, &request, result, &why) != OCT_OK) {
        fprintf(stderr, "%s: %s\n", f->path, why.text);
        exit(1);
    }
    policy_net_destroy(net);
}

static quantizer_scaling
scaling_of(const finished *f)
{
    return (quantizer_scaling){.mean = f->fp32->obs_mean, .deviation = f->deviation};
}

// ---- policies

static policy_image *
load(const char *path)
{
    oct_reason why;
    policy_image *image;
    if (policy_file_load(&image, path, &why) != OCT_OK) {
        bench_give_up(path, why.text);
    }
    if (image->precision != POLICY_FP32) {
        bench_give_up(path, "needed is a policy of precision fp32");
    }
    return image;
}

// Replaces a policy that was trained without statistics by the same one with those of its own
// observations.
static void
scale(finished *f)
{
    policy_image *scaled;
    bench_must(quantizer_ptq_scale(&scaled, f->fp32, f->others), "quantizer_ptq_scale");
    policy_image_destroy(f->fp32);
    f->fp32 = scaled;
}

static void
observe(finished *f, uint64_t seed)
{
    oct_reason why = {""};
    f->others = quantizer_reservoir_create(&f->fp32->spec, PROBE_ROWS, seed);
    cli_observed of;
    if (cli_observe(&of, f->others, f->fp32, f->env_id, "", ~seed, &why) != OCT_OK) {
        bench_give_up(f->path, why.text);
    }
}

// The parameters of raw observations: scaling undone, nothing was centred.
static void
unscale(finished *f)
{
    const policy_spec *spec = &f->fp32->spec;
    f->params = oct_alloc(policy_spec_params(spec) * sizeof(float));
    f->deviation = oct_alloc(spec->obs_count * sizeof(float));
    quantizer_dequantize(f->fp32, f->params);
    if (f->is_scaled) {
        for (uint32_t i = 0; i < spec->obs_count; i++) {
            f->deviation[i] = 1.0f / f->fp32->obs_inverse_std[i];
        }
        quantizer_scaling scaling = scaling_of(f);
        quantizer_fold *fold = quantizer_fold_create(spec, POLICY_FP32);
        quantizer_unfold(fold, &scaling, f->params);
        quantizer_fold_destroy(fold);
    }
}

static finished
finished_open(const char *path, const ways_options *options)
{
    finished f = {.path = path, .fp32 = load(path)};
    f.env_id = options->env_id != NULL ? options->env_id : f.fp32->spec.env_id;
    observe(&f, options->seed);
    if (!f.fp32->spec.normalise && quantizer_is_scalable(&f.fp32->spec)) {
        scale(&f);
    }
    f.is_scaled = f.fp32->spec.normalise;
    unscale(&f);
    f.probe = quantizer_reservoir_create(&f.fp32->spec, PROBE_ROWS, options->seed);
    f.fp32_returns = oct_alloc(options->episodes * sizeof(float));
    f.returns = oct_alloc(options->episodes * sizeof(float));
    return f;
}

static void
finished_close(finished *f)
{
    quantizer_reservoir_destroy(f->probe);
    quantizer_reservoir_destroy(f->others);
    policy_image_destroy(f->fp32);
    free(f->params);
    free(f->deviation);
    free(f->fp32_returns);
    free(f->returns);
}

// A fold that centres has the precision that ships, one that does not is of fp32.
static policy_image *
convert(const finished *f, const way *w)
{
    quantizer_method method = QUANTIZER_METHOD_DEFAULT;
    method.range = w->range;
    quantizer_scaling scaling = scaling_of(f);
    const quantizer_scaling *used = w->scaled ? &scaling : NULL;
    policy_image *image;
    bench_must(policy_image_create(&image, &f->fp32->spec, w->precision), "policy_image_create");
    quantizer_fold *fold =
        quantizer_fold_create(&f->fp32->spec, w->centred ? w->precision : POLICY_FP32);
    quantizer_layers layers = quantizer_fold_layers(fold, f->params, used);
    quantizer_scaling_set(image, used);
    bench_must(quantizer_convert_layers(image, &layers, &method), "quantizer_convert_layers");
    quantizer_fold_destroy(fold);
    if (w->calibrated) {
        quantizer_calibrate(image, f->fp32, quantizer_reservoir_rows(f->others),
                            quantizer_reservoir_count(f->others));
    }
    return image;
}

// ---- measurements

static void
print_way(const finished *f, const ways_options *options, const way *w,
          const actor_evaluate_result *result, const quantizer_divergence *far)
{
    uint32_t n = options->episodes;
    oct_paired change = oct_paired_of(f->returns, f->fp32_returns, n);
    bool discrete = f->fp32->spec.action_kind == POLICY_DISCRETE;
    printf("{\"bench\":\"quantisation_ways\",\"commit\":\"%s\",\"policy\":\"%s\",\"env\":\"%s\","
           "\"precision\":\"%s\",\"range\":\"%s\",\"calibrated\":%s,\"scaled\":%s,\"centred\":%s,"
           "\"episodes\":%u,"
           "\"return\":%.3f,\"std\":%.3f,\"least\":%.3f,\"change\":%.3f,\"change_error\":%.3f,"
           "\"agreement\":%.5f,\"outputs\":%.5f,\"%s\":%.4g}\n",
           OCT_COMMIT, f->path, f->env_id, policy_precision_name(w->precision),
           range_names[w->range], w->calibrated ? "true" : "false", w->scaled ? "true" : "false",
           w->centred ? "true" : "false", n, result->mean, result->std, result->min, change.mean,
           change.error, far->agreement, far->relative_l2, discrete ? "kl" : "actions",
           discrete ? far->kl : far->action_l2);
    (void)fflush(stdout);
}

static void
measure(const finished *f, const ways_options *options, const way *w)
{
    actor_evaluate_result result = {.returns = f->returns};
    quantizer_divergence far;
    policy_image *image = convert(f, w);
    play(f, options, image, NULL, &result);
    bench_must(quantizer_probe(&far, image, f->fp32, quantizer_reservoir_rows(f->probe),
                               quantizer_reservoir_count(f->probe)),
               "quantizer_probe");
    print_way(f, options, w, &result, &far);
    policy_image_destroy(image);
}

static void
measure_all(const char *path, const ways_options *options)
{
    static const way ways[] = {
        {.precision = POLICY_INT8},
        {.precision = POLICY_INT8, .calibrated = true},
        {.precision = POLICY_INT4},
        {.precision = POLICY_INT4, .range = QUANTIZER_MSE},
        {.precision = POLICY_INT4, .range = QUANTIZER_MSE, .calibrated = true},
    };
    finished f = finished_open(path, options);
    actor_evaluate_result result = {.returns = f.fp32_returns};
    play(&f, options, f.fp32, f.probe, &result);
    printf("{\"bench\":\"quantisation_ways\",\"commit\":\"%s\",\"policy\":\"%s\",\"env\":\"%s\","
           "\"precision\":\"fp32\",\"episodes\":%u,\"return\":%.3f,\"std\":%.3f,\"least\":%.3f}\n",
           OCT_COMMIT, path, f.env_id, options->episodes, result.mean, result.std, result.min);
    bool discrete = f.fp32->spec.action_kind == POLICY_DISCRETE;
    for (size_t i = 0; i < OCT_COUNTOF(ways); i++) {
        for (int scaled = 0; scaled <= f.is_scaled; scaled++) {
            for (int centred = 0; centred <= discrete; centred++) {
                way w = ways[i];
                w.scaled = scaled != 0;
                w.centred = centred != 0;
                measure(&f, options, &w);
            }
        }
    }
    finished_close(&f);
}

int
main(int argc, char **argv)
{
    ways_options options = {.episodes = 100, .seed = 900001};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "episodes=", 9) == 0) {
            options.episodes = (uint32_t)OCT_MAX(strtoul(argv[i] + 9, NULL, 10), 1);
        } else if (strncmp(argv[i], "seed=", 5) == 0) {
            options.seed = strtoull(argv[i] + 5, NULL, 10);
        } else if (strncmp(argv[i], "env=", 4) == 0) {
            options.env_id = argv[i] + 4;
        } else {
            measure_all(argv[i], &options);
        }
    }
    return 0;
}
