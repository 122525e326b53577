// octet-replay with its table in a file: killed and started again, with a disk that is waited for,
// with files that it must not touch. argv[1] is the executable.
#include "tests/replay/replay_daemon.h"

#include "common/oct_file.h"

static void
table_in_file(fixture *f, const char *sync)
{
    f->sync = sync;
    (void)daemon_end(f, SIGKILL);
    wait_for_cut(f);
    daemon_start(f);
}

static void
test_daemon_killed_with_a_file_has_all_that_was_acknowledged(void **state)
{
    fixture *f = *state;
    table_in_file(f, "interval");
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    for (int i = 0; i < 5; i++) {
        send_batch(f, test_batch_steps(&actor, 10));
    }
    wait_for_ack(f, 5);
    uint64_t incarnation = f->ack.incarnation;
    sample(f, 4, 1, 1000);
    T_OK(f->err);
    assert_int_equal(daemon_end(f, SIGKILL), 128 + SIGKILL);
    wait_for_cut(f);
    daemon_start(f);
    sample(f, 4, 1, 0);
    assert_false(f->sampled.configured); // what the learner wants now is not known yet
    wire_configure other = message;
    other.run_id = RUN + 1;
    T_ERR(configure(f, &other), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "replay.oct holds the rows of run 0000000000000007"));
    message.window_steps = 3; // as it is wanted now
    message.min_size = 2;
    T_OK(configure(f, &message));
    assert_int_equal(stat_of(f, "replay.rows"), 51);
    assert_int_equal(stat_of(f, "replay.size"), 48);
    assert_int_equal(stat_of(f, "replay.samples"), 4);
    assert_int_equal(stat_of(f, "replay.limiter.min_size"), 2);
    send_batch(f, &actor.batch); // its acknowledgement may have been lost
    send_batch(f, test_batch_steps(&actor, 10));
    wait_for_ack(f, 6);
    assert_true(f->ack.incarnation != incarnation);
    assert_int_equal(stat_of(f, "replay.duplicates"), 1);
    assert_int_equal(stat_of(f, "replay.rows"), 61);
    assert_int_equal(stat_of(f, "replay.cut"), 0); // no stream was interrupted
    assert_int_equal(stat_of(f, "replay.disk_state"), 1);
    message.capacity = 2000;
    T_ERR(configure(f, &message), OCT_EINVAL);
    assert_non_null(strstr(f->detail, "another capacity"));
}

static void
test_daemon_acknowledges_what_is_on_the_disk(void **state)
{
    fixture *f = *state;
    table_in_file(f, "always");
    wire_configure message = test_configure(1000, WIRE_SAMPLER_UNIFORM);
    T_OK(configure(f, &message));
    for (int i = 0; i < 3; i++) {
        send_batch(f, test_batch_steps(&actor, 10));
        wait_for_ack(f, actor.batch.sequence);
        // Each waited for a generation of its own; the table began with one.
        assert_true(stat_of(f, "replay.disk_generation") >= 2 + i);
    }
}

static void
test_daemon_refuses_files_that_are_not_its_own(void **state)
{
    fixture *f = *state;
    char path[128];
    static const uint8_t words[] = "a letter to somebody, longer than nothing";
    (void)snprintf(path, sizeof(path), "%s/replay.oct", f->folder);
    T_OK(oct_file_write(path, words, sizeof(words)));
    f->sync = "interval";
    (void)daemon_end(f, SIGKILL);
    wait_for_cut(f);
    daemon_start(f);
    while (!f->is_exited) {
        net_loop_run(f->loop);
    }
    assert_int_equal(f->exit_status, 2);
    net_process_destroy(f->process);
    uint8_t *now;
    size_t length;
    T_OK(oct_file_read(path, 1024, &now, &length));
    assert_int_equal(length, sizeof(words));
    assert_memory_equal(now, words, length);
    free(now);
    f->sync = NULL;
    daemon_start(f);
    assert_int_equal(stat_of(f, "replay.rows"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_daemon_##name, fixture_open, fixture_close)

int
main(int argc, char **argv)
{
    executable = argc == 2 ? realpath(argv[1], NULL) : NULL;
    if (!executable) {
        fprintf(stderr, "usage: test_replay_daemon_file OCTET-REPLAY\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        TEST(killed_with_a_file_has_all_that_was_acknowledged),
        TEST(acknowledges_what_is_on_the_disk),
        TEST(refuses_files_that_are_not_its_own),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(executable);
    return failed;
}
