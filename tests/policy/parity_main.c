// Prints what a fixed list of random nets computes on this machine, on the instruction set that
// OCTET_ISA names: one line `shape batch precision crc32-of-output-bits` for each. Machines that
// agree print the same; cross_parity.py compares them. Links policy/ and common/ alone, so that it
// can be built for any machine.
//
// usage: parity_main     exit code 77: this machine lacks the instruction set
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_bytes.h"
#include "policy/policy_net.h"
#include "tests/policy/random_image.h"

#define CASES      60
#define CONV_CASES 24
#define LAYERS_MAX 4
#define BATCH_MAX  100

static const uint32_t sizes[] = {1,  2,  3,  5,   15,  16,  17,  31, 33,
                                 63, 64, 65, 100, 127, 129, 255, 257};
static const uint32_t batches[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                   12, 13, 14, 15, 16, 17, 31, 32, 33, 64, 100};

// Ordinary numbers; every third row has ends of the range, denormals, zeros and ties, too, with
// is_wild also infinity and NaN (policy_math.h says what they give).
static void
fill_observations(float *obs, uint32_t rows, uint32_t count, bool is_wild, oct_rng *rng)
{
    static const float edges[] = {0.0f,      -0.0f,   1e-45f,   -1e-40f,   3e38f,
                                  -3e38f,    1e30f,   1.5f,     255.0f,    127.5f,
                                  0x1p-118f, -3e-36f, INFINITY, -INFINITY, NAN};
    const uint32_t picks = (uint32_t)OCT_COUNTOF(edges) - (is_wild ? 0 : 3);
    random_floats(obs, (size_t)rows * count, 3.0f, rng);
    for (size_t i = 0; i < (size_t)rows * count; i++) {
        if (i / count % 3 == 2 && oct_rng_below(rng, 2) == 0) {
            obs[i] = edges[oct_rng_below(rng, picks)];
        }
    }
}

// Of the bits, but for NaN: its sign and payload are the machine's own.
static uint32_t
outputs_crc(float *y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(y[i])) {
            const uint32_t nan = 0x7fc00000u;
            memcpy(&y[i], &nan, sizeof(nan));
        }
    }
    return oct_crc32(0, y, count * sizeof(float));
}

static oct_err
image_crc(uint32_t *crc, const policy_image *image, const float *obs, uint32_t B)
{
    policy_net *net;
    OCT_TRY(policy_net_create(&net, image, POLICY_ISA_BEST));
    policy_scratch *scratch = policy_scratch_create(&image->spec, BATCH_MAX);
    size_t count = (size_t)B * policy_spec_outputs(&image->spec);
    float *y = oct_alloc(count * sizeof(float));
    policy_forward(net, scratch, obs, image->spec.obs_count * sizeof(float), B, y);
    *crc = outputs_crc(y, count);
    free(y);
    policy_scratch_destroy(scratch);
    policy_net_destroy(net);
    return OCT_OK;
}

static oct_err
case_print(uint32_t n, policy_precision precision, oct_rng *rng)
{
    uint32_t widths[LAYERS_MAX + 1], count = 2 + n % LAYERS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        widths[i] = sizes[oct_rng_below(rng, OCT_COUNTOF(sizes))];
    }
    widths[count - 1] = OCT_MIN(widths[count - 1], 100u); // actions
    policy_spec spec =
        random_spec(widths, count, (policy_activation)(n / 3 % (POLICY_ELU + 1)), n % 5 == 1);
    spec.normalise = n % 7 == 3;
    bool per_tensor = policy_is_integer(precision) && n % 6 == 0;
    policy_image *image = random_image(&spec, precision, per_tensor, rng);
    uint32_t B = batches[n % OCT_COUNTOF(batches)], crc = 0;
    float *obs = oct_alloc((size_t)B * widths[0] * sizeof(float));
    fill_observations(obs, B, widths[0], n % 4 == 3, rng);
    for (uint32_t j = 0; n % 8 == 5 && policy_is_integer(precision) && j < widths[1]; j += 3) {
        image->scales[0][j] = 3e38f; // layer 0 overflows
    }
    oct_err err = image_crc(&crc, image, obs, B);
    if (err == OCT_OK) {
        for (uint32_t i = 0; i < count; i++) {
            printf("%s%u", i == 0 ? "" : "-", widths[i]);
        }
        printf(" %u %s %08x\n", B, policy_precision_name(precision), crc);
    }
    free(obs);
    policy_image_destroy(image);
    return err;
}

// Nets of n % 2 + 1 convolutions, a hidden layer, and outputs.
static oct_err
conv_case_print(uint32_t n, policy_precision precision, oct_rng *rng)
{
    static const uint32_t numbers[] = {1, 2, 3, 4, 6, 7, 10, 15, 16, 17, 32, 33};
    const uint32_t kernel = 1 + n % 4, side = 2 * kernel + oct_rng_below(rng, 6);
    const uint32_t channels = numbers[oct_rng_below(rng, 8)], width = side + n % 3;
    const uint32_t filters[2] = {numbers[oct_rng_below(rng, OCT_COUNTOF(numbers))],
                                 numbers[oct_rng_below(rng, OCT_COUNTOF(numbers))]};
    const uint32_t hidden = sizes[oct_rng_below(rng, OCT_COUNTOF(sizes))];
    policy_spec spec = random_conv_spec(side, width, channels, kernel, filters, 1 + n % 2, &hidden,
                                        1, 5, (policy_activation)(n / 2 % (POLICY_ELU + 1)));
    spec.normalise = n % 5 == 3;
    policy_image *image = random_image(&spec, precision, false, rng);
    uint32_t B = batches[n % 17], crc = 0;
    float *obs = oct_alloc((size_t)B * spec.obs_count * sizeof(float));
    fill_observations(obs, B, spec.obs_count, n % 4 == 3, rng);
    oct_err err = image_crc(&crc, image, obs, B);
    if (err == OCT_OK) {
        printf("conv%u:%ux%ux%u-%u-%u %u %s %08x\n", kernel, side, width, channels, filters[0],
               hidden, B, policy_precision_name(precision), crc);
    }
    free(obs);
    policy_image_destroy(image);
    return err;
}

// One net of each activation, in lines of its own, so that a new activation adds lines and changes
// none.
static oct_err
activation_case_print(policy_activation activation, policy_precision precision)
{
    const uint32_t widths[] = {19, 33, 18, 5}, B = 17;
    oct_rng rng;
    oct_rng_init(&rng, 2209, (uint64_t)activation);
    policy_spec spec = random_spec(widths, OCT_COUNTOF(widths), activation, false);
    policy_image *image = random_image(&spec, precision, false, &rng);
    float *obs = oct_alloc((size_t)B * widths[0] * sizeof(float));
    fill_observations(obs, B, widths[0], false, &rng);
    uint32_t crc = 0;
    oct_err err = image_crc(&crc, image, obs, B);
    if (err == OCT_OK) {
        printf("%s %s %08x\n", policy_activation_name(activation), policy_precision_name(precision),
               crc);
    }
    free(obs);
    policy_image_destroy(image);
    return err;
}

static void
numbers_print(const char *what, const void *actions, size_t action_bytes, const float *extra,
              size_t extra_count)
{
    uint32_t crc = oct_crc32(0, actions, action_bytes);
    printf("%s %08x\n", what, oct_crc32(crc, extra, extra_count * sizeof(float)));
}

// Draws from outputs of any size; they do not pass through a kernel, but through this machine's
// arithmetic.
static void
draws_print(const char *what, policy_head head, bool state_deviation, oct_rng *rng)
{
    enum { ROWS = 500, DIM = 3 };
    static float y[ROWS * 2 * DIM], extra[ROWS * (1 + DIM)];
    static uint8_t actions[ROWS * DIM * sizeof(float)];
    static policy_rng draws[ROWS];
    const float deviation[DIM] = {-3.0f, 0.0f, 1.5f};
    const bool is_double = head == POLICY_HEAD_TANH_GAUSSIAN || state_deviation;
    const uint32_t widths[] = {2, is_double ? 2 * DIM : DIM};
    policy_spec spec = random_spec(widths, 2, POLICY_RELU, false);
    spec.head = head;
    spec.state_deviation = state_deviation;
    spec.action_kind = head == POLICY_HEAD_LOGITS ? POLICY_DISCRETE : POLICY_BOX;
    spec.action_count = DIM;
    for (uint32_t i = 0; i < DIM; i++) {
        spec.action_low[i] = -1.0f;
        spec.action_high[i] = 0.3f;
    }
    for (uint32_t b = 0; b < ROWS; b++) {
        policy_rng_init(&draws[b], b, 5);
    }
    random_floats(y, (size_t)ROWS * widths[1], 8.0f, rng);
    policy_sample(&spec, policy_spec_has_deviation(&spec) ? deviation : NULL, y, ROWS, draws,
                  actions, extra);
    numbers_print(what, actions, ROWS * policy_spec_action_bytes(&spec), extra,
                  (size_t)ROWS * policy_spec_extra_dim(&spec));
}

int
main(void)
{
    oct_rng rng;
    oct_rng_init(&rng, 2208, 1);
    for (uint32_t n = 0; n < CASES + CONV_CASES; n++) {
        for (int precision = POLICY_FP32; precision <= POLICY_INT4; precision++) {
            oct_err err = n < CASES ? case_print(n, (policy_precision)precision, &rng)
                                    : conv_case_print(n - CASES, (policy_precision)precision, &rng);
            if (err != OCT_OK) {
                const char *isa = getenv("OCTET_ISA");
                fprintf(stderr, "OCTET_ISA=%s: %s\n", isa == NULL ? "" : isa, oct_strerror(err));
                return err == OCT_ENOTFOUND ? 77 : 1;
            }
        }
    }
    draws_print("softmax", POLICY_HEAD_LOGITS, false, &rng);
    draws_print("gaussian", POLICY_HEAD_GAUSSIAN, false, &rng);
    draws_print("gaussian by state", POLICY_HEAD_GAUSSIAN, true, &rng);
    draws_print("tanh gaussian", POLICY_HEAD_TANH_GAUSSIAN, false, &rng);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (int precision = POLICY_FP32; precision <= POLICY_INT4; precision++) {
            if (activation_case_print((policy_activation)a, (policy_precision)precision) !=
                OCT_OK) {
                return 1;
            }
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
