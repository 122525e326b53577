// Layers as a person writes them: what is read, what is refused and why, and that a layer's word is
// read as the layer.
#include "common/oct_reason.h"
#include "policy/policy_words.h"
#include "tests/support/oct_test.h"

static policy_spec
observed(uint32_t rank, uint32_t a, uint32_t b, uint32_t c)
{
    policy_spec spec = {
        .env_id = "Test-v0",
        .obs_dtype = POLICY_F32,
        .obs_rank = rank,
        .obs_shape = {a, b, c},
        .obs_count = a * (rank > 1 ? b : 1) * (rank > 2 ? c : 1),
        .action_kind = POLICY_DISCRETE,
        .action_count = 6,
        .head = POLICY_HEAD_VALUES,
    };
    return spec;
}

static oct_err
layers_of(policy_spec *spec, const char *text, oct_reason *why)
{
    policy_words words;
    oct_err err = policy_words_parse(&words, text, why);
    return err != OCT_OK ? err : policy_spec_set_words(spec, &words, POLICY_RELU, 6, why);
}

static void
expect_refused(policy_spec spec, const char *text, const char *reason)
{
    oct_reason why = {""};
    T_ERR(layers_of(&spec, text, &why), OCT_EINVAL);
    if (strstr(why.text, reason) == NULL) {
        print_error("%s: \"%s\" has no \"%s\"\n", text, why.text, reason);
        fail();
    }
}

static void
expect_layer(const policy_layer *layer, policy_layer_kind kind, uint32_t inputs, uint32_t outputs)
{
    assert_int_equal(layer->kind, kind);
    assert_int_equal(layer->inputs, inputs);
    assert_int_equal(layer->outputs, outputs);
}

static void
test_the_nature_network_has_its_shapes(void **state)
{
    (void)state;
    policy_spec spec = observed(3, 84, 84, 4);
    T_OK(layers_of(&spec, "nature", NULL));
    T_OK(policy_spec_check(&spec, NULL));
    assert_int_equal(spec.layer_count, 5);
    expect_layer(&spec.layers[0], POLICY_CONV, 84 * 84 * 4, 20 * 20 * 32);
    expect_layer(&spec.layers[1], POLICY_CONV, 20 * 20 * 32, 9 * 9 * 64);
    expect_layer(&spec.layers[2], POLICY_CONV, 9 * 9 * 64, 7 * 7 * 64);
    expect_layer(&spec.layers[3], POLICY_DENSE, 7 * 7 * 64, 512);
    expect_layer(&spec.layers[4], POLICY_DENSE, 512, 6);
    assert_int_equal(policy_spec_params(&spec), 1687206); // 1,684,128 and the head's 3,078
}

static void
test_every_part_of_a_word_is_read(void **state)
{
    (void)state;
    policy_spec spec = observed(3, 10, 12, 3);
    T_OK(layers_of(&spec,
                   "conv 7 2x3/2x1+1x2 tanh, pool 3x2/2, mean 1x2+0x1 elu,dense 9 norm silu,"
                   "  dense 4 linear",
                   NULL));
    T_OK(policy_spec_check(&spec, NULL));
    const policy_layer *layers = spec.layers;
    const policy_conv first = {
        .rows = {.size = 10, .kernel = 2, .stride = 2, .before = 1, .after = 1},
        .columns = {.size = 12, .kernel = 3, .stride = 1, .before = 2, .after = 2},
        .channels = 3,
        .filters = 7,
    };
    assert_true(policy_conv_equal(&layers[0].conv, &first));
    expect_layer(&layers[0], POLICY_CONV, 360, 6 * 14 * 7);
    expect_layer(&layers[1], POLICY_MAX_POOL, 588, 2 * 7 * 7);
    expect_layer(&layers[2], POLICY_MEAN_POOL, 98, 2 * 8 * 7);
    expect_layer(&layers[3], POLICY_DENSE, 112, 9);
    assert_int_equal(layers[0].activation, POLICY_TANH);
    assert_int_equal(layers[1].activation, POLICY_LINEAR); // a pool has none unless it names one
    assert_int_equal(layers[2].activation, POLICY_ELU);
    assert_int_equal(layers[3].activation, POLICY_SILU);
    assert_true(layers[3].layer_norm && !layers[4].layer_norm);
    assert_int_equal(layers[4].activation, POLICY_LINEAR);
    assert_int_equal(spec.layer_count, 6);
}

static void
test_kernels_move_along_pictures_and_sequences(void **state)
{
    (void)state;
    policy_spec spec = observed(2, 40, 3, 0);
    T_OK(layers_of(&spec, "conv 8 5/2+1", NULL));
    expect_layer(&spec.layers[0], POLICY_CONV, 120, 19 * 8);
    assert_int_equal(spec.layers[0].conv.columns.size, 1);
    assert_int_equal(spec.layers[0].conv.channels, 3);
    assert_string_equal(policy_layer_word(&spec.layers[0]).text, "conv 8 5x1/2x1+1x0");
    T_OK(layers_of(&spec, "conv 8 5x3", NULL)); // a picture of one channel
    expect_layer(&spec.layers[0], POLICY_CONV, 120, 36 * 8);
    assert_int_equal(spec.layers[0].conv.channels, 1);
    spec = observed(1, 32, 0, 0);
    T_OK(layers_of(&spec, "conv 2 4/4, dense 8", NULL));
    expect_layer(&spec.layers[0], POLICY_CONV, 32, 16);
    T_OK(layers_of(&spec, "", NULL)); // the output layer alone
    assert_int_equal(spec.layer_count, 1);
    expect_refused(spec, "conv 2 4x4",
                   "convolutions need observations of rows x columns x channels, "
                   "but those of Test-v0 have rank 1");
    expect_refused(observed(3, 8, 8, 1), "conv 2 4",
                   "kernels of one number need observations of "
                   "steps x channels");
}

static void
test_what_is_no_layer_is_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        "cnn 3",
        "dense",
        "dense x",
        "dense -4",
        "dense 4 4",
        "conv 4",
        "conv 3x3",
        "conv 4 3x",
        "conv 4 x3",
        "conv 4 3x3/",
        "conv 4 3x3+",
        "conv 4 3x3/2/2",
        "conv 4 3x3 +1",
        "pool 4 3x3",
        "pool",
        "dense 4 relu norm",
        "dense 4 norm norm",
        "dense 4 rely",
        "conv 4 3/2x2",
        ",",
        "dense 4,,dense 4",
        "dense 12345678901",
        "dense 4 norm relu relu relu relu relu",
        "dense 44444444444444444444444444444444444444444444",
        "nature relu",
    };
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        expect_refused(observed(3, 84, 84, 4), words[i], "is not a layer; a layer is dense N, ");
    }
    expect_refused(observed(3, 9, 9, 1), "dense 4, ", "the list ends with a comma");
    expect_refused(
        observed(1, 9, 0, 0),
        "dense 1,dense 1,dense 1,dense 1,dense 1,dense 1,dense 1,dense 1,dense 1,dense 1,"
        "dense 1,dense 1,dense 1,dense 1,dense 1,dense 1",
        "more than 15 layers");
}

static void
test_what_does_not_fit_is_refused_with_its_sizes(void **state)
{
    (void)state;
    policy_spec spec = observed(3, 9, 9, 64);
    expect_refused(spec, "conv 32 3x3, conv 64 4x4/2, conv 64 4x4/2",
                   "layer 3 (conv 64 4x4/2) reads 2 x 2 of 64; its kernel is 4 x 4");
    expect_refused(spec, "conv 4 17x1", "layer 1 (conv 4 17x1) reads 9 x 9 of 64; its kernel is");
    expect_refused(spec, "conv 4 3x3/0", "kernels and strides are 1..16");
    expect_refused(spec, "conv 4 0x3", "kernels and strides are 1..16");
    expect_refused(spec, "conv 4 3x3+3", "padding is less than its kernel");
    expect_refused(spec, "dense 0", "layer 1 has 0 outputs, allowed 1..1048576");
    expect_refused(spec, "dense 70000", "layer 1 (dense 70000) has weights of 70000 x 5184");
    expect_refused(spec, "dense 4, conv 4 3x3", "layer 2 (conv) stands after a dense layer");
    expect_refused(spec, "pool 2x2", "the first layer is a pool");
    expect_refused(spec, "conv 4 3x3, conv 4 3",
                   "layer 2 (conv) has a kernel of one number, which moves along sequences, and "
                   "reads 7 x 7 of 4");
    expect_refused(spec, "conv 4 3x3 norm", "layer 1 (conv 4 3x3) has a norm, which only dense");
    expect_refused(spec, "conv 30000 3x3", "layer 1 has 1470000 outputs, allowed 1..1048576");
    expect_refused(spec, "conv 2000 3x3", "the last layer reads 98000 numbers, allowed 1..65536");
}

// What inspect prints can be written into a configuration.
static void
test_a_layers_word_is_read_as_the_layer(void **state)
{
    (void)state;
    static const char *const words[] = {
        "dense 5",      "conv 4 3x3",     "conv 4 3x2/2",   "conv 4 3x2/2x1",
        "conv 4 3x3+1", "conv 4 3x2+2x1", "conv 4 5x5/3+2",
    };
    for (size_t i = 0; i < OCT_COUNTOF(words); i++) {
        policy_spec spec = observed(3, 9, 9, 2);
        T_OK(layers_of(&spec, words[i], NULL));
        assert_string_equal(policy_layer_word(&spec.layers[0]).text, words[i]);
    }
    policy_spec spec = observed(3, 9, 9, 2);
    T_OK(layers_of(&spec, "conv 4 3x3, pool 2x2/2, mean 3x2+0x1", NULL));
    assert_string_equal(policy_layer_word(&spec.layers[1]).text, "pool 2x2/2");
    assert_string_equal(policy_layer_word(&spec.layers[2]).text, "mean 3x2+0x1");
}

static void
test_the_short_form_is_a_list_of_words(void **state)
{
    (void)state;
    const uint32_t filters[] = {16, 8}, hidden[16] = {128};
    policy_words words;
    policy_spec spec = observed(3, 10, 10, 4), same = spec;
    oct_reason why = {""};
    T_OK(policy_words_short(&words, filters, 2, hidden, 1, &why));
    T_OK(policy_spec_set_words(&spec, &words, POLICY_RELU, 6, &why));
    T_OK(layers_of(&same, "conv 16 3x3, conv 8 3x3, dense 128", &why));
    assert_true(policy_spec_equal(&spec, &same));
    T_ERR(policy_words_short(&words, filters, 2, hidden, 14, &why), OCT_EINVAL);
    assert_string_equal(why.text, "2 convolutions and 14 hidden layers, allowed 15 in all");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nature_network_has_its_shapes),
        cmocka_unit_test(test_every_part_of_a_word_is_read),
        cmocka_unit_test(test_kernels_move_along_pictures_and_sequences),
        cmocka_unit_test(test_what_is_no_layer_is_refused),
        cmocka_unit_test(test_what_does_not_fit_is_refused_with_its_sizes),
        cmocka_unit_test(test_a_layers_word_is_read_as_the_layer),
        cmocka_unit_test(test_the_short_form_is_a_list_of_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
