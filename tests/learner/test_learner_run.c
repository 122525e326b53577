// A whole experiment without sockets: what it refuses, its phases and evaluations.
#include <fcntl.h>

#include "common/oct_log.h"

#define FOLDER "test_learner_run.run"
#include "tests/learner/run_fixture.h"

#include "learner/learner_environment.h"

// ---- what must not happen

// The experiment is wrong, not the actor that shows it: nobody else would do better, and who waits
// for the run to begin would wait for ever. The actor hears that it has ended.
static void
assert_cannot_train(const wire_env_spec *env, const char *why)
{
    learner_run *run = run_begin(false);
    T_ERR(learner_run_begin(run, env, &reason), OCT_EAGAIN);
    assert_non_null(strstr(reason.text, why));
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_true(learner_run_failed(run));
    T_ERR(learner_run_begin(run, &good_env, &reason), OCT_EAGAIN);
    assert_string_equal(reason.text, "the run has ended");
    learner_run_save(run);
    learner_run_destroy(run);
    assert_false(folder_has(FOLDER, LEARNER_ENVIRONMENT_FILE));
    json_t *summary = summary_read();
    assert_reason(summary, "refused");
    json_decref(summary);
}

static void
test_run_ends_at_an_environment_that_it_cannot_learn(void **state)
{
    (void)state;
    wire_env_spec bad = good_env;
    bad.obs_count = 200000; // wider than a layer may be
    assert_cannot_train(&bad, "200000");
    static const float low[] = {-1, -1}, high[] = {1, 1};
    bad = good_env;
    bad.action_kind = POLICY_BOX; // DQN chooses from a list
    bad.action_low = low;
    bad.action_high = high;
    assert_cannot_train(&bad, "algo.name");
}

static void
test_run_ends_at_a_policy_that_could_not_be_sent(void **state)
{
    (void)state;
    config.network.hidden.count = 2;
    config.network.hidden.value[0] = 8192;
    config.network.hidden.value[1] = 8200;
    config.policy.precision = CONFIG_PRECISION_FP32;
    assert_cannot_train(&good_env, "bytes in fp32");
}

// Before anybody comes.
static void
test_run_does_not_begin_with_an_environment_that_it_cannot_learn(void **state)
{
    (void)state;
    learner_run *run = NULL;
    environment = FOLDER "/known.oct";
    config.algo.name = CONFIG_ALGO_TD3; // whose actions are numbers
    T_OK(folder_write_env(environment, &good_env));
    T_ERR(run_create(&run, false), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "td3 needs actions in a box"));
    assert_null(run);
}

static void
test_run_actors_must_be_alike(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    wire_env_spec other = good_env;
    T_OK(learner_run_begin(run, &other, &reason));
    other.obs_count = 5;
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "observations 4 float32, actions 2 discrete; this actor"));
    other = good_env;
    other.action_count = 3;
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    other = good_env;
    other.obs_dtype = POLICY_U8;
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    run_stop(run, "interrupted");
}

static void
metrics_reported(learner_run *run, const char *const *names, const double *sums,
                 const uint32_t *episodes, uint32_t count)
{
    learner_actor *evaluator = actor_begin(run, 70 + count, WIRE_ROLE_EVALUATOR);
    float returns[8] = {0};
    uint32_t lengths[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    static const char *const stats[] = {"evaluation_failed", "evaluation_truncated",
                                        "evaluation_s"};
    wire_report message = {.actor_id = evaluator->id,
                           .session = evaluator->session,
                           .report_sequence = 1,
                           .policy_version = order.publication->version,
                           .ticket = order.ticket,
                           .episode_count = order.episodes,
                           .episode_return = returns,
                           .episode_length = lengths,
                           .stat_count = 3,
                           .stat_name = stats,
                           .stat_value = (double[]){12, 2, 0.5},
                           .metric_count = count,
                           .metric_name = names,
                           .metric_sum = sums,
                           .metric_episodes = episodes};
    learner_admission_token(learner_run_admission(run), evaluator, message.token);
    T_OK(learner_run_report(run, &message));
}

// The columns are those of the environment as the run knows it; an evaluator of another build, or
// of a release that does not tell, fills what it has of them.
static void
test_run_shows_what_the_environment_measures(void **state)
{
    (void)state;
    static const char *const names[] = {"success rate", "laps"}, *const told[] = {"x", "laps"};
    wire_env_spec env = good_env;
    env.metric_count = 2;
    env.metric_name = names;
    learner_run *run = run_begin(false);
    T_OK(learner_run_begin(run, &env, &reason));
    (void)run_published(run);
    assert_true(isnan(status_of(run, "learner.eval_metric_success_rate")));
    assert_true(isnan(status_of(run, "learner.eval_failed")));
    metrics_reported(run, told, (double[]){1, 6}, (uint32_t[]){1, 2}, 2);
    assert_true(isnan(status_of(run, "learner.eval_metric_success_rate")));
    assert_true(status_of(run, "learner.eval_metric_laps") == 3);
    assert_true(status_of(run, "learner.eval_failed") == 12);
    assert_true(status_of(run, "learner.eval_truncated") == 2);
    assert_true(status_of(run, "learner.eval_sampling") == 0);
    assert_true(status_of(run, "learner.eval_played") == config.evaluation.screen_episodes);
    assert_true(status_of(run, "learner.eval_played_s") == 0.5);
    run_stop(run, "interrupted");
    char *text = folder_read(FOLDER, "metrics.csv");
    assert_non_null(strstr(text, ",eval_metric_success_rate,eval_metric_laps\n"));
    free(text);
    for (int again = 0; again < 2; again++) { // also what an earlier process was told
        json_t *root = summary_read();
        const json_t *measured = json_object_get(json_object_get(root, "return"), "metrics");
        assert_int_equal(json_object_size(measured), 2);
        assert_true(json_is_null(json_object_get(measured, "success rate")));
        T_NEAR(json_number_value(json_object_get(measured, "laps")), 3, 0, 0);
        const json_t *result = json_object_get(root, "return");
        assert_int_equal(json_integer_value(json_object_get(result, "failed_episodes")), 12);
        assert_int_equal(json_integer_value(json_object_get(result, "truncated_episodes")), 2);
        json_decref(root);
        run = run_begin(true);
        T_OK(learner_run_begin(run, &good_env, &reason));
        run_stop(run, "interrupted");
    }
}

// Else their actions would be refused in every batch.
static void
test_run_actors_must_have_the_same_bounds(void **state)
{
    (void)state;
    static const float low[] = {-1, -1}, high[] = {1, 1}, higher[] = {1, 2};
    config.algo.name = CONFIG_ALGO_D4PG;
    learner_run *run = run_begin(false);
    wire_env_spec env = good_env;
    env.action_kind = POLICY_BOX;
    env.action_low = low;
    env.action_high = high;
    T_OK(learner_run_begin(run, &env, &reason));
    T_OK(learner_run_begin(run, &env, &reason));
    env.action_high = higher;
    T_ERR(learner_run_begin(run, &env, &reason), OCT_EINVAL);
    assert_string_equal(reason.text,
                        "in this run, action 1 is in [-1, 1]; in this actor, it is in [-1, 2]");
    run_stop(run, "interrupted");
}

static void
test_run_learns_convolutions_of_the_registered_shape(void **state)
{
    (void)state;
    static const uint32_t flat[] = {16}, map[] = {4, 4, 1}, other_map[] = {2, 8, 1};
    config.network.conv = (config_ints){.count = 1, .value = {6}};
    wire_env_spec env = good_env;
    env.obs_count = 16;
    env.obs_rank = 1;
    env.obs_shape = flat;
    assert_cannot_train(&env, "network.conv: convolutions need observations of rows x columns x "
                              "channels, but those of Fixture-v0 have rank 1");
    env.obs_rank = 3;
    env.obs_shape = other_map;
    assert_cannot_train(&env,
                        "network.conv: layer 1 (conv 6 3x3) reads 2 x 8 of 1; its kernel is 3 x 3");
    env.obs_shape = map;
    learner_run *run = run_begin(false);
    T_OK(learner_run_begin(run, &env, &reason));
    const policy_spec *spec = learner_run_spec(run);
    assert_int_equal(spec->layers[0].kind, POLICY_CONV);
    assert_int_equal(spec->layers[0].outputs, 2 * 2 * 6);
    env.obs_shape = other_map;
    T_ERR(learner_run_begin(run, &env, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "observations 4 x 4 x 1 float32"));
    run_stop(run, "interrupted");
}

static void
test_run_refuses_reports_of_strangers(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor actor = {.id = 77, .session = 77};
    T_ERR(report(run, &actor, 1, 5), OCT_ENOTFOUND);
    actor = *actor_begin(run, 77, WIRE_ROLE_ACTOR);
    actor.session = 78; // of another with the same id
    T_ERR(report(run, &actor, 1, 5), OCT_ENOTFOUND);
    run_stop(run, "interrupted");
}

// A sample of another shape costs nothing: its batches can be asked for again.
static void
test_run_survives_a_bad_sample(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    static const float extra[FIXTURE_ROWS_MAX * 64];
    for (int i = 0; i < 50; i++) {
        uint32_t reserved = run_request(run);
        assert_int_equal(reserved, 2);
        wire_sampled sampled = fixture_sampled(&rows, 2 * FIXTURE_B, &rng);
        sampled.extra_dim = 64;
        sampled.extra = extra;
        run_sampled(run, reserved, &sampled);
    }
    // More windows than were asked for: what there are batches for is taken, no more.
    uint32_t reserved = run_request(run);
    wire_sampled sampled = fixture_sampled(&rows, 8 * FIXTURE_B, &rng);
    run_sampled(run, reserved, &sampled);
    run_stop(run, "interrupted");
}

// ---- ordinary life

static void
test_run_interrupted_before_any_actor(void **state)
{
    (void)state;
    learner_run *run = run_begin(false);
    learner_run_collect(run);
    learner_run_tick(run);
    assert_null(learner_run_publish(run));
    assert_null(learner_run_latest(run));
    assert_int_equal(run_request(run), 0);
    assert_non_null(strstr(learner_run_no_checkpoint(run), "no actor has joined yet"));
    learner_run_checkpoint(run);
    learner_run_finish(run, "interrupted", true);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_non_null(strstr(learner_run_no_checkpoint(run), "training has ended"));
    // An actor that comes between the end and the exit begins nothing.
    T_ERR(learner_run_begin(run, &good_env, &reason), OCT_EAGAIN);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    learner_run_save(run);
    assert_false(learner_run_failed(run));
    learner_run_destroy(run);
    json_t *summary = summary_read();
    assert_reason(summary, "interrupted");
    assert_int_equal(json_integer_value(json_object_get(summary, "updates")), 0);
    assert_true(json_is_null(json_object_get(summary, "return")));
    json_decref(summary);
    assert_false(folder_has(FOLDER, "curve.svg")); // there is nothing to draw
    assert_false(folder_has(FOLDER, "checkpoint.oct"));
    assert_false(folder_has(FOLDER, "policy.oct"));
}

static void
test_run_configures_replay_with_the_experiment(void **state)
{
    (void)state;
    config.replay.sampler = CONFIG_SAMPLER_UNIFORM;
    learner_run *run = run_joined(false);
    wire_configure request = learner_source_configure(learner_run_source(run, 0));
    assert_int_equal(request.run_id, learner_run_id(run));
    assert_int_equal(request.capacity, config.replay.capacity);
    assert_int_equal(request.obs_bytes, 16);
    assert_true(request.obs_is_float && !request.action_is_float);
    assert_int_equal(request.action_bytes, 4);
    assert_int_equal(request.action_count, 2);
    assert_int_equal(request.sampler, WIRE_SAMPLER_UNIFORM);
    run_stop(run, "interrupted");
}

// 4 held ready and 2 asked for: 6 in all, whatever is missed or late.
static void
test_run_reserves_what_it_has(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    assert_int_equal(run_request(run), 2);
    assert_int_equal(run_request(run), 2);
    assert_int_equal(run_request(run), 2);
    assert_int_equal(run_request(run), 0);
    learner_run_missed(run, 0, 2 * FIXTURE_B);
    assert_int_equal(run_request(run), 2);
    assert_int_equal(run_request(run), 0);
    wire_sampled nothing = fixture_sampled(&rows, 0, &rng); // the limiter forbade it
    run_sampled(run, 2, &nothing);
    assert_int_equal(run_request(run), 2);
    run_stop(run, "interrupted");
}

static void
test_run_returns_priorities(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    wire_priorities priorities;
    run_sampled(run, run_request(run), &sampled);
    do {
        fixture_listen(&bell);
        learner_run_collect(run);
    } while (!learner_source_priorities(learner_run_source(run, 0), &priorities));
    assert_int_equal(priorities.count, FIXTURE_B);
    assert_int_equal(priorities.incarnation, 9);
    assert_memory_equal(priorities.key, rows.key, FIXTURE_B * sizeof(uint64_t));
    for (int i = 0; i < FIXTURE_B; i++) {
        assert_true(isfinite(priorities.priority[i]) && priorities.priority[i] >= 0);
    }
    assert_false(learner_source_priorities(learner_run_source(run, 0), &priorities));
    run_stop(run, "interrupted");
}

// Replay was restarted: keys of the old one would name other windows there.
static void
test_run_drops_priorities_of_a_dead_replay(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    wire_sampled sampled = fixture_sampled(&rows, FIXTURE_B, &rng);
    wire_priorities priorities;
    run_sampled(run, run_request(run), &sampled);
    while (status_of(run, "learner.updates") < 1) {
        fixture_listen(&bell);
        learner_run_collect(run);
    }
    sampled = fixture_sampled(&rows, 0, &rng);
    sampled.incarnation = 10;
    run_sampled(run, run_request(run), &sampled);
    assert_false(learner_source_priorities(learner_run_source(run, 0), &priorities));
    run_stop(run, "interrupted");
}

static void
test_run_counts_steps_that_replay_took(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    steps = 40;
    run_train(run, 3);
    T_NEAR(status_of(run, "learner.env_steps"), 40, 0, 0);
    T_OK(report(run, actor, 1, 700)); // as the actor says: replay has not heard of them
    T_NEAR(status_of(run, "learner.train_episodes"), 2, 0, 0);
    T_NEAR(status_of(run, "learner.env_steps"), 40, 0, 0);
    run_stepped(run, 900);
    T_NEAR(status_of(run, "learner.env_steps"), 900, 0, 0);
    run_stop(run, "interrupted");
}

static void
test_run_ends_at_its_budget_without_an_evaluator(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    (void)actor_begin(run, 5, WIRE_ROLE_ACTOR);
    run_train(run, 2);
    (void)run_published(run);
    run_stepped(run, 999);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    run_stepped(run, 1000);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    json_t *summary = run_summarised(run);
    assert_reason(summary, "budget");
    assert_true(json_is_null(json_object_get(summary, "return"))); // not measured
    json_decref(summary);
    assert_true(folder_has(FOLDER, "policy.oct")); // the last, for want of a best
    assert_true(folder_has(FOLDER, "policy_last.oct"));
}

static void
test_run_ends_with_a_final_evaluation(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_stepped(run, 1000);
    uint64_t version = run_published(run)->version;
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    assert_int_equal(run_request(run), 0);
    learner_run_tick(run);
    T_OK(learner_run_begin(run, &good_env, &reason)); // a restarted evaluator
    run_evaluated(run, evaluator, 4, 44);             // the last version
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_evaluated(run, evaluator, 4, 33); // the result, which nothing reacts to
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    json_t *summary = run_summarised(run);
    const json_t *result = json_object_get(summary, "return");
    T_NEAR(json_number_value(json_object_get(result, "mean")), 33, 0, 0);
    assert_true(json_is_true(json_object_get(result, "final")));
    assert_int_equal(json_integer_value(json_object_get(result, "policy_version")), version);
    T_NEAR(json_number_value(json_object_get(json_object_get(summary, "last_return"), "mean")), 33,
           0, 0); // the same version
    json_decref(summary);
}

// A run that was over before its evaluator had opened the environment.
static void
test_run_that_is_short_waits_for_its_evaluator(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    evaluator_wait_s = 3600;
    learner_run *run = run_joined(false);
    run_stepped(run, 1000);
    (void)run_published(run);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_stepped(run, 9000); // steps that nothing was learned from
    T_NEAR(status_of(run, "learner.env_steps"), 1000, 0, 0);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    learner_run_tick(run);
    run_evaluated(run, evaluator, 4, 34);
    run_evaluated(run, evaluator, 4, 33);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    run_stop(run, "too late to be the reason");
    json_t *summary = summary_read();
    const json_t *result = json_object_get(summary, "return");
    T_NEAR(json_number_value(json_object_get(result, "mean")), 33, 0, 0);
    assert_reason(summary, "budget");
    json_decref(summary);
}

// It does not come, or nobody wants to wait any longer.
static void
test_run_gives_up_an_evaluator_that_does_not_come(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    for (int i = 0; i < 2; i++) {
        evaluator_wait_s = i == 0 ? 1e-9 : 3600;
        learner_run *run = run_joined(false);
        run_stepped(run, 1000);
        (void)run_published(run);
        learner_run_tick(run);
        assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
        if (i == 0) {
            learner_run_tick(run);
        } else {
            learner_run_finish(run, "interrupted", false);
        }
        assert_int_equal(learner_run_phase(run), LEARNER_DONE);
        run_stop(run, "");
    }
}

static void
test_run_is_solved(void **state)
{
    (void)state;
    uint64_t version;
    config.run.stop_at_return = 50;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    version = run_published_evaluated(run, evaluator, 60, 70);
    learner_run_checkpoint(run); // writes policy.oct with the number that picked it
    T_NEAR(policy_origin_read("policy.oct").eval_return, 70, 0, 0);
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    run_evaluated(run, evaluator, 4, 50); // confirms it: just what is wanted
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    T_NEAR(status_of(run, "learner.eval_best"), 60, 0, 0);
    run_evaluated(run, evaluator, 4, 47); // the result: what is reported was not chosen
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    T_NEAR(status_of(run, "learner.eval_best"), 47, 0, 0);
    json_t *summary = run_summarised(run);
    assert_reason(summary, "solved");
    assert_true(json_is_true(json_object_get(summary, "solved")));
    T_NEAR(json_number_value(json_object_get(json_object_get(summary, "return"), "mean")), 47, 0,
           0);
    json_decref(summary);
    assert_best(47, version);
}

// It is killed; the one that comes in its place need not wait until its order is late, and plays
// the same episodes.
static void
test_run_gives_a_dead_evaluators_order_to_the_next(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    learner_actor *first = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, first, 2, 10);
    learner_eval_order lost, again;
    T_OK(learner_run_order(run, first->id, &lost));
    learner_actor *second = actor_begin(run, 7, WIRE_ROLE_EVALUATOR);
    T_ERR(learner_run_order(run, second->id, &again), OCT_EAGAIN);
    first->seen_ns -= LEARNER_ACTOR_SILENT_S * UINT64_C(1000000000);
    T_OK(learner_run_order(run, second->id, &again));
    assert_int_equal(again.seed, lost.seed);
    assert_int_equal(again.episodes, lost.episodes);
    assert_true(again.ticket != lost.ticket);
    run_stop(run, "interrupted");
}

// The reason that summary.json has, of a run whose replay has given out so many windows, of which
// none has come.
static void
assert_unlearned(uint64_t given, const char *why)
{
    learner_run *run = run_joined(false);
    wire_sampled nothing = fixture_sampled(&rows, 0, &rng);
    nothing.steps = config.run.env_steps;
    nothing.samples = given;
    run_sampled(run, 0, &nothing);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    json_t *summary = run_summarised(run);
    assert_reason(summary, "budget");
    assert_string_equal(json_string_value(json_object_get(summary, "unlearned_why")), why);
    json_decref(summary);
}

static void
test_run_without_an_update_says_why(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    config.replay.min_size = 5000;
    assert_unlearned(0, "replay received 1000 windows, but replay.min_size is 5000");
    config.replay.min_size = 10;
    assert_unlearned(0, "no update was made in time");
    assert_unlearned(960, "replay sent 960 windows in replies that arrived too late or not at all");
    config.learner.batch_size = 2000;
    config.replay.samples_per_insert = 1.5;
    assert_unlearned(
        0, "replay received 1000 windows, which at replay.samples_per_insert: 1.5 are too "
           "few for a batch of 2000");
    config.replay.sampler = CONFIG_SAMPLER_FIFO;
    assert_unlearned(0, "replay received 1000 windows, but a batch needs 2000");
    config.learner.batch_size = FIXTURE_B;
    assert_unlearned(8, "replay sent 8 windows in replies that arrived too late or not at all");
}

// What is said from here to said_end.
static int
said_begin(void)
{
    fflush(stderr);
    int saved = dup(STDERR_FILENO), file = creat(FOLDER "/said", 0600);
    assert_true(saved >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    (void)close(file);
    return saved;
}

static char *
said_end(int saved)
{
    fflush(stderr);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    return folder_read(FOLDER, "said");
}

static char *
said_in_tick(learner_run *run)
{
    int saved = said_begin();
    learner_run_tick(run);
    return said_end(saved);
}

// Advice on another table: one in memory has no --path, and only a file brings an earlier one back.
static void
test_run_says_what_may_have_become_of_replays_table(void **state)
{
    (void)state;
    static const wire_configured tables[] = {{.incarnation = 9, .table = 77},
                                             {.incarnation = 10, .table = 78},
                                             {.incarnation = 11, .table = 77}};
    static const char path[] = "was octet-replay started again with the right --path?";
    static const char memory[] = "with replay.path none a table is lost when its octet-replay ends";
    const struct {
        const char *path, *found[OCT_COUNTOF(tables)];
    } cases[] = {{"replay.oct", {"", path, path}}, {"none", {"", memory, path}}};
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        (void)snprintf(config.replay.path, sizeof(config.replay.path), "%s", cases[i].path);
        learner_run *run = run_joined(false);
        for (size_t k = 0; k < OCT_COUNTOF(tables); k++) {
            int saved = said_begin();
            learner_run_configured(run, 0, OCT_OK, &tables[k]);
            char *said = said_end(saved);
            assert_true(k == 0 || strstr(said, "LEARNER-REPLAY-TABLE") != NULL);
            assert_true((strstr(said, path) != NULL) == (cases[i].found[k] == path));
            assert_true((strstr(said, memory) != NULL) == (cases[i].found[k] == memory));
            free(said);
        }
        run_stop(run, "interrupted");
    }
}

static uint32_t
mentions(char *take, const char *what)
{
    uint32_t count = 0;
    for (const char *at = take; (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    free(take);
    return count;
}

// A run by hand: without an evaluator it would learn to its budget and report nothing. Said once,
// and again when one came and went.
static void
test_run_says_that_no_evaluator_is_there(void **state)
{
    (void)state;
    static const char id[] = "LEARNER-NO-EVALUATOR";
    missed_s = 3600;
    learner_run *run = run_joined(false);
    assert_int_equal(mentions(said_in_tick(run), id), 0); // it may still come
    run_stop(run, "interrupted");
    missed_s = 0;
    config.run.stop_at_return = 10;
    run = run_joined(false);
    char *said = said_in_tick(run);
    assert_non_null(strstr(said, "run.stop_at_return has no effect"));
    assert_non_null(strstr(said, "octet-actor --evaluate"));
    assert_int_equal(mentions(said, id), 1);
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    evaluator->seen_ns -= 1000000000000u; // killed long ago
    said = said_in_tick(run);
    assert_non_null(strstr(said, "no evaluator is connected any more, so no return is measured"));
    assert_int_equal(mentions(said, id), 1);
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    run_stop(run, "interrupted");
}

// One that is silent for a while, again and again, is no news, however long the run has had it.
static void
test_run_says_that_its_evaluator_is_gone_when_it_stays_away(void **state)
{
    (void)state;
    static const char id[] = "LEARNER-NO-EVALUATOR";
    missed_s = 0.3;
    learner_run *run = run_joined(false);
    while (mentions(said_in_tick(run), id) == 0) { // the run is older than that
    }
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t there_ns = oct_clock_ns();
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    evaluator->seen_ns -= 1000000000000u;
    while (mentions(said_in_tick(run), id) == 0) {
    }
    assert_true((double)(oct_clock_ns() - there_ns) * 1e-9 >= missed_s);
    run_stop(run, "interrupted");
}

// A run by hand without actors: its log would say nothing.
static void
test_run_says_that_no_actor_has_come(void **state)
{
    (void)state;
    static const char id[] = "LEARNER-NO-ACTOR";
    learner_run *run = run_begin(false);
    assert_int_equal(mentions(said_in_tick(run), id), 0); // it is about to come
    run_stop(run, "interrupted");
    missed_s = 0;
    run = run_begin(false);
    char *said = said_in_tick(run);
    assert_non_null(strstr(said, "octet-actor --learner"));
    assert_int_equal(mentions(said, id), 1);
    assert_int_equal(mentions(said_in_tick(run), id), 0); // once
    run_stop(run, "interrupted");
    // An evaluator has begun it, which is not enough.
    run = run_joined(false);
    (void)actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    assert_int_equal(mentions(said_in_tick(run), id), 1);
    run_stop(run, "interrupted");
    // Who came and went is another matter.
    run = run_joined(false);
    learner_actor *actor = actor_begin(run, 7, WIRE_ROLE_ACTOR);
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    actor->seen_ns -= 1000000000000u;
    assert_int_equal(mentions(said_in_tick(run), id), 0);
    run_stop(run, "interrupted");
}

// It plays for longer than anybody would wait in silence, and says how far it is.
static void
test_run_waits_for_an_evaluator_that_goes_on(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    run_stepped(run, 1000);
    (void)run_published(run);
    learner_run_tick(run);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    static const char *const names[] = {"playing_ticket", "playing_calls", "playing_episodes"};
    const double values[] = {(double)order.ticket, 500, 3};
    wire_report message = {.actor_id = evaluator->id,
                           .session = evaluator->session,
                           .report_sequence = 1,
                           .stat_count = OCT_COUNTOF(names),
                           .stat_name = names,
                           .stat_value = values};
    learner_admission_token(learner_run_admission(run), evaluator, message.token);
    T_OK(learner_run_report(run, &message));
    T_NEAR(status_of(run, "learner.eval_done"), 3, 0, 0);
    T_NEAR(status_of(run, "learner.eval_asked"), 4, 0, 0);
    T_NEAR(status_of(run, "learner.final_played"), 3, 0, 0);
    T_NEAR(status_of(run, "learner.final_most"), 8, 0, 0); // this one and the result
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    run_stop(run, "interrupted");
}

// Of the newest version, and when that is there: what comes before would be too old.
static void
test_run_asks_for_rollouts_of_the_newest_version(void **state)
{
    (void)state;
    config.algo.name = CONFIG_ALGO_PPO;
    config.algo.sequence_steps = 4;
    config.algo.rollout_lag = 0;
    learner_run *run = run_joined(false);
    assert_int_equal(run_request(run), 0);
    (void)run_published(run);
    assert_true(run_request(run) > 0);
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_asks_for_rollouts_of_the_newest_version),
        T(test_run_ends_at_an_environment_that_it_cannot_learn),
        T(test_run_does_not_begin_with_an_environment_that_it_cannot_learn),
        T(test_run_ends_at_a_policy_that_could_not_be_sent),
        T(test_run_actors_must_be_alike),
        T(test_run_shows_what_the_environment_measures),
        T(test_run_actors_must_have_the_same_bounds),
        T(test_run_learns_convolutions_of_the_registered_shape),
        T(test_run_refuses_reports_of_strangers),
        T(test_run_survives_a_bad_sample),
        T(test_run_interrupted_before_any_actor),
        T(test_run_configures_replay_with_the_experiment),
        T(test_run_reserves_what_it_has),
        T(test_run_returns_priorities),
        T(test_run_drops_priorities_of_a_dead_replay),
        T(test_run_counts_steps_that_replay_took),
        T(test_run_ends_at_its_budget_without_an_evaluator),
        T(test_run_without_an_update_says_why),
        T(test_run_ends_with_a_final_evaluation),
        T(test_run_that_is_short_waits_for_its_evaluator),
        T(test_run_gives_up_an_evaluator_that_does_not_come),
        T(test_run_is_solved),
        T(test_run_gives_a_dead_evaluators_order_to_the_next),
        T(test_run_says_what_may_have_become_of_replays_table),
        T(test_run_says_that_no_evaluator_is_there),
        T(test_run_says_that_its_evaluator_is_gone_when_it_stays_away),
        T(test_run_says_that_no_actor_has_come),
        T(test_run_waits_for_an_evaluator_that_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
