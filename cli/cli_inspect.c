#include "cli/cli_inspect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_file.h"

static const char usage[] =
    "usage: octet inspect POLICY...\n"
    "Prints what policy files hold: layers, sizes, scales, precision, version, where they came\n"
    "from. Exit code 1 when one is missing, damaged or of a newer format.\n";

static const char *
activation_name(policy_activation activation)
{
    static const char *const names[] = {"linear", "relu", "tanh", "elu"};
    return names[activation];
}

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
    }
}

static void
print_spec(const policy_spec *spec)
{
    printf("environment %s\n", spec->env_id);
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

static void
print_origin(const policy_origin *origin)
{
    printf("version     %" PRIu64 " of run %016" PRIx64 "%s%s\n", origin->version, origin->run_id,
           origin->run_name[0] != '\0' ? ", " : "", origin->run_name);
    printf("trained     %" PRIu64 " updates, %" PRIu64 " environment steps\n", origin->updates,
           origin->env_steps);
    if (isnan(origin->eval_return)) {
        printf("evaluation  none\n");
    } else {
        printf("evaluation  mean return %g\n", (double)origin->eval_return);
    }
}

static int
float_compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// min / median / max of the scales of a layer.
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

static void
print_layers(const policy_image *image)
{
    size_t total = 0;
    bool is_int8 = image->precision == POLICY_INT8;
    printf("precision   %s%s\n", is_int8 ? "int8" : "fp32",
           !is_int8            ? ""
           : image->per_tensor ? ", one scale for each layer"
                               : ", one scale for each output");
    printf("layers      %u%s\n", image->spec.layer_count,
           is_int8 ? " (scales: least / median / largest)" : "");
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        size_t bytes = (size_t)layer->inputs * layer->outputs * (is_int8 ? 1 : sizeof(float));
        total += bytes;
        printf("  %2u  %5u -> %-5u  %-6s  %s  %9zu bytes", l, layer->inputs, layer->outputs,
               activation_name(layer->activation), layer->layer_norm ? "layer norm" : "          ",
               bytes);
        if (is_int8) {
            print_scales(image->scales[l], layer->outputs);
        }
        printf("\n");
    }
    printf("parameters  %zu, weights %zu bytes, file %zu bytes\n", policy_spec_params(&image->spec),
           total, policy_encoded_size(image));
}

static int
inspect(const char *path)
{
    char reason[200];
    policy_image *image;
    if (policy_file_load(&image, path, reason, sizeof(reason)) != OCT_OK) {
        fprintf(stderr, "octet inspect: %s: %s\n", path, reason);
        return 1;
    }
    printf("file        %s\n", path);
    print_origin(&image->origin);
    print_spec(&image->spec);
    print_layers(image);
    policy_image_destroy(image);
    return 0;
}

int
cli_inspect(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc < 2 || argv[1][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    int result = 0;
    for (int i = 1; i < argc; i++) {
        result |= inspect(argv[i]);
    }
    return result;
}
