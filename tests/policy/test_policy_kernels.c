// Contract 3: every kernel gives the bits of the reference, in every precision, for all shapes,
// rows, splits of a batch and values. The same source is also built as kernels_evex, where AVX-VNNI
// is compiled in the encoding of AVX-512 (policy/kernels/policy_avxvnni.c says why).
#include "policy/kernels/policy_kernels.h"

#include "tests/policy/random_policy.h"

#define BATCH_MAX 100

static const policy_isa fast_isas[] = {POLICY_ISA_AVX2, POLICY_ISA_AVXVNNI, POLICY_ISA_VNNI,
                                       POLICY_ISA_NEON};
static const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16, POLICY_INT8,
                                              POLICY_INT4};
static const uint32_t sizes[] = {1,  2,  3,  4,  5,  8,   15,  16,  17,  31,  32,  33,
                                 48, 63, 64, 65, 80, 100, 127, 128, 129, 255, 256, 257};
static const uint32_t batches[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                   12, 13, 14, 15, 16, 17, 31, 32, 33, 64, 100};

// Bits, but for NaN: that it is one counts, not which.
static void
expect_same(const float *got, const float *want, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(&got[i], &want[i], sizeof(float)) != 0 && !(isnan(got[i]) && isnan(want[i]))) {
            print_error("%s: number %zu is %.9g, the reference says %.9g\n", what, i,
                        (double)got[i], (double)want[i]);
            fail();
        }
    }
}

static void
run(const policy_net *net, const float *obs, uint32_t B, float *y)
{
    policy_scratch *scratch = policy_scratch_create(policy_net_spec(net), BATCH_MAX);
    policy_forward(net, scratch, obs, policy_net_spec(net)->obs_count * sizeof(float), B, y);
    policy_scratch_destroy(scratch);
}

// NULL when this CPU or build lacks isa.
static float *
forward(const policy_image *image, policy_isa isa, const float *obs, uint32_t B)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, image, isa);
    if (err == OCT_ENOTFOUND) {
        return NULL;
    }
    T_OK(err);
    float *y = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float));
    run(net, obs, B, y);
    policy_net_destroy(net);
    return y;
}

static void
expect_kernels_agree(const policy_image *image, const float *obs, uint32_t B, const char *what)
{
    float *want = forward(image, POLICY_ISA_REF, obs, B);
    assert_non_null(want);
    for (size_t i = 0; i < OCT_COUNTOF(fast_isas); i++) {
        float *got = forward(image, fast_isas[i], obs, B);
        if (got != NULL) {
            char name[160];
            snprintf(name, sizeof(name), "%s, %s, %s, B %u", what,
                     policy_precision_name(image->precision), policy_isa_name(fast_isas[i]), B);
            expect_same(got, want, (size_t)B * policy_spec_outputs(&image->spec), name);
        }
        free(got);
    }
    free(want);
}

// inputs -> hidden -> outputs on random observations.
static void
check_shape(const uint32_t widths[3], policy_precision precision, uint32_t kind, uint32_t B,
            oct_rng *rng)
{
    const policy_activation activation = (policy_activation)(kind % POLICY_ACTIVATION_COUNT);
    const bool norm = kind / POLICY_ACTIVATION_COUNT % 3 == 0;
    policy_spec spec = random_spec(widths, 3, activation, norm);
    spec.layers[0].activation = activation;
    spec.normalise = kind % 5 == 0;
    policy_image *image =
        random_image(&spec, precision, policy_is_integer(precision) && kind % 7 == 0, rng);
    float *obs = oct_alloc((size_t)B * widths[0] * sizeof(float));
    random_floats(obs, (size_t)B * widths[0], 2.0f, rng);
    char what[80];
    snprintf(what, sizeof(what), "%u-%u-%u activation %d norm %d", widths[0], widths[1], widths[2],
             (int)activation, norm);
    expect_kernels_agree(image, obs, B, what);
    free(obs);
    policy_image_destroy(image);
}

static void
test_awkward_widths_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 11, 1);
    for (uint32_t i = 0; i < OCT_COUNTOF(sizes) * OCT_COUNTOF(sizes); i++) {
        const uint32_t widths[3] = {sizes[i / OCT_COUNTOF(sizes)], sizes[i % OCT_COUNTOF(sizes)],
                                    sizes[oct_rng_below(&rng, OCT_COUNTOF(sizes) - 3)]};
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            check_shape(widths, precisions[p], i, 1 + oct_rng_below(&rng, 6), &rng);
        }
    }
}

static void
test_every_batch_gives_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 12, 1);
    for (uint32_t b = 0; b < OCT_COUNTOF(batches); b++) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            const uint32_t widths[3] = {6 + b, 33 + 3 * b, 20};
            check_shape(widths, precisions[p], b, batches[b], &rng);
            const uint32_t wide[3] = {65, 145, 81};
            check_shape(wide, precisions[p], b + 1, batches[b], &rng);
        }
    }
}

// Larger than one part of the weights in L1, and than what one tile of outputs takes.
static void
test_larger_layers_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    static const uint32_t shapes[][3] = {{513, 270, 7}, {270, 530, 33}, {523, 96, 100}};
    oct_rng rng;
    oct_rng_init(&rng, 18, 1);
    for (uint32_t i = 0; i < OCT_COUNTOF(shapes) * OCT_COUNTOF(precisions); i++) {
        for (uint32_t B = 1; B <= 5; B++) {
            check_shape(shapes[i % 3], precisions[i / 3], i + B, B, &rng);
        }
    }
}

static void
test_deep_nets_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 13, 1);
    const uint32_t widths[] = {24, 64, 33, 128, 65, 1, 17, 100, 6};
    for (uint32_t c = 0; c < POLICY_ACTIVATION_COUNT * OCT_COUNTOF(precisions); c++) {
        policy_spec spec = random_spec(widths, OCT_COUNTOF(widths),
                                       (policy_activation)(c % POLICY_ACTIVATION_COUNT), true);
        for (uint32_t l = 0; l < spec.layer_count; l += 2) {
            spec.layers[l].layer_norm = true;
        }
        policy_image *image =
            random_image(&spec, precisions[c / POLICY_ACTIVATION_COUNT], false, &rng);
        float obs[BATCH_MAX * 24];
        random_floats(obs, BATCH_MAX * 24, 5.0f, &rng);
        expect_kernels_agree(image, obs, 33, "deep net");
        policy_image_destroy(image);
    }
}

// Rows of one kind each: what quantisation and sums have to survive.
static void
edge_row(float *row, uint32_t n, uint32_t kind, oct_rng *rng)
{
    static const float values[] = {
        0.0f,    -0.0f,          1.0f,          -1.0f,     1e-45f,     -1e-40f,  3e-36f,
        -3e-30f, 2.9e-36f,       3.1e-36f,      3e38f,     -3e38f,     1e30f,    255.0f,
        127.5f,  -3.4028234e38f, 3.4028234e38f, 0x1p-118f, -0x1p-119f, INFINITY, NAN};
    for (uint32_t i = 0; i < n; i++) {
        if (kind < OCT_COUNTOF(values)) {
            row[i] = values[kind]; // constant rows
        } else if (kind % 5 == 0) {
            row[i] = values[oct_rng_below(rng, OCT_COUNTOF(values) - 2)]; // finite ones
        } else if (kind % 5 == 1) {
            row[i] = -oct_rng_float(rng); // negative only
        } else if (kind % 5 == 2) {
            row[i] = oct_rng_float(rng) * 1e-38f; // denormals
        } else if (kind % 5 == 3) {
            row[i] = (float)(int32_t)oct_rng_below(rng, 511) * 0.5f; // ties
        } else {
            row[i] = i % 6 == 5 ? values[OCT_COUNTOF(values) - 1 - kind % 2] : oct_rng_float(rng);
        }
    }
}

static void
check_edge_rows(const policy_image *image, const char *what, oct_rng *rng)
{
    const uint32_t n = image->spec.obs_count;
    float *obs = oct_alloc((size_t)60 * n * sizeof(float));
    for (uint32_t r = 0; r < 60; r++) {
        edge_row(obs + (size_t)r * n, n, r, rng);
    }
    expect_kernels_agree(image, obs, 60, what);
    free(obs);
}

static void
test_edge_values_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 14, 1);
    for (uint32_t c = 0; c < 2 * POLICY_ACTIVATION_COUNT * OCT_COUNTOF(precisions); c++) {
        const uint32_t widths[] = {19, 37, 18, 3};
        policy_spec spec = random_spec(widths, 4, (policy_activation)(c % POLICY_ACTIVATION_COUNT),
                                       c / POLICY_ACTIVATION_COUNT % 2 == 1);
        policy_image *image =
            random_image(&spec, precisions[c / (2 * POLICY_ACTIVATION_COUNT)], false, &rng);
        check_edge_rows(image, "edge rows", &rng);
        policy_image_destroy(image);
    }
}

// Weights at the ends of each 16-bit format, zeros of both signs and rows of nothing else, biases
// of -0: products that vanish keep their sign, so a sum padded with zeros would be found out.
static void
edge_weights(policy_image *image, oct_rng *rng)
{
    static const uint16_t halves[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x007f,
                                      0x0080, 0x7bff, 0xfbff, 0x7f7f, 0xff7f, 0x3c00, 0xbf80};
    static const float floats[] = {0.0f,    -0.0f, 1e-45f, -1e-45f, 1e-38f, -3e-20f,   5e-24f,
                                   -1e-30f, 3e38f, -3e38f, 1.0f,    -1.0f,  0x1p-126f, 65504.0f};
    const bool is_fp16 = image->precision == POLICY_FP16;
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        for (size_t i = 0; i < (size_t)layer->inputs * layer->outputs; i++) {
            uint32_t few = i / layer->inputs % 3 == 0 ? 2 : i / layer->inputs % 3 == 1 ? 6 : 14;
            uint32_t pick = oct_rng_below(rng, few);
            if (policy_is_integer(image->precision)) {
                image->codes[l][i] = (int8_t)(few == 2 ? 0 : image->codes[l][i]);
            } else if (image->precision == POLICY_FP32) {
                image->weights[l][i] = floats[pick];
            } else {
                // 0x7f7f is no number in fp16.
                bool is_none = is_fp16 && (halves[pick] & 0x7c00u) == 0x7c00u;
                image->halves[l][i] = is_none ? 0x1234 : halves[pick];
            }
        }
        for (uint32_t j = 0; j < layer->outputs; j++) {
            image->bias[l][j] = j % 2 == 0 ? -0.0f : image->bias[l][j];
            if (policy_is_integer(image->precision) && j % 3 == 0) {
                image->scales[l][j] = 0.0f;
            }
        }
    }
}

static void
test_edge_weights_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 17, 1);
    for (uint32_t c = 0; c < 3 * POLICY_ACTIVATION_COUNT * OCT_COUNTOF(precisions); c++) {
        const uint32_t widths[] = {1 + c % 12, 18, 19 + c % 12, 5};
        policy_spec spec = random_spec(widths, 4, (policy_activation)(c % POLICY_ACTIVATION_COUNT),
                                       c / POLICY_ACTIVATION_COUNT % 3 == 1);
        policy_image *image =
            random_image(&spec, precisions[c / (3 * POLICY_ACTIVATION_COUNT)], false, &rng);
        edge_weights(image, &rng);
        check_edge_rows(image, "edge weights", &rng);
        policy_image_destroy(image);
    }
}

// Huge scales drive the first layer to infinity and NaN: not useful, but the same everywhere.
static void
test_overflow_in_a_layer_is_the_same_everywhere(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 15, 1);
    for (uint32_t c = 0; c < 2 * POLICY_ACTIVATION_COUNT * OCT_COUNTOF(precisions); c++) {
        const uint32_t widths[] = {7, 40, 21, 5};
        policy_spec spec = random_spec(widths, 4, (policy_activation)(c % POLICY_ACTIVATION_COUNT),
                                       c / POLICY_ACTIVATION_COUNT % 2 == 1);
        policy_image *image =
            random_image(&spec, precisions[c / (2 * POLICY_ACTIVATION_COUNT)], false, &rng);
        for (uint32_t j = 0; j < 40; j++) {
            if (policy_is_integer(image->precision) && j % 3 == 0) {
                image->scales[0][j] = 3e38f;
            }
            image->bias[0][j] = j % 7 == 0 ? -3e38f : image->bias[0][j];
        }
        float obs[9 * 7];
        random_floats(obs, 9 * 7, c % 3 == 0 ? 3e38f : 1e20f, &rng);
        expect_kernels_agree(image, obs, 9, "overflow");
        policy_image_destroy(image);
    }
}

// The sum of outputs as documented: a fused product, and the order of the four chains.
static void
test_the_sum_in_floats_is_four_fused_chains(void **state)
{
    (void)state;
    const uint32_t widths[] = {9, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_LINEAR, false);
    const float odd = 1.0f + 0x1p-12f; // its square needs 25 bits
    const float obs[9] = {1.0f, 0x1p24f, 1.0f, -0x1p24f, odd, 0.0f, 0.0f, 0.0f, 0.0f};
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    for (uint32_t k = 0; k < 4; k++) {
        image->weights[0][k] = 1.0f;
    }
    image->weights[0][9] = -1.0f - 0x1p-11f;
    image->weights[0][9 + 4] = odd;
    for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
        float *y = forward(image, (policy_isa)isa, obs, 1);
        if (y != NULL) {
            assert_true(y[0] == 1.0f);     // (1 + 2^24) + (1 - 2^24); in one chain 0, by halves 2
            assert_true(y[1] == 0x1p-24f); // 0 when the product is rounded first
        }
        free(y);
    }
    policy_image_destroy(image);
}

// vpmaddubsw would saturate at 32767: all codes 255 against all codes 127 must not.
static void
test_the_largest_sums_do_not_saturate(void **state)
{
    (void)state;
    for (size_t s = 0; s < OCT_COUNTOF(sizes); s++) {
        const uint32_t widths[] = {sizes[s], 33};
        policy_spec spec = random_spec(widths, 2, POLICY_LINEAR, false);
        policy_image *image;
        T_OK(policy_image_create(&image, &spec, POLICY_INT8));
        memset(image->codes[0], 127, (size_t)sizes[s] * 32);
        memset(image->codes[0] + (size_t)sizes[s] * 32, -127, sizes[s]);
        float obs[257];
        for (uint32_t i = 0; i < sizes[s]; i++) {
            obs[i] = 255.0f; // scale 1, zero point 0, code 255
        }
        for (uint32_t j = 0; j < 33; j++) {
            image->scales[0][j] = 1.0f;
        }
        float *y = forward(image, POLICY_ISA_REF, obs, 1);
        assert_true(y[0] == (float)(sizes[s] * 255 * 127));
        assert_true(y[32] == -(float)(sizes[s] * 255 * 127));
        expect_kernels_agree(image, obs, 1, "largest sums");
        free(y);
        policy_image_destroy(image);
    }
}

static void
test_the_widest_layer_does_not_overflow(void **state)
{
    (void)state;
    const uint32_t widths[] = {POLICY_WIDTH_MAX, 2};
    policy_spec spec = random_spec(widths, 2, POLICY_LINEAR, false);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_INT8));
    memset(image->codes[0], 127, POLICY_WIDTH_MAX);
    memset(image->codes[0] + POLICY_WIDTH_MAX, -127, POLICY_WIDTH_MAX);
    image->scales[0][0] = image->scales[0][1] = 1.0f;
    float *obs = oct_alloc(POLICY_WIDTH_MAX * sizeof(float));
    for (int sign = -1; sign <= 1; sign += 2) {
        for (uint32_t i = 0; i < POLICY_WIDTH_MAX; i++) {
            obs[i] = (float)sign * 255.0f;
        }
        float *y = forward(image, POLICY_ISA_REF, obs, 1);
        T_NEAR(y[0], sign * 255.0 * 127.0 * POLICY_WIDTH_MAX, 0.0, 1e-7);
        T_NEAR(y[1], -sign * 255.0 * 127.0 * POLICY_WIDTH_MAX, 0.0, 1e-7);
        expect_kernels_agree(image, obs, 1, "widest layer");
        free(y);
    }
    free(obs);
    policy_image_destroy(image);
}

static void
check_cuts(const policy_net *net, const float *obs)
{
    enum { B = 37, inputs = 11, outputs = 7 };
    float whole[B * outputs], parts[B * outputs];
    run(net, obs, B, whole);
    for (uint32_t cut = 1; cut < B; cut++) {
        run(net, obs, cut, parts);
        run(net, obs + cut * inputs, B - cut, parts + cut * outputs);
        expect_same(parts, whole, B * outputs, policy_isa_name(policy_net_isa(net)));
    }
}

static void
test_a_batch_may_be_split_anywhere(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 16, 1);
    const uint32_t widths[] = {11, 50, 35, 7};
    policy_spec spec = random_spec(widths, 4, POLICY_TANH, true);
    float obs[37 * 11];
    random_floats(obs, 37 * 11, 3.0f, &rng);
    for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
        policy_image *image = random_image(&spec, precisions[p], false, &rng);
        for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
            policy_net *net;
            if (policy_net_create(&net, image, (policy_isa)isa) == OCT_OK) {
                check_cuts(net, obs);
                policy_net_destroy(net);
            }
        }
        policy_image_destroy(image);
    }
}

// With the argument "evex": exits 77, for Meson a skip, where AVX-VNNI cannot run in either form.
int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_sums_do_not_saturate),
        cmocka_unit_test(test_the_widest_layer_does_not_overflow),
        cmocka_unit_test(test_the_sum_in_floats_is_four_fused_chains),
        cmocka_unit_test(test_edge_values_give_the_bits_of_the_reference),
        cmocka_unit_test(test_edge_weights_give_the_bits_of_the_reference),
        cmocka_unit_test(test_overflow_in_a_layer_is_the_same_everywhere),
        cmocka_unit_test(test_awkward_widths_give_the_bits_of_the_reference),
        cmocka_unit_test(test_every_batch_gives_the_bits_of_the_reference),
        cmocka_unit_test(test_larger_layers_give_the_bits_of_the_reference),
        cmocka_unit_test(test_deep_nets_give_the_bits_of_the_reference),
        cmocka_unit_test(test_a_batch_may_be_split_anywhere),
    };
    const policy_kernels *kernels;
    for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
        bool is_here = policy_kernels_choose(&kernels, (policy_isa)isa) == OCT_OK;
        printf("%s: %s\n", policy_isa_name((policy_isa)isa),
               is_here ? "held to the reference" : "not on this machine, NOT TESTED");
    }
    if (argc > 1 && strcmp(argv[1], "evex") == 0 &&
        policy_kernels_choose(&kernels, POLICY_ISA_AVXVNNI) != OCT_OK) {
        printf("SKIPPED: this CPU has no AVX-VNNI to do without\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
