// Gradient norm and clipping, Adam against double precision, and the target network's average.
#include <stdlib.h>

#include "nn/nn_gemm.h"
#include "nn/nn_trainer.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const nn_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};

static policy_spec
line_spec(void)
{
    return fixture_spec(1, NULL, 0, POLICY_LINEAR, FIXTURE_NO_NORM, 1); // y = w x + b
}

static void
test_norm_of_an_overflowing_gradient_is_not_finite(void **state)
{
    (void)state;
    policy_spec spec = line_spec();
    nn_trainer trainer;
    nn_trainer_init(&trainer, fixture_context(), &spec, 1, &adam);
    const float bad[] = {NAN, INFINITY, 1e30f};
    for (size_t i = 0; i < OCT_COUNTOF(bad); i++) {
        float x = 1.0f, dy = bad[i];
        (void)nn_trainer_forward(&trainer, &x, 1);
        assert_false(isfinite(nn_trainer_backward(&trainer, &dy, 1, NULL)));
    }
    nn_trainer_fini(&trainer);
}

static void
test_clip_scale_brings_the_norm_to_the_maximum(void **state)
{
    (void)state;
    assert_true(nn_clip_scale(8, 2) == 0.25f);
    assert_true(nn_clip_scale(2, 2) == 1.0f);
    assert_true(nn_clip_scale(1, 2) == 1.0f);
    assert_true(nn_clip_scale(0, 2) == 1.0f);
    assert_true(nn_clip_scale(1e9f, 0) == 1.0f); // off
}

static void
test_norm_is_of_the_whole_gradient(void **state)
{
    (void)state;
    policy_spec spec = line_spec();
    nn_trainer trainer;
    nn_trainer_init(&trainer, fixture_context(), &spec, 1, &adam);
    float x = 0.75f, dy = 4.0f; // dw = 3, db = 4
    (void)nn_trainer_forward(&trainer, &x, 1);
    assert_true(nn_trainer_backward(&trainer, &dy, 1, NULL) == 5.0f);
    nn_trainer_fini(&trainer);
}

// Bias correction makes the first step the learning rate, whatever the gradient's size.
static void
test_first_step_is_the_learning_rate(void **state)
{
    (void)state;
    policy_spec spec = line_spec();
    for (float size = 1e-3f; size < 1e4f; size *= 10) {
        nn_trainer trainer;
        nn_trainer_init(&trainer, fixture_context(), &spec, 1, &adam);
        float x = 1.0f, dy = -size;
        (void)nn_trainer_forward(&trainer, &x, 1);
        (void)nn_trainer_backward(&trainer, &dy, 1, NULL);
        nn_trainer_step(&trainer, 0.01f, 1);
        T_NEAR((double)trainer.tape.net.params[0], 0.01, 0, 2e-5);
        assert_int_equal(trainer.steps, 1);
        nn_trainer_fini(&trainer);
    }
}

static void
test_steps_equal_adam_in_double(void **state)
{
    (void)state;
    policy_spec spec = line_spec();
    nn_trainer trainer;
    nn_trainer_init(&trainer, fixture_context(), &spec, 1, &adam);
    double w = 0, m = 0, v = 0;
    for (int t = 1; t <= 200; t++) {
        float x = 1.0f, dy = (float)sin(t) + 0.1f, rate = 1e-2f / (float)t;
        (void)nn_trainer_forward(&trainer, &x, 1);
        (void)nn_trainer_backward(&trainer, &dy, 1, NULL);
        nn_trainer_step(&trainer, rate, 0.5f);
        double g = 0.5 * (sin(t) + 0.1);
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        w -= (double)rate * (m / (1 - pow(0.9, t))) / (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
        // 0.9f and 0.999f differ from 0.9 and 0.999 by 3e-8: some 1e-5 of (1 - beta2).
        T_NEAR((double)trainer.tape.net.params[0], w, 2e-6, 0);
    }
    nn_trainer_fini(&trainer);
}

static void
test_rate_zero_changes_no_parameter(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 1, 0);
    policy_spec spec = fixture_spec(3, (uint32_t[]){7}, 1, POLICY_RELU, FIXTURE_NO_NORM, 2);
    nn_trainer trainer;
    nn_trainer_init(&trainer, fixture_context(), &spec, 2, &adam);
    nn_net_randomise(&trainer.tape.net, &rng);
    size_t bytes = trainer.tape.net.param_count * sizeof(float);
    float *was = oct_alloc(bytes);
    memcpy(was, trainer.tape.net.params, bytes);
    (void)nn_trainer_forward(&trainer, (float[]){1, 2, 3, 4, 5, 6}, 2);
    (void)nn_trainer_backward(&trainer, (float[]){1, 2, 3, 4}, 2, NULL);
    nn_trainer_step(&trainer, 0, 1);
    assert_memory_equal(was, trainer.tape.net.params, bytes);
    free(was);
    nn_trainer_fini(&trainer);
}

// Two trainers that begin alike and see the same gradient.
static void
check_target(uint32_t width, float rate)
{
    policy_spec spec = fixture_spec(3, &width, 1, POLICY_RELU, FIXTURE_FIRST_NORM, 2);
    nn_trainer apart, along;
    nn_net target_apart, target_along;
    nn_trainer_init(&apart, fixture_context(), &spec, 2, &adam);
    nn_trainer_init(&along, fixture_context(), &spec, 2, &adam);
    nn_net_init(&target_apart, fixture_context(), &spec, 2);
    nn_net_init(&target_along, fixture_context(), &spec, 2);
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    nn_net_randomise(&apart.tape.net, &rng);
    nn_net_polyak(&along.tape.net, &apart.tape.net, 1.0f);
    size_t bytes = apart.tape.net.param_count * sizeof(float);
    for (int step = 0; step < 3; step++) {
        nn_trainer *both[2] = {&apart, &along};
        for (int i = 0; i < 2; i++) {
            (void)nn_trainer_forward(both[i], (float[]){1, 2, 3, 4, 5, 6}, 2);
            (void)nn_trainer_backward(both[i], (float[]){1, 2, 3, 4}, 2, NULL);
        }
        nn_trainer_step(&apart, 0.01f, 0.5f);
        nn_net_polyak(&target_apart, &apart.tape.net, rate);
        nn_trainer_step_and_polyak(&along, 0.01f, 0.5f, &target_along, rate);
    }
    assert_int_equal(along.steps, 3);
    assert_memory_equal(apart.tape.net.params, along.tape.net.params, bytes);
    assert_memory_equal(apart.m, along.m, bytes);
    assert_memory_equal(apart.v, along.v, bytes);
    assert_memory_equal(target_apart.params, target_along.params, bytes);
    nn_trainer_fini(&apart);
    nn_trainer_fini(&along);
    nn_net_fini(&target_apart);
    nn_net_fini(&target_along);
}

static void
test_target_goes_along_with_the_step_bit_for_bit(void **state)
{
    (void)state;
    const uint32_t widths[] = {1, 7, 170, 171, 1000}; // around one part of the pass, and several
    for (size_t i = 0; i < OCT_COUNTOF(widths); i++) {
        check_target(widths[i], 1.0f);
        check_target(widths[i], 0.005f);
    }
}

// The gradient of the same net and batch, with and without bfloat16 inputs of products.
static void
test_bf16_gradient_is_within_two_percent_of_fp32(void **state)
{
    (void)state;
    enum { B = 128, I = 80, O = 70 };
    oct_rng rng;
    oct_rng_init(&rng, 8, 0);
    policy_spec spec = fixture_spec(I, (uint32_t[]){128, 96}, 2, POLICY_ELU, FIXTURE_FIRST_NORM, O);
    nn_trainer exact, rounded;
    nn_trainer_init(&exact, fixture_context(), &spec, B, &adam);
    nn_context *context = nn_context_create(&(nn_context_options){.threads = 1, .bf16 = true});
    nn_trainer_init(&rounded, context, &spec, B, &adam);
    nn_net_randomise(&exact.tape.net, &rng);
    nn_net_polyak(&rounded.tape.net, &exact.tape.net, 1.0f);
    float *x = fixture_floats(&rng, B * I, -1, 1), *dy = fixture_floats(&rng, B * O, -1, 1);
    float *dy_again = oct_alloc(B * O * sizeof(float));
    memcpy(dy_again, dy, B * O * sizeof(float));
    (void)nn_trainer_forward(&exact, x, B);
    (void)nn_trainer_backward(&exact, dy, B, NULL);
    (void)nn_trainer_forward(&rounded, x, B);
    (void)nn_trainer_backward(&rounded, dy_again, B, NULL);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < exact.tape.net.param_count; i++) {
        difference += pow((double)rounded.gradient[i] - (double)exact.gradient[i], 2);
        norm += pow((double)exact.gradient[i], 2);
    }
    assert_true(sqrt(difference / norm) < 0.02);
    assert_true((difference > 0) == (nn_context_bf16(context) != NULL));
    free(x);
    free(dy);
    free(dy_again);
    nn_trainer_fini(&exact);
    nn_trainer_fini(&rounded);
    nn_context_destroy(context);
}

// A function that needs the hidden layer: x1 * x2 by regression.
static void
test_trainer_learns_a_product(void **state)
{
    (void)state;
    enum { B = 64 };
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    policy_spec spec = fixture_spec(2, (uint32_t[]){32}, 1, POLICY_TANH, FIXTURE_NO_NORM, 1);
    nn_trainer trainer;
    nn_trainer_init(&trainer, fixture_context(), &spec, B, &adam);
    nn_net_randomise(&trainer.tape.net, &rng);
    double first = 0, loss = 0;
    for (int step = 0; step < 1500; step++) {
        float *x = fixture_floats(&rng, 2 * B, -1, 1), dy[B];
        const float *y = nn_trainer_forward(&trainer, x, B);
        loss = 0;
        for (int i = 0; i < B; i++) {
            float error = y[i] - x[2 * i] * x[2 * i + 1];
            loss += (double)(error * error) / B;
            dy[i] = 2 * error / B;
        }
        first = step == 0 ? loss : first;
        (void)nn_trainer_backward(&trainer, dy, B, NULL);
        nn_trainer_step(&trainer, 5e-3f, 1);
        free(x);
    }
    assert_true(loss < first / 50);
    assert_true(loss < 2e-3);
    nn_trainer_fini(&trainer);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_of_an_overflowing_gradient_is_not_finite),
        cmocka_unit_test(test_clip_scale_brings_the_norm_to_the_maximum),
        cmocka_unit_test(test_norm_is_of_the_whole_gradient),
        cmocka_unit_test(test_first_step_is_the_learning_rate),
        cmocka_unit_test(test_steps_equal_adam_in_double),
        cmocka_unit_test(test_rate_zero_changes_no_parameter),
        cmocka_unit_test(test_target_goes_along_with_the_step_bit_for_bit),
        cmocka_unit_test(test_bf16_gradient_is_within_two_percent_of_fp32),
        cmocka_unit_test(test_trainer_learns_a_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
