// Quantisation-aware training through a whole learner: it learns with the weights of the policy
// that it publishes.
#include "nn/nn_net.h"
#include "quantizer/quantizer_project.h"

#define FOLDER "test_learner_aware.run"
#include "tests/learner/run_fixture.h"

static int
setup_aware(void **state)
{
    (void)setup(state);
    config.learner.batches_per_request = 1;
    config.policy.precision = CONFIG_PRECISION_INT4;
    config.policy.range = CONFIG_RANGE_MSE;
    return 0;
}

// The parameters that the newest published policy stands for, with what all actions share.
static float *
published(learner_run *run)
{
    policy_image *image;
    const quantizer_publication *publication = run_published(run);
    T_OK(policy_decode(&image, publication->bytes, publication->length, &reason));
    assert_int_equal(image->precision, POLICY_INT4);
    size_t bytes = policy_spec_params(&image->spec) * sizeof(float);
    float *params = oct_alloc(bytes), *shipped = oct_alloc(bytes);
    quantizer_projector *projector;
    quantizer_method method = QUANTIZER_METHOD_DEFAULT;
    method.range = QUANTIZER_MSE;
    T_OK(quantizer_projector_create(&projector, &image->spec, POLICY_INT4));
    T_OK(quantizer_project(projector, &method, NULL, publication->params, params));
    float *projected = oct_alloc(bytes);
    quantizer_dequantize(quantizer_projector_image(projector), projected);
    quantizer_dequantize(image, shipped);
    assert_memory_equal(projected, shipped, bytes);
    quantizer_projector_destroy(projector);
    policy_image_destroy(image);
    free(projected);
    free(shipped);
    return params;
}

// One batch; td[FIXTURE_B] = the learner's |TD errors|.
static void
train_once(learner_run *run, float *td)
{
    oct_rng_init(&rng, 9, 0);
    wire_priorities priorities;
    wire_sample request;
    assert_int_equal(learner_run_request(run, 0, &request), config.learner.batch_size);
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    T_OK(learner_run_sampled(run, 0, FIXTURE_B, &sampled));
    do {
        fixture_listen(&bell);
        learner_run_collect(run);
    } while (!learner_source_priorities(learner_run_source(run, 0), &priorities));
    assert_int_equal(priorities.count, FIXTURE_B);
    memcpy(td, priorities.priority, FIXTURE_B * sizeof(float));
}

// |TD errors| of a network that is its own target.
static void
td_of(const policy_spec *spec, const float *params, double *td)
{
    nn_net net;
    nn_context *context = nn_context_create(NULL);
    nn_net_init(&net, context, spec, FIXTURE_B);
    memcpy(net.params, params, net.param_count * sizeof(float));
    double value[FIXTURE_B];
    const float *q = nn_net_forward(&net, rows.obs[0], FIXTURE_B);
    for (int i = 0; i < FIXTURE_B; i++) {
        value[i] = (double)q[i * FIXTURE_ACTIONS + rows.action[i]];
    }
    q = nn_net_forward(&net, rows.next[0], FIXTURE_B);
    for (int i = 0; i < FIXTURE_B; i++) {
        double best = (double)fmaxf(q[2 * i], q[2 * i + 1]);
        td[i] = fabs((double)rows.reward[i] + (double)rows.discount[i] * best - value[i]);
    }
    nn_net_fini(&net);
    nn_context_destroy(context);
}

// How far the learner's first TD errors are from those of the policy that it published before.
static double
first_td_apart(void)
{
    float td[FIXTURE_B];
    double want[FIXTURE_B], apart = 0;
    learner_run *run = run_joined(false);
    float *params = published(run);
    train_once(run, td);
    td_of(learner_run_spec(run), params, want);
    for (int i = 0; i < FIXTURE_B; i++) {
        apart = fmax(apart, fabs((double)td[i] - want[i]));
    }
    free(params);
    learner_run_finish(run, "interrupted", false);
    learner_run_destroy(run);
    return apart;
}

static void
test_aware_learning_is_with_the_weights_that_are_published(void **state)
{
    (void)state;
    config.learner.quantisation_aware = true;
    T_NEAR(first_td_apart(), 0, 1e-5, 0);
}

static void
test_other_learning_is_with_those_before_rounding(void **state)
{
    (void)state;
    assert_true(first_td_apart() > 1e-3);
}

// The checkpoint has the parameters before rounding, so a run that is resumed goes on with them.
static void
test_resumed_learning_is_aware_again(void **state)
{
    (void)state;
    float td[2][FIXTURE_B], other[2][FIXTURE_B];
    config.learner.quantisation_aware = true;
    config.algo.learning_rate = 0.02;
    config.algo.learning_rate_final = 0.02;
    learner_run *run = run_joined(false);
    train_once(run, td[0]);
    train_once(run, td[1]);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    learner_run_destroy(run);

    folder_empty(FOLDER);
    run = run_joined(false);
    train_once(run, other[0]);
    learner_run_finish(run, "interrupted", false);
    learner_run_save(run);
    learner_run_destroy(run);
    run = run_joined(true);
    train_once(run, other[1]);
    learner_run_finish(run, "interrupted", false);
    learner_run_destroy(run);
    assert_memory_equal(td, other, sizeof(td));
    assert_memory_not_equal(td[0], td[1], sizeof(td[0]));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_aware_learning_is_with_the_weights_that_are_published,
                                        setup_aware, teardown),
        cmocka_unit_test_setup_teardown(test_other_learning_is_with_those_before_rounding,
                                        setup_aware, teardown),
        cmocka_unit_test_setup_teardown(test_resumed_learning_is_aware_again, setup_aware,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
