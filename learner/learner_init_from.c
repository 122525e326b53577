// Starts a run with the layers of another run or of a policy file.
#include "learner/learner_init_from.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algos/algo_transfer.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "learner/learner_average.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_environment.h"
#include "policy/policy_file.h"
#include "quantizer/quantizer_fold.h"

#define LINE_BYTES    512
#define MESSAGE_BYTES 1024

typedef struct init {
    algo *a;
    const policy_spec *spec;
    const char *path;
    quantizer_observed *observed;
    learner_init_from_fn tell;
    void *arg;
    oct_reason *why;
} init;

bool
learner_init_from_is_wanted(const config_experiment *config)
{
    return strcmp(config->learner.init_from, "none") != 0;
}

void
learner_init_from_frozen(const config_experiment *config, learner_init_from_fn tell, void *arg)
{
    const config_ints *freeze = &config->learner.freeze;
    char line[LINE_BYTES];
    oct_text text;
    oct_text_init(&text, line, sizeof(line));
    oct_text_add(&text, "policy layers that do not learn:");
    for (uint32_t i = 0; i < freeze->count; i++) {
        oct_text_add(&text, "%s %u", i > 0 ? "," : "", freeze->value[i]);
    }
    if (freeze->count > 0) {
        tell(arg, line);
    }
}

static void
tell_layer(void *arg, const algo_taken *taken)
{
    const init *in = arg;
    char line[LINE_BYTES], name[32];
    switch (taken->part) {
    case ALGO_TAKEN_LAYER:
        (void)snprintf(name, sizeof(name), "layer %u", taken->layer);
        break;
    case ALGO_TAKEN_DEVIATION:
        (void)snprintf(name, sizeof(name), "log deviations");
        break;
    case ALGO_TAKEN_STATISTICS:
        (void)snprintf(name, sizeof(name), "of normalised observations");
        break;
    }
    (void)snprintf(line, sizeof(line), "%s %s (%s): %s%s%s", taken->network, name, taken->shape,
                   taken->is_taken ? "taken" : "initialised", taken->why[0] == '\0' ? "" : ": ",
                   taken->why);
    in->tell(in->arg, line);
}

static oct_err
nothing_fits(const init *in)
{
    return oct_refuse(in->why,
                      "learner.init_from: no layer of %s fits the networks of this run "
                      "(network.*, algo.name, the environment's observations and actions)",
                      in->path);
}

// ---- a run folder

// The networks in the checkpoint of a run.
typedef struct origin {
    config_experiment config;
    policy_spec spec;
    learner_checkpoint checkpoint;
    uint32_t number; // of the checkpoint
    algo *a;
} origin;

static oct_err
origin_configure(origin *from, const init *in)
{
    char path[OCT_FILE_PATH_MAX];
    oct_reason message = {""};
    (void)snprintf(path, sizeof(path), "%s/config.yaml", in->path);
    config_default(&from->config);
    if (config_load(&from->config, path, message.text, sizeof(message.text)) != OCT_OK) {
        message.text[strcspn(message.text, "\n")] = '\0';
        return oct_refuse(in->why, "learner.init_from: %s", message.text);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", in->path, LEARNER_ENVIRONMENT_FILE);
    oct_err err = learner_environment_read(path, &from->spec, NULL, &message);
    if (err != OCT_OK) {
        (void)oct_refuse(in->why, "learner.init_from: %s", message.text);
    }
    return err;
}

static oct_err
origin_checkpoint(origin *from, const init *in)
{
    char words[MESSAGE_BYTES] = "";
    oct_err err =
        learner_checkpoints_read(in->path, &from->checkpoint, &from->number, words, sizeof(words));
    if (err == OCT_ENOTFOUND) {
        (void)oct_refuse(in->why,
                         "learner.init_from: %s has no checkpoint; name a policy file, or the "
                         "folder of a run that has trained",
                         in->path);
    } else if (err != OCT_OK) {
        (void)oct_refuse(in->why, "learner.init_from: %s", words);
    } else if (from->checkpoint.state == NULL || from->checkpoint.updates == 0) {
        return oct_refuse(in->why,
                          "learner.init_from: the checkpoint in %s is from before the first update "
                          "(in lock-step there is one every learner.checkpoint_turns); name a "
                          "policy file such as %s/policy.fp32.oct",
                          in->path, in->path);
    }
    return err;
}

// Makes the checkpoint's algorithm, and the reader of the state that follows it.
static oct_err
origin_algorithm(origin *from, const init *in, oct_reader *reader)
{
    oct_reason message = {""};
    const learner_state_bytes *state = from->checkpoint.state;
    if (config_is_tabular(&from->config)) {
        return oct_refuse(in->why,
                          "learner.init_from: the run in %s learned a table, which has no layers",
                          in->path);
    }
    oct_err err = algo_make_spec(&from->config, &from->spec, NULL, &message);
    if (err == OCT_OK) {
        err = algo_create(&from->a, NULL, &from->config, &from->spec, from->config.run.seed);
    }
    if (err != OCT_OK) {
        return oct_fail(in->why, err, "learner.init_from: %s/config.yaml: %s", in->path,
                        message.text[0] != '\0' ? message.text : oct_strerror(err));
    }
    *reader = (oct_reader){.at = state->bytes, .left = state->length};
    err = algo_load(from->a, reader);
    if (err != OCT_OK) {
        (void)oct_refuse(in->why,
                         "learner.init_from: the checkpoint in %s belongs to another algorithm, "
                         "network or support than the config.yaml beside it%s",
                         in->path,
                         from->spec.obs_high > 0 ? ", or to a release that did not divide byte "
                                                   "observations; name its policy.fp32.oct instead"
                                                 : "");
    }
    return err;
}

// Replaces the policy's parameters by their average if the average acted in the run.
static oct_err
origin_average(origin *from, const init *in, oct_reader *reader)
{
    double decay = from->config.learner.ema_decay;
    if (!(decay > 0)) {
        return OCT_OK;
    }
    learner_average *average = learner_average_create(policy_spec_params(&from->spec), decay);
    oct_err err = learner_average_load(average, reader);
    const float *params = learner_average_params(average);
    if (err != OCT_OK) {
        (void)oct_refuse(in->why,
                         "learner.init_from: the checkpoint in %s has an average of another policy "
                         "than the config.yaml beside it specifies",
                         in->path);
    } else if (params != NULL) {
        in->tell(in->arg,
                 algo_set_policy(from->a, params)
                     ? "its policy is the average of learner.ema_decay, with which actors acted"
                     : "its policy is the learned one, not the average of learner.ema_decay, which "
                       "has no dueling streams");
    }
    learner_average_destroy(average);
    return err;
}

static void
origin_end(origin *from)
{
    algo_destroy(from->a);
    learner_checkpoint_fini(&from->checkpoint);
    free(from);
}

// Takes the running mean and deviation of observations if their count is equal.
static void
observations_take(const init *in, const origin *from, oct_reader *reader)
{
    bool is_alike = in->spec->obs_count == from->spec.obs_count;
    if (in->observed == NULL) {
        return;
    }
    bool is_taken =
        is_alike && reader->left > 0 && learner_train_load(NULL, in->observed, reader) == OCT_OK;
    in->tell(in->arg,
             is_taken ? "mean and deviation of the observations: taken"
             : is_alike
                 ? "mean and deviation of the observations: not taken, because the source has none"
                 : "mean and deviation of the observations: not taken, because the source has a "
                   "different number");
}

static void
tell_run(const init *in, const origin *from)
{
    char line[LINE_BYTES], name[32] = "checkpoint.oct";
    const learner_checkpoint *checkpoint = &from->checkpoint;
    if (from->number > 0) {
        (void)snprintf(name, sizeof(name), "checkpoint.%u.oct", from->number);
    }
    (void)snprintf(line, sizeof(line), "from %.300s/%s, %.100s, %" PRIu64 " updates", in->path,
                   name, from->spec.env_id, checkpoint->updates);
    in->tell(in->arg, line);
}

static oct_err
init_from_run(const init *in)
{
    origin *from = oct_alloc(sizeof(*from));
    oct_reader reader = {0};
    oct_err err = origin_configure(from, in);
    err = err == OCT_OK ? origin_checkpoint(from, in) : err;
    err = err == OCT_OK ? origin_algorithm(from, in, &reader) : err;
    if (err == OCT_OK) {
        tell_run(in, from);
        err = origin_average(from, in, &reader);
    }
    if (err == OCT_OK) {
        if (algo_take(in->a, in->spec, &(algo_source){&from->spec, from->a, NULL}, tell_layer,
                      (void *)(uintptr_t)in) == 0) {
            err = nothing_fits(in);
        } else {
            observations_take(in, from, &reader);
        }
    }
    origin_end(from);
    return err;
}

// ---- a policy file

// Returns the parameters that the file encodes, for raw observations, or for normalised ones if
// own, their spec, says so.
static float *
policy_params(const policy_image *image, policy_spec *own)
{
    const policy_spec *spec = &image->spec;
    float *params = oct_alloc(policy_spec_params(spec) * sizeof(*params));
    float *deviation = oct_alloc(spec->obs_count * sizeof(*deviation));
    quantizer_dequantize(image, params);
    for (uint32_t i = 0; spec->normalise && i < spec->obs_count; i++) {
        deviation[i] = 1.0f / image->obs_inverse_std[i];
    }
    const quantizer_scaling scaling = {.mean = image->obs_mean, .deviation = deviation};
    quantizer_fold *fold = quantizer_fold_create(spec, POLICY_FP32);
    bool is_folded = spec->normalise && quantizer_is_foldable(spec, &scaling);
    quantizer_unfold(fold, is_folded ? &scaling : NULL, params);
    *own = *spec;
    own->normalise = spec->normalise && !is_folded;
    quantizer_fold_destroy(fold);
    free(deviation);
    return params;
}

static void
tell_policy(const init *in, const policy_image *image, const policy_spec *own)
{
    char line[LINE_BYTES];
    bool is_value = image->spec.head == POLICY_HEAD_VALUES;
    int used = snprintf(line, sizeof(line), "from %.300s", in->path);
    if (image->spec.env_id[0] != '\0') { // imported policies may have none
        used += snprintf(line + used, sizeof(line) - (size_t)used, ", %.100s", image->spec.env_id);
    }
    if (image->origin.updates > 0) {
        (void)snprintf(line + used, sizeof(line) - (size_t)used, ", %" PRIu64 " updates",
                       image->origin.updates);
    }
    in->tell(in->arg, line);
    if (image->precision != POLICY_FP32) {
        (void)snprintf(line, sizeof(line), "its weights are %s and are converted to fp32%s",
                       policy_precision_name(image->precision),
                       is_value ? "; its values lack the part that all actions share" : "");
        in->tell(in->arg, line);
    }
    if (image->spec.normalise) {
        in->tell(in->arg,
                 own->normalise
                     ? "its scaling of observations: not taken, because it differs within a channel"
                     : "its scaling of observations: folded into layer 0");
    }
}

static oct_err
init_from_policy(const init *in)
{
    oct_reason message = {""};
    policy_image *image;
    oct_err err = policy_file_load(&image, in->path, &message);
    if (err != OCT_OK) {
        return oct_fail(in->why, err, "learner.init_from: %s: %s", in->path, message.text);
    }
    policy_spec own;
    float *params = policy_params(image, &own);
    tell_policy(in, image, &own);
    if (algo_take(in->a, in->spec, &(algo_source){&own, NULL, params}, tell_layer,
                  (void *)(uintptr_t)in) == 0) {
        err = nothing_fits(in);
    } else if (in->observed != NULL) {
        in->tell(in->arg, "mean and deviation of the observations: not taken");
    }
    free(params);
    policy_image_destroy(image);
    return err;
}

static bool
is_folder(const char *path)
{
    struct stat file;
    return oct_file_stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

// Finds the policy in a folder that is no run, such as one of octet distill. False: there is none.
static bool
find_policy(char out[OCT_FILE_PATH_MAX], const char *folder)
{
    char run[OCT_FILE_PATH_MAX];
    (void)snprintf(run, sizeof(run), "%s/config.yaml", folder);
    (void)snprintf(out, OCT_FILE_PATH_MAX, "%s/policy.fp32.oct", folder);
    return !oct_file_is_there(run) && oct_file_is_there(out);
}

oct_err
learner_init_from(algo *a, const config_experiment *config, const policy_spec *spec,
                  quantizer_observed *observed, learner_init_from_fn tell, void *arg,
                  oct_reason *why)
{
    const char *path = config->learner.init_from;
    char policy[OCT_FILE_PATH_MAX];
    bool is_given_folder = is_folder(path);
    if (is_given_folder) {
        oct_file_confine(path);
    }
    bool has_policy = find_policy(policy, path);
    const init in = {.a = a,
                     .spec = spec,
                     .path = has_policy ? policy : path,
                     .observed = observed,
                     .tell = tell,
                     .arg = arg,
                     .why = why};
    return !has_policy && is_given_folder ? init_from_run(&in) : init_from_policy(&in);
}
