// The fp32 forward pass equals the one in double precision; initial weights and Polyak averages are
// as defined.
#include <stdlib.h>

#include "nn/nn_tape.h"
#include "policy/policy_activate.h"
#include "tests/nn/nn_double.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const fixture_norm norms[] = {FIXTURE_NO_NORM, FIXTURE_FIRST_NORM, FIXTURE_ALL_NORM};

// The double network is the definition; 1e-6 of the output's size is contract 2.
static void
check_forward(oct_rng *rng, policy_spec spec, bool residual, uint32_t rows)
{
    size_t count = (size_t)rows * policy_spec_outputs(&spec);
    float *x = fixture_floats(rng, (size_t)rows * spec.obs_count, -1, 1);
    nn_net net;
    nn_tape tape;
    nn_double *want = nn_double_create(&spec, rows);
    want->residual = residual;
    (residual ? nn_net_init_residual : nn_net_init)(&net, fixture_context(), &spec, rows);
    const nn_shape shape = {&spec, residual, policy_spec_params(&spec), rows + 2};
    nn_tape_init_shape(&tape, fixture_context(), &shape);
    nn_net_randomise(&net, rng);
    nn_net_polyak(&tape.net, &net, 1);
    nn_double_set_params(want, net.params);
    const float *y = nn_net_forward(&net, x, rows);
    const double *want_y = nn_double_forward(want, x, rows);
    double largest = 1;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(want_y[i]));
    }
    for (size_t i = 0; i < count; i++) {
        T_NEAR((double)y[i], want_y[i], 1e-6 * largest, 1e-6);
    }
    assert_memory_equal(nn_tape_forward(&tape, x, rows), y, count * sizeof(*y));
    nn_net_fini(&net);
    nn_tape_fini(&tape);
    nn_double_destroy(want);
    free(x);
}

static void
test_forward_equals_double_for_every_layer(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (size_t n = 0; n < OCT_COUNTOF(norms); n++) {
            check_forward(
                &rng,
                fixture_spec(3, (uint32_t[]){20, 9, 33}, 3, (policy_activation)a, norms[n], 4),
                false, 9);
        }
        for (uint32_t blocks = 0; blocks < 5; blocks++) {
            check_forward(&rng, fixture_residual_spec(3, 20, blocks, (policy_activation)a, 4), true,
                          9);
        }
    }
}

static void
test_forward_equals_double_at_awkward_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 65};
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        uint32_t size = sizes[i], other = sizes[(i + 4) % OCT_COUNTOF(sizes)];
        check_forward(&rng, fixture_spec(other, &size, 1, POLICY_TANH, FIXTURE_NO_NORM, other),
                      false, size);
        check_forward(&rng, fixture_spec(size, &other, 1, POLICY_ELU, FIXTURE_ALL_NORM, size),
                      false, other);
        check_forward(&rng, fixture_residual_spec(other, size, 2, POLICY_RELU, 3), true, other);
    }
}

// So many rows that products finish them in several blocks.
static void
test_residual_forward_equals_double_for_many_rows(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    check_forward(&rng, fixture_residual_spec(24, 128, 2, POLICY_RELU, 51), true, 300);
}

static void
test_residual_layers_are_of_one_width(void **state)
{
    (void)state;
    const policy_spec others[] = {
        fixture_spec(3, (uint32_t[]){7, 7}, 2, POLICY_RELU, FIXTURE_NO_NORM, 2),
        fixture_spec(3, NULL, 0, POLICY_RELU, FIXTURE_NO_NORM, 2),
        fixture_spec(3, (uint32_t[]){7, 8, 7}, 3, POLICY_RELU, FIXTURE_NO_NORM, 2),
        fixture_spec(3, (uint32_t[]){7, 7, 8}, 3, POLICY_RELU, FIXTURE_NO_NORM, 2),
        fixture_conv_spec(3, 3, 1, (uint32_t[]){7}, 1, 7, POLICY_RELU, 2),
    };
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        policy_spec spec = others[i];
        T_ERR(nn_net_make_residual(&spec), OCT_EINVAL);
        assert_true(policy_spec_equal(&spec, &others[i]));
    }
}

// Only nn_net_forward_again may compute with weights as they were; and nets that share spaces keep
// their outputs apart.
static void
test_forward_again_gives_the_bits_of_forward(void **state)
{
    (void)state;
    enum { ROWS = 20, OUT = 33 };
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    policy_spec spec =
        fixture_spec(30, (uint32_t[]){64, 70}, 2, POLICY_ELU, FIXTURE_FIRST_NORM, OUT);
    float *x = fixture_floats(&rng, (size_t)ROWS * 30, -1, 1), want[ROWS * OUT];
    nn_net net, twin;
    nn_net_init(&net, fixture_context(), &spec, ROWS);
    nn_net_init(&twin, fixture_context(), &spec, ROWS);
    for (int change = 0; change < 4; change++) {
        nn_net_randomise(&net, &rng);
        nn_net_polyak(&twin, &net, 1);
        memcpy(want, nn_net_forward(&twin, x, ROWS), sizeof(want));
        const float *y;
        if (change % 2 == 0) {
            y = nn_net_forward(&net, x, ROWS);
        } else {
            nn_net_changed(&net);
            y = nn_net_forward_again(&net, x, ROWS);
        }
        assert_memory_equal(y, want, sizeof(want));
        (void)nn_net_forward(&twin, x + 30, ROWS - 1);
        assert_memory_equal(y, want, sizeof(want));
        assert_memory_equal(nn_net_forward_again(&net, x, ROWS), want, sizeof(want));
        assert_memory_equal(nn_net_forward_again(&net, x, 3), want, 3 * OUT * sizeof(float));
    }
    nn_net_fini(&net);
    nn_net_fini(&twin);
    free(x);
}

// The first layer of a tape that has an activation, against the same layer with POLICY_LINEAR.
static void
check_curve(policy_activation activation, fixture_norm norm)
{
    enum { ROWS = 9, UNITS = 21 };
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    const policy_activation both[2] = {POLICY_LINEAR, activation};
    float *x = fixture_floats(&rng, (size_t)ROWS * 3, -5, 5), *params = NULL;
    nn_tape tapes[2];
    for (int i = 0; i < 2; i++) {
        policy_spec spec = fixture_spec(3, (uint32_t[]){UNITS}, 1, both[i], norm, 2);
        size_t count = policy_spec_params(&spec);
        params = params == NULL ? fixture_floats(&rng, count, -2, 2) : params;
        nn_tape_init(&tapes[i], fixture_context(), &spec, ROWS);
        memcpy(tapes[i].net.params, params, count * sizeof(float));
        (void)nn_tape_forward(&tapes[i], x, ROWS);
    }
    const nn_layer *layer = &tapes[1].net.layers[0];
    const float *inputs = tapes[0].net.layers[0].y;
    assert_memory_equal(layer->kept, inputs, ROWS * UNITS * sizeof(float));
    for (size_t i = 0; i < ROWS * UNITS; i++) {
        float want = policy_activate(activation, inputs[i]);
        assert_memory_equal(&layer->y[i], &want, sizeof(want));
    }
    nn_tape_fini(&tapes[0]);
    nn_tape_fini(&tapes[1]);
    free(params);
    free(x);
}

static void
test_curves_have_the_bits_of_the_policy(void **state)
{
    (void)state;
    for (int a = NN_FUSED; a < POLICY_ACTIVATION_COUNT; a++) {
        check_curve((policy_activation)a, FIXTURE_NO_NORM);
        check_curve((policy_activation)a, FIXTURE_ALL_NORM);
    }
}

static void
test_nan_observation_reaches_the_output(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        policy_spec spec =
            fixture_spec(2, (uint32_t[]){8}, 1, (policy_activation)a, norms[a % 3], 3);
        nn_net net;
        nn_net_init(&net, fixture_context(), &spec, 2);
        nn_net_randomise(&net, &rng);
        const float *y = nn_net_forward(&net, (float[]){0.5f, NAN, 1, 1}, 2);
        for (int i = 0; i < 3; i++) {
            assert_true(a == POLICY_RELU6 ? isfinite(y[i]) : isnan(y[i])); // policy_curves.h
            assert_true(isfinite(y[3 + i]));
        }
        nn_net_fini(&net);
    }
}

static void
test_randomise_cuts_at_two_deviations(void **state)
{
    (void)state;
    policy_spec spec = fixture_spec(16, (uint32_t[]){256}, 1, POLICY_TANH, FIXTURE_FIRST_NORM, 2);
    nn_net net;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    nn_net_init(&net, fixture_context(), &spec, 1);
    nn_net_randomise(&net, &rng);
    const nn_layer *layer = &net.layers[0];
    double squares = 0, sum = 0;
    for (size_t i = 0; i < 16 * 256; i++) {
        double w = (double)net.params[layer->at.weight + i];
        assert_true(fabs(w) <= 2.0 / 4);
        squares += w * w / (16 * 256);
        sum += w / (16 * 256);
    }
    // A normal cut at two deviations keeps 0.880 of its deviation; 5 sigma of 4096 draws.
    T_NEAR(sqrt(squares), 0.880 / 4, 0.01, 0);
    T_NEAR(sum, 0, 5 * 0.22 / 64, 0);
    for (size_t o = 0; o < 256; o++) {
        assert_true(net.params[layer->at.bias + o] == 0.0f);
        assert_true(net.params[layer->at.gain + o] == 1.0f);
        assert_true(net.params[layer->at.offset + o] == 0.0f);
    }
    nn_net_fini(&net);
}

static void
test_randomise_repeats_with_the_seed(void **state)
{
    (void)state;
    policy_spec spec = fixture_spec(4, (uint32_t[]){8}, 1, POLICY_RELU, FIXTURE_NO_NORM, 2);
    nn_net nets[3];
    const uint64_t seeds[3] = {9, 9, 10};
    for (int i = 0; i < 3; i++) {
        oct_rng rng;
        oct_rng_init(&rng, seeds[i], 0);
        nn_net_init(&nets[i], fixture_context(), &spec, 1);
        nn_net_randomise(&nets[i], &rng);
    }
    size_t bytes = nets[0].param_count * sizeof(float);
    assert_memory_equal(nets[0].params, nets[1].params, bytes);
    assert_memory_not_equal(nets[0].params, nets[2].params, bytes);
    for (int i = 0; i < 3; i++) {
        nn_net_fini(&nets[i]);
    }
}

// Layers without parameters draw nothing, and the layers around them get all that they would get.
static void
test_pools_have_no_first_weights(void **state)
{
    (void)state;
    policy_spec spec = fixture_words_spec((uint32_t[]){6, 6, 2}, 3,
                                          "conv 4 2x2, pool 2x2/2 tanh, mean 2x2", POLICY_RELU, 3);
    nn_net net;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    nn_net_init(&net, fixture_context(), &spec, 1);
    assert_int_equal(net.param_count, 4 * 8 + 4 + 3 * 4 + 3);
    for (int orthogonal = 0; orthogonal < 2; orthogonal++) {
        orthogonal ? nn_net_orthogonalise(&net, &rng, 1, 1) : nn_net_randomise(&net, &rng);
        for (size_t i = 0; i < net.param_count; i++) {
            const bool is_bias = (i >= 32 && i < 36) || i >= 48;
            assert_true(isfinite(net.params[i]) && (net.params[i] == 0) == is_bias);
        }
    }
    nn_net_fini(&net);
}

static void
test_follow_copies_or_averages(void **state)
{
    (void)state;
    policy_spec spec = fixture_spec(3, (uint32_t[]){5}, 1, POLICY_RELU, FIXTURE_NO_NORM, 2);
    nn_net to, from;
    nn_net_init(&to, fixture_context(), &spec, 1);
    nn_net_init(&from, fixture_context(), &spec, 1);
    for (size_t i = 0; i < to.param_count; i++) {
        to.params[i] = 1.0f;
        from.params[i] = (float)i;
    }
    nn_net_polyak(&to, &from, 0.25f);
    for (size_t i = 0; i < to.param_count; i++) {
        assert_true(to.params[i] == 0.75f + 0.25f * (float)i);
    }
    nn_net_polyak(&to, &from, 1.0f);
    assert_memory_equal(to.params, from.params, to.param_count * sizeof(float));
    nn_net_fini(&to);
    nn_net_fini(&from);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_residual_forward_equals_double_for_many_rows),
        cmocka_unit_test(test_residual_layers_are_of_one_width),
        cmocka_unit_test(test_forward_again_gives_the_bits_of_forward),
        cmocka_unit_test(test_nan_observation_reaches_the_output),
        cmocka_unit_test(test_curves_have_the_bits_of_the_policy),
        cmocka_unit_test(test_forward_equals_double_for_every_layer),
        cmocka_unit_test(test_forward_equals_double_at_awkward_sizes),
        cmocka_unit_test(test_randomise_cuts_at_two_deviations),
        cmocka_unit_test(test_randomise_repeats_with_the_seed),
        cmocka_unit_test(test_pools_have_no_first_weights),
        cmocka_unit_test(test_follow_copies_or_averages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
