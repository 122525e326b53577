// The sentence that says which part of a run waits for which, and why.
#include <math.h>
#include <stdio.h>

#include "cli/status/cli_waiting.h"
#include "tests/support/oct_test.h"

static cli_snapshot remote;
static cli_waiting waiting;

static void
number(const char *name, double value)
{
    cli_snapshot_put(&remote, name, value);
}

// A run in which nobody waits.
static int
setup(void **state)
{
    (void)state;
    cli_snapshot_clear(&remote);
    remote.learner.heard = remote.replay.heard = remote.has_peers = true;
    remote.actors = 3;
    remote.evaluators = 1;
    remote.batch_size = 128;
    (void)snprintf(remote.learner.state, sizeof(remote.learner.state), "training");
    (void)snprintf(remote.replay.state, sizeof(remote.replay.state), "serving");
    number("learner.updates_per_s", 5200);
    number("learner.wait_share", 0.03);
    number("learner.actor_wait_share", 0.01);
    number("replay.inserts", 2000);
    number("replay.insert_rate", 1200);
    number("replay.limiter.min_size", 1000);
    number("replay.limiter.samples_per_insert", 4);
    number("replay.insert_wait_share", 0);
    number("replay.sample_wait_share", 0);
    return 0;
}

static void
expect(const char *who, const char *for_whom, const char *text)
{
    cli_waiting_judge(&waiting, &remote);
    assert_string_equal(waiting.text, text);
    assert_string_equal(waiting.who, who);
    assert_string_equal(waiting.for_whom, for_whom);
}

static void
state_is(const char *words)
{
    (void)snprintf(remote.learner.state, sizeof(remote.learner.state), "%s", words);
}

static void
test_a_data_set_needs_no_actors(void **state)
{
    (void)state;
    state_is("learning from a data set");
    remote.actors = 0;
    number("learner.wait_share", 0.05);
    expect("nobody", "", "nobody waits: the learner learns from a data set alone, without actors");
    number("learner.wait_share", 0.6);
    expect("learner", "replay",
           "the learner waits for replay (60 % of its time), which serves the data set: check "
           "replay's CPU, and whether the file is in memory");
    remote.replay.heard = false;
    (void)snprintf(remote.replay.why, sizeof(remote.replay.why), "no answer");
    expect("learner", "replay",
           "replay does not answer from here (no answer); if the learner cannot reach replay "
           "either, it waits");
}

static void
test_nobody_waits(void **state)
{
    (void)state;
    expect("nobody", "",
           "nobody waits for long: the learner 3 % of its time, actors 1 % of theirs");
    state_is("done");
    expect("nobody", "", "nobody waits: the run is over");
}

static void
test_learner_that_was_not_heard_leaves_all_unknown(void **state)
{
    (void)state;
    cli_snapshot_miss_status(&remote.learner, "connection refused");
    expect("unknown", "", "not known: the learner does not answer (connection refused)");
}

static void
test_nothing_is_known_before_the_first_answer(void **state)
{
    (void)state;
    remote.learner.heard = remote.replay.heard = false;
    expect("unknown", "", "not known yet");
}

// Without peers, the learner's own count of actors.
static void
test_actors_are_counted_by_the_learner_where_peers_are_not_told(void **state)
{
    (void)state;
    remote.has_peers = false;
    number("learner.actors", 0);
    expect("learner", "actors", "the learner waits for actors: none is connected");
}

static void
test_first_actor_is_waited_for(void **state)
{
    (void)state;
    state_is("waiting for an actor");
    remote.replay.heard = false; // not the reason
    expect("learner", "actors", "the learner waits for the first actor: none has registered");
}

static void
test_first_actor_is_waited_for_after_another_was_refused(void **state)
{
    (void)state;
    state_is("waiting for an actor");
    (void)snprintf(remote.learner.refused, sizeof(remote.learner.refused), "host/1: unlike");
    expect(
        "learner", "actors",
        "the learner waits for the first actor: the learner refused every actor that registered");
}

static void
test_actors_that_left_are_waited_for(void **state)
{
    (void)state;
    remote.actors = 0;
    expect("learner", "actors", "the learner waits for actors: none is connected");
    remote.silent = 2;
    expect("learner", "actors", "the learner waits for actors: none is connected any more");
}

static void
test_final_evaluation_is_waited_for(void **state)
{
    (void)state;
    state_is("final evaluation");
    expect(
        "everybody", "evaluator",
        "everybody waits for the evaluator: training has ended, and it plays the final evaluation");
    number("learner.final_played", 37);
    number("learner.final_most", 100);
    expect(
        "everybody", "evaluator",
        "everybody waits for the evaluator: training has ended, and it plays the final evaluation "
        "(37 of at most 100 episodes)");
    remote.evaluators = 0;
    expect("everybody", "evaluator",
           "everybody waits for an evaluator: training has ended, and no evaluator is connected "
           "for the final evaluation");
}

static void
test_replay_that_was_not_heard_is_waited_for(void **state)
{
    (void)state;
    cli_snapshot_miss_status(&remote.replay, "no answer");
    expect("everybody", "replay",
           "replay does not answer from here (no answer); if learner and actors cannot reach "
           "replay either, they wait");
}

static void
test_replay_without_room_on_its_disk_is_waited_for(void **state)
{
    (void)state;
    number("replay.disk_state", CLI_DISK_FULL);
    number("learner.actor_wait_share", 1);
    expect("everybody", "replay",
           "learner and actors wait for replay: its disk has no room for the table; they continue "
           "once there is room");
}

static void
test_replay_of_a_data_set_is_waited_for(void **state)
{
    (void)state;
    cli_snapshot_miss_status(&remote.data, "no answer");
    expect("learner", "data",
           "the replay of the data set does not answer from here (no answer); if the learner "
           "cannot reach it either, the learner waits");
}

static void
test_first_windows_are_waited_for(void **state)
{
    (void)state;
    number("replay.inserts", 700);
    expect("learner", "actors",
           "the learner waits for actors: replay holds 700 of the first 1.0 k windows (min_size), "
           "and 1.2 k arrive each second");
    number("replay.insert_rate", NAN);
    expect("learner", "actors",
           "the learner waits for actors: replay holds 700 of the first 1.0 k windows (min_size)");
}

static void
test_nobody_is_accused_before_replay_has_measured_a_second(void **state)
{
    (void)state;
    number("learner.wait_share", 0.4);
    number("learner.actor_wait_share", 1);
    number("replay.insert_wait_share", NAN);
    number("replay.sample_wait_share", NAN);
    expect("unknown", "", "not known yet");
}

static void
test_actors_wait_for_the_learner(void **state)
{
    (void)state;
    number("learner.actor_wait_share", 0.62);
    number("replay.insert_wait_share", 0.5);
    expect("actors", "learner",
           "actors wait for the learner (62 % of their time): 4 samples per insert are wanted, and "
           "the learner does 5.2 k updates/s of 128 samples");
    assert_true(waiting.share == 0.62);
    number("replay.limiter.samples_per_insert", 1);
    remote.batch_size = NAN;
    expect("actors", "learner",
           "actors wait for the learner (62 % of their time): 1 sample per insert is wanted, and "
           "the learner does 5.2 k updates/s");
}

static void
test_actors_wait_for_a_slow_replay(void **state)
{
    (void)state;
    number("learner.actor_wait_share", 0.3);
    expect("actors", "replay",
           "actors wait for replay (30 % of their time): it acknowledges late, although its "
           "limiter does not hold them back; check the network and replay's CPU");
}

static void
test_learner_waits_for_actors(void **state)
{
    (void)state;
    number("learner.wait_share", 0.4);
    number("replay.sample_wait_share", 0.35);
    expect("learner", "actors",
           "the learner waits for actors (40 % of its time): 4 samples per insert are wanted, and "
           "3 actors insert 1.2 k windows/s");
    remote.actors = 1;
    expect("learner", "actors",
           "the learner waits for actors (40 % of its time): 4 samples per insert are wanted, and "
           "1 actor inserts 1.2 k windows/s");
}

static void
test_learner_waits_for_a_slow_replay(void **state)
{
    (void)state;
    number("learner.wait_share", 0.4);
    expect("learner", "replay",
           "the learner waits for replay (40 % of its time): samples come late, although the "
           "limiter does not hold them back; check the network and replay's CPU");
}

// The limiter of the live one may hold batches back, too: whose batches are missing longer is
// blamed.
static void
test_learner_waits_for_the_slower_of_two_replays(void **state)
{
    (void)state;
    number("learner.wait_share", 0.4);
    number("replay.sample_wait_share", 0.4);
    number("learner.replay_wait_s", 10);
    number("learner.data_wait_s", 11);
    expect("learner", "data",
           "the learner waits for the replay of the data set (40 % of its time), longer than for "
           "the live one: check the CPU of that replay, and whether the file is in memory");
    number("learner.replay_wait_s", 12);
    cli_waiting_judge(&waiting, &remote);
    assert_string_equal(waiting.for_whom, "actors");
}

// Who waits longer is named first.
static void
test_both_wait(void **state)
{
    (void)state;
    number("learner.wait_share", 0.3);
    number("learner.actor_wait_share", 0.9);
    number("replay.insert_wait_share", 0.5);
    number("replay.sample_wait_share", 0.2);
    expect("actors", "learner",
           "actors wait for the learner (90 % of their time): 4 samples per insert are wanted, and "
           "the learner does 5.2 k updates/s of 128 samples; the learner itself waits 30 % of its "
           "time for samples");
    number("learner.wait_share", 0.95);
    cli_waiting_judge(&waiting, &remote);
    assert_string_equal(waiting.who, "learner");
}

// An older learner or replay tells fewer numbers.
static void
test_numbers_that_are_not_told_accuse_nobody(void **state)
{
    (void)state;
    remote.learner.count = remote.replay.count = 0;
    expect("nobody", "", "nobody waits for long: the learner - of its time, actors - of theirs");
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nobody_waits),
        TEST(test_a_data_set_needs_no_actors),
        TEST(test_learner_that_was_not_heard_leaves_all_unknown),
        TEST(test_nothing_is_known_before_the_first_answer),
        TEST(test_actors_are_counted_by_the_learner_where_peers_are_not_told),
        TEST(test_first_actor_is_waited_for),
        TEST(test_first_actor_is_waited_for_after_another_was_refused),
        TEST(test_actors_that_left_are_waited_for),
        TEST(test_final_evaluation_is_waited_for),
        TEST(test_replay_that_was_not_heard_is_waited_for),
        TEST(test_replay_without_room_on_its_disk_is_waited_for),
        TEST(test_replay_of_a_data_set_is_waited_for),
        TEST(test_first_windows_are_waited_for),
        TEST(test_actors_wait_for_the_learner),
        TEST(test_actors_wait_for_a_slow_replay),
        TEST(test_learner_waits_for_actors),
        TEST(test_learner_waits_for_a_slow_replay),
        TEST(test_learner_waits_for_the_slower_of_two_replays),
        TEST(test_both_wait),
        TEST(test_nobody_is_accused_before_replay_has_measured_a_second),
        TEST(test_numbers_that_are_not_told_accuse_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
