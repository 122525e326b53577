// What a learner says of the shards that its batches have no windows of.
#include <unistd.h>

#define FOLDER "test_learner_run_shards.run"
#include "tests/learner/run_fixture.h"

// What the learner says of its shards when one of them may be asked for windows.
static void
shards_say(learner_run *run, char text[4096])
{
    int saved = dup(STDERR_FILENO);
    FILE *log = tmpfile();
    assert_non_null(log);
    assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
    (void)run_request(run);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    rewind(log);
    text[fread(text, 1, 4095, log)] = '\0';
    (void)fclose(log);
}

static void
shard_answers(learner_run *run, uint32_t shard)
{
    const wire_configured found = {.incarnation = 9, .table = 77 + shard, .inserts = 1000};
    wire_sampled counters = fixture_sampled(&rows, 0, &rng);
    (void)learner_source_back(learner_run_source(run, shard));
    learner_run_configured(run, shard, OCT_OK, &found);
    T_OK(learner_run_counters(run, shard, &counters));
}

// A resumed run knows from its checkpoint what each shard has, before any has answered: it waits
// for their answers, and says which of them does not give one.
static void
test_run_with_shards_says_which_is_away(void **state)
{
    (void)state;
    char text[4096];
    config.replay.shards = 2;
    learner_run *run = run_joined(false);
    shard_answers(run, 0);
    shard_answers(run, 1);
    run_stop(run, "interrupted");
    run = run_joined(true);
    shard_answers(run, 0);
    shards_say(run, text);
    assert_null(strstr(text, "LEARNER-SHARD"));
    assert_true(learner_source_lost(learner_run_source(run, 1)));
    shards_say(run, text);
    assert_non_null(strstr(text, " W LEARNER-SHARD-AWAY shard=1 share=0.500 "));
    shards_say(run, text);
    assert_null(strstr(text, "LEARNER-SHARD")); // once
    shard_answers(run, 1);
    shards_say(run, text);
    assert_non_null(strstr(text, " N LEARNER-SHARD-BACK shard=1 share=0.500 "));
    run_stop(run, "interrupted");
}

// Their files have changed places, which would count what each took again.
static void
test_run_refuses_a_table_of_another_shard(void **state)
{
    (void)state;
    config.replay.shards = 2;
    learner_run *run = run_joined(false);
    T_OK(learner_run_table(run, 1, 78, &reason));
    shard_answers(run, 0);
    shard_answers(run, 1);
    run_stop(run, "interrupted");
    run = run_joined(true);
    T_OK(learner_run_table(run, 0, 77, &reason));
    T_OK(learner_run_table(run, 0, 99, &reason)); // a new one
    T_OK(learner_run_table(run, 0, 0, &reason));
    T_ERR(learner_run_table(run, 0, 78, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "replay has the table of shard 1 ("));
    T_ERR(learner_run_table(run, 1, 77, &reason), OCT_EINVAL);
    const wire_configured other = {.incarnation = 9, .table = 99};
    learner_run_configured(run, 1, OCT_OK, &other);
    T_ERR(learner_run_table(run, 0, 78, &reason),
          OCT_EINVAL); // it had it
    run_stop(run, "interrupted");
}

// What the limiter of a table had that is no more is not lost with the process.
static void
test_run_with_shards_keeps_what_a_table_had_that_is_gone(void **state)
{
    (void)state;
    const wire_configured other = {.incarnation = 9, .table = 99};
    config.replay.shards = 2;
    config.replay.samples_per_insert = 8;
    learner_run *run = run_joined(false);
    shard_answers(run, 0);
    shard_answers(run, 1);
    wire_sampled counters = fixture_sampled(&rows, 0, &rng);
    counters.inserts = 1000;
    counters.balance = 500;
    T_OK(learner_run_counters(run, 1, &counters));
    learner_run_configured(run, 1, OCT_OK, &other);
    run_stop(run, "interrupted");
    learner_checkpoint first = checkpoint_read();
    assert_true(first.gone != 0);
    run_stop(run_joined(true), "interrupted");
    learner_checkpoint second = checkpoint_read();
    T_NEAR(second.gone, first.gone, 0, 0);
    learner_checkpoint_fini(&first);
    learner_checkpoint_fini(&second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run_with_shards_says_which_is_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_refuses_a_table_of_another_shard, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_with_shards_keeps_what_a_table_had_that_is_gone,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
