// The public interface with octet-replay as a process, which is killed and started again.
// usage: test_client_replay OCTET-REPLAY
#include "include/octet/replay.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/oct_test.h"

#define RUN     9
#define WAIT_MS 20000

extern char **environ;

static char *executable;
static char folder[64], url[96], path[96];
static pid_t replay_pid;

static octet_replay_table
table_of(uint32_t sampler)
{
    octet_replay_table table = {
        .size = sizeof(table),
        .streams = 4,
        .capacity = 4096,
        .observation_bytes = sizeof(float),
        .observation_is_float = 1,
        .action_bytes = sizeof(int32_t),
        .sampler = sampler,
        .window = OCTET_REPLAY_N_STEP,
        .steps = 1,
        .priority_exponent = 1,
        .discount = 0.5,
        .min_size = 1,
    };
    memset(table.key, 7, sizeof(table.key));
    return table;
}

static void
replay_start(void)
{
    char *argv[] = {executable, "--listen", url, "--path", path, "--log-level", "error", NULL};
    assert_int_equal(posix_spawn(&replay_pid, executable, NULL, NULL, argv, environ), 0);
}

static void
replay_end(int signal_number)
{
    int status;
    assert_int_equal(kill(replay_pid, signal_number), 0);
    assert_int_equal(waitpid(replay_pid, &status, 0), replay_pid);
}

static int
begin(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/octet-client-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(url, sizeof(url), "ipc://%s/s", folder);
    (void)snprintf(path, sizeof(path), "%s/replay.oct", folder);
    replay_start();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    static const char *const names[] = {"replay.oct", "s", "s.1", "s.2"};
    replay_end(SIGTERM);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char name[128];
        (void)snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
        (void)unlink(name);
    }
    return rmdir(folder);
}

static octet_replay *
replay_open(void)
{
    octet_replay *replay = NULL;
    char error[OCTET_REPLAY_ERROR_BYTES];
    assert_int_equal(octet_replay_open(&replay, url, RUN, error, sizeof(error)), 0);
    return replay;
}

static octet_replay_writer_config
writer_config(const octet_replay_table *table, uint32_t number)
{
    return (octet_replay_writer_config){.size = sizeof(octet_replay_writer_config),
                                        .streams = 1,
                                        .url = url,
                                        .run_id = RUN,
                                        .number = number,
                                        .table = table};
}

static octet_replay_writer *
writer_open(const octet_replay_table *table, uint32_t number)
{
    octet_replay_writer *writer = NULL;
    char error[OCTET_REPLAY_ERROR_BYTES];
    octet_replay_writer_config config = writer_config(table, number);
    assert_int_equal(octet_replay_writer_open(&writer, &config, error, sizeof(error)), 0);
    return writer;
}

// Steps first .. last - 1: from i to i + 1, with action and reward i.
static void
walk(octet_replay_writer *writer, int first, int last)
{
    for (int32_t i = first; i < last; i++) {
        float obs = (float)i, next = (float)i + 1, reward = (float)i;
        uint8_t no = 0;
        octet_replay_steps steps = {.size = sizeof(steps),
                                    .observations = &obs,
                                    .actions = &i,
                                    .rewards = &reward,
                                    .terminated = &no,
                                    .truncated = &no,
                                    .next_observations = &next};
        assert_int_equal(octet_replay_append(writer, &steps, WAIT_MS), 0);
    }
}

// A FIFO table gives them once, ten a batch; several on their way come in any order.
static void
sample_is(octet_replay *replay, int first, int last, uint32_t prefetch)
{
    octet_replay_batch batch = {.size = sizeof(batch)};
    bool is_found[1000] = {0};
    for (int at = first; at < last; at += 10) {
        assert_int_equal(octet_replay_sample(replay, 10, prefetch, 0, WAIT_MS, &batch), 0);
        int from = (int)batch.rewards[0];
        assert_true(prefetch > 0 || from == at);
        assert_true(from >= first && from < last && from % 10 == 0 && !is_found[from]);
        is_found[from] = true;
        for (int k = 0; k < 10; k++) {
            assert_true(((const float *)batch.observations)[k] == (float)(from + k));
            assert_true(((const float *)batch.next_observations)[k] == (float)(from + k + 1));
            assert_int_equal(((const int32_t *)batch.actions)[k], from + k);
            assert_true(batch.rewards[k] == (float)(from + k) && batch.discounts[k] == 0.5f);
        }
        octet_replay_batch_free(batch.memory);
    }
}

static void
test_replay_has_what_was_flushed_once_over_a_kill(void **state)
{
    (void)state;
    octet_replay_table table = table_of(OCTET_REPLAY_FIFO);
    octet_replay *replay = replay_open();
    octet_replay_writer *writer = writer_open(&table, 1);
    walk(writer, 0, 200); // before there is a table
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    assert_int_equal(octet_replay_flush(writer, WAIT_MS), 0);
    assert_int_equal(octet_replay_flush(writer, WAIT_MS), 0);
    sample_is(replay, 0, 100, 0);
    walk(writer, 200, 250);
    replay_end(SIGKILL);
    assert_int_equal(octet_replay_flush(writer, 1), OCTET_REPLAY_ETIMEDOUT);
    assert_true(octet_replay_writer_error(writer)[0] != '\0');
    walk(writer, 250, 300);
    replay_start();
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    assert_int_equal(octet_replay_flush(writer, WAIT_MS), 0);
    sample_is(replay, 100, 300, 4);
    octet_replay_batch none = {.size = sizeof(none)};
    assert_int_equal(octet_replay_sample(replay, 10, 4, 0, 1, &none), OCTET_REPLAY_ETIMEDOUT);
    octet_replay_writer_close(writer);
    octet_replay_close(replay);
}

static octet_replay_stat stats[512];

// How many replay tells; words: what it waits for.
static size_t
stats_get(octet_replay *replay, char words[OCTET_REPLAY_ERROR_BYTES])
{
    size_t count = 0;
    assert_int_equal(octet_replay_stats(replay, stats, OCT_COUNTOF(stats), &count, words,
                                        OCTET_REPLAY_ERROR_BYTES, WAIT_MS),
                     0);
    return count;
}

static double
held_samples(octet_replay *replay)
{
    char words[OCTET_REPLAY_ERROR_BYTES];
    size_t count = stats_get(replay, words);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stats[i].name, "replay.held_samples") == 0) {
            return stats[i].value;
        }
    }
    fail_msg("replay does not tell how many samples it holds");
    return 0;
}

// A sample that replay holds, because its table is empty, is refused as it stops.
static void
test_sampling_goes_on_after_a_replay_that_was_stopped(void **state)
{
    (void)state;
    octet_replay_table table = table_of(OCTET_REPLAY_FIFO);
    octet_replay *replay = replay_open();
    octet_replay_batch none = {.size = sizeof(none)};
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    while (held_samples(replay) == 0) {
        assert_int_equal(octet_replay_sample(replay, 10, 0, 0, 1, &none), OCTET_REPLAY_ETIMEDOUT);
    }
    replay_end(SIGTERM);
    replay_start();
    octet_replay_writer *writer = writer_open(&table, 1);
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    walk(writer, 0, 100);
    assert_int_equal(octet_replay_flush(writer, WAIT_MS), 0);
    sample_is(replay, 0, 100, 0);
    octet_replay_writer_close(writer);
    octet_replay_close(replay);
}

// The writer has used all of its batches by then. A wait is longer than steps wait for others.
static void
test_replay_has_steps_that_nobody_flushes(void **state)
{
    (void)state;
    enum { STEPS = 2048, AT_ONCE = 8, MORE = 20, WAIT_FOR_OTHERS_MS = 150 };
    octet_replay_table table = table_of(OCTET_REPLAY_FIFO);
    octet_replay *replay = replay_open();
    octet_replay_writer *writer = writer_open(&table, 1);
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    walk(writer, 0, STEPS);
    octet_replay_batch batch = {.size = sizeof(batch)};
    int sampled = 0, appended = STEPS;
    while (sampled < STEPS) {
        int result = octet_replay_sample(replay, AT_ONCE, 0, 0, WAIT_FOR_OTHERS_MS, &batch);
        if (result == OCTET_REPLAY_OK) {
            assert_true(batch.rewards[0] == (float)sampled);
            sampled += AT_ONCE;
            octet_replay_batch_free(batch.memory);
            continue;
        }
        assert_int_equal(result, OCTET_REPLAY_ETIMEDOUT);
        assert_true(appended < STEPS + MORE);
        walk(writer, appended, appended + 1);
        appended++;
    }
    octet_replay_writer_close(writer);
    octet_replay_close(replay);
}

static void
test_replay_draws_by_the_priorities_it_was_told(void **state)
{
    (void)state;
    octet_replay_table table = table_of(OCTET_REPLAY_PRIORITIZED);
    octet_replay *replay = replay_open();
    octet_replay_writer *writer = writer_open(&table, 1);
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    walk(writer, 0, 2);
    assert_int_equal(octet_replay_flush(writer, WAIT_MS), 0);
    octet_replay_batch batch = {.size = sizeof(batch)};
    assert_int_equal(octet_replay_sample(replay, 64, 0, 1, WAIT_MS, &batch), 0);
    float priority[64];
    for (int i = 0; i < 64; i++) {
        priority[i] = batch.rewards[i]; // 0 or 1
    }
    assert_int_equal(
        octet_replay_update(replay, batch.incarnation, 64, batch.keys, priority, WAIT_MS), 0);
    priority[5] = -1;
    assert_int_equal(
        octet_replay_update(replay, batch.incarnation, 64, batch.keys, priority, WAIT_MS),
        OCTET_REPLAY_EINVAL);
    assert_non_null(strstr(octet_replay_error(replay), "priority 5 is -1"));
    octet_replay_batch_free(batch.memory);
    assert_int_equal(octet_replay_sample(replay, 64, 0, 1, WAIT_MS, &batch), 0);
    for (int i = 0; i < 64; i++) {
        assert_true(batch.rewards[i] == 1 && batch.weights[i] == 1);
    }
    octet_replay_batch_free(batch.memory);
    octet_replay_writer_close(writer);
    octet_replay_close(replay);
}

static void
test_replay_tells_its_numbers_and_refusals(void **state)
{
    (void)state;
    octet_replay_table table = table_of(OCTET_REPLAY_UNIFORM);
    octet_replay *replay = replay_open();
    char words[OCTET_REPLAY_ERROR_BYTES];
    size_t count = stats_get(replay, words);
    assert_true(count > 10 && words[0] != '\0' && strncmp(stats[0].name, "replay.", 7) == 0);
    table.steps = 0;
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), OCTET_REPLAY_EPROTO);
    assert_non_null(strstr(octet_replay_error(replay), "window_steps"));
    table.steps = 1;
    table.window = OCTET_REPLAY_SEQUENCE;
    table.reward_clip = 2;
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), OCTET_REPLAY_EINVAL);
    assert_string_equal(octet_replay_error(replay),
                        "reward_clip 2: rewards of sequences are not clipped; allowed is 0");
    table.reward_clip = 0;
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    table.window = OCTET_REPLAY_N_STEP;
    assert_int_equal(octet_replay_configure(replay, &table, WAIT_MS), 0);
    octet_replay_batch batch = {.size = sizeof(batch)};
    assert_int_equal(octet_replay_sample(replay, 1u << 30, 0, 0, WAIT_MS, &batch),
                     OCTET_REPLAY_EPROTO);
    assert_int_equal(octet_replay_sample(replay, 70000, 0, 0, WAIT_MS, &batch),
                     OCTET_REPLAY_EINVAL);
    assert_non_null(strstr(octet_replay_error(replay), "batch_size 70000"));
    assert_int_equal(octet_replay_sample(replay, 1, 1000, 0, WAIT_MS, &batch), OCTET_REPLAY_EINVAL);
    octet_replay_close(replay);
    octet_replay_close(NULL);
    char error[OCTET_REPLAY_ERROR_BYTES];
    assert_int_equal(octet_replay_open(&replay, "tcp://host:1", RUN, error, sizeof(error)),
                     OCTET_REPLAY_EINVAL);
    assert_string_equal(error, "tcp://host:1: allowed is ipc://PATH");
}

// A stack that is larger than the address space is what no thread can have.
static void
test_a_thread_that_the_system_does_not_give_is_said(void **state)
{
    (void)state;
    octet_replay_close(replay_open()); // NNG's own threads are there
    pthread_attr_t usual, large;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&large), 0);
    assert_int_equal(pthread_attr_setstacksize(&large, (size_t)1 << 56), 0);
    assert_int_equal(pthread_setattr_default_np(&large), 0);
    char error[OCTET_REPLAY_ERROR_BYTES] = "", writer_error[OCTET_REPLAY_ERROR_BYTES] = "";
    octet_replay *replay = NULL;
    octet_replay_writer *writer = NULL;
    octet_replay_table table = table_of(OCTET_REPLAY_FIFO);
    octet_replay_writer_config config = writer_config(&table, 1);
    int refused = octet_replay_open(&replay, url, RUN, error, sizeof(error));
    int writer_refused =
        octet_replay_writer_open(&writer, &config, writer_error, sizeof(writer_error));
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    assert_int_equal(refused, OCTET_REPLAY_EIO);
    assert_non_null(strstr(error, "cannot start a thread: "));
    assert_int_equal(writer_refused, OCTET_REPLAY_EIO);
    assert_string_equal(writer_error, error);
    assert_int_equal(pthread_attr_destroy(&usual) + pthread_attr_destroy(&large), 0);
    octet_replay_close(replay_open()); // and nothing of it stays
}

int
main(int argc, char **argv)
{
    if (argc != 2 || (executable = realpath(argv[1], NULL)) == NULL) {
        fprintf(stderr, "usage: test_client_replay OCTET-REPLAY\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replay_has_what_was_flushed_once_over_a_kill, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_sampling_goes_on_after_a_replay_that_was_stopped,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_replay_has_steps_that_nobody_flushes, begin, end),
        cmocka_unit_test_setup_teardown(test_replay_draws_by_the_priorities_it_was_told, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_replay_tells_its_numbers_and_refusals, begin, end),
        cmocka_unit_test_setup_teardown(test_a_thread_that_the_system_does_not_give_is_said, begin,
                                        end),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(executable);
    return failed;
}
