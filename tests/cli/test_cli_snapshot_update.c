// What follows from several looks at a run: evaluations, rates, and warnings.
#include <math.h>

#include "cli/status/cli_snapshot.h"
#include "learner/learner_atoms_warning.h"
#include "tests/support/oct_test.h"

static cli_snapshot run;

static int
fresh(void **unused)
{
    (void)unused;
    cli_snapshot_clear(&run);
    (void)snprintf(run.folder, sizeof(run.folder), "runs/pole");
    return 0;
}

static void
put(const char *name, double value)
{
    cli_snapshot_put(&run, name, value);
}

static double
get(const char *name)
{
    return cli_snapshot_number(&run, name);
}

static void
trains(void)
{
    (void)snprintf(run.learner.state, sizeof(run.learner.state), "training");
}

static void
test_numbers_are_found_by_name_and_in_their_daemon(void **state)
{
    (void)state;
    const char *const names[] = {"learner.of_tomorrow", "learner.updates", ""};
    const double values[] = {1, 42, 3};
    const wire_status status = {
        .state = "training", .stat_count = 3, .stat_name = names, .stat_value = values};
    cli_snapshot_take_status(&run.learner, &status);
    assert_true(get("learner.updates") == 42 && get("learner.of_tomorrow") == 1);
    assert_true(isnan(get("learner.updates_per_s")));
    put("learner.updates", 43);
    put("replay.rows", 5);
    assert_true(get("learner.updates") == 43 && get("replay.rows") == 5);
    assert_int_equal(run.learner.count, 3);
    assert_int_equal(run.replay.count, 1);
}

static void
test_status_notes_each_evaluation_once(void **state)
{
    (void)state;
    assert_false(cli_snapshot_update(&run, 0.1));
    put("learner.evaluations", 1);
    assert_false(cli_snapshot_update(&run, 0.2)); // its return is not known
    put("learner.eval_return", 10);
    assert_true(cli_snapshot_update(&run, 0.3));
    assert_false(cli_snapshot_update(&run, 0.4));
    put("learner.evaluations", 2);
    assert_true(cli_snapshot_update(&run, 0.5));
    assert_int_equal(run.point_count, 2);
}

static void
test_status_keeps_a_bounded_curve_of_the_whole_run(void **state)
{
    (void)state;
    for (int i = 1; i <= 2000; i++) {
        put("learner.evaluations", i);
        put("learner.eval_return", i);
        (void)cli_snapshot_update(&run, i);
        assert_true(run.point_count <= CLI_SNAPSHOT_POINTS_MAX);
    }
    assert_true(run.point_return[0] == 1);
    assert_true(run.point_return[run.point_count - 1] == 2000);
    for (size_t i = 1; i < run.point_count; i++) {
        assert_true(run.point_return[i] > run.point_return[i - 1]);
    }
}

static void
test_status_warns_of_an_environment_that_does_not_step(void **state)
{
    (void)state;
    put("learner.env_steps", 100);
    (void)cli_snapshot_update(&run, 30); // waits for an actor: nothing is expected
    trains();
    (void)cli_snapshot_update(&run, 39.5);
    assert_string_equal(run.warning, "");
    (void)cli_snapshot_update(&run, 40);
    assert_string_equal(
        run.warning, "no environment step for 10 s; does the environment hang? (log/actor-0.log)");
    put("learner.env_steps", 101);
    (void)cli_snapshot_update(&run, 40.5);
    assert_string_equal(run.warning, "");
    put("learner.wait_share", 0.1);
    for (int s = 41; s < 100; s++) { // long updates of PPO: actors wait for their versions
        put("learner.updates", s / 20);
        (void)cli_snapshot_update(&run, s);
        assert_string_equal(run.warning, "");
    }
    put("learner.wait_share", 0.95); // updates that are starved are no reason
    for (int s = 100; s < 110; s++) {
        put("learner.updates", s);
        (void)cli_snapshot_update(&run, s);
    }
    assert_string_equal(
        run.warning, "no environment step for 10 s; does the environment hang? (log/actor-0.log)");
    put("learner.env_steps", 102);
    for (int s = 110; s < 200; s++) { // replay holds the actors back
        put("replay.insert_wait_share", 0.9);
        (void)cli_snapshot_update(&run, s);
        assert_string_equal(run.warning, "");
    }
}

static void
test_status_warns_of_an_evaluation_that_does_not_step(void **state)
{
    (void)state;
    trains();
    put("learner.actors", 1);
    put("learner.eval_quiet_s", 19);
    (void)cli_snapshot_update(&run, 0);
    assert_string_equal(run.warning, "");
    put("learner.eval_quiet_s", 25);
    (void)cli_snapshot_update(&run, 0);
    assert_string_equal(
        run.warning,
        "no step of an evaluation for 25 s; does the environment hang? (log/evaluator.log)");
}

// Actors still answer, but nothing comes from them.
static void
make_idle(void)
{
    (void)fresh(NULL);
    trains();
    put("learner.actors", 1);
    put("learner.wall_s", 20);
    put("learner.env_steps", 100);
    put("learner.env_steps_per_s", 0);
    put("learner.wait_share", 0.97);
}

static void
test_status_warns_at_a_single_look_when_no_actor_reports(void **state)
{
    (void)state;
    trains();
    (void)cli_snapshot_update(&run, 0);
    assert_string_equal(run.warning, ""); // not known
    put("learner.actors", 0);
    (void)cli_snapshot_update(&run, 30);
    assert_string_equal(
        run.warning,
        "no actor has reported for 10 s; does the environment hang? (log/actor-0.log)");
    put("learner.actors", 1);
    (void)cli_snapshot_update(&run, 31);
    assert_string_equal(run.warning, "");
    make_idle();
    (void)cli_snapshot_update(&run, 20);
    assert_string_equal(
        run.warning,
        "the learner waits and no environment steps; does the environment hang? (log/actor-0.log)");
    put("learner.wall_s", 2); // the first actor has just come, after a slow start
    (void)cli_snapshot_update(&run, 20);
    assert_string_equal(run.warning, "");
    put("learner.wall_s", 20);
    put("learner.wait_share", 0.2); // it has something to learn from
    (void)cli_snapshot_update(&run, 20);
    assert_string_equal(run.warning, "");
}

// They are left out, and the run goes on: whatever else is the matter is said instead.
static void
test_status_warns_of_steps_that_failed_last(void **state)
{
    (void)state;
    trains();
    put("learner.env_failures", 0);
    (void)cli_snapshot_update(&run, 0);
    assert_string_equal(run.warning, "");
    put("learner.env_failures", 1);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning,
                        "1 environment step failed and was left out (log/actor-*.log)");
    put("learner.env_failures", 12);
    (void)cli_snapshot_update(&run, 2);
    assert_string_equal(run.warning,
                        "12 environment steps failed and were left out (log/actor-*.log)");
    put("learner.updates_refused", 3);
    (void)cli_snapshot_update(&run, 3);
    assert_non_null(strstr(run.warning, "updates were refused"));
}

static void
test_status_warns_of_evaluators_whose_environments_failed(void **state)
{
    (void)state;
    trains();
    put("learner.evaluation_failures", 2);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(
        run.warning, "2 steps or resets of environments failed in evaluations (log/evaluator.log)");
}

static void
test_actors_have_the_time_to_report(void **state)
{
    (void)state;
    trains();
    put("learner.wait_share", 0.95);
    put("learner.actors", 0);
    for (int s = 0; s < 10; s++) {
        (void)cli_snapshot_update(&run, s);
        assert_string_equal(run.warning, "");
    }
    (void)cli_snapshot_update(&run, 10);
    assert_string_equal(
        run.warning,
        "no actor has reported for 10 s; does the environment hang? (log/actor-0.log)");
    put("learner.actors", 1);
    (void)cli_snapshot_update(&run, 100);
    put("learner.actors", 0); // the learner began again, or all actors did
    (void)cli_snapshot_update(&run, 109);
    assert_string_equal(run.warning, "");
    (void)cli_snapshot_update(&run, 110);
    assert_string_equal(
        run.warning,
        "no actor has reported for 10 s; does the environment hang? (log/actor-0.log)");
}

static void
test_actors_that_report_seldom_have_more_time(void **state)
{
    (void)state;
    static config_experiment config;
    config_default(&config);
    config.actor.report_s = 20;
    cli_snapshot_take_config(&run, &config);
    trains();
    put("learner.wait_share", 0.95);
    put("learner.actors", 0);
    (void)cli_snapshot_update(&run, 0);
    (void)cli_snapshot_update(&run, 59);
    assert_string_equal(run.warning, "");
    (void)cli_snapshot_update(&run, 60);
    assert_string_equal(
        run.warning,
        "no actor has reported for 60 s; does the environment hang? (log/actor-0.log)");
}

static void
test_status_warns_while_a_file_cannot_be_written(void **state)
{
    (void)state;
    put("learner.unsaved", 1);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(
        run.warning,
        "a file of the run folder cannot be written; is the disk full? (log/learner.log)");
    put("learner.unsaved", 0);
    (void)cli_snapshot_update(&run, 2);
    assert_string_equal(run.warning, "");
}

static void
test_status_warns_of_a_disk_that_replay_cannot_use(void **state)
{
    (void)state;
    run.shards = 2;
    put("replay.disk_state", 1);
    cli_snapshot_take_status(&run.other_shard[0],
                             &(wire_status){.state = "serving",
                                            .stat_count = 1,
                                            .stat_name = (const char *const[]){"replay.disk_state"},
                                            .stat_value = (const double[]){CLI_DISK_FULL}});
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(
        run.warning,
        "replay has no room for its table, so inserts wait; is the disk full? (log/replay-1.log)");
    run.other_shard[0].number[0].value = 1;
    put("replay.disk_state", CLI_DISK_FAILING);
    (void)cli_snapshot_update(&run, 2);
    assert_string_equal(run.warning,
                        "replay's table cannot be written; is the disk full? (log/replay.log)");
    put("replay.disk_state", 1);
    (void)cli_snapshot_update(&run, 3);
    assert_string_equal(run.warning, "");
}

// Steps that replay does not take do not count: it looks as if environments stood still.
static void
test_status_warns_of_batches_that_replay_rejects(void **state)
{
    (void)state;
    trains();
    run.shards = 2;
    run.quiet_max_s = 10;
    put("learner.actors", 1);
    put("learner.env_steps", 100);
    put("learner.wait_share", 1);
    put("replay.rejected", 0);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, "");
    put("replay.rejected", 7);
    (void)cli_snapshot_update(&run, 20);
    assert_string_equal(run.warning, "replay rejected 7 batches (log/replay.log)");
    (void)snprintf(run.other_shard[0].refused, sizeof(run.other_shard[0].refused), "sent twice");
    (void)cli_snapshot_update(&run, 21);
    assert_string_equal(run.warning, "replay rejected 7 batches: sent twice (log/replay-1.log)");
    (void)cli_snapshot_update(&run, 31); // no more of them: the environment does hang
    assert_string_equal(
        run.warning, "no environment step for 30 s; does the environment hang? (log/actor-0.log)");
    put("learner.env_steps", 101);
    (void)cli_snapshot_update(&run, 32);
    assert_string_equal(run.warning, "replay rejected 7 batches: sent twice (log/replay-1.log)");
}

static void
test_status_warns_of_updates_that_changed_nothing(void **state)
{
    (void)state;
    trains();
    put("learner.actors", 1);
    put("learner.updates_refused", 0);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, "");
    put("replay.rejected", 1); // long ago: it hides nothing
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, "replay rejected 1 batch (log/replay.log)");
    put("learner.updates_refused", 393);
    (void)cli_snapshot_update(&run, 100);
    assert_string_equal(run.warning,
                        "393 updates were refused and changed nothing (log/learner.log)");
}

static void
test_targets_beyond_the_ends_of_the_atoms_are_told_last(void **state)
{
    (void)state;
    trains();
    put("learner.actors", 1);
    put("learner.updates", LEARNER_ATOMS_WARNING_UPDATES - 1);
    put("learner.cut_above", 0.031);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, ""); // critics have just begun
    put("learner.updates", LEARNER_ATOMS_WARNING_UPDATES);
    (void)cli_snapshot_update(&run, 2);
    assert_string_equal(run.warning, "targets lie above algo.value_max, by 3.1 % of the atoms' "
                                     "range (log/learner.log)");
    put("learner.cut_below", LEARNER_ATOMS_WARNING_SHARE);
    put("learner.cut_above", 0);
    (void)cli_snapshot_update(&run, 3);
    assert_string_equal(run.warning, "targets lie below algo.value_min, by 0.5 % of the atoms' "
                                     "range (log/learner.log)");
    put("learner.unsaved", 1);
    (void)cli_snapshot_update(&run, 4);
    assert_non_null(strstr(run.warning, "a file of the run folder cannot be written"));
    put("learner.unsaved", 0);
    put("learner.cut_below", 0.9 * LEARNER_ATOMS_WARNING_SHARE);
    (void)cli_snapshot_update(&run, 5);
    assert_string_equal(run.warning, "");
}

// With other actors that step: nobody would look for this one.
static void
test_status_warns_of_a_stuck_actor_and_of_one_cut_off_from_replay(void **state)
{
    (void)state;
    cli_peer *peer = &run.peer[0];
    trains();
    put("learner.env_steps", 1000);
    run.has_peers = true;
    run.actors = 3;
    run.peer_count = 1;
    *peer = (cli_peer){.role = WIRE_ROLE_ACTOR,
                       .pid = 8125,
                       .host = "vm",
                       .health = WIRE_PEER_UNACKED,
                       .unacked = 2,
                       .unacked_s = 39,
                       .unreached = "tls+tcp://replay.lab:5561"};
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, "actor vm/8125 is cut off from replay: 2 unacknowledged "
                                     "batches for 39.0 s: cannot reach tls+tcp://replay.lab:5561 "
                                     "(log/actor-*.log)");
    *peer = (cli_peer){.role = WIRE_ROLE_EVALUATOR,
                       .pid = 12,
                       .host = "vm",
                       .health = WIRE_PEER_STUCK,
                       .stuck_s = 42};
    run.peer[1] = (cli_peer){.role = WIRE_ROLE_ACTOR, .pid = 13, .health = WIRE_PEER_UNACKED};
    run.peer_count = 2; // the one that is stuck is the more urgent
    run.stuck = 3;
    (void)cli_snapshot_update(&run, 1.5);
    assert_string_equal(run.warning, "evaluator vm/12 is stuck: a step of its environment has "
                                     "taken 42.0 s, and 2 more (log/evaluator.log)");
    run.peer_count = run.stuck = 0; // a look without the list
    put("learner.actors_stuck", 2);
    (void)cli_snapshot_update(&run, 2);
    assert_string_equal(run.warning,
                        "2 actors are stuck in a step of the environment (log/actor-*.log)");
    put("learner.actors_stuck", 0);
    (void)cli_snapshot_update(&run, 2.5);
    assert_string_equal(run.warning, "");
}

static void
test_warnings_of_a_run_on_other_hosts_name_no_log(void **state)
{
    (void)state;
    run.folder[0] = '\0';
    put("learner.unsaved", 1);
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning,
                        "a file of the run folder cannot be written; is the disk full?");
}

static void
test_status_measures_rates_that_the_learner_has_not(void **state)
{
    (void)state;
    (void)cli_snapshot_update(&run, 0.1);
    assert_true(isnan(get("learner.env_steps_per_s")));
    put("learner.env_steps", 1000);
    put("learner.env_steps_per_s", 0);
    (void)cli_snapshot_update(&run, 1);
    assert_true(get("learner.env_steps_per_s") == 0);
    put("learner.env_steps", 5000);
    (void)cli_snapshot_update(&run, 3);
    T_NEAR(get("learner.env_steps_per_s"), 2000, 1e-9, 0);
    put("learner.env_steps_per_s", 1500); // its own is better
    (void)cli_snapshot_update(&run, 4);
    assert_true(get("learner.env_steps_per_s") == 1500);
    put("learner.env_steps", 0); // it was started again
    put("learner.env_steps_per_s", 0);
    (void)cli_snapshot_update(&run, 5);
    assert_true(get("learner.env_steps_per_s") == 0);
}

static void
test_daemon_that_hangs_is_the_first_thing_to_say(void **state)
{
    (void)state;
    cli_snapshot_clear(&run);
    cli_snapshot_put(&run, "learner.unsaved", 1);
    (void)snprintf(run.hang, sizeof(run.hang), "replay: no progress for 30 s");
    (void)cli_snapshot_update(&run, 1);
    assert_string_equal(run.warning, "replay: no progress for 30 s");
    run.hang[0] = '\0';
    (void)cli_snapshot_update(&run, 2);
    assert_non_null(strstr(run.warning, "a file of the run folder cannot be written"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_numbers_are_found_by_name_and_in_their_daemon, fresh),
        cmocka_unit_test_setup(test_status_notes_each_evaluation_once, fresh),
        cmocka_unit_test_setup(test_status_keeps_a_bounded_curve_of_the_whole_run, fresh),
        cmocka_unit_test_setup(test_status_warns_of_an_environment_that_does_not_step, fresh),
        cmocka_unit_test_setup(test_status_warns_of_an_evaluation_that_does_not_step, fresh),
        cmocka_unit_test_setup(test_status_warns_at_a_single_look_when_no_actor_reports, fresh),
        cmocka_unit_test_setup(test_status_warns_of_steps_that_failed_last, fresh),
        cmocka_unit_test_setup(test_status_warns_of_evaluators_whose_environments_failed, fresh),
        cmocka_unit_test_setup(test_actors_have_the_time_to_report, fresh),
        cmocka_unit_test_setup(test_actors_that_report_seldom_have_more_time, fresh),
        cmocka_unit_test_setup(test_status_warns_while_a_file_cannot_be_written, fresh),
        cmocka_unit_test_setup(test_status_warns_of_a_disk_that_replay_cannot_use, fresh),
        cmocka_unit_test_setup(test_status_warns_of_batches_that_replay_rejects, fresh),
        cmocka_unit_test_setup(test_status_warns_of_updates_that_changed_nothing, fresh),
        cmocka_unit_test_setup(test_targets_beyond_the_ends_of_the_atoms_are_told_last, fresh),
        cmocka_unit_test_setup(test_status_warns_of_a_stuck_actor_and_of_one_cut_off_from_replay,
                               fresh),
        cmocka_unit_test_setup(test_warnings_of_a_run_on_other_hosts_name_no_log, fresh),
        cmocka_unit_test_setup(test_status_measures_rates_that_the_learner_has_not, fresh),
        cmocka_unit_test(test_daemon_that_hangs_is_the_first_thing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
