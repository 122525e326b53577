// The forward-mode pass against central differences of a network in double, and against the
// backward pass, whose product is the transpose's.
#include <stdlib.h>

#include "nn/nn_tangent.h"
#include "tests/nn/nn_double.h"
#include "tests/nn/nn_fixture.h"
#include "tests/support/oct_test.h"

// A tape that went forward with more rows than are asked for.
enum { ROWS = 5, MORE_ROWS = ROWS + 2 };
typedef struct problem {
    policy_spec spec;
    size_t params, outputs;
    float *at, *direction, *x;
    nn_tape tape;
    nn_tangent tangent;
} problem;

static problem
problem_make(oct_rng *rng, policy_spec spec)
{
    problem p = {
        .spec = spec, .params = policy_spec_params(&spec), .outputs = policy_spec_outputs(&spec)};
    p.at = fixture_floats(rng, p.params, -0.7f, 0.7f);
    p.direction = fixture_floats(rng, p.params, -1, 1);
    p.x = fixture_floats(rng, (size_t)MORE_ROWS * spec.obs_count, -1, 1);
    return p;
}

// The tape stays where it is from here on: the tangent borrows it.
static const float *
problem_begin(problem *p)
{
    nn_tape_init(&p->tape, fixture_context(), &p->spec, MORE_ROWS);
    memcpy(p->tape.net.params, p->at, p->params * sizeof(float));
    nn_tangent_init(&p->tangent, &p->tape);
    (void)nn_tape_forward(&p->tape, p->x, MORE_ROWS);
    return nn_tangent_forward(&p->tangent, p->direction, ROWS);
}

static void
problem_free(problem *p)
{
    nn_tangent_fini(&p->tangent);
    nn_tape_fini(&p->tape);
    free(p->at);
    free(p->direction);
    free(p->x);
}

// Outputs of the double network at + t direction, [ROWS][outputs].
static double *
outputs_at(nn_double *net, const problem *p, double t)
{
    for (size_t i = 0; i < p->params; i++) {
        net->params[i] = (double)p->at[i] + t * (double)p->direction[i];
    }
    double *y = oct_alloc(ROWS * p->outputs * sizeof(*y));
    memcpy(y, nn_double_forward(net, p->x, ROWS), ROWS * p->outputs * sizeof(*y));
    return y;
}

// Sums of some hundred terms of size 1 in fp32: 1e-5 of the largest is some ten units in the last
// place.
static void
check_differences(oct_rng *rng, policy_spec spec)
{
    const double h = 1e-6;
    problem p = problem_make(rng, spec);
    const float *dy = problem_begin(&p);
    nn_double *net = nn_double_create(&spec, ROWS);
    double *above = outputs_at(net, &p, h), *below = outputs_at(net, &p, -h), largest = 1;
    for (size_t i = 0; i < ROWS * p.outputs; i++) {
        largest = fmax(largest, fabs(above[i] - below[i]) / (2 * h));
    }
    for (size_t i = 0; i < ROWS * p.outputs; i++) {
        T_NEAR((double)dy[i], (above[i] - below[i]) / (2 * h), 1e-5 * largest, 1e-5);
    }
    free(above);
    free(below);
    nn_double_destroy(net);
    problem_free(&p);
}

static void
test_dense_layers_equal_central_differences(void **state)
{
    (void)state;
    static const fixture_norm norms[] = {FIXTURE_NO_NORM, FIXTURE_FIRST_NORM, FIXTURE_ALL_NORM};
    oct_rng rng;
    oct_rng_init(&rng, 3, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (size_t n = 0; n < OCT_COUNTOF(norms); n++) {
            for (uint32_t hidden = 0; hidden < 4; hidden++) {
                check_differences(&rng, fixture_spec(3, (uint32_t[]){9, 33, 6}, hidden,
                                                     (policy_activation)a, norms[n], 4));
            }
        }
    }
}

static void
test_convolutions_equal_central_differences(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 4, 0);
    for (int a = 0; a < POLICY_ACTIVATION_COUNT; a++) {
        for (uint32_t convs = 1; convs < 3; convs++) {
            check_differences(&rng, fixture_conv_spec(6, 7, 2, (uint32_t[]){5, 3}, convs, 8,
                                                      (policy_activation)a, 4));
        }
        for (uint32_t i = 0; i < FIXTURE_WORDS; i++) {
            check_differences(&rng, fixture_words_case(i, (policy_activation)a));
        }
    }
}

// <u, J v> = <J' u, v> for any u and v.
static void
test_backward_is_its_transpose(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    for (uint32_t i = 0; i < POLICY_ACTIVATION_COUNT * (FIXTURE_WORDS + 1u); i++) {
        const policy_activation a = (policy_activation)(i / (FIXTURE_WORDS + 1u));
        policy_spec spec = i % (FIXTURE_WORDS + 1u) == FIXTURE_WORDS
                               ? fixture_spec(4, (uint32_t[]){8, 7}, 2, a, FIXTURE_FIRST_NORM, 3)
                               : fixture_words_case(i % (FIXTURE_WORDS + 1u), a);
        problem p = problem_make(&rng, spec);
        const float *dy = problem_begin(&p);
        float *u = fixture_floats(&rng, ROWS * p.outputs, -1, 1);
        float *gradient = oct_alloc(p.params * sizeof(*gradient));
        double forward = 0, backward = 0, size = 0;
        for (size_t k = 0; k < ROWS * p.outputs; k++) {
            forward += (double)u[k] * (double)dy[k];
            size += fabs((double)u[k] * (double)dy[k]);
        }
        (void)nn_tape_backward(&p.tape, u, ROWS, gradient, NULL);
        for (size_t k = 0; k < p.params; k++) {
            backward += (double)gradient[k] * (double)p.direction[k];
        }
        T_NEAR(forward, backward, 1e-5 * size, 0);
        free(u);
        free(gradient);
        problem_free(&p);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_layers_equal_central_differences),
        cmocka_unit_test(test_convolutions_equal_central_differences),
        cmocka_unit_test(test_backward_is_its_transpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
