// Writes the policies of these tests in every form, and what has to come out of them.
//
// usage: export_cases FOLDER
//   FOLDER/NAME.h            the exported header of each case
//   FOLDER/robot_cases.h     includes them all and lists them, for robot_runner.c
//   FOLDER/expected.txt      what robot_runner.c has to print, by policy_forward
//   FOLDER/sizes.txt         NAME FLASH RAM, as the export says
//   FOLDER/NAME.obs .out .act   the first rows as raw numbers

#include <ctype.h>
#include <stdlib.h>

#include "common/oct_file.h"
#include "common/oct_rng.h"
#include "export/export_c99.h"
#include "policy/policy_half.h"
#include "policy/policy_net.h"
#include "tests/export/robot_observations.h"
#include "tests/policy/random_policy.h"

#define RAW_ROWS 2000 // of .obs, .out and .act

// widths: observation, hidden layers, outputs; 0 ends them.
typedef struct export_case {
    const char *name;
    policy_precision precision;
    bool per_tensor;
    bool layer_norm;
    bool normalise;
    policy_activation activation;
    policy_dtype obs;
    policy_head head;
    uint32_t atoms;
    uint32_t widths[6];
} export_case;

static const export_case cases[] = {
    {"pole8", POLICY_INT8, .activation = POLICY_RELU, .widths = {4, 64, 64, 2}},
    {"pole4", POLICY_INT4, .activation = POLICY_RELU, .widths = {4, 64, 64, 2}},
    {"tensor8", POLICY_INT8, .per_tensor = true, .activation = POLICY_TANH,
     .head = POLICY_HEAD_LOGITS, .widths = {7, 33, 20, 5}},
    {"walker8", POLICY_INT8, .layer_norm = true, .normalise = true, .activation = POLICY_ELU,
     .head = POLICY_HEAD_TANH, .widths = {17, 48, 24, 6}},
    {"walker4", POLICY_INT4, .layer_norm = true, .normalise = true, .activation = POLICY_ELU,
     .head = POLICY_HEAD_TANH, .widths = {17, 40, 33, 6}},
    {"atoms8", POLICY_INT8, .normalise = true, .activation = POLICY_RELU, .obs = POLICY_U8,
     .head = POLICY_HEAD_ATOMS, .atoms = 11, .widths = {12, 31, 33}},
    {"atoms4", POLICY_INT4, .activation = POLICY_TANH, .head = POLICY_HEAD_ATOMS, .atoms = 5,
     .widths = {3, 1, 65, 20}},
    {"bytes8", POLICY_INT8, .activation = POLICY_RELU, .obs = POLICY_U8, .widths = {50, 16, 4}},
    {"wide8", POLICY_INT8, .activation = POLICY_RELU, .widths = {300, 16, 3}},
    {"one8", POLICY_INT8, .activation = POLICY_RELU, .widths = {6, 3}},
    {"float32", POLICY_FP32, .layer_norm = true, .activation = POLICY_RELU,
     .widths = {9, 32, 16, 4}},
    {"brain16", POLICY_BF16, .normalise = true, .activation = POLICY_TANH, .head = POLICY_HEAD_TANH,
     .widths = {5, 24, 3}},
    {"half16", POLICY_FP16, .activation = POLICY_ELU, .obs = POLICY_U8, .widths = {10, 17, 18, 3}},
};

static policy_spec
case_spec(const export_case *c)
{
    uint32_t count = 0;
    while (c->widths[count] != 0) {
        count++;
    }
    policy_spec spec = random_spec(c->widths, count, c->activation, c->layer_norm);
    spec.obs_dtype = c->obs != 0 ? c->obs : POLICY_F32;
    spec.normalise = c->normalise;
    spec.head = c->head != 0 ? c->head : POLICY_HEAD_VALUES;
    if (spec.head == POLICY_HEAD_ATOMS) {
        spec.atoms = c->atoms;
        spec.action_count = c->widths[count - 1] / c->atoms;
        spec.value_min = -10.0f;
        spec.value_max = 7.5f;
    }
    if (spec.head == POLICY_HEAD_TANH) {
        spec.action_kind = POLICY_BOX;
        for (uint32_t i = 0; i < spec.action_count; i++) {
            spec.action_low[i] = -1.0f - (float)i / 3.0f;
            spec.action_high[i] = 0.3f + (float)i;
        }
    }
    return spec;
}

// An image of the same function in a precision that the reference computes: INT4 as the INT8 codes
// that it stands for, halves widened.
static policy_image *
image_plain(const policy_image *image)
{
    policy_image *plain;
    bool is_integer = policy_is_integer(image->precision);
    T_OK(policy_image_create(&plain, &image->spec, is_integer ? POLICY_INT8 : POLICY_FP32));
    if (image->spec.normalise) {
        size_t row = image->spec.obs_count * sizeof(float);
        memcpy(plain->obs_mean, image->obs_mean, row);
        memcpy(plain->obs_inverse_std, image->obs_inverse_std, row);
    }
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        size_t count = (size_t)layer->inputs * layer->outputs, row = layer->outputs * sizeof(float);
        for (uint32_t j = 0; is_integer && j < layer->outputs; j++) {
            policy_image_row(image, l, j, plain->codes[l] + (size_t)j * layer->inputs);
        }
        for (size_t i = 0; !is_integer && i < count; i++) {
            plain->weights[l][i] =
                image->precision == POLICY_BF16   ? policy_bf16_to_float(image->halves[l][i])
                : image->precision == POLICY_FP16 ? policy_fp16_to_float(image->halves[l][i])
                                                  : image->weights[l][i];
        }
        if (is_integer) {
            memcpy(plain->scales[l], image->scales[l], row);
        }
        memcpy(plain->bias[l], image->bias[l], row);
        if (layer->layer_norm) {
            memcpy(plain->gain[l], image->gain[l], row);
            memcpy(plain->offset[l], image->offset[l], row);
        }
    }
    return plain;
}

// A policy of precision with the numbers of a random INT8 or FP32 one, brought to its codes.
static policy_image *
case_image(const export_case *c, oct_rng *rng)
{
    policy_spec spec = case_spec(c);
    if (c->precision == POLICY_INT8 || c->precision == POLICY_FP32) {
        return random_image(&spec, c->precision, c->per_tensor, rng);
    }
    bool is_int4 = c->precision == POLICY_INT4;
    policy_image *from = random_image(&spec, is_int4 ? POLICY_INT8 : POLICY_FP32, false, rng);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, c->precision));
    image->origin = from->origin;
    if (spec.normalise) {
        memcpy(image->obs_mean, from->obs_mean, spec.obs_count * sizeof(float));
        memcpy(image->obs_inverse_std, from->obs_inverse_std, spec.obs_count * sizeof(float));
    }
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        const policy_layer *layer = &spec.layers[l];
        size_t count = (size_t)layer->inputs * layer->outputs, row = layer->outputs * sizeof(float);
        size_t groups = is_int4 ? (size_t)layer->outputs * policy_int4_groups(layer->inputs) : 0;
        for (size_t i = 0; i < count; i++) {
            if (is_int4) {
                image->codes[l][i] = (int8_t)((int32_t)oct_rng_below(rng, 15) - 7);
            } else {
                float w = from->weights[l][i];
                image->halves[l][i] = c->precision == POLICY_BF16 ? policy_bf16_from_float(w)
                                                                  : policy_fp16_from_float(w);
            }
        }
        for (size_t i = 0; i < groups; i++) {
            image->multipliers[l][i] = (uint8_t)(1 + oct_rng_below(rng, POLICY_MULTIPLIER_MAX));
        }
        if (is_int4) {
            memcpy(image->scales[l], from->scales[l], row);
        }
        memcpy(image->bias[l], from->bias[l], row);
        if (layer->layer_norm) {
            memcpy(image->gain[l], from->gain[l], row);
            memcpy(image->offset[l], from->offset[l], row);
        }
    }
    policy_image_destroy(from);
    return image;
}

static FILE *
file_open(const char *folder, const char *name, const char *end)
{
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/%s%s", folder, name, end);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void
case_export(const export_case *c, const policy_image *image, const char *folder, FILE *sizes)
{
    char *text, path[300];
    size_t length;
    export_c99_sizes size;
    export_c99(&text, &length, &size, image, c->name);
    (void)snprintf(path, sizeof(path), "%s/%s.h", folder, c->name);
    T_OK(oct_file_replace(path, text, length));
    free(text);
    fprintf(sizes, "%s %zu %zu\n", c->name, size.flash_bytes, size.ram_bytes);
}

// What the kernels of this machine make of the observations.
static void
case_expect(const export_case *c, const policy_image *image, const char *folder, FILE *expected)
{
    policy_image *plain = image_plain(image);
    policy_net *net;
    bool is_integer = policy_is_integer(image->precision);
    T_OK(policy_net_create(&net, plain, is_integer ? POLICY_ISA_BEST : POLICY_ISA_REF));
    const policy_spec *spec = policy_net_spec(net);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    size_t obs_bytes = policy_spec_obs_bytes(spec), action_bytes = policy_spec_action_bytes(spec);
    uint32_t outputs = policy_spec_outputs(spec), state = 1;
    float *y = oct_alloc(outputs * sizeof(float));
    void *obs = oct_alloc(obs_bytes), *action = oct_alloc(action_bytes);
    uint64_t hash = ROBOT_HASH_START;
    FILE *raw[] = {file_open(folder, c->name, ".obs"), file_open(folder, c->name, ".out"),
                   file_open(folder, c->name, ".act")};
    fprintf(expected, "%s", c->name);
    for (uint32_t row = 0; row < ROBOT_ROWS; row++) {
        if (spec->obs_dtype == POLICY_U8) {
            robot_bytes(&state, row, spec->obs_count, obs);
        } else {
            robot_floats(&state, row, spec->obs_count, obs);
        }
        policy_forward(net, scratch, obs, obs_bytes, 1, y);
        policy_act(spec, y, 1, action);
        hash = robot_hash(hash, y, outputs);
        hash = robot_hash(hash, action, (uint32_t)(action_bytes / 4));
        if (row % ROBOT_BLOCK_ROWS == ROBOT_BLOCK_ROWS - 1) {
            fprintf(expected, " %08lx%08lx", (unsigned long)(hash >> 32),
                    (unsigned long)(hash & 0xffffffffu));
        }
        if (row < RAW_ROWS) {
            fwrite(obs, 1, obs_bytes, raw[0]);
            fwrite(y, sizeof(float), outputs, raw[1]);
            fwrite(action, 1, action_bytes, raw[2]);
        }
    }
    fprintf(expected, "\n");
    for (size_t i = 0; i < OCT_COUNTOF(raw); i++) {
        assert_int_equal(fclose(raw[i]), 0);
    }
    free(y);
    free(obs);
    free(action);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    policy_image_destroy(plain);
}

static void
list_write(const char *folder)
{
    FILE *list = file_open(folder, "robot_cases", ".h");
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        fprintf(list, "#include \"%s.h\"\n", cases[i].name);
    }
    fprintf(list, "#define ROBOT_CASES(CASE)");
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        bool is_box = cases[i].head == POLICY_HEAD_TANH;
        fprintf(list, " \\\n    CASE(%s, ", cases[i].name);
        for (const char *c = cases[i].name; *c != '\0'; c++) {
            fputc(toupper((unsigned char)*c), list);
        }
        fprintf(list, ", %s, %u, %s)", cases[i].obs == POLICY_U8 ? "uint8_t" : "float",
                is_box ? case_spec(&cases[i]).action_count : 1, is_box ? "float" : "int32_t");
    }
    fprintf(list, "\n");
    assert_int_equal(fclose(list), 0);
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: export_cases FOLDER\n");
        return 2;
    }
    oct_rng rng;
    oct_rng_init(&rng, 23, 1);
    FILE *expected = file_open(argv[1], "expected", ".txt");
    FILE *sizes = file_open(argv[1], "sizes", ".txt");
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        policy_image *image = case_image(&cases[i], &rng);
        case_export(&cases[i], image, argv[1], sizes);
        case_expect(&cases[i], image, argv[1], expected);
        policy_image_destroy(image);
    }
    assert_int_equal(fclose(expected) | fclose(sizes), 0);
    list_write(argv[1]);
    return 0;
}
