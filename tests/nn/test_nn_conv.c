// Convolutions of the learner: against their definition in double, central differences, numpy
// (tools/golden_conv.py) and the actors' forward.
#include <stdlib.h>

#include "nn/nn_tape.h"
#include "policy/policy_net.h"
#include "tests/algos/golden_file.h"
#include "tests/nn/nn_double.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static policy_spec
any_spec(policy_activation activation, uint32_t conv_count)
{
    return fixture_conv_spec(7, 6, 3, (uint32_t[]){4, 2}, conv_count, 5, activation, 3);
}

// ---- double against central differences

static double
objective(nn_double *net, const float *x, const double *dy, uint32_t rows)
{
    const double *y = nn_double_forward(net, x, rows);
    double sum = 0;
    for (size_t i = 0; i < (size_t)rows * policy_spec_outputs(&net->spec); i++) {
        sum += dy[i] * y[i];
    }
    return sum;
}

static void
check_differences(oct_rng *rng, policy_spec spec)
{
    const uint32_t rows = 2;
    const double h = 1e-6;
    size_t outputs = (size_t)rows * policy_spec_outputs(&spec);
    float *params = fixture_floats(rng, policy_spec_params(&spec), -0.7f, 0.7f);
    float *x = fixture_floats(rng, (size_t)rows * spec.obs_count, -1, 1);
    double dy[16], *spent = oct_alloc(outputs * sizeof(double));
    for (size_t i = 0; i < outputs; i++) {
        spent[i] = dy[i] = (double)oct_rng_float(rng) - 0.5;
    }
    nn_double *net = nn_double_create(&spec, rows);
    nn_double_set_params(net, params);
    (void)nn_double_forward(net, x, rows);
    nn_double_backward(net, spent, rows, NULL);
    for (size_t i = 0; i < net->param_count; i++) {
        double kept = net->params[i];
        net->params[i] = kept + h;
        double above = objective(net, x, dy, rows);
        net->params[i] = kept - h;
        double below = objective(net, x, dy, rows);
        net->params[i] = kept;
        T_NEAR(net->gradient[i], (above - below) / (2 * h), 1e-7, 1e-6);
    }
    nn_double_destroy(net);
    free(spent);
    free(x);
    free(params);
}

static void
test_double_backward_equals_central_differences(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 31, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        check_differences(&rng, any_spec((policy_activation)a, 1));
        check_differences(&rng, any_spec((policy_activation)a, 2));
    }
    for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
        check_differences(&rng, fixture_words_case(i, POLICY_TANH));
    }
}

// ---- fp32 against double

// Forward and backward of one tape, which went forward with more rows than come back. Sums of some
// hundred terms of size 1: 1e-5 is some ten units in the last place.
static void
check_double(oct_rng *rng, policy_spec spec, uint32_t rows)
{
    const uint32_t forward_rows = rows + 2;
    const size_t outputs = policy_spec_outputs(&spec), inputs = (size_t)rows * spec.obs_count;
    float *params = fixture_floats(rng, policy_spec_params(&spec), -0.5f, 0.5f);
    float *x = fixture_floats(rng, (size_t)forward_rows * spec.obs_count, -1, 1);
    float *dy = fixture_floats(rng, rows * outputs, -1, 1);
    double *want_dy = oct_alloc(rows * outputs * sizeof(double));
    double *want_dx = oct_alloc(inputs * sizeof(double));
    for (size_t i = 0; i < rows * outputs; i++) {
        want_dy[i] = (double)dy[i];
    }
    nn_double *want = nn_double_create(&spec, forward_rows);
    nn_double_set_params(want, params);
    const double *want_y = nn_double_forward(want, x, forward_rows);
    nn_tape tape;
    nn_tape_init(&tape, fixture_context(), &spec, forward_rows);
    memcpy(tape.net.params, params, want->param_count * sizeof(float));
    const float *y = nn_tape_forward(&tape, x, forward_rows);
    for (size_t i = 0; i < forward_rows * outputs; i++) {
        T_NEAR((double)y[i], want_y[i], 1e-5, 1e-6);
    }
    nn_double_backward(want, want_dy, rows, want_dx);
    float *gradient = fixture_floats(rng, want->param_count, 5, 6);
    float *dx = oct_alloc(inputs * sizeof(*dx));
    nn_tape_backward(&tape, dy, rows, gradient, dx);
    fixture_backward_near(gradient, dx, want, want_dx, inputs);
    nn_tape_fini(&tape);
    nn_double_destroy(want);
    free(params);
    free(x);
    free(dy);
    free(want_dy);
    free(want_dx);
    free(gradient);
    free(dx);
}

static void
test_forward_and_backward_equal_double(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 32, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        check_double(&rng, any_spec((policy_activation)a, 1), 3);
        check_double(&rng, any_spec((policy_activation)a, 2), 5);
        for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
            check_double(&rng, fixture_words_case(i, (policy_activation)a), 3);
        }
    }
    static const uint32_t sizes[] = {3, 4, 5, 7, 10, 17};
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        uint32_t height = sizes[i], width = sizes[(i + 2) % OCT_COUNTOF(sizes)];
        uint32_t filters = sizes[(i + 3) % OCT_COUNTOF(sizes)];
        check_double(
            &rng, fixture_conv_spec(height, width, (uint32_t)i + 1, &filters, 1, 6, POLICY_RELU, 2),
            4);
    }
}

// 540 numbers of patches a row: 121 rows are a block. Of the last one a part is there, or none.
static void
test_rows_of_several_blocks_equal_double(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 35, 0);
    check_double(&rng, any_spec(POLICY_TANH, 2), 130);
    check_double(&rng, any_spec(POLICY_TANH, 2), 242);
    for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
        check_double(&rng, fixture_words_case(i, POLICY_TANH), 200);
    }
}

// The outputs of a row, and the gradient at its inputs, do not depend on the other rows of the
// batch.
static void
check_single_rows(oct_rng *rng, policy_spec spec)
{
    enum { ROWS = 77 };
    const size_t inputs = spec.obs_count, outputs = policy_spec_outputs(&spec);
    float *x = fixture_floats(rng, ROWS * inputs, -1, 1), *dx = oct_alloc(ROWS * inputs * 4);
    float *dy = fixture_floats(rng, ROWS * outputs, -1, 1), *one = oct_alloc(inputs * 4);
    nn_tape tape, single;
    nn_tape_init(&tape, fixture_context(), &spec, ROWS);
    nn_tape_init(&single, fixture_context(), &spec, 1);
    nn_net_randomise(&tape.net, rng);
    nn_net_polyak(&single.net, &tape.net, 1);
    float *last = oct_alloc(ROWS * outputs * sizeof(*last));
    memcpy(last, dy, ROWS * outputs * sizeof(*last));
    const float *y = nn_tape_forward(&tape, x, ROWS);
    (void)nn_tape_backward(&tape, last, ROWS, NULL, dx);
    for (size_t r = 0; r < ROWS; r++) {
        const float *own = nn_tape_forward(&single, x + r * inputs, 1);
        for (size_t i = 0; i < outputs; i++) {
            T_NEAR((double)own[i], (double)y[r * outputs + i], 1e-6, 1e-6);
        }
        (void)nn_tape_backward(&single, dy + r * outputs, 1, NULL, one);
        for (size_t i = 0; i < inputs; i++) {
            T_NEAR((double)one[i], (double)dx[r * inputs + i], 1e-6, 1e-6);
        }
    }
    nn_tape_fini(&tape);
    nn_tape_fini(&single);
    free(x);
    free(dx);
    free(dy);
    free(one);
    free(last);
}

static void
test_rows_alone_give_the_same(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 36, 0);
    for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
        check_single_rows(&rng, fixture_words_case(i, POLICY_RELU));
    }
}

// Equal numbers under a kernel: the first receives the whole gradient. Zeros around the map do not
// count, even where all numbers are negative.
static void
test_of_equal_numbers_the_first_is_the_largest(void **state)
{
    (void)state;
    policy_spec spec =
        fixture_words_spec((uint32_t[]){3, 3, 1}, 3, "conv 1 1x1, pool 2x2/2+1", POLICY_LINEAR, 1);
    const float x[9] = {-5, -5, -5, -2, -2, -2, -2, -2, -3};
    nn_tape tape;
    nn_tape_init(&tape, fixture_context(), &spec, 1);
    // The weight and bias of the convolution, then the dense layer's weights and bias.
    memcpy(tape.net.params, (float[]){1, 0, 1, 10, 100, 1000, 0}, 7 * sizeof(float));
    const float *y = nn_tape_forward(&tape, x, 1);
    assert_true(y[0] == -5 - 50 - 200 - 2000);
    float dy = 1, dx[9];
    (void)nn_tape_backward(&tape, &dy, 1, NULL, dx);
    const float want[9] = {1, 10, 0, 100, 1000, 0, 0, 0, 0};
    assert_memory_equal(dx, want, sizeof(want));
    nn_tape_fini(&tape);
}

// A target network has no tape: the same bits from two buffers by turns.
static void
test_a_net_without_tape_gives_the_same(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 33, 0);
    for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
        policy_spec spec = fixture_words_case(i, (policy_activation)(i % POLICY_ACTIVATION_COUNT));
        float *x = fixture_floats(&rng, 6 * (size_t)spec.obs_count, -1, 1);
        nn_net net;
        nn_tape tape;
        nn_net_init(&net, fixture_context(), &spec, 6);
        nn_tape_init(&tape, fixture_context(), &spec, 6);
        nn_net_randomise(&net, &rng);
        nn_net_polyak(&tape.net, &net, 1);
        const float *y = nn_net_forward(&net, x, 6);
        assert_memory_equal(nn_tape_forward(&tape, x, 6), y, 6 * 3 * sizeof(float));
        nn_tape_fini(&tape);
        nn_net_fini(&net);
        free(x);
    }
}

// Contract 2: the network of a policy in fp32 is the learner's, on all instructions.
static void
check_policy(policy_spec spec)
{
    enum { ROWS = 37 };
    const uint32_t rows = ROWS;
    const size_t outputs = rows * policy_spec_outputs(&spec);
    oct_rng rng;
    oct_rng_init(&rng, 34, 0);
    float *x = fixture_floats(&rng, rows * (size_t)spec.obs_count, -1, 1);
    nn_net net;
    nn_net_init(&net, fixture_context(), &spec, rows);
    nn_net_randomise(&net, &rng);
    const float *want = nn_net_forward(&net, x, rows);
    policy_image *image;
    T_OK(policy_image_create(&image, &spec, POLICY_FP32));
    for (uint32_t l = 0; l < spec.layer_count; l++) {
        policy_offsets at = policy_spec_layer(&spec, l);
        memcpy(image->weights[l], net.params + at.weight, (at.bias - at.weight) * sizeof(float));
        memcpy(image->bias[l], net.params + at.bias, (at.gain - at.bias) * sizeof(float));
        if (spec.layers[l].layer_norm) {
            size_t bytes = (at.offset - at.gain) * sizeof(float);
            memcpy(image->gain[l], net.params + at.gain, bytes);
            memcpy(image->offset[l], net.params + at.offset, bytes);
        }
    }
    policy_scratch *scratch = policy_scratch_create(&spec, rows);
    for (int isa = POLICY_ISA_REF; isa <= POLICY_ISA_NEON; isa++) {
        policy_net *policy;
        float y[ROWS * 6];
        if (policy_net_create(&policy, image, (policy_isa)isa) == OCT_OK) {
            policy_forward(policy, scratch, x, spec.obs_count * sizeof(float), rows, y);
            for (size_t i = 0; i < outputs; i++) {
                T_NEAR(y[i], want[i], 1e-6, 1e-6);
            }
            policy_net_destroy(policy);
        }
    }
    policy_scratch_destroy(scratch);
    policy_image_destroy(image);
    nn_net_fini(&net);
    free(x);
}

static void
test_policies_compute_the_learners_forward(void **state)
{
    (void)state;
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        check_policy(
            fixture_conv_spec(10, 10, 6, (uint32_t[]){16, 5}, 2, 128, (policy_activation)a, 6));
    }
    for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
        check_policy(fixture_words_case(i, (policy_activation)(i % POLICY_ACTIVATION_COUNT)));
    }
    check_policy(fixture_words_spec((uint32_t[]){36, 36, 4}, 3, "nature", POLICY_RELU, 6));
}

// ---- numpy

typedef struct golden_case {
    const char *name;
    policy_activation activation;
    uint32_t map[3];
    const char *words;
} golden_case;

// Single precision: sums of some hundred terms.
static void
check_golden(const golden_case *what)
{
    golden_file *golden = golden_open(what->name);
    const double *shape = golden_array(golden, "shape", 2);
    const uint32_t rows = (uint32_t)shape[0];
    policy_spec spec =
        fixture_words_spec(what->map, 3, what->words, what->activation, (uint32_t)shape[1]);
    size_t inputs = (size_t)rows * spec.obs_count, outputs = rows * policy_spec_outputs(&spec);
    size_t count = policy_spec_params(&spec);
    float *params = golden_floats(golden, "params", count), *x = golden_floats(golden, "x", inputs);
    float *dy = golden_floats(golden, "dy", outputs), *dx = oct_alloc(inputs * sizeof(float));
    float *gradient = oct_alloc(count * sizeof(float));
    const double *want_y = golden_array(golden, "y", outputs);
    const double *want = golden_array(golden, "gradient", count);
    const double *want_dx = golden_array(golden, "dx", inputs);
    nn_tape tape;
    nn_tape_init(&tape, fixture_context(), &spec, rows);
    memcpy(tape.net.params, params, count * sizeof(float));
    const float *y = nn_tape_forward(&tape, x, rows);
    for (size_t i = 0; i < outputs; i++) {
        T_NEAR((double)y[i], want_y[i], 1e-5, 1e-5);
    }
    nn_tape_backward(&tape, dy, rows, gradient, dx);
    for (size_t i = 0; i < count; i++) {
        T_NEAR((double)gradient[i], want[i], 1e-5, 1e-4);
    }
    for (size_t i = 0; i < inputs; i++) {
        T_NEAR((double)dx[i], want_dx[i], 1e-5, 1e-4);
    }
    nn_tape_fini(&tape);
    golden_close(golden);
    free(params);
    free(x);
    free(dy);
    free(dx);
    free(gradient);
}

static void
test_forward_and_backward_equal_numpy(void **state)
{
    (void)state;
    static const golden_case cases[] = {
        {"conv_relu", POLICY_RELU, {5, 4, 2}, "conv 3 3x3, dense 5"},
        {"conv_tanh", POLICY_TANH, {4, 6, 1}, "conv 2 3x3, dense 4"},
        {"conv_elu_two", POLICY_ELU, {7, 6, 3}, "conv 4 3x3, conv 2 3x3, dense 3"},
        {"conv_stride", POLICY_TANH, {9, 7, 2}, "conv 3 4x3/2x1, conv 4 2x2/2"},
        {"conv_zeros", POLICY_ELU, {5, 6, 2}, "conv 3 3x4/2x3+1x2, dense 4"},
        {"conv_max_pool", POLICY_RELU, {7, 6, 2}, "conv 4 3x3+1, pool 3x2/2+1x0 tanh, dense 3"},
        {"conv_mean_pool", POLICY_TANH, {6, 7, 2}, "conv 3 2x2, mean 3x3/2+2, conv 2 2x2"},
    };
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        check_golden(&cases[i]);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_backward_equals_central_differences),
        cmocka_unit_test(test_forward_and_backward_equal_double),
        cmocka_unit_test(test_rows_of_several_blocks_equal_double),
        cmocka_unit_test(test_rows_alone_give_the_same),
        cmocka_unit_test(test_of_equal_numbers_the_first_is_the_largest),
        cmocka_unit_test(test_a_net_without_tape_gives_the_same),
        cmocka_unit_test(test_policies_compute_the_learners_forward),
        cmocka_unit_test(test_forward_and_backward_equal_numpy),
    };
    golden_begin(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
