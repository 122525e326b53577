// Learning through a projection of the weights, as in quantisation-aware training.
#include <stdlib.h>

#include "tests/algos/algo_fixture.h"
#include "tests/algos/dqn_double.h"
#include "tests/support/oct_test.h"

enum { OBS = 4, ACTIONS = 3, B = 16 };

typedef struct trial {
    policy_spec spec;
    fixture_grid g;
    algo *a;
    algo_batch batch;
    size_t count;
    float *first; // the parameters before any update
    float *projected;
} trial;

static trial
trial_make(const config_experiment *config, void (*project)(void *, const float *, float *),
           fixture_grid *g)
{
    trial t = {0};
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    t.a = fixture_algo(&t.spec, config, OBS, ACTIONS, 1);
    t.batch = fixture_batch(&rng, B, OBS, ACTIONS);
    t.count = policy_spec_params(&t.spec);
    t.first = oct_alloc(t.count * sizeof(float));
    t.projected = oct_alloc(t.count * sizeof(float));
    memcpy(t.first, algo_policy_params(t.a), t.count * sizeof(float));
    *g = (fixture_grid){.count = t.count};
    fixture_grid_project(g, t.first, t.projected);
    if (project != NULL) {
        algo_set_projection(t.a, &(algo_projection){.arg = g, .project = project});
    }
    return t;
}

static void
trial_free(trial *t)
{
    fixture_batch_free(&t->batch);
    algo_destroy(t->a);
    free(t->first);
    free(t->projected);
}

static float *
saved_part(const trial *t, fixture_part part)
{
    size_t length;
    uint8_t *bytes = fixture_save(t->a, &length);
    float *out = oct_alloc(t->count * sizeof(float));
    memcpy(out, bytes + fixture_part_at(&t->spec, part), t->count * sizeof(float));
    free(bytes);
    return out;
}

// The loss as the formulas say, for a batch without bootstrap.
static double
loss_of(nn_double *net, const algo_batch *batch, double delta)
{
    const double *q = nn_double_forward(net, batch->obs, batch->B);
    double loss = 0;
    for (size_t i = 0; i < batch->B; i++) {
        double td =
            (double)batch->reward[i] - q[i * ACTIONS + (size_t)((int32_t *)batch->action)[i]];
        double size = fabs(td);
        double huber = size <= delta ? td * td / 2 : delta * (size - delta / 2);
        loss += (double)batch->weight[i] * huber / batch->B;
    }
    return loss;
}

static void
test_the_gradient_is_the_one_at_the_projected_weights(void **state)
{
    (void)state;
    fixture_grid g;
    config_experiment config = fixture_config();
    config.network.first_layer_norm = true;
    config.network.activation = POLICY_TANH; // smooth, so that differences are a gradient
    trial t = trial_make(&config, fixture_grid_project, &g);
    memset((void *)t.batch.discount, 0, B * sizeof(float));
    float result[ALGO_NUMBERS_MAX];
    // Biases and gains leave the grid, too.
    for (int i = 0; i < 5; i++) {
        T_OK(algo_update(t.a, &t.batch, 0.03f, NULL, result));
    }
    float *before = saved_part(&t, FIXTURE_FIRST_MOMENT);
    fixture_grid_project(&g, algo_policy_params(t.a), t.projected);
    T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, result));
    float *m = saved_part(&t, FIXTURE_FIRST_MOMENT);
    nn_double *net = nn_double_create(&t.spec, B);
    nn_double_set_params(net, t.projected);
    T_NEAR(result[ALGO_LOSS], loss_of(net, &t.batch, 1), 1e-6, 1e-5);
    double most = 0;
    for (size_t i = 0; i < t.count; i++) {
        const double h = 1e-5;
        double kept = net->params[i];
        net->params[i] = kept + h;
        double above = loss_of(net, &t.batch, 1);
        net->params[i] = kept - h;
        double below = loss_of(net, &t.batch, 1);
        net->params[i] = kept;
        // What Adam added to its first moment: (1 - beta1) of the gradient.
        double gradient = ((double)m[i] - 0.9 * (double)before[i]) / 0.1;
        T_NEAR(gradient, (above - below) / (2 * h), 1e-5, 1e-4);
        most = fmax(most, fabs(gradient));
    }
    assert_true(most > 1e-2);
    nn_double_destroy(net);
    free(m);
    free(before);
    trial_free(&t);
}

// The bootstrap comes from a projected target network, chosen by the projected online one.
static void
check_td_errors(bool double_q)
{
    fixture_grid g;
    config_experiment config = fixture_config();
    config.algo.double_q = double_q;
    trial t = trial_make(&config, fixture_grid_project, &g);
    dqn_double *want = dqn_double_create(&config, &t.spec, t.projected);
    dqn_double *other = dqn_double_create(&config, &t.spec, t.first);
    float td[B];
    double want_td[B], other_td[B];
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t.a, &t.batch, 1e-3f, td, result));
    (void)dqn_double_update(want, &t.batch, 1e-3, want_td);
    (void)dqn_double_update(other, &t.batch, 1e-3, other_td);
    double apart = 0;
    for (int i = 0; i < B; i++) {
        T_NEAR(td[i], want_td[i], 1e-5, 1e-5);
        apart = fmax(apart, fabs(other_td[i] - want_td[i]));
    }
    assert_true(apart > 1e-2); // so the check tells the two apart
    dqn_double_destroy(want);
    dqn_double_destroy(other);
    trial_free(&t);
}

static void
test_td_errors_are_those_of_projected_networks(void **state)
{
    (void)state;
    check_td_errors(true);
    check_td_errors(false);
}

static void
test_the_parameters_move_by_less_than_the_grid(void **state)
{
    (void)state;
    fixture_grid g;
    config_experiment config = fixture_config();
    trial t = trial_make(&config, fixture_grid_project, &g);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, result));
    const float *now = algo_policy_params(t.a);
    float *m = saved_part(&t, FIXTURE_FIRST_MOMENT);
    size_t moved = 0;
    for (size_t i = 0; i < t.count; i++) {
        // Adam's first step has the learning rate's length wherever there is a gradient.
        double step = fabs((double)now[i] - (double)t.first[i]);
        if (fabsf(m[i]) > 1e-5f) {
            T_NEAR(step, 1e-3, 1e-5, 0);
            moved++;
        }
    }
    assert_true(moved > t.count / 4);
    free(m);
    trial_free(&t);
}

static void
test_learning_goes_on_where_single_steps_do_not_cross_the_grid(void **state)
{
    (void)state;
    fixture_grid g;
    config_experiment config = fixture_config();
    config.algo.target_period = 1000;
    trial t = trial_make(&config, fixture_grid_project, &g);
    float first[ALGO_NUMBERS_MAX] = {0}, last[ALGO_NUMBERS_MAX] = {0};
    T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, first));
    for (int i = 0; i < 400; i++) {
        T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, last));
    }
    assert_true(last[ALGO_LOSS] < first[ALGO_LOSS] / 4);
    trial_free(&t);
}

static void
test_the_target_follows_parameters_and_not_their_projection(void **state)
{
    (void)state;
    fixture_grid g;
    config_experiment config = fixture_config();
    config.algo.target_period = 1;
    config.algo.target_rate = 0.5;
    trial t = trial_make(&config, fixture_grid_project, &g);
    float result[ALGO_NUMBERS_MAX];
    T_OK(algo_update(t.a, &t.batch, 1e-3f, NULL, result));
    float *target = saved_part(&t, FIXTURE_TARGET);
    const float *now = algo_policy_params(t.a);
    for (size_t i = 0; i < t.count; i++) {
        T_NEAR(target[i], ((double)t.first[i] + (double)now[i]) / 2, 1e-7, 1e-6);
    }
    free(target);
    trial_free(&t);
}

static void
test_a_checkpoint_keeps_the_parameters_and_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    fixture_grid g, h;
    config_experiment config = fixture_config();
    config.algo.target_period = 3;
    trial t = trial_make(&config, fixture_grid_project, &g);
    trial other = trial_make(&config, fixture_grid_project, &h);
    float result[ALGO_NUMBERS_MAX];
    for (int i = 0; i < 10; i++) {
        T_OK(algo_update(t.a, &t.batch, 1e-2f, NULL, result));
    }
    size_t length;
    uint8_t *bytes = fixture_save(t.a, &length);
    assert_memory_equal(bytes + fixture_part_at(&t.spec, FIXTURE_PARAMS), algo_policy_params(t.a),
                        t.count * sizeof(float));
    oct_reader reader = {.at = bytes, .left = length};
    T_OK(algo_load(other.a, &reader));
    for (int i = 0; i < 10; i++) {
        float td[B], other_td[B];
        T_OK(algo_update(t.a, &t.batch, 1e-2f, td, result));
        T_OK(algo_update(other.a, &t.batch, 1e-2f, other_td, result));
        assert_memory_equal(td, other_td, sizeof(td));
    }
    assert_memory_equal(algo_policy_params(t.a), algo_policy_params(other.a),
                        t.count * sizeof(float));
    free(bytes);
    trial_free(&t);
    trial_free(&other);
}

static void
test_without_effect_a_projection_changes_no_bit(void **state)
{
    (void)state;
    fixture_grid g, h;
    config_experiment config = fixture_config();
    config.algo.target_period = 3;
    config.algo.target_rate = 0.1;
    trial plain = trial_make(&config, NULL, &g);
    trial same = trial_make(&config, fixture_identity_project, &h);
    float result[ALGO_NUMBERS_MAX];
    unsigned calls = h.calls;
    for (int i = 0; i < 10; i++) {
        T_OK(algo_update(plain.a, &plain.batch, 1e-2f, NULL, result));
        T_OK(algo_update(same.a, &plain.batch, 1e-2f, NULL, result));
    }
    assert_int_equal(h.calls - calls, 10 + 3); // online each update, target at its three changes
    fixture_same_state(plain.a, same.a);
    trial_free(&plain);
    trial_free(&same);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_the_one_at_the_projected_weights),
        cmocka_unit_test(test_td_errors_are_those_of_projected_networks),
        cmocka_unit_test(test_the_parameters_move_by_less_than_the_grid),
        cmocka_unit_test(test_learning_goes_on_where_single_steps_do_not_cross_the_grid),
        cmocka_unit_test(test_the_target_follows_parameters_and_not_their_projection),
        cmocka_unit_test(test_a_checkpoint_keeps_the_parameters_and_goes_on_to_the_same_bits),
        cmocka_unit_test(test_without_effect_a_projection_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
