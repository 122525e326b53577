// A run whose policies explore by noise in their weights: who gets noisy versions, and who does
// not.
#define FOLDER "noisy.run"
#include "tests/learner/run_fixture.h"

static learner_run *
noisy_run(void)
{
    config.algo.noisy = true;
    config.learner.publish_core_share = 0;
    return run_joined(false);
}

// Trains until a version beyond the newest policy is out.
static const quantizer_publication *
next_published(learner_run *run)
{
    run_train(run, 1);
    return run_published(run);
}

static void
test_noisy_all_but_every_eighth_version_explore(void **state)
{
    (void)state;
    learner_run *run = noisy_run();
    const quantizer_publication *publication = run_published(run);
    for (uint64_t version = 1; version <= 3 * LEARNER_NOISY_PERIOD; version++) {
        assert_int_equal(publication->version, version);
        assert_int_equal(publication->noisy, (version - 1) % LEARNER_NOISY_PERIOD != 0);
        publication = next_published(run);
    }
    run_stop(run, "interrupted");
}

static void
test_noisy_without_noise_no_version_explores(void **state)
{
    (void)state;
    config.learner.publish_core_share = 0;
    learner_run *run = run_joined(false);
    assert_false(run_published(run)->noisy);
    for (int i = 0; i < 10; i++) {
        assert_false(next_published(run)->noisy);
    }
    run_stop(run, "interrupted");
}

static void
test_noisy_evaluators_get_the_policy_itself(void **state)
{
    (void)state;
    learner_run *run = noisy_run();
    learner_actor *evaluator = actor_begin(run, 7, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    while (learner_run_latest(run)->version < LEARNER_NOISY_PERIOD + 3) {
        (void)next_published(run);
    }
    assert_true(learner_run_latest(run)->noisy);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_false(order.publication->noisy);
    assert_int_equal(order.publication->version, LEARNER_NOISY_PERIOD + 1);
    run_stop(run, "interrupted");
}

static void
test_noisy_files_hold_the_policy_itself(void **state)
{
    (void)state;
    learner_run *run = noisy_run();
    (void)run_published(run);
    while (learner_run_latest(run)->version < LEARNER_NOISY_PERIOD + 3) {
        (void)next_published(run);
    }
    run_stop(run, "interrupted");
    uint64_t version;
    (void)policy_return("policy_last.oct", &version);
    assert_int_equal(version, LEARNER_NOISY_PERIOD + 1);
    (void)policy_return("policy.oct", &version);
    assert_int_equal(version, LEARNER_NOISY_PERIOD + 1);
    // Versions go on after the newest that actors have, whoever explored with it.
    learner_checkpoint checkpoint = checkpoint_read();
    assert_true(checkpoint.policy_version >= LEARNER_NOISY_PERIOD + 3);
    learner_checkpoint_fini(&checkpoint);
}

static void
test_noisy_versions_differ_without_anything_learned(void **state)
{
    (void)state;
    algo *a = NULL;
    policy_spec spec = {.env_id = "Fixture-v0",
                        .obs_dtype = POLICY_F32,
                        .obs_count = FIXTURE_OBS,
                        .action_kind = POLICY_DISCRETE,
                        .action_count = FIXTURE_ACTIONS};
    config.algo.noisy = true;
    T_OK(algo_make_spec(&config, &spec, NULL, reason, sizeof(reason)));
    T_OK(algo_create(&a, NULL, &config, &spec, 1));
    size_t bytes = policy_spec_params(&spec) * sizeof(float);
    float *first = oct_alloc(bytes), *mean = oct_alloc(bytes);
    memcpy(mean, algo_policy_params(a), bytes);
    memcpy(first, algo_behaviour_params(a), bytes);
    assert_memory_not_equal(first, mean, bytes);
    assert_memory_not_equal(first, algo_behaviour_params(a), bytes);
    assert_memory_equal(mean, algo_policy_params(a), bytes);
    free(first);
    free(mean);
    algo_destroy(a);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_noisy_all_but_every_eighth_version_explore),
        T(test_noisy_without_noise_no_version_explores),
        T(test_noisy_evaluators_get_the_policy_itself),
        T(test_noisy_files_hold_the_policy_itself),
        T(test_noisy_versions_differ_without_anything_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
