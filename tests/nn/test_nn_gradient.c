// The gradient is checked in two steps: the double network's backward against central differences
// of its own forward, then the fp32 backward against the double one.
#include <stdlib.h>

#include "nn/nn_tape.h"
#include "tests/nn/nn_double.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

static const fixture_norm norms[] = {FIXTURE_NO_NORM, FIXTURE_FIRST_NORM, FIXTURE_ALL_NORM};

typedef struct problem {
    policy_spec spec;
    bool residual;
    uint32_t rows;
    float *params, *x, *dy;
} problem;

static problem
problem_make(oct_rng *rng, policy_spec spec, bool residual, uint32_t rows)
{
    problem p = {.spec = spec, .residual = residual, .rows = rows};
    p.params = fixture_floats(rng, policy_spec_params(&spec), -0.7f, 0.7f);
    p.x = fixture_floats(rng, (size_t)rows * spec.obs_count, -1, 1);
    p.dy = fixture_floats(rng, (size_t)rows * policy_spec_outputs(&spec), -1, 1);
    return p;
}

static void
problem_free(problem *p)
{
    free(p->params);
    free(p->x);
    free(p->dy);
}

static nn_double *
problem_double(const problem *p, double *dx)
{
    nn_double *net = nn_double_create(&p->spec, p->rows);
    net->residual = p->residual;
    size_t count = (size_t)p->rows * policy_spec_outputs(&p->spec);
    double *dy = oct_alloc(count * sizeof(*dy));
    for (size_t i = 0; i < count; i++) {
        dy[i] = (double)p->dy[i];
    }
    nn_double_set_params(net, p->params);
    (void)nn_double_forward(net, p->x, p->rows);
    nn_double_backward(net, dy, p->rows, dx);
    free(dy);
    return net;
}

static void
problem_tape(const problem *p, nn_tape *tape, uint32_t rows)
{
    size_t count = policy_spec_params(&p->spec);
    const nn_shape shape = {&p->spec, p->residual, count, rows};
    nn_tape_init_shape(tape, fixture_context(), &shape);
    memcpy(tape->net.params, p->params, count * sizeof(float));
    (void)nn_tape_forward(tape, p->x, rows);
}

// sum of dy * outputs, whose gradient backward computes.
static double
objective(nn_double *net, const problem *p)
{
    const double *y = nn_double_forward(net, p->x, p->rows);
    double sum = 0;
    for (size_t i = 0; i < (size_t)p->rows * policy_spec_outputs(&p->spec); i++) {
        sum += (double)p->dy[i] * y[i];
    }
    return sum;
}

// A central difference at step h errs by h^2 of the third derivative and 1e-16 / h of rounding.
static void
check_double(oct_rng *rng, policy_spec spec, bool residual)
{
    problem p = problem_make(rng, spec, residual, 5);
    double *dx = oct_alloc((size_t)p.rows * spec.obs_count * sizeof(*dx));
    nn_double *net = problem_double(&p, dx);
    const double h = 1e-6;
    for (size_t i = 0; i < net->param_count; i++) {
        double kept = net->params[i];
        net->params[i] = kept + h;
        double above = objective(net, &p);
        net->params[i] = kept - h;
        double below = objective(net, &p);
        net->params[i] = kept;
        T_NEAR(net->gradient[i], (above - below) / (2 * h), 1e-7, 1e-6);
    }
    for (size_t i = 0; i < (size_t)p.rows * spec.obs_count; i++) {
        const float step = 0x1p-16f; // small, so that few differences cross a kink
        float kept = p.x[i];
        p.x[i] = kept + step;
        double above = objective(net, &p), up = (double)p.x[i];
        p.x[i] = kept - step;
        double below = objective(net, &p), down = (double)p.x[i];
        p.x[i] = kept;
        T_NEAR(dx[i], (above - below) / (up - down), 2e-4, 1e-3);
    }
    nn_double_destroy(net);
    free(dx);
    problem_free(&p);
}

static void
test_double_backward_equals_central_differences(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (size_t n = 0; n < OCT_COUNTOF(norms); n++) {
            check_double(&rng,
                         fixture_spec(3, (uint32_t[]){6, 5}, 2, (policy_activation)a, norms[n], 4),
                         false);
        }
        for (uint32_t blocks = 0; blocks < 4; blocks++) {
            check_double(&rng, fixture_residual_spec(3, 5, blocks, (policy_activation)a, 4), true);
        }
    }
}

// fp32 sums of some hundred terms of size 1: 1e-5 absolute is some ten units in the last place.
static void
check_fp32(oct_rng *rng, policy_spec spec, bool residual, uint32_t rows)
{
    problem p = problem_make(rng, spec, residual, rows);
    size_t inputs = (size_t)rows * spec.obs_count;
    double *want_dx = oct_alloc(inputs * sizeof(*want_dx));
    float *dx = oct_alloc(inputs * sizeof(*dx));
    nn_double *want = problem_double(&p, want_dx);
    float *gradient = fixture_floats(rng, want->param_count, 5, 6);
    nn_tape tape;
    problem_tape(&p, &tape, rows);
    nn_tape_backward(&tape, p.dy, rows, gradient, dx);
    fixture_backward_near(gradient, dx, want, want_dx, inputs);
    nn_tape_fini(&tape);
    nn_double_destroy(want);
    free(want_dx);
    free(dx);
    free(gradient);
    problem_free(&p);
}

static void
test_backward_equals_double_for_every_layer(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (size_t n = 0; n < OCT_COUNTOF(norms); n++) {
            check_fp32(&rng,
                       fixture_spec(3, (uint32_t[]){6, 5}, 2, (policy_activation)a, norms[n], 4),
                       false, 9);
        }
        for (uint32_t blocks = 0; blocks < 4; blocks++) {
            check_fp32(&rng, fixture_residual_spec(3, 7, blocks, (policy_activation)a, 4), true, 9);
        }
    }
}

static void
test_backward_equals_double_at_awkward_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 33};
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        uint32_t size = sizes[i], other = sizes[(i + 3) % OCT_COUNTOF(sizes)];
        check_fp32(&rng, fixture_spec(other, &size, 1, POLICY_RELU, FIXTURE_NO_NORM, other), false,
                   size);
        check_fp32(&rng, fixture_spec(size, &other, 1, POLICY_ELU, FIXTURE_ALL_NORM, size), false,
                   other);
        check_fp32(&rng, fixture_residual_spec(other, size, 2, POLICY_RELU, 3), true, other);
        check_fp32(&rng, fixture_spec(size, NULL, 0, POLICY_RELU, FIXTURE_NO_NORM, other), false,
                   4);
    }
}

// So many rows that products finish them in several blocks.
static void
test_residual_backward_equals_double_for_many_rows(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 8, 0);
    check_fp32(&rng, fixture_residual_spec(24, 128, 2, POLICY_ELU, 51), true, 300);
}

// What the tape gives back for fewer rows than it went forward with is the first rows' share.
static void
check_first_rows(oct_rng *rng, policy_spec spec, bool residual)
{
    problem p = problem_make(rng, spec, residual, 10);
    p.rows = 6;
    nn_double *want = problem_double(&p, NULL);
    float *gradient = oct_alloc(want->param_count * sizeof(*gradient));
    nn_tape tape;
    problem_tape(&p, &tape, 10);
    nn_tape_backward(&tape, p.dy, 6, gradient, NULL);
    for (size_t i = 0; i < want->param_count; i++) {
        T_NEAR((double)gradient[i], want->gradient[i], 1e-5, 1e-5);
    }
    nn_tape_fini(&tape);
    nn_double_destroy(want);
    free(gradient);
    problem_free(&p);
}

static void
test_backward_of_the_first_rows_ignores_the_others(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 6, 0);
    check_first_rows(&rng, fixture_spec(4, (uint32_t[]){17}, 1, POLICY_TANH, FIXTURE_ALL_NORM, 3),
                     false);
    check_first_rows(&rng, fixture_residual_spec(4, 17, 2, POLICY_TANH, 3), true);
}

static bool
is_subnormal(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fpclassify(x[i]) == FP_SUBNORMAL) {
            return true;
        }
    }
    return false;
}

// As of the softmax of a distribution that is sure.
static void
test_gradients_of_sure_distributions_are_never_subnormal(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 9, 0);
    policy_spec spec = fixture_spec(4, (uint32_t[]){17}, 1, POLICY_TANH, FIXTURE_ALL_NORM, 3);
    problem p = problem_make(&rng, spec, false, 6);
    const size_t count = policy_spec_params(&spec);
    float *gradient = oct_alloc(count * sizeof(*gradient)), dx[24];
    nn_tape tape;
    problem_tape(&p, &tape, 6);
    for (size_t i = 0; i < 18; i++) {
        p.dy[i] = i % 3 == 0 ? 1e-38f : 1e-44f * (float)i;
    }
    nn_tape_backward(&tape, p.dy, 6, gradient, dx);
    assert_false(is_subnormal(gradient, count));
    assert_false(is_subnormal(dx, OCT_COUNTOF(dx)));
    nn_tape_fini(&tape);
    free(gradient);
    problem_free(&p);
}

// Deterministic policy gradients want only the gradient at the inputs.
static void
check_inputs_alone(oct_rng *rng, policy_spec spec, bool residual)
{
    problem p = problem_make(rng, spec, residual, 3);
    float dy[6], alone[15], both[15];
    float *gradient = oct_alloc(policy_spec_params(&spec) * sizeof(*gradient));
    nn_tape tape;
    problem_tape(&p, &tape, 3);
    memcpy(dy, p.dy, sizeof(dy));
    nn_tape_backward(&tape, dy, 3, gradient, both);
    memcpy(dy, p.dy, sizeof(dy));
    nn_tape_backward(&tape, dy, 3, NULL, alone);
    assert_memory_equal(alone, both, sizeof(both));
    for (uint32_t first = 0; first < 5; first++) {
        memcpy(dy, p.dy, sizeof(dy));
        nn_tape_backward_inputs(&tape, dy, 3, alone, first);
        for (uint32_t i = 0; i < 3 * (5 - first); i++) {
            size_t at = i / (5 - first) * 5 + first + i % (5 - first);
            T_NEAR((double)alone[i], (double)both[at], 1e-6, 1e-6);
        }
    }
    nn_tape_fini(&tape);
    free(gradient);
    problem_free(&p);
}

static void
test_backward_to_the_inputs_alone_gives_the_same(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 7, 0);
    check_inputs_alone(
        &rng, fixture_spec(5, (uint32_t[]){9, 4}, 2, POLICY_ELU, FIXTURE_FIRST_NORM, 2), false);
    check_inputs_alone(&rng, fixture_residual_spec(5, 9, 2, POLICY_ELU, 2), true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_backward_equals_central_differences),
        cmocka_unit_test(test_backward_equals_double_for_every_layer),
        cmocka_unit_test(test_backward_equals_double_at_awkward_sizes),
        cmocka_unit_test(test_residual_backward_equals_double_for_many_rows),
        cmocka_unit_test(test_gradients_of_sure_distributions_are_never_subnormal),
        cmocka_unit_test(test_backward_of_the_first_rows_ignores_the_others),
        cmocka_unit_test(test_backward_to_the_inputs_alone_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
