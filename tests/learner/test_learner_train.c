// The training thread with a real DQN and made-up transitions; the test is the loop thread.
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_reason.h"
#include "learner/learner_train.h"
#include "nn/group/group_fork.h"
#include "nn/nn_gemm.h"
#include "tests/learner/batch_fixture.h"
#include "tests/learner/learner_fixture.h"

enum { BATCHES = 4 };

static fixture_bell bell = FIXTURE_BELL;
static config_experiment config;
static policy_spec spec;
static quantizer_stage *stage;
static learner_train *train;
static learner_batch *batches[BATCHES];
static oct_rng rng;

static algo *
algo_begin(void)
{
    oct_reason why = {""};
    algo *a = NULL;
    spec = (policy_spec){.env_id = "Fixture-v0",
                         .obs_dtype = POLICY_F32,
                         .obs_count = FIXTURE_OBS,
                         .action_kind = POLICY_DISCRETE,
                         .action_count = FIXTURE_ACTIONS};
    (void)nn_blas_init(1, why.text, sizeof(why.text));
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
    T_OK(algo_create(&a, NULL, &config, &spec, 1));
    return a;
}

static int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    algo *a = algo_begin();
    quantizer_stage_options options = {
        .spec = &spec, .precision = POLICY_INT8, .run_id = 1, .run_name = "train"};
    T_OK(quantizer_stage_create(&stage, &options, fixture_ring, &bell));
    train = learner_train_create(a, &config, stage, BATCHES, fixture_ring, &bell);
    oct_rng_init(&rng, 5, 0);
    for (int i = 0; i < BATCHES; i++) {
        batches[i] = learner_batch_create(&spec, FIXTURE_B, 0);
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    if (train != NULL) {
        learner_train_stop(train);
    }
    learner_train_destroy(train);
    quantizer_stage_destroy(stage);
    for (int i = 0; i < BATCHES; i++) {
        learner_batch_destroy(batches[i]);
    }
    return 0;
}

static void
batch_make(learner_batch *batch)
{
    fixture_rows rows;
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    T_OK(batch_fill(batch, &spec, &sampled, 0, 0.5));
}

static learner_batch *
batch_learned(void)
{
    learner_batch *batch;
    while ((batch = learner_train_take(train)) == NULL) {
        fixture_listen(&bell);
    }
    return batch;
}

static quantizer_publication *
published(void)
{
    quantizer_publication *publication;
    while ((publication = quantizer_stage_take(stage)) == NULL) {
        fixture_listen(&bell);
    }
    return publication;
}

static void
test_train_never_started(void **state)
{
    (void)state;
    learner_train_destroy(NULL);
    learner_train_stop(train);
    assert_null(learner_train_take(train));
    assert_null(learner_train_take_state(train));
    learner_state_bytes *own = learner_train_state(train);
    assert_int_equal(own->updates, 0);
    free(own);
}

static void
test_train_refuses_what_is_not_finite(void **state)
{
    (void)state;
    T_OK(learner_train_start(train));
    for (uint32_t i = 1; i <= 3; i++) {
        batch_make(batches[0]);
        batches[0]->reward[0] = INFINITY;
        learner_train_put(train, batches[0]);
        assert_false(batch_learned()->learned);
        assert_int_equal(batches[0]->refused, OCT_EINTERNAL);
        assert_int_equal(learner_train_refused(train), i);
    }
    batch_make(batches[0]);
    learner_train_put(train, batches[0]);
    const learner_batch *batch = batch_learned();
    assert_true(batch->learned);
    assert_int_equal(batch->refused, OCT_OK);
    assert_int_equal(batch->updates, 1);
    assert_int_equal(learner_train_refused(train), 0);
}

// Made anew, to learn from rollouts like the batch.
static learner_batch *
rollouts_begin(void)
{
    learner_train_destroy(train);
    quantizer_stage_destroy(stage);
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = 3;
    algo *a = algo_begin();
    quantizer_stage_options options = {.spec = &spec,
                                       .precision = POLICY_INT8,
                                       .run_id = 1,
                                       .run_name = "train",
                                       .publish_all = true};
    T_OK(quantizer_stage_create(&stage, &options, fixture_ring, &bell));
    train = learner_train_create(a, &config, stage, BATCHES, fixture_ring, &bell);
    return learner_batch_create(&spec, FIXTURE_B, config_rollout_rows(3) - 1);
}

// Actors wait for a version after each rollout, whether anything was learned from it or not.
static void
test_train_publishes_after_refused_rollouts_too(void **state)
{
    (void)state;
    learner_batch *batch = rollouts_begin();
    T_OK(learner_train_start(train));
    quantizer_publication_release(published());
    for (uint64_t version = 2; version <= 4; version++) {
        bool is_sound = version == 4;
        batch->reward[0] = is_sound ? 1 : INFINITY;
        learner_train_put(train, batch);
        assert_true(batch_learned()->learned == is_sound);
        quantizer_publication *publication = published();
        assert_int_equal(publication->version, version);
        assert_int_equal(publication->updates, is_sound);
        quantizer_publication_release(publication);
    }
    learner_train_stop(train);
    learner_batch_destroy(batch);
}

// Neither an end row nor what fills a sequence behind it is what a policy acted on.
static void
test_train_observes_the_rows_of_sequences_that_have_an_action(void **state)
{
    (void)state;
    learner_batch *batch = rollouts_begin();
    uint32_t T = batch->view.T;
    const struct {
        uint32_t window, from, end;
    } acted[] = {{0, 0, 2}, {0, 3, T}, {1, 0, 1}, {2, 0, T}};
    quantizer_observed *observed = quantizer_observed_create(FIXTURE_OBS);
    quantizer_observed *wanted = quantizer_observed_create(FIXTURE_OBS);
    for (uint32_t i = 0; i < FIXTURE_B * (T + 1) * FIXTURE_OBS; i++) {
        batch->obs[i] = 1000;
    }
    memset(batch->flags, ALGO_END, (size_t)FIXTURE_B * T);
    for (size_t k = 0; k < OCT_COUNTOF(acted); k++) {
        uint32_t rows = acted[k].end - acted[k].from;
        float *obs = batch->obs + (acted[k].window * (T + 1) + acted[k].from) * FIXTURE_OBS;
        for (uint32_t i = 0; i < rows * FIXTURE_OBS; i++) {
            obs[i] = oct_rng_normal(&rng);
        }
        memset(batch->flags + acted[k].window * T + acted[k].from, 0, rows);
        quantizer_observed_add(wanted, obs, rows);
    }
    learner_train_observe(train, observed);
    T_OK(learner_train_start(train));
    learner_train_put(train, batch);
    assert_true(batch_learned()->learned);
    learner_train_stop(train);
    uint8_t bytes[512], wanted_bytes[512];
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    oct_writer wanted_writer = {.base = wanted_bytes, .capacity = sizeof(wanted_bytes)};
    quantizer_observed_save(observed, &writer);
    quantizer_observed_save(wanted, &wanted_writer);
    assert_false(writer.failed);
    assert_int_equal(writer.used, wanted_writer.used);
    assert_memory_equal(bytes, wanted_bytes, writer.used);
    quantizer_observed_destroy(observed);
    quantizer_observed_destroy(wanted);
    learner_batch_destroy(batch);
}

// The started thread does what algo_update does: same batches, same bits. Stops it.
static void
expect_the_algorithm_alone(void)
{
    enum { UPDATES = 40 };
    algo *alone = algo_begin();
    oct_rng same;
    fixture_rows rows;
    learner_batch *own = learner_batch_create(&spec, FIXTURE_B, 0);
    oct_rng_init(&same, 5, 0);
    for (uint32_t i = 0; i < UPDATES; i++) {
        learner_batch *batch = batches[i % BATCHES];
        batch_make(batch);
        learner_train_put(train, batch);
        assert_ptr_equal(batch_learned(), batch);
        assert_int_equal(batch->updates, i + 1);
        wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &same);
        T_OK(batch_fill(own, &spec, &sampled, 0, 0.5));
        T_OK(algo_update(alone, &own->view, (float)config.algo.learning_rate, own->priority,
                         own->numbers));
        assert_memory_equal(batch->priority, own->priority, FIXTURE_B * sizeof(float));
        assert_memory_equal(batch->numbers, own->numbers, sizeof(own->numbers));
    }
    learner_train_stop(train);
    learner_state_bytes *got = learner_train_state(train);
    oct_writer writer = {.base = oct_alloc(got->length), .capacity = got->length};
    algo_save(alone, &writer);
    assert_int_equal(writer.used, got->length);
    assert_memory_equal(writer.base, got->bytes, got->length);
    assert_int_equal(got->updates, UPDATES);
    free(writer.base);
    free(got);
    learner_batch_destroy(own);
    algo_destroy(alone);
}

static void
test_train_equals_the_algorithm_alone(void **state)
{
    (void)state;
    T_OK(learner_train_start(train));
    expect_the_algorithm_alone();
}

static void
begin_noisy(double core_share)
{
    config.algo.noisy = true;
    learner_train_destroy(train);
    quantizer_stage_destroy(stage);
    algo *a = algo_begin();
    quantizer_stage_options options = {.spec = &spec,
                                       .precision = POLICY_INT8,
                                       .run_id = 1,
                                       .run_name = "train",
                                       .core_share = core_share};
    T_OK(quantizer_stage_create(&stage, &options, fixture_ring, &bell));
    train = learner_train_create(a, &config, stage, BATCHES, fixture_ring, &bell);
    T_OK(learner_train_start(train));
    quantizer_publication_release(published());
}

// Also where policies explore by noise: none is drawn, nor mapped, for a stage that takes nothing.
static void
test_train_makes_no_policy_for_a_stage_that_is_over_budget(void **state)
{
    (void)state;
    begin_noisy(1e-9);
    expect_the_algorithm_alone();
}

static void
test_train_gives_its_state_between_updates(void **state)
{
    (void)state;
    T_OK(learner_train_start(train));
    learner_train_ask_state(train); // also while it has nothing to do
    learner_state_bytes *first, *second;
    while ((first = learner_train_take_state(train)) == NULL) {
        fixture_listen(&bell);
    }
    assert_int_equal(first->updates, 0);
    for (int i = 0; i < 3; i++) {
        batch_make(batches[0]);
        learner_train_put(train, batches[0]);
        (void)batch_learned();
    }
    learner_train_ask_state(train);
    while ((second = learner_train_take_state(train)) == NULL) {
        fixture_listen(&bell);
    }
    assert_int_equal(second->updates, 3);
    algo *loaded = algo_begin();
    oct_reader reader = {.at = second->bytes, .left = second->length};
    T_OK(algo_load(loaded, &reader));
    assert_int_equal(algo_updates(loaded), 3);
    algo_destroy(loaded);
    free(first);
    free(second);
}

static void
test_train_publishes_the_first_weights_and_then_each_period(void **state)
{
    (void)state;
    config.learner.publish_period = 5;
    T_OK(learner_train_start(train));
    quantizer_publication *publication = published();
    assert_int_equal(publication->updates, 0); // actors can begin before anything is learned
    quantizer_publication_release(publication);
    for (uint64_t want = 5; want <= 15; want += 5) {
        for (int i = 0; i < 5; i++) {
            batch_make(batches[0]);
            learner_train_put(train, batches[0]);
            (void)batch_learned();
        }
        publication = published();
        assert_int_equal(publication->updates, want);
        assert_int_equal(publication->version, 1 + want / 5);
        quantizer_publication_release(publication);
    }
}

// Of an algorithm alone that learns from the same rows: what it averages is what is published and
// what the state has, while the parameters that learn are as without it.
static void
test_train_publishes_the_average(void **state)
{
    (void)state;
    size_t count = policy_spec_params(&spec);
    learner_average *own = learner_average_create(count, 0.75);
    learner_average *average = learner_average_create(count, 0.75);
    config.learner.publish_period = 5;
    learner_train_average(train, average);
    T_OK(learner_train_start(train));
    algo *alone = algo_begin();
    quantizer_publication *publication = published();
    assert_memory_equal(publication->params, algo_policy_params(alone), count * sizeof(float));
    quantizer_publication_release(publication);
    for (int i = 0; i < 5; i++) {
        batch_make(batches[0]);
        learner_batch *batch = batches[0];
        float priority[FIXTURE_B], numbers[ALGO_NUMBERS_MAX];
        T_OK(algo_update(alone, &batch->view, (float)config.algo.learning_rate, priority, numbers));
        learner_average_add(own, algo_policy_params(alone));
        learner_train_put(train, batch);
        (void)batch_learned();
    }
    publication = published();
    assert_int_equal(publication->updates, 5);
    assert_memory_equal(publication->params, learner_average_params(own), count * sizeof(float));
    assert_memory_not_equal(publication->params, algo_policy_params(alone), count * sizeof(float));
    quantizer_publication_release(publication);
    learner_train_stop(train);
    learner_state_bytes *got = learner_train_state(train);
    learner_average *loaded = learner_average_create(count, 0.75);
    algo *again = algo_begin();
    oct_reader reader = {.at = got->bytes, .left = got->length};
    T_OK(algo_load(again, &reader));
    assert_memory_equal(algo_policy_params(again), algo_policy_params(alone),
                        count * sizeof(float));
    T_OK(learner_train_load(loaded, NULL, &reader));
    assert_memory_equal(learner_average_params(loaded), learner_average_params(own),
                        count * sizeof(float));
    algo_destroy(again);
    algo_destroy(alone);
    free(got);
    learner_average_destroy(loaded);
    learner_average_destroy(own);
    learner_train_destroy(train);
    train = NULL;
    learner_average_destroy(average);
}

// However far the next version is, and where the budget and the turn of a noisy one say no.
static void
test_train_publishes_what_it_has_learned_last(void **state)
{
    (void)state;
    begin_noisy(1e-9);
    for (int i = 0; i < 3; i++) {
        batch_make(batches[0]);
        learner_train_put(train, batches[0]);
        (void)batch_learned();
    }
    learner_train_stop(train);
    learner_train_set_env_steps(train, 77);
    learner_train_publish_last(train);
    quantizer_publication *last = quantizer_stage_take(stage); // it is there
    assert_non_null(last);
    assert_int_equal(last->version, 2);
    assert_int_equal(last->updates, 3);
    assert_int_equal(last->env_steps, 77);
    assert_false(last->noisy);
    quantizer_publication_release(last);
    learner_train_publish_last(train); // nothing was learned since
    assert_null(quantizer_stage_take(stage));
}

// What was published since has noise, and is no policy.
static void
test_train_publishes_the_last_policy_behind_a_noisy_one(void **state)
{
    (void)state;
    config.learner.publish_period = 2;
    begin_noisy(0);
    for (int i = 0; i < 2; i++) {
        batch_make(batches[0]);
        learner_train_put(train, batches[0]);
        (void)batch_learned();
    }
    quantizer_publication *noisy = published();
    assert_true(noisy->noisy);
    assert_int_equal(noisy->updates, 2);
    quantizer_publication_release(noisy);
    learner_train_stop(train);
    learner_train_publish_last(train);
    quantizer_publication *last = quantizer_stage_take(stage);
    assert_non_null(last);
    assert_int_equal(last->updates, 2);
    assert_false(last->noisy);
    quantizer_publication_release(last);
}

static void
test_train_keeps_versions_apart_in_time(void **state)
{
    (void)state;
    config.learner.publish_s_min = 3600;
    T_OK(learner_train_start(train));
    quantizer_publication_release(published());
    for (int i = 0; i < 50; i++) {
        batch_make(batches[0]);
        learner_train_put(train, batches[0]);
        (void)batch_learned();
    }
    learner_train_stop(train);
    // The next version is this one, so there was none between.
    float *params = oct_alloc(policy_spec_params(&spec) * sizeof(float));
    assert_true(quantizer_stage_offer(stage, params, 999, 0));
    quantizer_publication *second = published();
    assert_int_equal(second->version, 2);
    assert_int_equal(second->updates, 999);
    quantizer_publication_release(second);
    free(params);
}

// The period in updates is out of reach; the one in seconds is over at once.
static void
test_train_publishes_by_time(void **state)
{
    (void)state;
    config.learner.publish_period = 1000000;
    config.learner.publish_s = 1e-9;
    T_OK(learner_train_start(train));
    quantizer_publication_release(published());
    for (uint64_t version = 2; version <= 4; version++) {
        batch_make(batches[0]);
        learner_train_put(train, batches[0]);
        (void)batch_learned();
        quantizer_publication *publication = published();
        assert_int_equal(publication->version, version);
        assert_int_equal(publication->updates, version - 1);
        quantizer_publication_release(publication);
    }
}

static void
test_train_rate_falls_over_the_budget(void **state)
{
    (void)state;
    config.algo.learning_rate = 1e-2;
    config.algo.learning_rate_final = 1e-3;
    T_NEAR(learner_train_rate(train), 1e-2, 0, 1e-6);
    learner_train_set_share(train, 0.5);
    T_NEAR(learner_train_rate(train), 5.5e-3, 0, 1e-6);
    learner_train_set_share(train, 1);
    T_NEAR(learner_train_rate(train), 1e-3, 0, 1e-6);
}

static void
test_a_batch_knows_how_much_of_the_budget_is_spent(void **state)
{
    (void)state;
    T_OK(learner_train_start(train));
    for (int i = 0; i < 3; i++) {
        float share = 0.25f * (float)i;
        learner_train_set_share(train, (double)share);
        batch_make(batches[i]);
        learner_train_put(train, batches[i]);
        assert_ptr_equal(batch_learned(), batches[i]);
        assert_true(batches[i]->view.spent == share);
    }
}

// Stopped with work in the queue: what is not learned stays the caller's, nothing waits.
static void
test_train_stops_with_batches_waiting(void **state)
{
    (void)state;
    for (int i = 0; i < BATCHES; i++) {
        batch_make(batches[i]);
        learner_train_put(train, batches[i]);
    }
    assert_int_equal(learner_train_ready(train), BATCHES);
    T_OK(learner_train_start(train));
    learner_train_stop(train);
    uint32_t learned = 0;
    while (learner_train_take(train) != NULL) {
        learned++;
    }
    learner_state_bytes *bytes = learner_train_state(train);
    assert_int_equal(bytes->updates, learned);
    free(bytes);
    double update_s, wait_s;
    learner_train_times(train, &update_s, &wait_s);
    assert_true(update_s >= 0 && wait_s >= 0);
}

// Another learner, a copy of this process, which therefore has one thread at that moment.
static learner_group *
group_begin_asynchronous(void)
{
    group *members;
    learner_train_destroy(train);
    quantizer_stage_destroy(stage);
    config.learner.count = 2;
    config.learner.asynchronous = true;
    T_OK(group_fork(&members, config.learner.count));
    if (group_rank(members) != 0) {
        _exit(learner_group_serve(members));
    }
    learner_group *lg = learner_group_create(members, true);
    algo *a = algo_begin();
    quantizer_stage_options options = {
        .spec = &spec, .precision = POLICY_INT8, .run_id = 1, .run_name = "train"};
    T_OK(quantizer_stage_create(&stage, &options, fixture_ring, &bell));
    train = learner_train_create(a, &config, stage, BATCHES, fixture_ring, &bell);
    learner_train_share(train, lg, &spec, 0);
    return lg;
}

// All batches go round until so many updates are made; gives how many were learned from. Whoever
// learned from one was told which share of the budget is spent.
static uint64_t
learn_with_others(uint64_t updates, float share)
{
    uint64_t learned = 0, last = 0;
    for (int i = 0; i < BATCHES; i++) {
        batch_make(batches[i]);
        learner_train_put(train, batches[i]);
    }
    for (uint32_t idle = 0; idle < BATCHES;) {
        learner_batch *batch = batch_learned();
        assert_true(batch->updates >= last && batch->updates <= updates);
        last = batch->updates;
        learned += batch->learned;
        assert_true(!batch->learned || batch->view.spent == share);
        batch->view.spent = 0;
        if (batch->updates == updates) {
            idle++;
        } else {
            learner_train_put(train, batch);
        }
    }
    return learned;
}

static void
test_asynchronous_learners_make_the_budget_and_no_more(void **state)
{
    (void)state;
    enum { UPDATES = 200 };
    learner_staleness s;
    learner_group *lg = group_begin_asynchronous();
    config.run.updates = UPDATES;
    learner_train_set_share(train, 0.25);
    T_OK(learner_train_start(train));
    assert_int_equal(learn_with_others(UPDATES, 0.25f), UPDATES);
    learner_group_staleness(lg, &s);
    assert_int_equal(s.updates, UPDATES);
    learner_train_ask_state(train);
    learner_state_bytes *got;
    while ((got = learner_train_take_state(train)) == NULL) {
        fixture_listen(&bell);
    }
    learner_train_stop(train);
    learner_state_bytes *own = learner_train_state(train);
    assert_int_equal(got->updates, UPDATES);
    assert_int_equal(got->batches, UPDATES + s.given_up);
    assert_int_equal(own->length, got->length);
    assert_memory_equal(own->bytes, got->bytes, got->length);
    free(own);
    free(got);
    learner_train_destroy(train);
    train = NULL;
    learner_group_destroy(lg);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_train_never_started),
        T(test_train_refuses_what_is_not_finite),
        T(test_train_publishes_after_refused_rollouts_too),
        T(test_train_observes_the_rows_of_sequences_that_have_an_action),
        T(test_train_equals_the_algorithm_alone),
        T(test_train_makes_no_policy_for_a_stage_that_is_over_budget),
        T(test_train_gives_its_state_between_updates),
        T(test_train_publishes_the_first_weights_and_then_each_period),
        T(test_train_publishes_the_average),
        T(test_train_publishes_what_it_has_learned_last),
        T(test_train_publishes_the_last_policy_behind_a_noisy_one),
        T(test_train_keeps_versions_apart_in_time),
        T(test_train_publishes_by_time),
        T(test_train_rate_falls_over_the_budget),
        T(test_a_batch_knows_how_much_of_the_budget_is_spent),
        T(test_train_stops_with_batches_waiting),
        T(test_asynchronous_learners_make_the_budget_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
