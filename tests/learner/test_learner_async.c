// Learners that wait for nobody, as threads of one process with one memory: nothing is lost or done
// twice, staleness is counted and bounded, and all ends.
#include <pthread.h>
#include <stdlib.h>

#include "learner/learner_async.h"
#include "tests/learner/batch_fixture.h"
#include "tests/learner/learner_fixture.h"

enum { LEARNERS = 3, BATCHES = 8, UPDATES = 300 };

static config_experiment config;
static policy_spec spec;
static oct_rng rng;
static learner_async *learners[LEARNERS];
static algo *algos[LEARNERS];
static void *memory;
static learner_batch *batches[BATCHES];

static void
learners_make(uint32_t staleness_max)
{
    config.learner.staleness_max = staleness_max;
    for (uint32_t r = 0; r < LEARNERS; r++) {
        T_OK(algo_create(&algos[r], NULL, &config, &spec, 1));
        learner_async_options options = {.learner = r,
                                         .count = LEARNERS,
                                         .staleness_max = config.learner.staleness_max,
                                         .spec = &spec,
                                         .B = FIXTURE_B,
                                         .a = algos[r]};
        if (r == 0) {
            size_t bytes = learner_async_bytes(&options);
            assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
            memset(memory, 0, bytes);
        }
        options.memory = memory;
        learners[r] = learner_async_create(&options);
    }
}

static int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    config.replay.sampler = CONFIG_SAMPLER_PRIORITIZED;
    spec = (policy_spec){.env_id = "Fixture-v0",
                         .obs_dtype = POLICY_F32,
                         .obs_count = FIXTURE_OBS,
                         .action_kind = POLICY_DISCRETE,
                         .action_count = FIXTURE_ACTIONS};
    T_OK(algo_make_spec(&config, &spec, NULL, NULL));
    oct_rng_init(&rng, 5, 0);
    for (int i = 0; i < BATCHES; i++) {
        fixture_rows rows;
        batches[i] = learner_batch_create(&spec, FIXTURE_B, 0);
        wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
        T_OK(batch_fill(batches[i], &spec, &sampled, 0, 0.5));
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (uint32_t r = 0; r < LEARNERS; r++) {
        learner_async_destroy(learners[r]);
        algo_destroy(algos[r]);
    }
    for (int i = 0; i < BATCHES; i++) {
        learner_batch_destroy(batches[i]);
    }
    free(memory);
    return 0;
}

static oct_err
gradient(uint32_t r)
{
    return learner_async_gradient(learners[r], &batches[r]->view, batches[r]->priority,
                                  batches[r]->numbers);
}

// While learner 1 computes, learner 0 makes so many updates.
static oct_err
outcome_of_a_gradient_that_is_so_old(uint32_t updates)
{
    T_OK(gradient(1));
    for (uint32_t i = 0; i < updates; i++) {
        T_OK(gradient(0));
        T_OK(learner_async_apply(learners[0], 1e-3f));
    }
    return learner_async_apply(learners[1], 1e-3f);
}

static void
test_gradients_older_than_the_bound_are_given_up(void **state)
{
    (void)state;
    learner_staleness s;
    learners_make(2);
    T_OK(outcome_of_a_gradient_that_is_so_old(2));
    learner_async_staleness(learners[0], &s);
    assert_int_equal(s.updates, 3);
    assert_int_equal(s.sum, 2);
    assert_int_equal(s.max, 2);
    assert_int_equal(s.given_up, 0);
    T_ERR(outcome_of_a_gradient_that_is_so_old(3), OCT_EAGAIN);
    learner_async_staleness(learners[0], &s);
    assert_int_equal(s.updates, 6);
    assert_int_equal(s.sum, 2);
    assert_int_equal(s.max, 0); // since it was asked for
    assert_int_equal(s.given_up, 1);
    assert_int_equal(learner_async_updates(learners[0]), 6);
    T_OK(outcome_of_a_gradient_that_is_so_old(0)); // it fetched anew
}

static void
test_a_bound_of_zero_takes_only_what_nobody_came_before(void **state)
{
    (void)state;
    learners_make(0);
    T_OK(outcome_of_a_gradient_that_is_so_old(0));
    T_ERR(outcome_of_a_gradient_that_is_so_old(1), OCT_EAGAIN);
}

static void
test_there_is_room_for_two_batches_of_each_other_learner(void **state)
{
    (void)state;
    oct_err err;
    learners_make(100);
    assert_null(learner_async_take(learners[0], &err));
    while (learner_async_has_room(learners[0])) {
        assert_true(learner_async_give(learners[0], batches[0], 1e-3f, true));
    }
    assert_false(learner_async_give(learners[0], batches[1], 1e-3f, true));
    assert_int_equal(learner_async_given(learners[0]), 2 * (LEARNERS - 1));
    assert_null(learner_async_take(learners[0], &err)); // nobody serves
}

static void *
serve(void *arg)
{
    learner_async_serve(arg);
    return NULL;
}

static void
batch_returned(learner_batch *batch, oct_err err, uint64_t *learned, uint64_t *given_up)
{
    assert_true(err == OCT_OK || err == OCT_EAGAIN);
    *learned += err == OCT_OK;
    *given_up += err == OCT_EAGAIN;
    for (uint32_t i = 0; err == OCT_OK && i < FIXTURE_B; i++) {
        assert_true(batch->priority[i] > 0);
        batch->priority[i] = -1;
    }
}

// Learner 0 gives, learns and takes; the batch that each of the others has is its own meanwhile.
static void
learn_all(uint64_t *learned, uint64_t *given_up)
{
    learner_batch *free_batches[BATCHES], *batch;
    uint32_t free_count = BATCHES, round = 0;
    oct_err err;
    memcpy(free_batches, batches, sizeof(batches));
    for (uint32_t i = 0; i < UPDATES; i++) {
        while (free_count > 1 && learner_async_has_room(learners[0])) {
            assert_true(learner_async_give(learners[0], free_batches[--free_count], 1e-3f, true));
        }
        batch = free_batches[--free_count];
        err =
            learner_async_learn(learners[0], &batch->view, 1e-3f, batch->priority, batch->numbers);
        batch_returned(batch, err, learned, given_up);
        free_batches[free_count++] = batch;
        while ((batch = learner_async_take(learners[0], &err)) != NULL) {
            batch_returned(batch, err, learned, given_up);
            free_batches[free_count++] = batch;
        }
    }
    while (learner_async_given(learners[0]) > 0) {
        batch = learner_async_take(learners[0], &err);
        if (batch != NULL) {
            batch_returned(batch, err, learned, given_up);
            free_batches[free_count++] = batch;
        } else {
            group_wait(round++);
        }
    }
    assert_int_equal(free_count, BATCHES);
}

static void
test_threads_lose_nothing_and_end(void **state)
{
    (void)state;
    pthread_t threads[LEARNERS];
    learner_staleness s;
    uint64_t learned = 0, given_up = 0;
    learners_make(1);
    for (uint32_t r = 1; r < LEARNERS; r++) {
        assert_int_equal(pthread_create(&threads[r], NULL, serve, learners[r]), 0);
    }
    learn_all(&learned, &given_up);
    learner_async_end(learners[0]);
    for (uint32_t r = 1; r < LEARNERS; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    }
    learner_async_staleness(learners[0], &s);
    assert_true(learned + given_up > UPDATES);
    assert_int_equal(learner_async_updates(learners[0]), learned);
    assert_int_equal(s.updates, learned);
    assert_int_equal(s.given_up, given_up);
    assert_true(s.sum <= learned && s.max <= 1);
    for (uint32_t r = 0; r < LEARNERS; r++) {
        learner_async_fetch(learners[r]);
        assert_int_equal(algo_updates(algos[r]), learned);
        assert_memory_equal(algo_policy_params(algos[r]), algo_policy_params(algos[0]),
                            policy_spec_params(&spec) * sizeof(float));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_gradients_older_than_the_bound_are_given_up, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_bound_of_zero_takes_only_what_nobody_came_before,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_there_is_room_for_two_batches_of_each_other_learner,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_lose_nothing_and_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
