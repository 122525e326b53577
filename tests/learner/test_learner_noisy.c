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
        assert_int_equal(publication->audience, 1);
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
    assert_int_equal(policy_origin_read("policy_last.oct").version, LEARNER_NOISY_PERIOD + 1);
    assert_int_equal(policy_origin_read("policy.oct").version, LEARNER_NOISY_PERIOD + 1);
    // Versions go on after the newest that actors have, whoever explored with it.
    learner_checkpoint checkpoint = checkpoint_read();
    assert_true(checkpoint.policy_version >= LEARNER_NOISY_PERIOD + 3);
    learner_checkpoint_fini(&checkpoint);
}

static void
test_noisy_samples_differ_without_anything_learned(void **state)
{
    (void)state;
    algo *a = NULL;
    policy_spec spec = {.env_id = "Fixture-v0",
                        .obs_dtype = POLICY_F32,
                        .obs_count = FIXTURE_OBS,
                        .action_kind = POLICY_DISCRETE,
                        .action_count = FIXTURE_ACTIONS};
    config.algo.noisy = true;
    T_OK(algo_make_spec(&config, &spec, NULL, &reason));
    T_OK(algo_create(&a, NULL, &config, &spec, 1));
    size_t bytes = policy_spec_params(&spec) * sizeof(float);
    float *first = oct_alloc(bytes), *mean = oct_alloc(bytes);
    memcpy(mean, algo_policy_params(a), bytes);
    memcpy(first, algo_behaviour_params(a, 0), bytes);
    assert_memory_not_equal(first, mean, bytes);
    assert_memory_not_equal(first, algo_behaviour_params(a, 1), bytes);
    assert_memory_equal(mean, algo_policy_params(a), bytes);
    free(first);
    free(mean);
    algo_destroy(a);
}

// ---- a sample for each actor

enum { ROUNDS = 40 };

// Publications of three actors, as run_joined begins them.
static learner_run *
run_of_three(learner_actor *actors[3])
{
    learner_run *run = noisy_run();
    for (uint64_t i = 0; i < 3; i++) {
        actors[i] = actor_begin(run, i + 1, WIRE_ROLE_ACTOR);
    }
    learner_run_tick(run);
    (void)run_published(run); // the first, made before anybody could be asked
    return run;
}

// What actors hold goes by their own turns only: a change is one of what was sent there before, and
// each has most versions with noise and some without.
static void
test_noisy_each_actor_has_versions_of_its_own(void **state)
{
    (void)state;
    config.learner.batches_per_request = 1; // each is published before the next is learned from
    learner_actor *actors[3];
    learner_run *run = run_of_three(actors);
    uint64_t newest[3] = {learner_run_latest(run)->version}, noisy[3] = {0}, plain[3] = {0};
    for (uint32_t n = 0; n < 3 * ROUNDS; n++) {
        const quantizer_publication *publication = next_published(run);
        assert_in_range(publication->audience, 1, 3);
        uint32_t s = publication->audience - 1;
        assert_int_equal(learner_run_audience(run, actors[s]), publication->audience);
        assert_true(publication->delta == NULL || publication->base_version == newest[s]);
        newest[s] = publication->version;
        *(publication->noisy ? &noisy[s] : &plain[s]) += 1;
        for (uint32_t i = 0; i < 3; i++) {
            if (newest[i] > 0) {
                assert_int_equal(learner_run_newest(run, actors[i], 0)->version, newest[i]);
            }
        }
    }
    for (uint32_t s = 0; s < 3; s++) {
        assert_int_equal(noisy[s], ROUNDS * 7 / 8);
        assert_int_equal(plain[s], ROUNDS / 8);
    }
    run_stop(run, "interrupted");
}

// An actor gets a version every publish_period updates, however many there are.
static void
test_noisy_actors_are_served_as_often_as_one_alone(void **state)
{
    (void)state;
    config.learner.publish_period = 12;
    config.learner.batches_per_request = 1;
    learner_actor *actors[3];
    learner_run *run = run_of_three(actors);
    uint64_t updates[4] = {0};
    for (uint64_t n = 1; n <= ROUNDS; n++) {
        run_train(run, 12 / 3);
        const quantizer_publication *publication = run_published(run);
        assert_int_equal(publication->updates, n * 12 / 3);
        if (publication->noisy) {
            uint64_t *last = &updates[publication->audience];
            // A turn comes later by that of a policy without noise.
            assert_in_range(publication->updates - *last, *last > 0 ? 12 : 4, 16);
            *last = publication->updates;
        }
    }
    run_stop(run, "interrupted");
}

static void
test_noisy_who_joins_late_gets_the_policy_or_its_own(void **state)
{
    (void)state;
    learner_actor *actors[3];
    learner_run *run = run_of_three(actors);
    for (int i = 0; i < 12; i++) {
        (void)next_published(run);
    }
    learner_actor *late = actor_begin(run, 9, WIRE_ROLE_ACTOR);
    assert_false(learner_run_newest(run, late, 0)->noisy);
    // One more than there are samples: it acts with the first one's, and begins with its newest.
    for (uint64_t i = 5; i <= config.algo.noisy_samples + 1; i++) {
        late = actor_begin(run, 100 + i, WIRE_ROLE_ACTOR);
    }
    assert_int_equal(late->index, config.algo.noisy_samples);
    assert_int_equal(learner_run_audience(run, late), learner_run_audience(run, actors[0]));
    assert_ptr_equal(learner_run_newest(run, late, 0), learner_run_newest(run, actors[0], 0));
    learner_actor *evaluator = actor_begin(run, 7, WIRE_ROLE_EVALUATOR);
    assert_int_equal(learner_run_audience(run, evaluator), 0);
    run_stop(run, "interrupted");
}

// The noise of the first two versions of each sample, by what was learned so far: the seed's alone.
static void
test_noisy_samples_follow_from_the_seed(void **state)
{
    (void)state;
    enum { VERSIONS = 6 };
    float *params[2][VERSIONS];
    size_t bytes = 0;
    config.learner.batches_per_request = 1;
    for (int twice = 0; twice < 2; twice++) {
        oct_rng_init(&rng, 1, 0); // of the batches
        learner_actor *actors[3];
        learner_run *run = run_of_three(actors);
        bytes = policy_spec_params(learner_run_spec(run)) * sizeof(float);
        for (int v = 0; v < VERSIONS; v++) {
            const quantizer_publication *publication = next_published(run);
            params[twice][v] = oct_alloc(bytes);
            memcpy(params[twice][v], publication->params, bytes);
            assert_int_equal(publication->updates, v + 1);
        }
        run_stop(run, "interrupted");
        folder_end(FOLDER);
        folder_begin(FOLDER);
    }
    for (int v = 0; v < VERSIONS; v++) {
        assert_memory_equal(params[0][v], params[1][v], bytes);
        free(params[0][v]);
        free(params[1][v]);
    }
}

// A learner that was started again may give an actor another index: what it subscribed to before
// must not bring it another's sample.
static void
test_noisy_topics_are_others_after_a_restart(void **state)
{
    (void)state;
    learner_run *run = noisy_run();
    (void)run_published(run);
    uint32_t first = learner_run_topic(run, 1);
    assert_int_equal(learner_run_topic(run, 0), 0);
    assert_int_equal(learner_run_topic(run, CONFIG_NOISY_SAMPLES_MAX),
                     first + CONFIG_NOISY_SAMPLES_MAX - 1);
    run_stop(run, "interrupted");
    run = run_joined(true);
    uint32_t second = learner_run_topic(run, 1);
    assert_true(second > first ? second - first >= CONFIG_NOISY_SAMPLES_MAX
                               : first - second >= CONFIG_NOISY_SAMPLES_MAX);
    run_stop(run, "interrupted");
}

static void
test_noisy_one_sample_is_everybodys(void **state)
{
    (void)state;
    config.algo.noisy_samples = 1;
    learner_actor *actors[3];
    learner_run *run = run_of_three(actors);
    for (int i = 0; i < 12; i++) {
        const quantizer_publication *publication = next_published(run);
        assert_int_equal(publication->audience, 0);
        assert_ptr_equal(learner_run_newest(run, actors[i % 3], 0), publication);
    }
    run_stop(run, "interrupted");
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
        T(test_noisy_samples_differ_without_anything_learned),
        T(test_noisy_each_actor_has_versions_of_its_own),
        T(test_noisy_actors_are_served_as_often_as_one_alone),
        T(test_noisy_who_joins_late_gets_the_policy_or_its_own),
        T(test_noisy_samples_follow_from_the_seed),
        T(test_noisy_topics_are_others_after_a_restart),
        T(test_noisy_one_sample_is_everybodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
