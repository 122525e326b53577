// How a run ends when its evaluations fail, or take longer than run.wall_s allows.
#define FOLDER "test_learner_end.run"
#include "tests/learner/run_fixture.h"

#include "learner/learner_checkpoints.h"

// The evaluator could not play an evaluation of the full number of episodes, in which 7 calls of
// environments failed.
static void
evaluation_fails(learner_run *run, learner_actor *evaluator)
{
    static const char *const names[] = {"evaluation_failures"};
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_int_equal(order.episodes, config.evaluation.episodes);
    wire_report message = {.actor_id = evaluator->id,
                           .session = evaluator->session,
                           .report_sequence = evaluator->report_sequence + 1,
                           .policy_version = order.publication->version,
                           .ticket = order.ticket,
                           .stat_count = 1,
                           .stat_name = names,
                           .stat_value = (double[]){7}};
    learner_admission_token(learner_run_admission(run), evaluator, message.token);
    T_OK(learner_run_report(run, &message));
}

static const char *
unevaluated_why(const json_t *summary)
{
    return json_string_value(json_object_get(summary, "unevaluated_why"));
}

static void
test_end_without_a_full_evaluation(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, evaluator, config.evaluation.screen_episodes, 60);
    evaluation_fails(run, evaluator);
    assert_true(status_of(run, "learner.evaluation_failures") == 7);
    run_stepped(run, 1000);
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    evaluation_fails(run, evaluator); // of the last version
    json_t *summary = run_summarised(run);
    assert_string_equal(unevaluated_why(summary), "2 full evaluations failed");
    assert_int_equal(json_integer_value(json_object_get(summary, "evaluation_failures")), 7);
    json_decref(summary);
}

// One that succeeds is enough.
static void
test_end_with_one_full_evaluation(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, 60, 50);
    run_stepped(run, 1000);
    learner_run_tick(run);
    evaluation_fails(run, evaluator); // the result
    json_t *summary = run_summarised(run);
    assert_null(unevaluated_why(summary));
    json_decref(summary);
}

// A run that trained for 1050 s in an earlier process.
static learner_run *
run_late(void)
{
    run_stop(run_joined(false), "interrupted");
    learner_checkpoint checkpoint = checkpoint_read();
    checkpoint.wall_s = 1050;
    T_OK(learner_checkpoints_write(FOLDER, 1, &checkpoint));
    learner_checkpoint_fini(&checkpoint);
    return run_joined(true);
}

// A final evaluation that would last too long is given up; one within the time is waited for. It
// may take a tenth of run.wall_s.
static void
test_end_by_wall_time_of_the_final_evaluation(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    config.run.wall_s = 2000;
    learner_run *run = run_late();
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    run_evaluated(run, evaluator, config.evaluation.screen_episodes, 60);
    run_stepped(run, 1000);
    learner_run_tick(run);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    config.run.wall_s = 1000;
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_FINAL);
    config.run.wall_s = 950;
    learner_run_tick(run);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    json_t *summary = run_summarised(run);
    assert_string_equal(unevaluated_why(summary), "run.wall_s ended the final evaluation");
    json_decref(summary);
}

// Whether a run whose training episodes had returns of 10 and 20 by turns, and which ends with a
// greedy return, says that sampled actions do better.
static bool
says_sampling(config_algo_name name, bool sampling, uint64_t episodes, float greedy)
{
    folder_end(FOLDER);
    folder_begin(FOLDER);
    config.algo.name = name;
    config.evaluation.sampling = sampling;
    learner_run *run = run_joined(false);
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published_evaluated(run, evaluator, greedy, greedy);
    for (uint64_t i = 1; i <= episodes / 2; i++) {
        T_OK(report(run, actor, i, 100 * i));
    }
    learner_run_finish(run, "interrupted", false);
    json_t *summary = run_summarised(run);
    const char *why = json_string_value(json_object_get(summary, "sampling_why"));
    bool says = why != NULL;
    assert_true(!says || strstr(why, "mean return of 15; greedy actions have -100;") != NULL);
    json_decref(summary);
    return says;
}

static void
test_end_says_where_sampled_actions_do_better(void **state)
{
    (void)state;
    assert_true(says_sampling(CONFIG_ALGO_REINFORCE, false, 20, -100));
    assert_false(says_sampling(CONFIG_ALGO_REINFORCE, false, 18, -100));  // too few
    assert_false(says_sampling(CONFIG_ALGO_REINFORCE, false, 20, 11));    // within the errors
    assert_false(says_sampling(CONFIG_ALGO_REINFORCE, false, 100, 12.5)); // not by much
    assert_false(says_sampling(CONFIG_ALGO_REINFORCE, false, 20, 100));
    assert_false(says_sampling(CONFIG_ALGO_REINFORCE, true, 20, -100)); // they are evaluated
    assert_false(says_sampling(CONFIG_ALGO_DQN, false, 20, -100));      // it samples none
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_end_without_a_full_evaluation),
        T(test_end_with_one_full_evaluation),
        T(test_end_by_wall_time_of_the_final_evaluation),
        T(test_end_says_where_sampled_actions_do_better),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
