// Policies and answers written by tools/make_policy_golden.py, which shares no code with policy/.
// argv[1] is tests/data/policy.
#include "common/oct_reason.h"
#include "policy/policy_file.h"

#include "common/oct_file.h"
#include "policy/codec/codec_delta.h"
#include "policy/policy_contract.h"
#include "policy/policy_math.h"
#include "tests/policy/random_policy.h"

#define COUNT_MAX 64

static const char *folder;

typedef struct row {
    float obs[COUNT_MAX];
    float outputs[COUNT_MAX];
    uint32_t action[COUNT_MAX];
} row;

// Words in hexadecimal up to the next "|" or the end of the line.
static const char *
words_read(const char *at, void *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int used = 0;
        assert_int_equal(sscanf(at, "%8x%n", &((uint32_t *)words)[i], &used), 1);
        at += used;
    }
    return at + strspn(at, " |\n");
}

static uint32_t
rows_read(const char *name, const policy_spec *spec, row *rows, uint32_t rows_max)
{
    char path[400], line[4096];
    snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    uint32_t count = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        assert_true(count < rows_max && spec->obs_count <= COUNT_MAX);
        const char *at = words_read(line, rows[count].obs, spec->obs_count);
        at = words_read(at, rows[count].outputs, policy_spec_outputs(spec));
        at = words_read(at, rows[count].action, (uint32_t)policy_spec_action_bytes(spec) / 4);
        assert_int_equal(*at, '\0');
        count++;
    }
    fclose(file);
    return count;
}

static uint8_t *
file_read(const char *name, size_t *length)
{
    char path[400];
    uint8_t *bytes;
    snprintf(path, sizeof(path), "%s/%s.oct", folder, name);
    T_OK(oct_file_read(path, POLICY_BYTES_MAX, &bytes, length));
    return bytes;
}

// The bytes of image are those of the file.
static void
expect_file(const policy_image *image, const char *name)
{
    size_t length;
    uint8_t *bytes = file_read(name, &length);
    assert_int_equal(policy_encoded_size(image), length);
    uint8_t *again = malloc(length);
    policy_encode(image, again);
    assert_memory_equal(again, bytes, length);
    free(again);
    free(bytes);
}

static policy_image *
image_read(const char *name)
{
    char path[400];
    oct_reason why = {""};
    policy_image *image;
    snprintf(path, sizeof(path), "%s/%s.oct", folder, name);
    T_OK(policy_file_load(&image, path, &why));
    assert_string_equal(image->spec.env_id, "Golden-v0");
    assert_true(image->origin.run_id == 0x0123456789abcdefu && image->origin.version >= 42);
    expect_file(image, name);
    return image;
}

static void
expect_outputs(const policy_image *image, const float *got, const float *want, policy_isa isa)
{
    uint32_t count = policy_spec_outputs(&image->spec);
    float most = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        most = fmaxf(most, fabsf(want[i]));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!policy_is_integer(image->precision)) {
            T_NEAR(got[i], want[i], 2e-6 * (double)most, 0.0);
        } else if (memcmp(&got[i], &want[i], sizeof(float)) != 0) {
            print_error("%s: %.9g, golden %.9g\n", policy_isa_name(isa), (double)got[i],
                        (double)want[i]);
            fail();
        }
    }
}

static void
expect_action(const policy_spec *spec, const float *y, const uint32_t *want)
{
    uint32_t got[COUNT_MAX];
    policy_act(spec, y, 1, got);
    if (spec->action_kind == POLICY_DISCRETE) {
        assert_int_equal(got[0], want[0]);
        return;
    }
    for (uint32_t i = 0; i < spec->action_count; i++) {
        float a, b;
        memcpy(&a, &got[i], sizeof(a));
        memcpy(&b, &want[i], sizeof(b));
        float width = spec->action_high[i] - spec->action_low[i];
        T_NEAR(a, b, spec->action_direct ? 0.0 : 1e-6 * (double)width, 0.0);
    }
}

static void
check(const char *name)
{
    row rows[32];
    policy_image *image = image_read(name);
    const policy_spec *spec = &image->spec;
    uint32_t count = rows_read(name, spec, rows, OCT_COUNTOF(rows));
    assert_int_equal(count, 24);
    policy_scratch *scratch = policy_scratch_create(spec, 1);
    for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
        policy_net *net;
        oct_err err = policy_net_create(&net, image, (policy_isa)isa);
        if (err != OCT_OK) {
            assert_true(err == OCT_ENOTFOUND && isa != POLICY_ISA_REF);
            continue;
        }
        for (uint32_t r = 0; r < count; r++) {
            float y[COUNT_MAX];
            uint8_t bytes[COUNT_MAX];
            for (uint32_t i = 0; spec->obs_dtype == POLICY_U8 && i < spec->obs_count; i++) {
                bytes[i] = (uint8_t)rows[r].obs[i];
            }
            const void *obs = spec->obs_dtype == POLICY_U8 ? (void *)bytes : (void *)rows[r].obs;
            policy_forward(net, scratch, obs, 0, 1, y);
            expect_outputs(image, y, rows[r].outputs, (policy_isa)isa);
            expect_action(spec, y, rows[r].action);
        }
        policy_net_destroy(net);
    }
    policy_scratch_destroy(scratch);
    policy_image_destroy(image);
}

// The draws of NAME_draws.txt, to the bit.
static void
check_draws(const char *name)
{
    char path[400], line[1024];
    row rows[32];
    check(name);
    policy_image *image = image_read(name);
    const policy_spec *spec = &image->spec;
    uint32_t count = rows_read(name, spec, rows, OCT_COUNTOF(rows)), n = 0;
    size_t action_bytes = policy_spec_action_bytes(spec);
    snprintf(path, sizeof(path), "%s/%s_draws.txt", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof(line), file) != NULL; n++) {
        uint32_t want_action[COUNT_MAX], got_action[COUNT_MAX];
        float want[COUNT_MAX], got[COUNT_MAX];
        policy_rng rng;
        assert_true(n < count);
        const char *at = words_read(line, want_action, (uint32_t)action_bytes / 4);
        at = words_read(at, want, policy_spec_extra_dim(spec));
        assert_int_equal(*at, '\0');
        policy_rng_init(&rng, 11, n);
        policy_sample(spec, image->deviation, rows[n].outputs, 1, &rng, got_action, got);
        assert_memory_equal(got_action, want_action, action_bytes);
        assert_memory_equal(got, want, policy_spec_extra_dim(spec) * sizeof(float));
    }
    fclose(file);
    assert_int_equal(n, count);
    policy_image_destroy(image);
}

static void
test_functions_give_the_bits_of_their_single_precision_steps(void **state)
{
    (void)state;
    char path[400], line[64];
    snprintf(path, sizeof(path), "%s/math.txt", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    uint32_t count = 0;
    for (; fgets(line, sizeof(line), file) != NULL; count++) {
        float want[4];
        (void)words_read(line, want, 4);
        float got[4] = {want[0], policy_exp(want[0]), policy_expm1(want[0]), policy_tanh(want[0])};
        assert_memory_equal(got, want, sizeof(got));
    }
    fclose(file);
    assert_int_equal(count, 907);
}

static void
test_relu_values(void **state)
{
    (void)state;
    check("relu_int8");
}

static void
test_one_scale_for_each_layer(void **state)
{
    (void)state;
    check("relu_int8_per_tensor");
}

static void
test_box_with_normalisation_layer_norm_and_elu(void **state)
{
    (void)state;
    check("box_int8");
}

static void
test_box_in_fp32(void **state)
{
    (void)state;
    check("box_fp32");
}

static void
test_box_in_halves(void **state)
{
    (void)state;
    check("box_bf16");
    check("box_fp16");
}

static void
test_box_in_four_bits(void **state)
{
    (void)state;
    check("box_int4");
}

// NAME_change, whose parts are not compressed, makes NAME_next of NAME; so does our own change.
static void
expect_change(const char *name)
{
    char change[64], next[64];
    oct_reason why = {""};
    snprintf(change, sizeof(change), "%s_change", name);
    snprintf(next, sizeof(next), "%s_next", name);
    policy_image *base = image_read(name), *want = image_read(next), *got;
    assert_int_equal(want->origin.version, 45);
    T_OK(policy_image_create(&got, &base->spec, base->precision));
    codec_coder *coder = codec_coder_create(&base->spec, base->precision);
    size_t length;
    uint8_t *bytes = file_read(change, &length);
    T_OK(codec_delta_decode(coder, got, base, bytes, length, &why));
    expect_file(got, next);
    // The same base with another code.
    base->codes[2][25] ^= 1;
    T_ERR(codec_delta_decode(coder, got, base, bytes, length, NULL), OCT_ENOTFOUND);
    base->codes[2][25] ^= 1;
    const uint8_t *own;
    T_OK(codec_delta_encode(coder, base, want, &own, &length));
    T_OK(codec_delta_decode(coder, got, base, own, length, &why));
    expect_file(got, next);
    free(bytes);
    codec_coder_destroy(coder);
    policy_image_destroy(base);
    policy_image_destroy(want);
    policy_image_destroy(got);
}

static void
test_draws_of_each_distribution(void **state)
{
    (void)state;
    check_draws("logits_int8");
    check_draws("gauss_int8");
    check_draws("gauss_int4");
    check_draws("gauss_state_int8");
    check_draws("squash_int8");
    check_draws("direct_int8");
}

static void
test_a_change_makes_the_next_version(void **state)
{
    (void)state;
    expect_change("box_int8");
    expect_change("box_int4");
    expect_change("gauss_int4");
    expect_change("direct_int8");
}

static void
test_convolutions(void **state)
{
    (void)state;
    check("conv_box_fp32");
    check("conv_box_fp16");
    check("conv_box_int8");
    check("conv_box_int4");
    check("conv_bytes_int8");
}

static void
test_a_change_of_convolutions_makes_the_next_version(void **state)
{
    (void)state;
    expect_change("conv_box_int8");
    expect_change("conv_box_int4");
}

static void
test_a_contract_has_the_entries_that_were_written(void **state)
{
    (void)state;
    check("contract_fp32");
    policy_image *image = image_read("contract_fp32");
    static const char *const entries[][2] = {
        {"joint_names", "hip,thigh,calf"}, {"octet.input", "obs"},
        {"ключ", "Größe 0,1 €"},           {"empty", ""},
        {"octet.output", "logits"},
    };
    policy_contract_entry entry;
    size_t at = 0;
    for (size_t i = 0; i < OCT_COUNTOF(entries); i++) {
        assert_true(policy_contract_next(image, &at, &entry));
        assert_int_equal(entry.key_length, strlen(entries[i][0]));
        assert_memory_equal(entry.key, entries[i][0], entry.key_length);
        assert_int_equal(entry.text_length, strlen(entries[i][1]));
        assert_memory_equal(entry.text, entries[i][1], entry.text_length);
    }
    // A text of more bytes than one byte counts.
    assert_true(policy_contract_next(image, &at, &entry));
    assert_int_equal(entry.text_length, 1000);
    assert_false(policy_contract_next(image, &at, &entry));
    policy_image_destroy(image);
}

static void
test_atoms_on_bytes(void **state)
{
    (void)state;
    check("atoms_int8");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_give_the_bits_of_their_single_precision_steps),
        cmocka_unit_test(test_relu_values),
        cmocka_unit_test(test_one_scale_for_each_layer),
        cmocka_unit_test(test_box_with_normalisation_layer_norm_and_elu),
        cmocka_unit_test(test_box_in_fp32),
        cmocka_unit_test(test_box_in_halves),
        cmocka_unit_test(test_box_in_four_bits),
        cmocka_unit_test(test_draws_of_each_distribution),
        cmocka_unit_test(test_a_change_makes_the_next_version),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_a_change_of_convolutions_makes_the_next_version),
        cmocka_unit_test(test_a_contract_has_the_entries_that_were_written),
        cmocka_unit_test(test_atoms_on_bytes),
    };
    if (argc != 2) {
        return 2;
    }
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
