// A run in lock-step without sockets: what its checkpoints name, what it goes on from, and when it
// starts over.
#define FOLDER "test_learner_run_turns.run"
#include "tests/learner/run_fixture.h"

#include "common/oct_libm.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_turns.h"

#define TABLE 77

static int
setup_turns(void **state)
{
    int failed = setup(state);
    config.run.deterministic = true;
    config.run.hash_updates = 1000;
    config.actor.count = 1;
    config.learner.checkpoint_turns = 2;
    config.evaluation.period_turns = 1000;
    return failed;
}

// A run whose replay has gone back to where it goes on from, and whose actor is there.
static learner_run *
run_ready(bool resume, uint32_t life)
{
    learner_run *run = run_joined(resume);
    learner_actor *actor;
    const wire_register request = {
        .role = WIRE_ROLE_ACTOR, .place = 1, .libm = oct_libm_sum(), .env = good_env};
    T_OK(learner_run_register(run, &request, NULL, &actor, &reason));
    assert_true(actor->session == learner_turns_session(config.run.seed, 0, 0, life));
    learner_run_tick(run);
    assert_int_equal(run_request(run), 0); // nothing is published yet
    const wire_configured there = {
        .incarnation = 1, .table = TABLE, .steps = steps, .libm = oct_libm_sum()};
    learner_run_configured(run, 0, OCT_OK, &there);
    learner_run_tick(run);
    return run;
}

// Of a turn, both batches.
static void
turn_update(learner_run *run, uint64_t turn)
{
    assert_int_equal(run_published(run)->version, turn);
    wire_sample request;
    uint32_t requested = learner_run_request(run, 0, &request) / FIXTURE_B;
    assert_in_range(requested, 2, 2);
    assert_true(request.turn == turn && request.turn_first == 0 && request.turn_actor_count == 1);
    wire_sampled sampled = fixture_sampled(&rows, 2 * FIXTURE_B, &rng);
    sampled.incarnation = 1;
    sampled.turn = turn;
    sampled.turn_batches = 2;
    sampled.steps = steps = 100 * turn;
    run_sampled(run, requested, &sampled);
    while (status_of(run, "learner.updates") < 2 * (double)turn) {
        fixture_listen(&bell);
        learner_run_collect(run);
    }
}

static void
turn_return(learner_run *run)
{
    wire_priorities priorities;
    if (learner_run_priorities(run, 0, &priorities)) {
        assert_int_equal(priorities.count, 2 * FIXTURE_B);
        learner_run_returned(run, OCT_OK, "");
    }
}

// Up to its hash.
static void
turn_learn(learner_run *run, uint64_t turn)
{
    wire_digest_request asked;
    turn_update(run, turn);
    turn_return(run);
    if (turn % 2 == 1) {
        assert_false(learner_run_digest(run, &asked));
    }
}

// The hash that a checkpoint's turn ends with.
static void
turn_save(learner_run *run, uint64_t turn, uint8_t mark)
{
    wire_digest_request asked;
    const wire_digest digest = {.turn = turn, .sha256 = {mark, 2, 3}};
    assert_true(learner_run_digest(run, &asked));
    assert_int_equal(asked.turn, turn);
    assert_int_equal(asked.keep, config.learner.checkpoints_kept + 1);
    assert_false(learner_run_digest(run, &asked)); // once
    learner_run_digested(run, OCT_EAGAIN, "no room", NULL);
    assert_string_equal(learner_run_trouble(run), "no room"); // health tells what the run waits for
    assert_int_equal(status_of(run, "learner.unsaved"), 1);
    learner_run_digested(run, OCT_OK, "", &digest);
    assert_null(learner_run_trouble(run));
    assert_int_equal(status_of(run, "learner.unsaved"), 0);
    learner_checkpoint checkpoint;
    do {
        fixture_listen(&bell);
        learner_run_collect(run);
        checkpoint = checkpoint_read();
        learner_checkpoint_fini(&checkpoint);
    } while (checkpoint.policy_version < turn);
    assert_true(checkpoint.turn.is_there && checkpoint.turn.libm == oct_libm_sum());
    assert_int_equal(checkpoint.turn.life_turns, 2);
    assert_memory_equal(checkpoint.turn.replay, digest.sha256, WIRE_HASH_BYTES);
    assert_int_equal(checkpoint.env_steps, 100 * turn);
}

static void
run_forget(learner_run *run) // as a kill does
{
    learner_run_abandon(run, "killed");
    learner_run_destroy(run);
}

static void
test_turns_go_on_from_the_last_checkpoint(void **state)
{
    (void)state;
    learner_run *run = run_ready(false, 0);
    wire_configure configure = learner_source_configure(learner_run_source(run, 0));
    assert_int_equal(configure.turn, 0);
    turn_learn(run, 1);
    turn_learn(run, 2);
    turn_save(run, 2, 0xab);
    assert_int_equal(run_published(run)->version, 3); // and is lost
    run_forget(run);
    steps = 200; // as replay has them once it has gone back
    run = run_ready(true, 1);
    configure = learner_source_configure(learner_run_source(run, 0));
    assert_int_equal(configure.turn, 2);
    assert_int_equal(configure.turn_digest[0], 0xab);
    assert_int_equal(status_of(run, "learner.env_steps"), 200);
    assert_int_equal(learner_run_incarnation(run, NULL), 1);
    turn_learn(run, 3);
    turn_learn(run, 4);
    turn_save(run, 4, 0xcd);
    run_forget(run);
}

// Replay keeps a copy for each checkpoint and one more: a run that went on without checkpoints
// would soon have none that it can go on from.
static void
test_a_turn_waits_for_its_checkpoint(void **state)
{
    (void)state;
    const wire_digest digest = {.turn = 2, .sha256 = {7}};
    wire_digest_request asked;
    learner_run *run = run_ready(false, 0);
    turn_learn(run, 1);
    turn_learn(run, 2);
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    T_OK(oct_file_make_folder(FOLDER "/checkpoint.oct")); // in its way
    assert_true(learner_run_digest(run, &asked));
    learner_run_digested(run, OCT_OK, "", &digest);
    while (learner_run_trouble(run) == NULL) {
        fixture_listen(&bell);
        learner_run_collect(run);
    }
    assert_non_null(strstr(learner_run_trouble(run), "checkpoint.oct cannot be written"));
    assert_int_equal(rmdir(FOLDER "/checkpoint.oct"), 0);
    while (!folder_has(FOLDER, "checkpoint.oct")) {
        assert_null(learner_run_publish(run));
        learner_run_collect(run);
        learner_run_tick(run);
    }
    learner_checkpoint checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.policy_version, 2);
    assert_int_equal(checkpoint.updates, 4);
    assert_memory_equal(checkpoint.turn.replay, digest.sha256, WIRE_HASH_BYTES);
    learner_checkpoint_fini(&checkpoint);
    assert_null(learner_run_trouble(run));
    assert_int_equal(run_published(run)->version, 3);
    run_forget(run);
}

// Until it tells of it.
static void
trouble_awaited(learner_run *run, const char *words)
{
    while (learner_run_trouble(run) == NULL) {
        learner_run_collect(run);
        learner_run_tick(run);
    }
    assert_non_null(strstr(learner_run_trouble(run), words));
}

static void
trouble_over(learner_run *run)
{
    while (learner_run_trouble(run) != NULL) {
        learner_run_collect(run);
        learner_run_tick(run);
    }
}

// A run that went on without its row would have other hashes than one whose disk was never full.
static void
test_a_turn_waits_for_its_row_of_hashes(void **state)
{
    (void)state;
    const wire_digest digest = {.turn = 2, .sha256 = {7}};
    wire_digest_request asked;
    T_OK(oct_file_make_folder(FOLDER "/hashes.csv")); // in its way
    learner_run *run = run_ready(false, 0);
    trouble_awaited(run, "hashes.csv cannot be written");
    assert_null(learner_run_publish(run)); // nor does the first turn begin
    assert_int_equal(rmdir(FOLDER "/hashes.csv"), 0);
    trouble_over(run);
    turn_learn(run, 1);
    turn_learn(run, 2);
    assert_int_equal(rename(FOLDER "/hashes.csv", FOLDER "/kept.csv"), 0);
    T_OK(oct_file_make_folder(FOLDER "/hashes.csv"));
    assert_true(learner_run_digest(run, &asked));
    learner_run_digested(run, OCT_OK, "", &digest);
    trouble_awaited(run, "hashes.csv cannot be written");
    assert_false(learner_run_digest(run, &asked)); // replay has said it
    learner_checkpoint checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.policy_version, 0); // it comes behind the row
    learner_checkpoint_fini(&checkpoint);
    assert_int_equal(rmdir(FOLDER "/hashes.csv"), 0);
    assert_int_equal(rename(FOLDER "/kept.csv", FOLDER "/hashes.csv"), 0);
    trouble_over(run);
    assert_int_equal(run_published(run)->version, 3);
    char *text = folder_read(FOLDER, "hashes.csv");
    const char *row = strchr(text, '\n') + 1;
    assert_true(strncmp(row, "2,4,200,", 8) == 0);
    assert_int_equal(strcspn(row, "\n") + 1, strlen(row)); // it alone
    free(text);
    checkpoint = checkpoint_read();
    assert_int_equal(checkpoint.policy_version, 2);
    learner_checkpoint_fini(&checkpoint);
    run_forget(run);
}

static void
test_a_run_whose_replay_was_restarted_starts_over(void **state)
{
    (void)state;
    learner_run *run = run_ready(false, 0);
    assert_int_equal(run_published(run)->version, 1);
    wire_sample request;
    uint32_t requested = learner_run_request(run, 0, &request);
    const wire_sampled nothing = {.incarnation = 2, .configured = false};
    T_OK(learner_run_sampled(run, 0, requested, &nothing)); // not to be configured again
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_true(learner_run_starts_over(run));
    learner_run_save(run);
    assert_false(folder_has(FOLDER, "summary.json")); // nor is it over
    learner_run_destroy(run);
}

static void
test_a_run_whose_replay_is_at_another_turn_starts_over(void **state)
{
    (void)state;
    learner_run *run = run_ready(false, 0);
    wire_digest_request asked;
    turn_learn(run, 1);
    turn_learn(run, 2);
    assert_true(learner_run_digest(run, &asked));
    learner_run_digested(run, OCT_EAGAIN, "no room", NULL); // that can be mended
    assert_false(learner_run_digest(run, &asked));          // not at once
    assert_false(learner_run_starts_over(run));
    learner_run_digested(run, OCT_EINVAL, "the table is not at that turn", NULL);
    assert_true(learner_run_starts_over(run));
    learner_run_destroy(run);
}

static void
test_a_run_whose_priorities_are_lost_starts_over(void **state)
{
    (void)state;
    learner_run *run = run_ready(false, 0);
    learner_run_returned(run, OCT_ETIMEDOUT, "no answer");
    assert_true(learner_run_starts_over(run));
    learner_run_destroy(run);
}

// The turn would come to the same ones again, and so for ever.
static void
test_a_run_whose_priorities_are_refused_ends(void **state)
{
    (void)state;
    learner_run *run = run_ready(false, 0);
    learner_run_returned(run, OCT_EPROTO, "bad request: priorities: too many");
    assert_false(learner_run_starts_over(run));
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    assert_true(learner_run_failed(run));
    learner_run_save(run);
    json_t *summary = summary_read();
    assert_reason(summary, "replay refused priorities");
    json_decref(summary);
    learner_run_destroy(run);
}

// By time, with the summary's reason; updates of the run.
static void
ended_by_time(learner_run *run, double updates)
{
    assert_true(status_of(run, "learner.updates") == updates);
    assert_false(learner_run_failed(run));
    json_t *summary = run_summarised(run);
    assert_reason(summary, "time");
    json_decref(summary);
}

static void
test_time_ends_a_run_whose_turn_does_not_come(void **state)
{
    (void)state;
    config.run.wall_s = 0.001;
    learner_run *run = run_ready(false, 0);
    assert_int_equal(run_published(run)->version, 1);
    uint64_t deadline_ns = oct_clock_ns() + 60 * UINT64_C(1000000000);
    while (learner_run_phase(run) != LEARNER_DONE && oct_clock_ns() < deadline_ns) {
        learner_run_tick(run); // the actor sends nothing
    }
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    ended_by_time(run, 0);
}

// One that comes is hashed, and the last one.
static void
test_time_ends_a_run_with_a_turn_that_comes(void **state)
{
    (void)state;
    wire_digest_request asked;
    const wire_digest digest = {.turn = 1, .sha256 = {7}};
    learner_run *run = run_ready(false, 0);
    turn_update(run, 1);
    config.run.wall_s = status_of(run, "learner.wall_s"); // it is over now
    turn_return(run);
    while (!learner_run_digest(run, &asked)) {
        learner_run_collect(run);
    }
    config.run.wall_s = 3600; // but that was seen
    learner_run_digested(run, OCT_OK, "", &digest);
    while (learner_run_phase(run) == LEARNER_TRAINING) {
        learner_run_collect(run);
    }
    ended_by_time(run, 2);
    char *text = folder_read(FOLDER, "hashes.csv");
    assert_non_null(strstr(text, "\n1,2,100,"));
    free(text);
}

static void
refused_with(const char *words)
{
    learner_run *run;
    T_ERR(run_create(&run, true), OCT_EINVAL);
    if (strstr(reason.text, words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, reason.text);
    }
}

static void
test_what_a_run_in_lock_step_cannot_go_on_from_is_refused(void **state)
{
    (void)state;
    run_forget(run_joined(false));
    config.learner.checkpoint_turns = 4;
    refused_with("learner.checkpoint_turns: 4, but the run in " FOLDER " had 2 so far");
    config.learner.checkpoint_turns = 2;
    learner_checkpoint checkpoint = checkpoint_read();
    checkpoint.turn.libm ^= 1; // another machine's
    T_OK(learner_checkpoints_write(FOLDER, 1, &checkpoint));
    refused_with("the C library where the checkpoint was written rounds differently");
    checkpoint.turn.is_there = false; // it was not in lock-step
    T_OK(learner_checkpoints_write(FOLDER, 1, &checkpoint));
    learner_checkpoint_fini(&checkpoint);
    refused_with("contains a run that was not in lock-step so far");
    config.run.deterministic = false;
    run_stop(run_joined(true), "interrupted"); // and needs not be
}

static void
test_a_machine_that_rounds_otherwise_is_refused(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    T_OK(learner_run_machine(run, "of this actor's machine", oct_libm_sum(), &reason));
    T_ERR(learner_run_machine(run, "of this actor's machine", 5, &reason), OCT_EINVAL);
    assert_non_null(
        strstr(reason.text, "the C library of this actor's machine rounds differently"));
    run_forget(run);
    config.run.deterministic = false; // then it does not matter
    run = run_begin(false);
    T_OK(learner_run_machine(run, "of this actor's machine", 5, &reason));
    run_forget(run);
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup_turns, teardown)
    const struct CMUnitTest tests[] = {
        T(test_turns_go_on_from_the_last_checkpoint),
        T(test_a_turn_waits_for_its_checkpoint),
        T(test_a_turn_waits_for_its_row_of_hashes),
        T(test_a_run_whose_replay_was_restarted_starts_over),
        T(test_a_run_whose_replay_is_at_another_turn_starts_over),
        T(test_a_run_whose_priorities_are_lost_starts_over),
        T(test_a_run_whose_priorities_are_refused_ends),
        T(test_time_ends_a_run_whose_turn_does_not_come),
        T(test_time_ends_a_run_with_a_turn_that_comes),
        T(test_what_a_run_in_lock_step_cannot_go_on_from_is_refused),
        T(test_a_machine_that_rounds_otherwise_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
