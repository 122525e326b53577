// octet inspect: prints the contents of a policy file and, with --against, how far its actions are
// from those of an fp32 policy. A file that is a change of another policy, as the learner sends
// them, is described without its weights.

#include "cli/cli_commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_codes.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_observe.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "policy/policy_contract.h"
#include "policy/policy_file.h"
#include "policy/policy_net.h"
#include "policy/policy_words.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_ptq.h"

#define FILES_MAX  65536
#define PROBE_ROWS 4096 // observations that are compared

typedef struct inspect_arguments {
    const char *against; // path of the fp32 policy; NULL: no comparison
    const char *env_id;
    const char *options;
    const char *paths[FILES_MAX];
    uint32_t count;
} inspect_arguments;

typedef struct comparison {
    const policy_image *fp32; // NULL: no comparison
    const char *fp32_path;
    const char *env_id;  // the fp32 policy plays in this environment; NULL: random observations
    const char *options; // of the environment, "" for none
    uint64_t seed;
} comparison;

static const oct_arg inspect_rows[] = {
    {OCT_ARG_OPERANDS("files", inspect_arguments, paths, count), .missing = "no POLICY file given"},
    {OCT_ARG_PATH("against", "FP32", inspect_arguments, against),
     .help = "Also compare the policies with FP32, from which they were quantised, on random "
             "observations"},
    {OCT_ARG_PATH("env", "ID", inspect_arguments, env_id),
     .help = "With --against, take the observations from this environment or plug-in"},
    {OCT_ARG_TEXT("options", "K=V,...", inspect_arguments, options),
     .help = "Set options of that environment"},
    {0},
};

static const oct_args inspect_args = {
    .rows = inspect_rows,
    .usage = "POLICY...",
    .doc = "Prints the contents of policy files: layers, sizes, scales, precision, version and "
           "origin. POLICY and FP32 are files or run folders.\v"
           "The exit code is 1 if a file is missing, damaged or of a newer format.\n\n"
           "Example:\n"
           "  octet inspect runs/pole/policy.oct --against runs/pole/policy.fp32.oct",
};

static void
print_head(const policy_spec *spec)
{
    switch (spec->head) {
    case POLICY_HEAD_VALUES:
        printf("head        values: argmax of %u\n", spec->action_count);
        break;
    case POLICY_HEAD_LOGITS:
        printf("head        logits: argmax of %u\n", spec->action_count);
        break;
    case POLICY_HEAD_TANH:
        printf("head        tanh into the bounds\n");
        break;
    case POLICY_HEAD_ATOMS:
        printf("head        %u atoms on [%g, %g] for each of %u actions\n", spec->atoms,
               (double)spec->value_min, (double)spec->value_max, spec->action_count);
        break;
    case POLICY_HEAD_GAUSSIAN:
        printf("head        Gaussian, %s, deviations %s\n",
               spec->action_direct ? "actions without mapping" : "clipped into the bounds",
               spec->state_deviation ? "dependent on the state" : "independent of the state");
        break;
    case POLICY_HEAD_TANH_GAUSSIAN:
        printf("head        Gaussian, tanh into the bounds\n");
        break;
    }
}

static void
print_spec(const policy_spec *spec)
{
    printf("environment %s\n",
           spec->env_id[0] != '\0' ? cli_text_plain(spec->env_id, SIZE_MAX).text : "unknown");
    printf("observation %u %s%s\n", spec->obs_count,
           spec->obs_dtype == POLICY_F32 ? "float32" : "uint8",
           spec->normalise ? ", normalised" : "");
    if (spec->action_kind == POLICY_DISCRETE) {
        printf("action      discrete, %u\n", spec->action_count);
    } else {
        printf("action      box of %u:", spec->action_count);
        for (uint32_t i = 0; i < spec->action_count; i++) {
            printf(" [%g, %g]", (double)spec->action_low[i], (double)spec->action_high[i]);
        }
        printf("\n");
    }
    print_head(spec);
}

// An imported policy has no run, and so no version.
static void
print_origin(const policy_origin *origin)
{
    if (!policy_origin_is_run(origin)) {
        printf("version     none, not from a run of Octet\n");
        return;
    }
    printf("version     %" PRIu64 " of run %016" PRIx64 "%s%s\n", origin->version, origin->run_id,
           origin->run_name[0] != '\0' ? ", " : "",
           cli_text_plain(origin->run_name, SIZE_MAX).text);
    printf("trained     %" PRIu64 " updates, %" PRIu64 " environment steps\n", origin->updates,
           origin->env_steps);
    if (isnan(origin->eval_return)) {
        printf("evaluation  none\n");
    } else {
        printf("evaluation  mean return %g\n", (double)origin->eval_return);
    }
}

// Prints a text as one line. The file may hold any bytes, so control characters are replaced.
static void
print_text(const char *text, size_t length)
{
    char *plain = oct_alloc(length + 8);
    printf("%s", oct_text_quote(plain, length + 8, text, length));
    free(plain);
}

// Prints the key-value pairs that came with an imported model.
static void
print_contract(const policy_image *image)
{
    policy_contract_entry entry;
    for (size_t at = 0; policy_contract_next(image, &at, &entry);) {
        printf("metadata    ");
        print_text(entry.key, entry.key_length);
        printf(" = ");
        print_text(entry.text, entry.text_length);
        printf("\n");
    }
}

static int
float_compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Prints minimum, median and maximum of the scales of a layer.
static void
print_scales(const float *scales, uint32_t count)
{
    float *sorted = oct_alloc(count * sizeof(float));
    memcpy(sorted, scales, count * sizeof(float));
    qsort(sorted, count, sizeof(float), float_compare);
    printf("  scales %.3g / %.3g / %.3g", (double)sorted[0], (double)sorted[count / 2],
           (double)sorted[count - 1]);
    free(sorted);
}

// Returns the bytes of a layer's weights in the file, without scales and biases.
static size_t
weight_bytes(const policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t inputs = policy_layer_columns(layer), outputs = policy_layer_rows(layer);
    switch (image->precision) {
    case POLICY_FP32:
        return inputs * outputs * sizeof(float);
    case POLICY_BF16:
    case POLICY_FP16:
        return inputs * outputs * sizeof(uint16_t);
    case POLICY_INT8:
        return inputs * outputs;
    case POLICY_INT4: // codes and group multipliers, two to a byte
        return outputs * ((inputs + 1) / 2 + (policy_int4_groups((uint32_t)inputs) + 1) / 2);
    }
    return 0;
}

static void
print_precision(const policy_image *image)
{
    printf("precision   %s", policy_precision_name(image->precision));
    if (policy_is_integer(image->precision)) {
        printf(", one scale for each %s", image->per_tensor ? "layer" : "output");
    }
    if (image->precision == POLICY_INT4) {
        printf(", one multiplier for each group of %d inputs", POLICY_INT4_GROUP);
    }
    printf("\n");
}

static void
print_layers(const policy_image *image)
{
    size_t total = 0;
    bool scaled = policy_is_integer(image->precision);
    print_precision(image);
    printf("layers      %u%s\n", image->spec.layer_count,
           scaled ? " (scales: least / median / largest)" : "");
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        size_t bytes = weight_bytes(image, l);
        total += bytes;
        printf("  %2u  %5u -> %-5u  %-6s  %s  %9zu bytes", l, layer->inputs, layer->outputs,
               policy_activation_name(layer->activation),
               layer->layer_norm ? "layer norm" : "          ", bytes);
        if (layer->kind != POLICY_DENSE) {
            const policy_conv *conv = &layer->conv;
            printf("  %u x %u x %u, %s", conv->rows.size, conv->columns.size, conv->channels,
                   policy_layer_word(layer).text);
        }
        if (scaled && policy_layer_rows(layer) > 0) {
            print_scales(image->scales[l], policy_layer_rows(layer));
            cli_codes codes = cli_codes_count(image, l);
            printf("  codes %.3g %% zero, %.3g %% at the ends of the range", 100.0 * codes.zero,
                   100.0 * codes.end);
        }
        printf("\n");
    }
    printf("parameters  %zu, weights %zu bytes, file %zu bytes\n", policy_spec_params(&image->spec),
           total, policy_encoded_size(image));
}

// ---- --against

// Both policies have the same layers, which the caller has checked.
static void
print_weight_errors(const policy_image *image, const policy_image *fp32)
{
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    quantizer_ptq_errors(image, fp32, errors);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        printf("  %2u  error of the weights %.3g (relative L2), %.3g at most\n", l,
               (double)errors[l].relative_l2, (double)errors[l].max_abs);
    }
}

// Prints the comparison of outputs. far->kl is NaN where the head is no distribution.
static void
print_divergence(const policy_image *image, const comparison *options, const cli_observed *observed,
                 const quantizer_divergence *far)
{
    if (options->env_id != NULL) {
        bool has_options = options->options[0] != '\0';
        printf("observed    %u observations of %s of %s%s%s, seed %" PRIu64
               ", played by the fp32 policy\n",
               far->rows, observed->text, options->env_id, has_options ? ", options " : "",
               options->options, options->seed);
    } else {
        printf("observed    %u random observations (%s), seed %" PRIu64
               "; --env ID takes them from an environment\n",
               far->rows,
               image->spec.obs_dtype == POLICY_U8 ? "uniform bytes"
               : image->spec.normalise            ? "normal, by the policy's mean and deviation"
                                                  : "normal, mean 0, deviation 1",
               options->seed);
    }
    if (isnan(far->relative_l2)) {
        printf("outputs     some are not finite\n");
    } else {
        printf("outputs     differ by %.3g (relative L2), %.3g at most\n", far->relative_l2,
               far->max_abs);
    }
    printf("actions     %.2f %% agree", 100 * far->agreement);
    if (image->spec.action_kind == POLICY_BOX) {
        printf(", mean distance %.3g standard deviations", far->action_l2);
    } else if (!isnan(far->kl)) {
        printf(", KL %.3g", far->kl);
    }
    printf("\n");
}

// The two policies read observations in the same way.
static oct_err
compare_networks(const policy_image *image, const policy_image *fp32, const comparison *options,
                 oct_reason *why)
{
    quantizer_reservoir *obs = quantizer_reservoir_create(&fp32->spec, PROBE_ROWS, options->seed);
    quantizer_divergence far;
    cli_observed observed = {.text = ""};
    oct_err err = OCT_OK;
    if (options->env_id != NULL) {
        err = cli_observe(&observed, obs, fp32, options->env_id, options->options, options->seed,
                          why);
    } else {
        quantizer_reservoir_fill(obs, fp32);
    }
    if (err == OCT_OK) {
        err = quantizer_probe(&far, image, fp32, quantizer_reservoir_rows(obs),
                              quantizer_reservoir_count(obs));
    }
    if (err == OCT_OK) {
        bool same = image->origin.run_id == fp32->origin.run_id &&
                    image->origin.version == fp32->origin.version;
        printf("against     %s%s\n", options->fp32_path,
               same ? "" : ", another version or run: the errors are not due to rounding alone");
        print_weight_errors(image, fp32);
        print_divergence(image, options, &observed, &far);
    } else if (why->text[0] == '\0') {
        oct_reason_set(why, "cannot run policies here: %s", policy_isa_refused().text);
    }
    quantizer_reservoir_destroy(obs);
    return err;
}

// Measures how far a policy is from the fp32 policy that it was made from: the error of each
// layer's weights, and the difference of their outputs for the same observations.
// OCT_EINVAL: the policies have different networks. Other errors: no policy can run here, or the
// environment fails.
static oct_err
compare(const policy_image *image, const comparison *options, oct_reason *why)
{
    const policy_image *fp32 = options->fp32;
    if (policy_spec_equal(&image->spec, &fp32->spec)) {
        return compare_networks(image, fp32, options, why);
    }
    if (!quantizer_ptq_is_scaled(&image->spec, &fp32->spec)) {
        return oct_refuse(why, "'%s' belongs to another network or environment",
                          options->fp32_path);
    }
    // The fp32 policy from before the observations were scaled is scaled like the image.
    policy_image *scaled;
    oct_err err = quantizer_ptq_scale_as(&scaled, fp32, image);
    if (err != OCT_OK) {
        oct_reason_set(why,
                       "'%s' has a weight that is not finite when its observations are scaled as "
                       "those of this policy",
                       options->fp32_path);
        return err;
    }
    err = compare_networks(image, scaled, options, why);
    policy_image_destroy(scaled);
    return err;
}

// ---- a policy as it is sent, which may be a change of another policy

static void
print_change(const policy_head_info *head, size_t length)
{
    print_origin(&head->origin);
    printf("change      of version %" PRIu64 ", which is needed to make a policy of it\n",
           head->origin.base_version);
    print_spec(&head->spec);
    printf("precision   %s%s\n", policy_precision_name(head->precision),
           head->per_tensor ? ", one scale for each layer" : "");
    printf("parameters  %zu, change %zu bytes\n", policy_spec_params(&head->spec), length);
}

// The head is read first, because a change of another policy cannot be decoded without that one.
static oct_err
inspect_bytes(const char *path, const uint8_t *bytes, size_t length, const comparison *options,
              oct_reason *why)
{
    policy_head_info head;
    policy_image *image;
    OCT_TRY(policy_peek(&head, bytes, length, why));
    if (head.origin.base_version != 0) {
        printf("file        %s\n", path);
        print_change(&head, length);
        return OCT_OK;
    }
    OCT_TRY(policy_decode(&image, bytes, length, why));
    printf("file        %s\n", path);
    print_origin(&image->origin);
    print_spec(&image->spec);
    print_contract(image);
    print_layers(image);
    oct_err err = OCT_OK;
    if (options->fp32 != NULL) {
        err = compare(image, options, why);
    }
    policy_image_destroy(image);
    return err;
}

static int
inspect(const char *given, const comparison *options)
{
    oct_reason why = {""};
    char path[CLI_PATH_MAX];
    cli_folder_file(path, given, "policy.oct");
    uint8_t *bytes;
    size_t length;
    oct_err err = policy_file_read(&bytes, &length, path, &why);
    if (err == OCT_OK) {
        err = inspect_bytes(path, bytes, length, options, &why);
        free(bytes);
    }
    if (err != OCT_OK) {
        cli_error("inspect", "'%s': %s", path, why.text);
    }
    return err == OCT_OK ? 0 : CLI_EXIT_FAILED;
}

// ---- the command

// A file that cannot be read does not stop the others, but the exit code tells.
static int
inspect_all(const inspect_arguments *arguments)
{
    comparison options = {.env_id = arguments->env_id, .options = arguments->options, .seed = 1};
    policy_image *fp32 = NULL;
    oct_reason why = {""};
    char path[CLI_PATH_MAX];
    if (arguments->against != NULL) {
        cli_folder_file(path, arguments->against, "policy.fp32.oct");
        options.fp32_path = path;
        if (policy_file_load(&fp32, path, &why) != OCT_OK) {
            return cli_error("inspect", "'%s': %s", path, why.text);
        }
    }
    if (fp32 != NULL && fp32->precision != POLICY_FP32) {
        cli_error("inspect", "'%s' is of precision %s; --against needs the fp32 policy", path,
                  policy_precision_name(fp32->precision));
        policy_image_destroy(fp32);
        return CLI_EXIT_FAILED;
    }
    options.fp32 = fp32;
    if (arguments->env_id != NULL) {
        cli_env_guard_begin("inspect", arguments->env_id);
    }
    int result = 0;
    for (uint32_t i = 0; i < arguments->count; i++) {
        result |= inspect(arguments->paths[i], &options);
    }
    if (arguments->env_id != NULL) {
        cli_env_guard_end();
    }
    policy_image_destroy(fp32);
    return result;
}

int
cli_inspect(int argc, char **argv)
{
    static inspect_arguments arguments = {.options = ""};
    cli_args_parse(&inspect_args, argc, argv, &arguments);
    if (arguments.env_id != NULL && arguments.against == NULL) {
        cli_usage_error("inspect", "--env needs --against");
    }
    if (arguments.options[0] != '\0' && arguments.env_id == NULL) {
        cli_usage_error("inspect", "--options needs --env");
    }
    return inspect_all(&arguments);
}
