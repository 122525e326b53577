// The text of an exported C99 header: names, sizes, and only the parts that its policy needs.
// test_export_cross.py checks that it computes the right thing.
#include "policy/export/export_c99.h"

#include <ctype.h>

#include "tests/policy/random_policy.h"

static policy_image *
image_of(policy_precision precision, policy_activation activation, bool layer_norm)
{
    const uint32_t widths[] = {4, 64, 64, 2};
    policy_spec spec = random_spec(widths, 4, activation, layer_norm);
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    return random_image(&spec, precision, false, &rng);
}

static policy_image *
gaussian_of(bool state_deviation, policy_head head)
{
    const uint32_t widths[] = {4, 64, state_deviation ? 6 : 3};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    oct_rng rng;
    oct_rng_init(&rng, 6, 1);
    spec.action_kind = POLICY_BOX;
    spec.action_count = 3;
    spec.head = head;
    spec.state_deviation = state_deviation && head == POLICY_HEAD_GAUSSIAN;
    spec.action_high[0] = spec.action_high[1] = spec.action_high[2] = 1.0f;
    return random_image(&spec, POLICY_INT8, false, &rng);
}

static char *
header_of(policy_image *image, const char *name, export_c99_sizes *sizes)
{
    char *text;
    size_t length;
    const export_c99_options options = {.name = name,
                                        .with_sampling = policy_spec_extra_dim(&image->spec) > 0};
    export_c99(&text, &length, sizes, image, &options);
    assert_int_equal(strlen(text), length);
    policy_image_destroy(image);
    return text;
}

static void
test_names_begin_identifiers(void **state)
{
    (void)state;
    char longest[EXPORT_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[EXPORT_NAME_MAX + 1] = '\0';
    const char *const bad[] = {"",    "1a",       "_a",        "a-b",  "a b",
                               "a.h", "\xc3\xa4", "a\xc3\xa4", longest};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        assert_false(export_c99_name_is_valid(bad[i]));
    }
    longest[EXPORT_NAME_MAX] = '\0';
    const char *const good[] = {"a", "Robot_2", "policy", longest};
    for (size_t i = 0; i < OCT_COUNTOF(good); i++) {
        assert_true(export_c99_name_is_valid(good[i]));
    }
}

// 64 * 4 + 64 * 64 + 2 * 64 weights, 130 outputs with a scale and a bias each.
static void
test_sizes_are_those_of_the_arrays(void **state)
{
    (void)state;
    const struct {
        policy_precision precision;
        size_t flash, ram;
    } want[] = {
        {POLICY_INT8, 4480 + 130 * 8, 64 * 4 + 64 * 2},
        {POLICY_INT4, 2240 + 64 + 2 * 64 + 2 * 2 + 130 * 8, 64 * 4 + 64 * 2},
        {POLICY_FP32, 4 * 4480 + 130 * 4, 2 * 64 * 4},
        {POLICY_BF16, 2 * 4480 + 130 * 4, 2 * 64 * 4},
        {POLICY_FP16, 2 * 4480 + 130 * 4, 2 * 64 * 4},
    };
    for (size_t i = 0; i < OCT_COUNTOF(want); i++) {
        export_c99_sizes sizes;
        free(header_of(image_of(want[i].precision, POLICY_RELU, false), "p", &sizes));
        assert_int_equal(sizes.flash_bytes, want[i].flash);
        assert_int_equal(sizes.ram_bytes, want[i].ram);
    }
}

// Rows of the work space are as wide as the widest layer needs, which here is the first.
static void
test_the_work_space_is_that_of_the_widest_layer(void **state)
{
    (void)state;
    const uint32_t widths[] = {300, 16, 3}, filters[] = {2, 3};
    const policy_spec specs[] = {
        random_spec(widths, 3, POLICY_RELU, false),
        random_conv_spec(4, 4, 6, 2, filters, 2, NULL, 0, 3, POLICY_RELU),
    };
    const struct {
        uint32_t spec;
        policy_precision precision;
        size_t ram;
    } want[] = {
        {0, POLICY_INT8, 16 * 4 + 300 * 2},
        {0, POLICY_FP32, (16 + 3) * 4},
        {1, POLICY_INT8, 18 * 4 + 96 * 2 + 24 * 2}, // 24 numbers are under a place of the kernel
        {1, POLICY_FP32, (18 + 12) * 4 + 24 * 4},
    };
    for (size_t i = 0; i < OCT_COUNTOF(want); i++) {
        oct_rng rng;
        oct_rng_init(&rng, 7, 1);
        export_c99_sizes sizes;
        free(header_of(random_image(&specs[want[i].spec], want[i].precision, false, &rng), "p",
                       &sizes));
        assert_int_equal(sizes.ram_bytes, want[i].ram);
    }
}

static void
test_a_header_has_what_its_policy_needs_and_no_more(void **state)
{
    (void)state;
    export_c99_sizes sizes;
    char *relu = header_of(image_of(POLICY_INT8, POLICY_RELU, false), "p", &sizes);
    assert_non_null(strstr(relu, "\np_x_quantize_relu("));
    const char *const others[] = {"tanh",  "p_x_elu", "p_x_exp", "P_X_EXP", "math.h",
                                  "_norm", "int4",    "fmaf",    "atoms"};
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        assert_null(strstr(relu, others[i]));
    }
    free(relu);
    char *norm = header_of(image_of(POLICY_INT4, POLICY_ELU, true), "p", &sizes);
    const char *const needed[] = {"\np_x_layer_norm(", "\np_x_elu(", "\np_x_expm1(", "\np_x_tanh(",
                                  "\np_x_dense_int4(", "<math.h>",   "sqrtf"};
    for (size_t i = 0; i < OCT_COUNTOF(needed); i++) {
        assert_non_null(strstr(norm, needed[i]));
    }
    assert_null(strstr(norm, "dense_int8"));
    free(norm);
}

static void
test_no_identifier_is_left_without_the_name(void **state)
{
    (void)state;
    export_c99_sizes sizes;
    char *text = header_of(image_of(POLICY_INT8, POLICY_ELU, true), "Arm_7", &sizes);
    assert_null(strstr(text, "policy_"));
    assert_null(strstr(text, "export_"));
    assert_non_null(strstr(text, "#define ARM_7_FLASH_BYTES "));
    assert_non_null(strstr(text, "\nArm_7_act(Arm_7_work *work, const float *observation, "));
    assert_non_null(strstr(text, " Arm_7_self_test checks this.\n"));
    free(text);
}

// ---- names beside each other

enum { WORDS_MAX = 512, WORD_SIZE = 64 };

// What stands behind P_ or p_ at the beginning of an identifier, each once.
static size_t
words_of(const char *text, char words[][WORD_SIZE], size_t count)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!begins || (*at != 'p' && *at != 'P') || at[1] != '_') {
            continue;
        }
        size_t length = 0, known = 0;
        while (isalnum((unsigned char)at[2 + length]) || at[2 + length] == '_') {
            length++;
        }
        assert_true(count < WORDS_MAX && length < WORD_SIZE);
        memcpy(words[count], at + 2, length);
        words[count][length] = '\0';
        while (strcmp(words[known], words[count]) != 0) {
            known++;
        }
        count += known == count;
    }
    return count;
}

// With names a and a_b, word "b_c" of a policy and "c" of the other one are one identifier.
static void
test_no_two_names_make_one_identifier(void **state)
{
    (void)state;
    static char words[WORDS_MAX][WORD_SIZE];
    policy_image *images[] = {
        image_of(POLICY_INT8, POLICY_TANH, true),     image_of(POLICY_INT8, POLICY_RELU, false),
        image_of(POLICY_INT4, POLICY_ELU, true),      image_of(POLICY_FP32, POLICY_TANH, true),
        image_of(POLICY_BF16, POLICY_ELU, false),     image_of(POLICY_FP16, POLICY_RELU, true),
        gaussian_of(false, POLICY_HEAD_GAUSSIAN),     gaussian_of(true, POLICY_HEAD_GAUSSIAN),
        gaussian_of(true, POLICY_HEAD_TANH_GAUSSIAN),
    };
    images[1]->spec.head = POLICY_HEAD_LOGITS;
    size_t count = 0;
    for (size_t i = 0; i < OCT_COUNTOF(images); i++) {
        export_c99_sizes sizes;
        char *text = header_of(images[i], "p", &sizes);
        count = words_of(text, words, count);
        free(text);
    }
    assert_true(count > 50);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            size_t length = strlen(words[i]), end = strlen(words[k]);
            if (length > end && words[i][length - end - 1] == '_' &&
                strcmp(words[i] + length - end, words[k]) == 0) {
                fail_msg("p_%s is also %s of a policy p_%.*s", words[i], words[k],
                         (int)(length - end - 1), words[i]);
            }
        }
    }
}

static void
test_sampling_is_written_when_asked_for(void **state)
{
    (void)state;
    export_c99_sizes greedy, sampling;
    policy_image *image = gaussian_of(false, POLICY_HEAD_GAUSSIAN);
    char *text;
    size_t length;
    export_c99(&text, &length, &greedy, image, &(export_c99_options){.name = "p"});
    const char *const others[] = {"rng", "p_x_log", "p_x_d0", "math.h", "tanh", "sqrtf"};
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        assert_null(strstr(text, others[i]));
    }
    free(text);
    text = header_of(image, "p", &sampling);
    const char *const needed[] = {"\np_rng_init(", "\np_sample(", "p_x_d0[3]", "<math.h>", "sqrtf"};
    for (size_t i = 0; i < OCT_COUNTOF(needed); i++) {
        assert_non_null(strstr(text, needed[i]));
    }
    assert_null(strstr(text, "tanh"));
    assert_int_equal(sampling.flash_bytes, greedy.flash_bytes + 3 * sizeof(float));
    assert_int_equal(sampling.ram_bytes, greedy.ram_bytes);
    free(text);
    text = header_of(gaussian_of(true, POLICY_HEAD_TANH_GAUSSIAN), "p", &sampling);
    assert_null(strstr(text, "p_x_d0"));
    assert_non_null(strstr(text, "\np_x_log_squash("));
    free(text);
}

// As the caller has to give an observation, and what an action can be.
static void
test_the_comment_describes_observation_and_action(void **state)
{
    (void)state;
    export_c99_sizes sizes;
    oct_rng rng;
    oct_rng_init(&rng, 6, 1);
    const uint32_t filters[] = {5}, hidden[] = {9}, widths[] = {16, 8, 4};
    policy_spec spec = random_conv_spec(6, 5, 4, 3, filters, 1, hidden, 1, 3, POLICY_RELU);
    char *text = header_of(random_image(&spec, POLICY_INT8, false, &rng), "p", &sizes);
    assert_non_null(
        strstr(text, "\n// observation: a map [rows][columns][channels], here [6][5][4].\n"));
    free(text);
    spec.obs_dtype = POLICY_U8;
    text = header_of(random_image(&spec, POLICY_INT8, false, &rng), "p", &sizes);
    assert_non_null(strstr(text, ", here [6][5][4], of bytes.\n"));
    free(text);
    spec = random_spec(widths, 3, POLICY_RELU, false);
    text = header_of(random_image(&spec, POLICY_INT8, false, &rng), "p", &sizes);
    assert_null(strstr(text, "// observation:"));
    assert_null(strstr(text, "// action["));
    free(text);
    spec.obs_dtype = POLICY_U8;
    spec.head = POLICY_HEAD_TANH;
    spec.action_kind = POLICY_BOX;
    for (uint32_t i = 0; i < 4; i++) {
        spec.action_low[i] = i == 3 ? -0.1f : -2.0f;
        spec.action_high[i] = i == 0 ? 1.0f : 0.5f;
    }
    text = header_of(random_image(&spec, POLICY_INT8, false, &rng), "p", &sizes);
    assert_non_null(strstr(text, "observation, 0 to 15, is\n// one-hot: 1 at its number"));
    assert_non_null(strstr(text, "\n// action[0]: from -2 to 1.\n"
                                 "// action[1] to action[2]: from -2 to 0.5.\n"
                                 "// action[3]: from -0.100000001 to 0.5.\n"));
    free(text);
}

static void
test_the_same_policy_gives_the_same_text(void **state)
{
    (void)state;
    export_c99_sizes sizes;
    char *a = header_of(image_of(POLICY_INT8, POLICY_TANH, true), "p", &sizes);
    char *b = header_of(image_of(POLICY_INT8, POLICY_TANH, true), "p", &sizes);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_begin_identifiers),
        cmocka_unit_test(test_sizes_are_those_of_the_arrays),
        cmocka_unit_test(test_the_work_space_is_that_of_the_widest_layer),
        cmocka_unit_test(test_a_header_has_what_its_policy_needs_and_no_more),
        cmocka_unit_test(test_no_identifier_is_left_without_the_name),
        cmocka_unit_test(test_no_two_names_make_one_identifier),
        cmocka_unit_test(test_sampling_is_written_when_asked_for),
        cmocka_unit_test(test_the_comment_describes_observation_and_action),
        cmocka_unit_test(test_the_same_policy_gives_the_same_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
