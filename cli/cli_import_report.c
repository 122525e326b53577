// Prints what octet import made from a model, and how far the policy is from the model.
#include "cli/cli_import_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_codes.h"
#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "quantizer/quantizer_ptq.h"

// The first name is for a head that no policy has: policy_head begins at 1.
static const char *
head_name(policy_head head)
{
    static const char *const names[] = {"",      "values",   "logits",       "tanh",
                                        "atoms", "gaussian", "tanh_gaussian"};
    return names[head];
}

// ---- text

// Errors are those of rounding: each layer's weights against the fp32 policy's. Codes at the ends
// of the range may have been clipped.
static void
print_layers(const cli_import_report *report)
{
    const policy_image *image = report->image;
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    quantizer_ptq_errors(image, report->fp32, errors);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        printf("  %2u  %5u -> %-5u  error of the weights %.3g (relative L2), %.3g at most", l,
               layer->inputs, layer->outputs, (double)errors[l].relative_l2,
               (double)errors[l].max_abs);
        if (policy_is_integer(image->precision) && policy_layer_weights(layer) > 0) {
            printf(", %.3g %% of the codes at the ends of the range",
                   100.0 * cli_codes_count(image, l).end);
        }
        printf("\n");
    }
}

static void
print_actions(const policy_spec *spec)
{
    if (spec->action_kind == POLICY_DISCRETE) {
        printf("%u discrete actions (%s)", spec->action_count, head_name(spec->head));
        return;
    }
    printf("a box of %u (%s), ", spec->action_count, head_name(spec->head));
    if (isinf(spec->action_low[0]) && isinf(spec->action_high[0])) {
        printf("action 0 without bounds");
    } else {
        printf("action 0 in [%g, %g]", (double)spec->action_low[0], (double)spec->action_high[0]);
    }
}

// Prints the actions that the bounds change, and the range of the model's.
static void
print_clipped(const cli_import_report *report)
{
    const policy_spec *spec = &report->fp32->spec;
    const import_parity *parity = &report->parity;
    if (spec->action_kind != POLICY_BOX || !(parity->actions_clipped > 0.0)) {
        return;
    }
    printf("  bounds clip an action in %.2f %% of these\n", 100.0 * parity->actions_clipped);
    for (uint32_t i = 0; i < spec->action_count; i++) {
        const import_action *action = &parity->actions[i];
        if (action->clipped > 0.0) {
            printf("    action %-3u clipped in %6.2f %%: the model's is %g to %g, bounds are [%g, "
                   "%g]\n",
                   i, 100.0 * action->clipped, action->least, action->most,
                   (double)spec->action_low[i], (double)spec->action_high[i]);
        }
    }
}

// Prints how far the quantised policy is from fp32.
static void
print_image(const cli_import_report *report)
{
    const policy_image *image = report->image;
    const quantizer_divergence *far = &report->far;
    printf("%s against fp32%s%s\n", policy_precision_name(image->precision),
           report->is_scaled ? ", observations scaled" : "",
           report->is_calibrated ? ", biases corrected" : "");
    print_layers(report);
    if (isnan(far->relative_l2)) {
        printf("  some outputs are not finite; ");
    } else {
        printf("  outputs differ by %.3g (relative L2), %.3g at most; ", far->relative_l2,
               far->max_abs);
    }
    printf("%.2f %% of the actions agree", 100.0 * far->agreement);
    if (image->spec.action_kind == POLICY_BOX) {
        printf(", mean distance %.3g standard deviations", far->action_l2);
    } else if (!isnan(far->kl)) {
        printf(", KL %.3g", far->kl);
    }
    printf("\n");
}

// Prints a note, which may quote names from models and files.
static void
print_note(const char *note)
{
    char plain[4 * IMPORT_NOTE_SIZE];
    printf("note        %s\n", oct_text_quote(plain, sizeof(plain), note, strlen(note)));
}

// Two comparisons: the fp32 policy with the model (should be exact but for rounding), and the
// quantised policy with fp32.
void
cli_import_report_text(const cli_import_report *report)
{
    const policy_spec *spec = &report->fp32->spec;
    const import_result *result = report->result;
    printf("model       %s, output %s\n", cli_text_plain(report->model, SIZE_MAX).text,
           cli_text_plain(result->output, SIZE_MAX).text);
    printf("policy      %u layers, %u %s%s in, ", spec->layer_count, spec->obs_count,
           spec->obs_dtype == POLICY_U8 ? "uint8" : "float32",
           result->channels_first ? ", channels last," : "");
    print_actions(spec);
    printf("%s\n", result->image->spec.normalise ? ", normalised as the model does it" : "");
    for (size_t i = 0; i < report->note_count; i++) {
        printf("note        %s\n", cli_text_plain(report->notes[i], SIZE_MAX).text);
    }
    for (uint32_t i = 0; i < result->note_count; i++) {
        print_note(result->notes[i]);
    }
    if (report->env_note != NULL) {
        print_note(report->env_note);
    }
    printf("compared on %s\n", cli_text_plain(report->observed, SIZE_MAX).text);
    const import_parity *parity = &report->parity;
    printf("fp32 against the model\n  %s differ by %.3g at most, %.3g on average; %.2f %% of the "
           "actions agree\n",
           spec->action_kind == POLICY_BOX ? "actions" : "outputs", parity->max_abs,
           parity->mean_abs, 100.0 * parity->agreement);
    print_clipped(report);
    if (result->observation_clip != NULL) {
        printf("  the model clips observations, which policies do not: %.2f %% of these\n",
               100.0 * parity->clipped);
    }
    if (report->image != NULL) {
        print_image(report);
        printf("wrote %s, %zu bytes, and %s, %zu bytes\n", report->path,
               policy_encoded_size(report->image), report->fp32_path,
               policy_encoded_size(report->fp32));
    } else {
        printf("wrote %s, %zu bytes\n", report->path, policy_encoded_size(report->fp32));
    }
    if (report->env_path != NULL) {
        printf("wrote %s, the environment and its options\n", report->env_path);
    }
}

// ---- JSON

static json_t *
layers_json(const cli_import_report *report)
{
    const policy_image *image = report->image;
    quantizer_layer_error errors[POLICY_LAYERS_MAX];
    json_t *list = json_array();
    OCT_ASSERT(list != NULL);
    quantizer_ptq_errors(image, report->fp32, errors);
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        json_t *layer = json_object();
        cli_json_put(layer, "inputs", json_integer(image->spec.layers[l].inputs));
        cli_json_put(layer, "outputs", json_integer(image->spec.layers[l].outputs));
        cli_json_put(layer, "relative_l2", cli_json_number((double)errors[l].relative_l2));
        cli_json_put(layer, "max_abs", cli_json_number((double)errors[l].max_abs));
        bool has_codes = policy_is_integer(image->precision);
        cli_json_put(layer, "saturated",
                     has_codes ? cli_json_number(cli_codes_count(image, l).end) : json_null());
        cli_json_append(list, layer);
    }
    return list;
}

// Ranges are those of the model, before the bounds of the environment clip them.
static json_t *
actions_json(const import_parity *parity, uint32_t count)
{
    json_t *list = json_array();
    OCT_ASSERT(list != NULL);
    for (uint32_t i = 0; i < count; i++) {
        const import_action *of = &parity->actions[i];
        cli_json_append(list, CLI_JSON_OBJECT({"least", cli_json_number(of->least)},
                                              {"most", cli_json_number(of->most)},
                                              {"deviation", cli_json_number(of->deviation)},
                                              {"clipped", cli_json_number(of->clipped)}));
    }
    return list;
}

static json_t *
quantised_json(const cli_import_report *report)
{
    const quantizer_divergence *far = &report->far;
    return CLI_JSON_OBJECT(
        {"scaled", json_boolean(report->is_scaled)},
        {"calibrated", json_boolean(report->is_calibrated)},
        {"relative_l2", cli_json_number(far->relative_l2)},
        {"max_abs", cli_json_number(far->max_abs)}, {"agreement", cli_json_number(far->agreement)},
        {"kl", cli_json_number(far->kl)}, {"action_distance", cli_json_number(far->action_l2)},
        {"layers", layers_json(report)},
        {"bytes", cli_json_whole(policy_encoded_size(report->image))});
}

// Everything of the text report is in it. Numbers that do not apply to the kind of action are null.
void
cli_import_report_json(const cli_import_report *report)
{
    const policy_spec *spec = &report->fp32->spec;
    const import_parity *parity = &report->parity;
    json_t *root = json_object(), *notes = json_array(), *fp32 = json_object();
    OCT_ASSERT(notes != NULL);
    for (size_t i = 0; i < report->note_count; i++) {
        cli_json_append(notes, cli_json_text(report->notes[i]));
    }
    for (uint32_t i = 0; i < report->result->note_count; i++) {
        cli_json_append(notes, cli_json_text(report->result->notes[i]));
    }
    if (report->env_note != NULL) {
        cli_json_append(notes, cli_json_text(report->env_note));
    }
    cli_json_put(fp32, "max_abs", cli_json_number(parity->max_abs));
    cli_json_put(fp32, "mean_abs", cli_json_number(parity->mean_abs));
    cli_json_put(fp32, "agreement", cli_json_number(parity->agreement));
    cli_json_put(fp32, "clipped", cli_json_number(parity->clipped));
    bool is_box = spec->action_kind == POLICY_BOX;
    cli_json_put(fp32, "actions_clipped",
                 is_box ? cli_json_number(parity->actions_clipped) : json_null());
    cli_json_put(fp32, "actions", is_box ? actions_json(parity, spec->action_count) : json_null());
    cli_json_put(fp32, "bytes", cli_json_whole(policy_encoded_size(report->fp32)));
    cli_json_put(root, "policy", cli_json_text(report->path));
    cli_json_put(root, "fp32_policy", cli_json_text(report->fp32_path));
    cli_json_put(root, "env_file",
                 report->env_path != NULL ? cli_json_text(report->env_path) : json_null());
    cli_json_put(root, "output", cli_json_text(report->result->output));
    const policy_image *written = report->image != NULL ? report->image : report->fp32;
    cli_json_put(root, "precision", cli_json_text(policy_precision_name(written->precision)));
    cli_json_put(root, "head", cli_json_text(head_name(spec->head)));
    cli_json_put(root, "normalised", json_boolean(spec->normalise));
    cli_json_put(root, "channels_first", json_boolean(report->result->channels_first));
    cli_json_put(root, "observed", cli_json_text(report->observed));
    cli_json_put(root, "rows", json_integer(parity->rows));
    cli_json_put(root, "notes", notes);
    cli_json_put(root, "fp32", fp32);
    cli_json_put(root, "quantised", report->image != NULL ? quantised_json(report) : json_null());
    char *text = cli_json_print(root, JSON_INDENT(2));
    printf("%s\n", text);
    free(text);
    json_decref(root);
}
