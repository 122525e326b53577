#include "policy/policy_kernels.h"

#include "tests/policy/random_policy.h"

// Contract 3: every kernel gives the bits of the reference, for all shapes, rows and values.

#define BATCH_MAX 66

static const policy_isa fast_isas[] = {POLICY_ISA_AVX2, POLICY_ISA_VNNI};

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

static float *
forward(const policy_image *image, policy_isa isa, const float *obs, uint32_t B)
{
    policy_net *net;
    if (policy_net_create(&net, image, isa) != OCT_OK) {
        return NULL;
    }
    policy_scratch *scratch = policy_scratch_create(&image->spec, BATCH_MAX);
    float *y = oct_alloc((size_t)B * policy_spec_outputs(&image->spec) * sizeof(float));
    policy_forward(net, scratch, obs, image->spec.obs_count * sizeof(float), B, y);
    policy_scratch_destroy(scratch);
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
            char name[128];
            snprintf(name, sizeof(name), "%s, %s, B %u", what, policy_isa_name(fast_isas[i]), B);
            expect_same(got, want, (size_t)B * policy_spec_outputs(&image->spec), name);
        }
        free(got);
    }
    free(want);
}

// inputs -> hidden -> outputs in INT8 on observations of the given kind.
static void
check_shape(const uint32_t widths[3], policy_activation activation, bool norm, bool per_tensor,
            uint32_t B, oct_rng *rng)
{
    policy_spec spec = random_spec(widths, 3, activation, norm);
    if (norm) {
        spec.layers[0].activation = activation;
    }
    policy_image *image = random_image(&spec, POLICY_INT8, per_tensor, rng);
    float *obs = oct_alloc((size_t)B * widths[0] * sizeof(float));
    random_floats(obs, (size_t)B * widths[0], 2.0f, rng);
    char what[80];
    snprintf(what, sizeof(what), "%u-%u-%u activation %d norm %d", widths[0], widths[1], widths[2],
             (int)activation, norm);
    expect_kernels_agree(image, obs, B, what);
    free(obs);
    policy_image_destroy(image);
}

static const uint32_t sizes[] = {1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17,  24,  31, 32,
                                 33, 47, 48, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257};

static void
test_awkward_widths_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 11, 1);
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        for (size_t j = 0; j < OCT_COUNTOF(sizes); j++) {
            uint32_t widths[3] = {sizes[i], sizes[j],
                                  sizes[oct_rng_below(&rng, OCT_COUNTOF(sizes) - 1)]};
            check_shape(widths, (policy_activation)((i + j) % 4), (i + 3 * j) % 5 == 0, j % 3 == 0,
                        1 + oct_rng_below(&rng, 9), &rng);
        }
    }
}

static void
test_every_batch_gives_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 12, 1);
    for (uint32_t B = 1; B <= BATCH_MAX; B++) {
        const uint32_t widths[3] = {6, 33 + B, 20};
        check_shape(widths, (policy_activation)(B % 4), B % 2 == 0, false, B, &rng);
    }
}

static void
test_deep_nets_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 13, 1);
    const uint32_t widths[] = {24, 64, 33, 128, 65, 1, 17, 100, 6};
    for (int activation = POLICY_LINEAR; activation <= POLICY_ELU; activation++) {
        policy_spec spec =
            random_spec(widths, OCT_COUNTOF(widths), (policy_activation)activation, true);
        for (uint32_t l = 0; l < spec.layer_count; l += 2) {
            spec.layers[l].layer_norm = true;
        }
        policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
        float obs[BATCH_MAX * 24];
        random_floats(obs, BATCH_MAX * 24, 5.0f, &rng);
        expect_kernels_agree(image, obs, BATCH_MAX, "deep net");
        policy_image_destroy(image);
    }
}

// Rows of one kind each: what quantisation has to survive.
static void
edge_row(float *row, uint32_t n, uint32_t kind, oct_rng *rng)
{
    static const float values[] = {
        0.0f,  -0.0f,  1.0f,  -1.0f,  1e-45f, -1e-40f,        3e-36f,        2.9e-36f,  3.1e-36f,
        3e38f, -3e38f, 1e30f, 255.0f, 127.5f, -3.4028234e38f, 3.4028234e38f, 0x1p-118f, -0x1p-119f};
    for (uint32_t i = 0; i < n; i++) {
        if (kind < OCT_COUNTOF(values)) {
            row[i] = values[kind]; // constant rows
        } else if (kind % 4 == 0) {
            row[i] = values[oct_rng_below(rng, OCT_COUNTOF(values))];
        } else if (kind % 4 == 1) {
            row[i] = -oct_rng_float(rng); // negative only
        } else if (kind % 4 == 2) {
            row[i] = oct_rng_float(rng) * 1e-38f; // denormals
        } else {
            row[i] = (float)(int32_t)oct_rng_below(rng, 511) * 0.5f; // ties
        }
    }
}

static void
test_edge_values_give_the_bits_of_the_reference(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 14, 1);
    for (int activation = POLICY_LINEAR; activation <= POLICY_ELU; activation++) {
        for (int norm = 0; norm < 2; norm++) {
            const uint32_t widths[] = {19, 37, 18, 3};
            policy_spec spec = random_spec(widths, 4, (policy_activation)activation, norm == 1);
            policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
            float obs[60 * 19];
            for (uint32_t r = 0; r < 60; r++) {
                edge_row(obs + r * 19, 19, r, &rng);
            }
            expect_kernels_agree(image, obs, 60, "edge rows");
            policy_image_destroy(image);
        }
    }
}

// Huge scales drive the first layer to infinity and NaN: not useful, but the same everywhere.
static void
test_overflow_in_a_layer_is_the_same_everywhere(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 15, 1);
    for (int activation = POLICY_LINEAR; activation <= POLICY_ELU; activation++) {
        for (int norm = 0; norm < 2; norm++) {
            const uint32_t widths[] = {7, 40, 21, 5};
            policy_spec spec = random_spec(widths, 4, (policy_activation)activation, norm == 1);
            policy_image *image = random_image(&spec, POLICY_INT8, false, &rng);
            for (uint32_t j = 0; j < 40; j++) {
                image->scales[0][j] = j % 3 == 0 ? 3e38f : image->scales[0][j];
                image->bias[0][j] = j % 7 == 0 ? -3e38f : image->bias[0][j];
            }
            float obs[9 * 7];
            random_floats(obs, 9 * 7, 1e20f, &rng);
            expect_kernels_agree(image, obs, 9, "overflow");
            policy_image_destroy(image);
        }
    }
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

// The promise also of FP32, for each instruction set by itself.
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
    const policy_precision precisions[] = {POLICY_INT8, POLICY_FP32};
    const policy_isa isas[] = {POLICY_ISA_REF, POLICY_ISA_AVX2, POLICY_ISA_VNNI};
    for (size_t c = 0; c < OCT_COUNTOF(precisions) * OCT_COUNTOF(isas); c++) {
        policy_image *image = random_image(&spec, precisions[c / 3], false, &rng);
        float *whole = forward(image, isas[c % 3], obs, 37);
        for (uint32_t cut = 1; whole != NULL && cut < 37; cut++) {
            float *first = forward(image, isas[c % 3], obs, cut);
            float *second = forward(image, isas[c % 3], obs + cut * 11, 37 - cut);
            expect_same(first, whole, cut * 7, "first part");
            expect_same(second, whole + cut * 7, (37 - cut) * 7, "second part");
            free(first);
            free(second);
        }
        free(whole);
        policy_image_destroy(image);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_largest_sums_do_not_saturate),
        cmocka_unit_test(test_the_widest_layer_does_not_overflow),
        cmocka_unit_test(test_edge_values_give_the_bits_of_the_reference),
        cmocka_unit_test(test_overflow_in_a_layer_is_the_same_everywhere),
        cmocka_unit_test(test_awkward_widths_give_the_bits_of_the_reference),
        cmocka_unit_test(test_every_batch_gives_the_bits_of_the_reference),
        cmocka_unit_test(test_deep_nets_give_the_bits_of_the_reference),
        cmocka_unit_test(test_a_batch_may_be_split_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
