// Writes the policies of these tests in every form, and what has to come out of them.
//
// usage: export_cases FOLDER
//   FOLDER/NAME.h, NAME.onnx the exports of each case
//   FOLDER/robot_cases.h     includes them all and lists them, for robot_runner.c
//   FOLDER/expected.txt      what robot_runner.c has to print, by policy_forward
//   FOLDER/sizes.txt         NAME FLASH RAM, as the export says
//   FOLDER/cases.txt         NAME PRECISION f32|u8
//   FOLDER/NAME.obs .out .act   the first rows as raw numbers
//   FOLDER/NAME.oct          the policy file
//   FOLDER/balance.oct       balances a pole on a cart; odd.oct has odd texts in it, and
//                            imported.oct none, as if imported without an environment

#include <ctype.h>
#include <stdlib.h>

#include "common/oct_file.h"
#include "common/oct_rng.h"
#include "policy/export/export_c99.h"
#include "policy/export/export_onnx.h"
#include "policy/policy_net.h"
#include "quantizer/quantizer_fold.h"
#include "quantizer/quantizer_observed.h"
#include "tests/policy/export/robot_observations.h"
#include "tests/policy/random_policy.h"

#define RAW_ROWS 2000 // of .obs, .out and .act

// widths: observation, hidden layers, outputs; 0 ends them. With layers (policy_words.h) over a map
// of rows, columns and channels, widths[0] is the count of outputs.
typedef struct export_case {
    const char *name;
    policy_precision precision;
    bool per_tensor;
    bool layer_norm;
    bool normalise;
    bool published;   // as the learner publishes it: scaled by what was observed, centred
    bool extreme;     // the sums of its first layer are as large as codes can make them
    bool alternating; // the biases of its last layer change their sign from output to output
    policy_activation activation;
    policy_dtype obs;
    policy_head head;
    bool state_deviation;
    uint32_t atoms;
    uint32_t widths[6];
    uint32_t map[3];
    const char *layers;
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
    {"full8", POLICY_INT8, .extreme = true, .activation = POLICY_RELU, .obs = POLICY_U8,
     .widths = {512, 9, 3}},
    {"one8", POLICY_INT8, .activation = POLICY_RELU, .widths = {6, 3}},
    {"float32", POLICY_FP32, .layer_norm = true, .activation = POLICY_RELU,
     .widths = {9, 32, 16, 4}},
    {"brain16", POLICY_BF16, .normalise = true, .activation = POLICY_TANH, .head = POLICY_HEAD_TANH,
     .widths = {5, 24, 3}},
    {"grid8", POLICY_INT8, .activation = POLICY_RELU, .obs = POLICY_U8, .widths = {5},
     .map = {6, 5, 4}, .layers = "conv 16 3x3, dense 24"},
    {"grid4", POLICY_INT4, .normalise = true, .activation = POLICY_ELU, .widths = {3},
     .map = {5, 7, 3}, .layers = "conv 7 2x2, conv 5 2x2, dense 9"},
    {"grid32", POLICY_FP32, .activation = POLICY_RELU, .widths = {6}, .map = {4, 4, 2},
     .layers = "conv 5 3x3, dense 16"},
    {"nature8", POLICY_INT8, .activation = POLICY_RELU, .obs = POLICY_U8, .widths = {4},
     .map = {10, 10, 2}, .layers = "conv 6 6x6/2+1, conv 16 4x4/2+1, conv 5 2x2, dense 20"},
    {"nature4", POLICY_INT4, .activation = POLICY_RELU, .obs = POLICY_U8, .widths = {4},
     .map = {10, 10, 2}, .layers = "conv 6 6x6/2+1, conv 16 4x4/2+1, conv 5 2x2, dense 20"},
    {"nature16", POLICY_BF16, .activation = POLICY_RELU, .normalise = true, .widths = {4},
     .map = {7, 9, 2}, .layers = "conv 3 4x5/3x2, conv 5 2x2/1x2+1, dense 9"},
    {"impala8", POLICY_INT8, .activation = POLICY_RELU, .normalise = true, .widths = {5},
     .map = {9, 10, 2},
     .layers = "conv 7 3x3+1 linear, pool 3x3/2+1 relu, conv 4 3x3+1, pool 3x3/2+1, dense 12"},
    {"impala32", POLICY_FP32, .activation = POLICY_RELU, .widths = {5}, .map = {6, 5, 2},
     .layers = "conv 3 3x3+1, pool 3x3/2+1, conv 4 3x3+1 linear, pool 2x3/1x2+0x1 relu"},
    {"mean8", POLICY_INT8, .activation = POLICY_ELU, .normalise = true, .widths = {3},
     .map = {8, 7, 3}, .layers = "conv 17 3x2/1x2+1, mean 3x3/2+1 tanh, mean 2x2, conv 4 2x1"},
    {"mean4", POLICY_INT4, .activation = POLICY_RELU, .widths = {3}, .map = {8, 8, 1},
     .layers = "conv 5 3x3+2, mean 5x5/2+2, mean 4x4"},
    {"mean16", POLICY_FP16, .activation = POLICY_TANH, .obs = POLICY_U8, .widths = {3},
     .map = {7, 7, 2}, .layers = "conv 5 3x3/2, mean 3x3 relu"},
    {"sequence8", POLICY_INT8, .activation = POLICY_TANH, .normalise = true, .widths = {4},
     .map = {50, 1, 6}, .layers = "conv 8 16x1/4+3x0, pool 3x1/2x1, conv 6 3x1+1x0, dense 10"},
    {"sequence32", POLICY_FP32, .activation = POLICY_TANH, .normalise = true, .widths = {4},
     .map = {1, 20, 3}, .layers = "conv 4 1x5/1x2+0x2, mean 1x3/1x2, dense 10"},
    {"half16", POLICY_FP16, .activation = POLICY_ELU, .obs = POLICY_U8, .widths = {10, 17, 18, 3}},
    {"published8", POLICY_INT8, .normalise = true, .published = true, .activation = POLICY_ELU,
     .widths = {14, 40, 24, 4}},
    {"published4", POLICY_INT4, .layer_norm = true, .normalise = true, .published = true,
     .activation = POLICY_RELU, .head = POLICY_HEAD_ATOMS, .atoms = 7, .widths = {14, 40, 28}},
    {"gauss8", POLICY_INT8, .layer_norm = true, .normalise = true, .activation = POLICY_TANH,
     .head = POLICY_HEAD_GAUSSIAN, .widths = {6, 32, 24, 3}},
    {"gauss4", POLICY_INT4, .activation = POLICY_RELU, .head = POLICY_HEAD_GAUSSIAN,
     .state_deviation = true, .widths = {6, 32, 4}},
    {"squash8", POLICY_INT8, .activation = POLICY_ELU, .head = POLICY_HEAD_TANH_GAUSSIAN,
     .widths = {9, 40, 10}},
    {"gauss32", POLICY_FP32, .activation = POLICY_RELU, .head = POLICY_HEAD_GAUSSIAN,
     .widths = {3, 20, 4}},
    {"signs8", POLICY_INT8, .alternating = true, .activation = POLICY_ELU, .widths = {5, 9, 4}},
// Each activation, on hidden layers that are not multiples of 16 wide.
#define ACTIVATION_CASE(ENUM, name, version)                                                       \
    {"of_" #name, POLICY_INT8, .activation = POLICY_##ENUM, .widths = {7, 24, 18, 3}},
    POLICY_ACTIVATIONS(ACTIVATION_CASE)
#undef ACTIVATION_CASE
};

static bool
is_box(const export_case *c)
{
    return c->head == POLICY_HEAD_TANH || c->head == POLICY_HEAD_GAUSSIAN ||
           c->head == POLICY_HEAD_TANH_GAUSSIAN;
}

static policy_spec
case_spec(const export_case *c)
{
    uint32_t count = 0;
    while (c->widths[count] != 0) {
        count++;
    }
    policy_spec spec = c->layers == NULL
                           ? random_spec(c->widths, count, c->activation, c->layer_norm)
                           : random_words_spec(c->map, c->layers, c->activation, c->widths[0]);
    spec.obs_dtype = c->obs != 0 ? c->obs : POLICY_F32;
    spec.normalise = c->normalise;
    spec.head = c->head != 0 ? c->head : POLICY_HEAD_VALUES;
    if (spec.head == POLICY_HEAD_ATOMS) {
        spec.atoms = c->atoms;
        spec.action_count = c->widths[count - 1] / c->atoms;
        spec.value_min = -10.0f;
        spec.value_max = 7.5f;
    }
    spec.state_deviation = c->state_deviation;
    if (spec.state_deviation || spec.head == POLICY_HEAD_TANH_GAUSSIAN) {
        spec.action_count /= 2;
    }
    if (is_box(c)) {
        spec.action_kind = POLICY_BOX;
        for (uint32_t i = 0; i < spec.action_count; i++) {
            spec.action_low[i] = -1.0f - (float)i / 3.0f;
            spec.action_high[i] = 0.3f + (float)i;
        }
    }
    return spec;
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
    const export_c99_options options = {.name = c->name,
                                        .with_sampling = policy_spec_extra_dim(&image->spec) > 0};
    export_c99(&text, &length, &size, image, &options);
    (void)snprintf(path, sizeof(path), "%s/%s.h", folder, c->name);
    T_OK(oct_file_replace(path, text, length));
    free(text);
    uint8_t *model;
    export_onnx(&model, &length, image, 0);
    (void)snprintf(path, sizeof(path), "%s/%s.onnx", folder, c->name);
    T_OK(oct_file_replace(path, model, length));
    free(model);
    fprintf(sizes, "%s %zu %zu\n", c->name, size.flash_bytes, size.ram_bytes);
}

// What the kernels of this machine make of the observations.
static void
case_expect(const export_case *c, const policy_image *image, const char *folder, FILE *expected)
{
    policy_net *net;
    T_OK(policy_net_create(&net, image, POLICY_ISA_BEST));
    const policy_spec *spec = policy_net_spec(net);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    size_t obs_bytes = policy_spec_obs_bytes(spec), action_bytes = policy_spec_action_bytes(spec);
    uint32_t outputs = policy_spec_outputs(spec), state = 1;
    float *y = oct_alloc(outputs * sizeof(float));
    void *obs = oct_alloc(obs_bytes), *action = oct_alloc(action_bytes);
    void *drawn = oct_alloc(action_bytes);
    float *extra = oct_alloc((policy_spec_extra_dim(spec) + 1) * sizeof(float));
    policy_rng rng;
    policy_rng_init(&rng, ROBOT_SEED, ROBOT_STREAM);
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
        if (policy_spec_extra_dim(spec) > 0) {
            policy_sample(spec, policy_net_deviation(net), y, 1, &rng, drawn, extra);
            hash = robot_hash(hash, drawn, (uint32_t)(action_bytes / 4));
            hash = robot_hash(hash, extra, 1);
        }
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
    free(drawn);
    free(extra);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
}

// Weights made a policy as the learner does, after observations whose entries range differently.
static policy_image *
published_image(const policy_spec *spec, const export_case *c, oct_rng *rng)
{
    enum { ROWS = 512 };
    policy_image *image, *learned = random_image(spec, POLICY_FP32, false, rng);
    float *params = oct_alloc(policy_spec_params(spec) * sizeof(float));
    float *obs = oct_alloc((size_t)ROWS * spec->obs_count * sizeof(float));
    uint32_t state = 1;
    for (uint32_t i = 0; i < ROWS * spec->obs_count; i++) {
        float range = exp2f((float)(i % spec->obs_count % 10) - 5.0f);
        obs[i] = range * (robot_uniform(&state) + 0.7f);
    }
    quantizer_observed *observed = quantizer_observed_create(spec->obs_count);
    quantizer_observed_add(observed, obs, ROWS);
    assert_true(quantizer_observed_renew(observed));
    quantizer_scaling scaling = quantizer_observed_scaling(observed);
    quantizer_dequantize(learned, params);
    T_OK(policy_image_create(&image, spec, c->precision));
    image->origin = learned->origin;
    T_OK(quantizer_convert_folded(image, params, &scaling, &QUANTIZER_METHOD_DEFAULT));
    quantizer_observed_destroy(observed);
    policy_image_destroy(learned);
    free(params);
    free(obs);
    return image;
}

static void
policy_write(const policy_image *image, const char *folder, const char *name)
{
    char path[300];
    size_t length = policy_encoded_size(image);
    uint8_t *bytes = oct_alloc(length);
    policy_encode(image, bytes);
    (void)snprintf(path, sizeof(path), "%s/%s.oct", folder, name);
    T_OK(oct_file_replace(path, bytes, length));
    free(bytes);
}

// One linear layer that pushes to where the pole falls: the second output is the larger one when
// the weighted sum of position, speed, angle and turn is above zero.
static void
balance_write(const char *folder)
{
    static const int8_t sums[4] = {4, 12, 127, 40};
    const uint32_t widths[] = {4, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    image->origin.version = 3;
    image->scales[0][0] = image->scales[0][1] = 1.0f / 127.0f;
    memcpy(image->codes[0] + 4, sums, sizeof(sums));
    policy_write(image, folder, "balance");
    (void)snprintf(image->spec.env_id, POLICY_NAME_MAX, "ALE/Odd*/\\?\?/");
    (void)snprintf(image->origin.run_name, POLICY_NAME_MAX, "two\nlines\\");
    policy_write(image, folder, "odd");
    image->spec.env_id[0] = '\0';
    image->origin = (policy_origin){.eval_return = NAN};
    policy_write(image, folder, "imported");
    policy_image_destroy(image);
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
        policy_spec spec = case_spec(&cases[i]);
        fprintf(list, " \\\n    CASE(%s, ", cases[i].name);
        for (const char *c = cases[i].name; *c != '\0'; c++) {
            fputc(toupper((unsigned char)*c), list);
        }
        fprintf(list, ", %s, %u, %s, %s)", cases[i].obs == POLICY_U8 ? "uint8_t" : "float",
                is_box(&cases[i]) ? spec.action_count : 1, is_box(&cases[i]) ? "float" : "int32_t",
                policy_spec_extra_dim(&spec) > 0 ? "SAMPLED" : "GREEDY");
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
    FILE *list = file_open(argv[1], "cases", ".txt");
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        policy_spec spec = case_spec(&cases[i]);
        policy_image *image =
            cases[i].published ? published_image(&spec, &cases[i], &rng)
                               : random_image(&spec, cases[i].precision, cases[i].per_tensor, &rng);
        for (uint32_t k = 0; cases[i].extreme && k < policy_layer_weights(spec.layers); k++) {
            image->codes[0][k] = k / spec.obs_count % 4 < 2 ? 127 : -127;
        }
        float *last_bias = image->bias[spec.layer_count - 1];
        for (uint32_t j = 0; cases[i].alternating && j < policy_spec_outputs(&spec); j++) {
            last_bias[j] = j % 2 == 0 ? 0.5f : -0.5f;
        }
        fprintf(list, "%s %s %s\n", cases[i].name, policy_precision_name(cases[i].precision),
                cases[i].obs == POLICY_U8 ? "u8" : "f32");
        case_export(&cases[i], image, argv[1], sizes);
        case_expect(&cases[i], image, argv[1], expected);
        policy_write(image, argv[1], cases[i].name);
        policy_image_destroy(image);
    }
    assert_int_equal(fclose(expected) | fclose(sizes) | fclose(list), 0);
    list_write(argv[1]);
    balance_write(argv[1]);
    return 0;
}
