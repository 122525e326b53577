// Both sides of a worker with a real CartPole: policies, batches, stopping, evaluations. The test
// is the loop thread and waits on a condition, so nothing sleeps.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "actor/actor_worker.h"
#include "tests/actor/actor_fixture.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int notifications;

static void
notify(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    notifications++;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&mutex);
}

static void
wait_notified(void)
{
    pthread_mutex_lock(&mutex);
    while (notifications == 0) {
        pthread_cond_wait(&woken, &mutex);
    }
    notifications = 0;
    pthread_mutex_unlock(&mutex);
}

static config_experiment config;
static const actor_seed seed = {1, 0, 0};

static actor_worker *
worker_begin(const char *id, const char *options, config_when_full_name when_full)
{
    notifications = 0;
    config = fixture_config(id);
    config.actor.ring_batches = 4;
    config.actor.when_full = when_full;
    config.actor.flush_s = 3600;
    config.actor.report_s = 0.01;
    config.actor.batch_steps = 32;
    uint32_t obs = strcmp(id, "CartPole-v1") == 0 ? 4 : 3;
    policy_net *net = fixture_policy(obs, 1, 0, 0);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env(id, options, config.actor.envs, 1), &config,
                          policy_net_spec(net), &seed));
    actor_worker *worker = actor_worker_create(run, &config, notify, NULL);
    actor_worker_put_policy(worker, net);
    return worker;
}

static actor_batch *
worker_batch(actor_worker *worker)
{
    actor_batch *batch;
    while ((batch = actor_worker_take_batch(worker)) == NULL) {
        wait_notified();
    }
    return batch;
}

static const actor_numbers *
worker_numbers(actor_worker *worker)
{
    const actor_numbers *numbers;
    while ((numbers = actor_worker_take_numbers(worker)) == NULL) {
        wait_notified();
    }
    return numbers;
}

static void
worker_end(actor_worker *worker)
{
    actor_worker_stop(worker);
    actor_worker_destroy(worker);
}

static void
test_worker_never_started(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    worker_end(worker);
    actor_worker_destroy(NULL);
}

static void
test_worker_stops_while_it_waits_for_a_policy(void **state)
{
    (void)state;
    config = fixture_config("CartPole-v1");
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env("CartPole-v1", "", 2, 1), &config, policy_net_spec(net),
                          &seed));
    policy_net_destroy(net);
    actor_worker *worker = actor_worker_create(run, &config, notify, NULL);
    T_OK(actor_worker_start(worker));
    worker_end(worker);
}

static void
test_worker_waits_when_full_and_stops(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    T_OK(actor_worker_start(worker));
    actor_batch *held[4];
    uint32_t count = actor_worker_batches(worker);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < count; i++) {
        held[i] = worker_batch(worker);
        assert_int_equal(held[i]->sequence, i + 1);
    }
    // All are held: no step is made before one is given back, but numbers still come.
    uint64_t steps = 0;
    for (int i = 0; i < 20 || steps < held[3]->env_steps; i++) {
        const actor_numbers *numbers = worker_numbers(worker);
        steps = numbers->env_steps;
        actor_worker_return_numbers(worker, numbers);
    }
    assert_int_equal(steps, held[3]->env_steps);
    assert_null(actor_worker_take_batch(worker));
    actor_worker_return_batch(worker, held[0]);
    actor_batch *fifth = worker_batch(worker);
    assert_int_equal(fifth->sequence, 5);
    assert_ptr_equal(fifth, held[0]);
    actor_worker_stop(worker);
    actor_worker_return_batch(worker, fifth); // a late acknowledgement harms nobody
    actor_worker_destroy(worker);
}

static void
test_worker_lets_only_its_window_go_round(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    actor_worker_set_window(worker, 0); // two at least
    T_OK(actor_worker_start(worker));
    actor_batch *first = worker_batch(worker), *second = worker_batch(worker);
    uint64_t steps = 0;
    for (int i = 0; i < 20 || steps < second->env_steps; i++) {
        const actor_numbers *numbers = worker_numbers(worker);
        steps = numbers->env_steps;
        actor_worker_return_numbers(worker, numbers);
    }
    assert_null(actor_worker_take_batch(worker));
    assert_int_equal(actor_worker_circulating(worker), 2); // both are out: it waits
    // A wider window lets the resting ones go, whatever is still out.
    actor_worker_set_window(worker, 100);
    assert_int_equal(actor_worker_circulating(worker), 4);
    actor_batch *third = worker_batch(worker), *fourth = worker_batch(worker);
    assert_int_equal(third->sequence, 3);
    assert_int_equal(fourth->sequence, 4);
    // A narrower one keeps what comes back.
    actor_worker_set_window(worker, 2);
    assert_int_equal(actor_worker_circulating(worker), 4);
    actor_worker_return_batch(worker, first);
    actor_worker_return_batch(worker, second);
    assert_int_equal(actor_worker_circulating(worker), 2);
    actor_worker_return_batch(worker, third);
    assert_ptr_equal(worker_batch(worker), third);
    worker_end(worker);
}

static void
test_worker_drops_when_full_and_counts(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_DROP);
    T_OK(actor_worker_start(worker));
    // The last batch is never sealed while there is no free one: it is filled again and again.
    actor_batch *held[3];
    for (uint32_t i = 0; i < 3; i++) {
        held[i] = worker_batch(worker);
    }
    uint64_t dropped = 0;
    while (dropped < 200) {
        const actor_numbers *numbers = worker_numbers(worker);
        dropped = numbers->dropped;
        actor_worker_return_numbers(worker, numbers);
    }
    assert_null(actor_worker_take_batch(worker));
    uint64_t numbered = held[2]->run_first[0] + held[2]->run_rows[0];
    for (uint32_t i = 0; i < 3; i++) {
        actor_worker_return_batch(worker, held[i]);
    }
    actor_batch *next = worker_batch(worker);
    assert_int_equal(next->sequence, 4); // replay sees no hole in the sequence
    // But rows are missing: two environments, more than 200 steps.
    assert_true(next->run_first[0] >= numbered + 100);
    worker_end(worker);
}

static void
test_worker_batches_follow_each_other(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    T_OK(actor_worker_start(worker));
    uint64_t row_next[2] = {0}, env_steps = 0;
    for (uint32_t i = 1; i <= 300; i++) {
        actor_batch *batch = worker_batch(worker);
        assert_int_equal(batch->sequence, i);
        assert_true(batch->count >= 32 && batch->env_steps > env_steps);
        for (uint32_t k = 0; k < batch->run_count; k++) {
            assert_int_equal(batch->run_first[k], row_next[batch->run_stream[k]]);
            row_next[batch->run_stream[k]] += batch->run_rows[k];
        }
        env_steps = batch->env_steps;
        actor_worker_return_batch(worker, batch);
        actor_worker_collect(worker);
    }
    worker_end(worker);
}

static void
test_worker_swaps_policies_forward_only(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    T_OK(actor_worker_start(worker));
    uint64_t seen = 0, put = 1;
    while (seen < 200) {
        actor_batch *batch = worker_batch(worker);
        for (uint32_t k = 0; k < batch->run_count; k++) {
            uint32_t version = batch->run_version[k];
            bool continues = k > 0 && batch->run_stream[k] == batch->run_stream[k - 1];
            assert_true(version <= put && version >= seen);
            assert_true(!continues || version > batch->run_version[k - 1]);
        }
        seen = batch->run_version[batch->run_count - 1];
        actor_worker_return_batch(worker, batch);
        actor_worker_put_policy(worker, fixture_policy(4, ++put, 0, 0));
        if (put % 7 != 0) { // now and then two before the thread looks: the newest wins
            actor_worker_put_policy(worker, fixture_policy(4, ++put, 0, 0));
        }
        if (put % 50 == 0) {
            actor_worker_collect(worker);
        }
    }
    worker_end(worker);
}

static actor_worker *
worker_of_rollouts(uint32_t lag, double wait_s)
{
    notifications = 0;
    config = fixture_config("CartPole-v1");
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = 16;
    config.algo.rollout_lag = lag;
    config.actor.rollout_wait_s = wait_s;
    config.actor.flush_s = 0.0001;
    config.actor.report_s = 3600;
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env("CartPole-v1", "", 2, 1), &config, policy_net_spec(net),
                          &seed));
    actor_worker *worker = actor_worker_create(run, &config, notify, NULL);
    actor_worker_put_policy(worker, net);
    T_OK(actor_worker_start(worker));
    return worker;
}

// The next batch is a rollout of this version: 16 steps of each environment, and where it ends.
static void
expect_rollout(actor_worker *worker, uint32_t version)
{
    actor_batch *batch = worker_batch(worker);
    assert_int_equal(batch->steps, 32);
    assert_int_equal(batch->run_count, 2); // one for each environment: of one version
    for (uint32_t k = 0, row = 0; k < 2; k++) {
        assert_int_equal(batch->run_version[k], version);
        assert_true((batch->flags[row] & WIRE_FIRST) != 0 &&
                    (batch->flags[row] & WIRE_ROLLOUT) != 0);
        row += batch->run_rows[k];
        assert_int_equal(batch->flags[row - 1], WIRE_END | WIRE_ROLLOUT);
    }
    actor_worker_return_batch(worker, batch);
    actor_worker_collect(worker);
}

static void
test_worker_makes_one_rollout_with_each_version(void **state)
{
    (void)state;
    actor_worker *worker = worker_of_rollouts(0, 86400);
    for (uint32_t version = 1; version <= 50; version++) {
        expect_rollout(worker, version);
        assert_null(actor_worker_take_batch(worker)); // and cannot make another one
        actor_worker_put_policy(worker, fixture_policy(4, version + 1, 0, 0));
    }
    worker_end(worker);
}

static void
test_worker_is_ahead_by_the_lag(void **state)
{
    (void)state;
    actor_worker *worker = worker_of_rollouts(2, 86400);
    for (int i = 0; i < 3; i++) {
        expect_rollout(worker, 1);
    }
    actor_worker_put_policy(worker, fixture_policy(4, 2, 0, 0));
    expect_rollout(worker, 2);
    actor_worker_put_policy(worker, fixture_policy(4, 9, 0, 0)); // some were missed
    for (int i = 0; i < 3; i++) {
        expect_rollout(worker, 9);
    }
    worker_end(worker);
}

static void
test_worker_waits_for_a_version_only_so_long(void **state)
{
    (void)state;
    actor_worker *worker = worker_of_rollouts(0, 0.01);
    for (int i = 0; i < 3; i++) {
        expect_rollout(worker, 1);
    }
    worker_end(worker);
}

// flush_s: a batch goes when it is old, full or not.
static void
test_worker_flushes_a_late_batch(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin(odd_path(), "length=5", CONFIG_WHEN_FULL_WAIT);
    config.actor.flush_s = 0.0001;
    config.actor.batch_steps = 60000;
    actor_worker_stop(worker);
    actor_worker_destroy(worker);
    policy_net *net = fixture_policy(3, 1, 0, 0);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env(odd_path(), "length=5", 2, 1), &config,
                          policy_net_spec(net), &seed));
    worker = actor_worker_create(run, &config, notify, NULL);
    actor_worker_put_policy(worker, net);
    T_OK(actor_worker_start(worker));
    actor_batch *batch = worker_batch(worker);
    assert_in_range(batch->count, 1, 59999);
    worker_end(worker);
}

// What was made until then is all there is, full or not, and nothing comes after it.
static void
test_worker_that_drains_gives_out_what_it_has_made(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin("CartPole-v1", "", CONFIG_WHEN_FULL_WAIT);
    actor_worker_stop(worker);
    actor_worker_destroy(worker);
    config.actor.batch_steps = 60000;
    policy_net *net = fixture_policy(4, 1, 0, 0);
    actor_run *run = NULL;
    T_OK(actor_run_create(&run, fixture_env("CartPole-v1", "", config.actor.envs, 1), &config,
                          policy_net_spec(net), &seed));
    worker = actor_worker_create(run, &config, notify, NULL);
    actor_worker_put_policy(worker, net);
    T_OK(actor_worker_start(worker));
    uint64_t steps = 0;
    while (steps == 0) {
        const actor_numbers *numbers = worker_numbers(worker);
        steps = numbers->env_steps;
        actor_worker_return_numbers(worker, numbers);
    }
    assert_false(actor_worker_has_ended(worker));
    actor_worker_drain(worker);
    while (!actor_worker_has_ended(worker)) {
        (void)sched_yield();
    }
    uint64_t sequence = 0, drained = 0;
    actor_batch *batch;
    while ((batch = actor_worker_take_batch(worker)) != NULL) {
        assert_int_equal(batch->sequence, ++sequence);
        drained += batch->steps;
        actor_worker_return_batch(worker, batch);
    }
    assert_true(drained >= steps);
    worker_end(worker);
}

// In a step, which takes as long as the pipe that this is the end of is open.
static void
stop_in_a_step(actor_worker *worker, int end)
{
    assert_false(actor_worker_stop_within(worker, 0));
    assert_false(actor_worker_has_ended(worker));
    (void)close(end);
    assert_true(actor_worker_stop_within(worker, UINT32_MAX));
    assert_true(actor_worker_has_ended(worker));
    actor_worker_destroy(worker);
}

static void
test_worker_and_evaluator_are_not_waited_for_longer_than_asked(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    char options[64];
    (void)snprintf(options, sizeof(options), "gate=%d", ends[0]);
    actor_worker *worker = worker_begin(odd_path(), options, CONFIG_WHEN_FULL_WAIT);
    T_OK(actor_worker_start(worker));
    while (actor_worker_call_s(worker) == 0) {
        (void)sched_yield();
    }
    stop_in_a_step(worker, ends[1]);
    (void)close(ends[0]);

    assert_int_equal(pipe(ends), 0);
    config = fixture_config(odd_path());
    (void)snprintf(config.env.options, sizeof(config.env.options), "gate=%d", ends[0]);
    worker = actor_worker_create_evaluator(&config, notify, NULL);
    T_OK(actor_worker_put_job(worker, actor_job_create(fixture_policy(3, 1, 0, 0), 1, 1, 5)));
    T_OK(actor_worker_start(worker));
    actor_playing playing;
    while (!actor_worker_playing(worker, &playing) || playing.env_steps == 0) {
        (void)sched_yield();
    }
    stop_in_a_step(worker, ends[1]);
    (void)close(ends[0]);
}

static void
test_worker_tells_when_the_environment_is_broken(void **state)
{
    (void)state;
    actor_worker *worker = worker_begin(odd_path(), "error_at=20", CONFIG_WHEN_FULL_WAIT);
    T_OK(actor_worker_start(worker));
    while (actor_worker_failed(worker) == NULL) {
        wait_notified();
    }
    assert_non_null(strstr(actor_worker_failed(worker), "the odd environment is broken"));
    worker_end(worker);
}

static actor_job *
evaluator_job(actor_worker *worker)
{
    actor_job *job;
    while ((job = actor_worker_take_job(worker)) == NULL) {
        wait_notified();
    }
    return job;
}

static void
test_evaluator_takes_one_job_at_a_time(void **state)
{
    (void)state;
    notifications = 0;
    config = fixture_config("CartPole-v1");
    actor_worker *worker = actor_worker_create_evaluator(&config, notify, NULL);
    T_OK(actor_worker_start(worker));
    for (uint64_t ticket = 1; ticket <= 3; ticket++) {
        T_OK(actor_worker_put_job(
            worker, actor_job_create(fixture_policy(4, ticket, 0, 0), ticket, ticket, 5)));
        wait_notified(); // done, but not taken back
        actor_job *second = actor_job_create(fixture_policy(4, 9, 0, 0), 99, 1, 5);
        T_ERR(actor_worker_put_job(worker, second), OCT_EAGAIN);
        actor_job_destroy(second);
        actor_job *job = evaluator_job(worker);
        T_OK(job->err);
        assert_int_equal(job->ticket, ticket);
        assert_int_equal(job->result.episodes, 5);
        assert_true(job->result.returns[4] >= 1 && job->result.lengths[4] >= 1);
        actor_job_destroy(job);
    }
    worker_end(worker);
    actor_job_destroy(NULL);
}

static void
test_evaluator_samples_actions_where_the_run_does(void **state)
{
    (void)state;
    notifications = 0;
    config = fixture_config("CartPole-v1");
    config.evaluation.sampling = true;
    actor_worker *worker = actor_worker_create_evaluator(&config, notify, NULL);
    T_OK(actor_worker_put_job(worker, actor_job_create(fixture_policy(4, 1, 0, 0), 1, 1, 5)));
    T_OK(actor_worker_start(worker));
    actor_job *job = evaluator_job(worker); // of a policy that has values only
    T_ERR(job->err, OCT_EINVAL);
    assert_non_null(strstr(job->why.text, "no distribution to sample actions from: its outputs are "
                                          "values of actions; it can only act greedily"));
    actor_job_destroy(job);
    worker_end(worker);
}

// While it plays it can be asked how far it is; before and after it plays nothing.
static void
test_evaluator_tells_how_far_it_is(void **state)
{
    (void)state;
    config = fixture_config(odd_path());
    (void)snprintf(config.env.options, sizeof(config.env.options),
                   "length=0,action_repeat=7"); // never ends
    config.evaluation.max_steps = 1000000000;
    actor_worker *worker = actor_worker_create_evaluator(&config, notify, NULL);
    actor_playing playing;
    assert_false(actor_worker_playing(worker, &playing));
    T_OK(actor_worker_put_job(worker, actor_job_create(fixture_policy(3, 1, 0, 0), 77, 1, 5)));
    T_OK(actor_worker_start(worker));
    for (uint64_t least = 1; least < 1000; least *= 10) {
        while (!actor_worker_playing(worker, &playing) || playing.env_steps < least) {
            sched_yield();
        }
        assert_int_equal(playing.env_steps % 7, 0); // not actions
        assert_int_equal(playing.ticket, 77);
        assert_int_equal(playing.episodes, 0);
    }
    actor_worker_stop(worker);
    assert_false(actor_worker_playing(worker, &playing));
    actor_worker_destroy(worker);
}

static void
test_evaluator_stops_in_the_middle(void **state)
{
    (void)state;
    config = fixture_config(odd_path());
    (void)snprintf(config.env.options, sizeof(config.env.options), "length=0"); // never ends
    config.evaluation.max_steps = 1000000000;
    actor_worker *worker = actor_worker_create_evaluator(&config, notify, NULL);
    T_OK(actor_worker_put_job(worker, actor_job_create(fixture_policy(3, 1, 0, 0), 1, 1, 5)));
    T_OK(actor_worker_start(worker));
    worker_end(worker); // the job that was not taken back is freed, too
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker_never_started),
        cmocka_unit_test(test_worker_stops_while_it_waits_for_a_policy),
        cmocka_unit_test(test_worker_waits_when_full_and_stops),
        cmocka_unit_test(test_worker_lets_only_its_window_go_round),
        cmocka_unit_test(test_worker_drops_when_full_and_counts),
        cmocka_unit_test(test_worker_batches_follow_each_other),
        cmocka_unit_test(test_worker_swaps_policies_forward_only),
        cmocka_unit_test(test_worker_makes_one_rollout_with_each_version),
        cmocka_unit_test(test_worker_is_ahead_by_the_lag),
        cmocka_unit_test(test_worker_waits_for_a_version_only_so_long),
        cmocka_unit_test(test_worker_flushes_a_late_batch),
        cmocka_unit_test(test_worker_that_drains_gives_out_what_it_has_made),
        cmocka_unit_test(test_worker_and_evaluator_are_not_waited_for_longer_than_asked),
        cmocka_unit_test(test_worker_tells_when_the_environment_is_broken),
        cmocka_unit_test(test_evaluator_takes_one_job_at_a_time),
        cmocka_unit_test(test_evaluator_samples_actions_where_the_run_does),
        cmocka_unit_test(test_evaluator_tells_how_far_it_is),
        cmocka_unit_test(test_evaluator_stops_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
