#ifndef TESTS_REPLAY_DATA_DATA_TEST_H
#define TESTS_REPLAY_DATA_DATA_TEST_H

#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/oct_file.h"
#include "common/oct_rng.h"
#include "proto/wire_env.h"
#include "replay/data/data_writer.h"
#include "replay/replay_file.h"

// A recording, made by pretended actors (replay_test.h): the file of a table, in a folder of its
// own with environment.oct and config.yaml beside it. What each row's flags are is kept here; the
// rest follows from its actor, stream and number.

#define DATA_STREAMS  3
#define DATA_ROWS_MAX 4096 // of a stream
#define DATA_ACTIONS  256
#define DATA_NOTES    "# the experiment\nenv: {id: Test-v0}\n"

typedef struct data_test {
    char folder[64];
    char file[96];      // of the table
    char out[96];       // of a data set
    uint32_t extra_dim; // numbers beside each action: 0, or 1, twice the row's number
    oct_rng rng;
    uint64_t next[DATA_STREAMS];
    uint8_t last[DATA_STREAMS]; // flags of the last row
    uint8_t flags[DATA_STREAMS][DATA_ROWS_MAX];
    bool is_there[DATA_STREAMS][DATA_ROWS_MAX]; // sent; a gap is not
} data_test;

// Whose steps the table's are.
static inline void
data_test_environment(const data_test *test, const wire_env_spec *env)
{
    char path[128];
    size_t length;
    uint8_t *bytes = wire_env_pack(env, &length);
    (void)snprintf(path, sizeof(path), "%s/environment.oct", test->folder);
    T_OK(oct_file_write(path, bytes, length));
    free(bytes);
}

static inline void
data_test_begin(data_test *test, uint64_t seed)
{
    memset(test, 0, sizeof(*test));
    oct_rng_init(&test->rng, seed, 29);
    (void)snprintf(test->folder, sizeof(test->folder), "/tmp/octet-data-XXXXXX");
    assert_non_null(mkdtemp(test->folder));
    (void)snprintf(test->file, sizeof(test->file), "%s/replay.oct", test->folder);
    (void)snprintf(test->out, sizeof(test->out), "%s/out.data", test->folder);
    const uint32_t shape[] = {2, 2};
    const wire_env_spec env = {
        .env_id = "Test-v0",
        .obs_dtype = 1,
        .obs_count = TEST_OBS_FLOATS,
        .action_kind = 1,
        .action_count = DATA_ACTIONS,
        .max_episode_steps = 500,
        .reward_threshold = 1.5,
        .obs_rank = 2,
        .obs_shape = shape,
    };
    data_test_environment(test, &env);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", test->folder);
    T_OK(oct_file_write(path, DATA_NOTES, strlen(DATA_NOTES)));
}

static inline void
data_test_end(const data_test *test)
{
    static const char *const names[] = {"replay.oct", "out.data", "again.data", "environment.oct",
                                        "config.yaml"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", test->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(test->folder), 0);
}

// Flags of the row that comes next: episodes of any length, which end in each of the three ways.
static inline uint8_t
data_test_flags(data_test *test, uint32_t stream)
{
    uint8_t last = test->last[stream];
    bool is_begin = test->next[stream] == 0 || (last & WIRE_END) != 0;
    uint32_t chance = oct_rng_below(&test->rng, 24);
    if ((last & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0) {
        return WIRE_END;
    }
    if (!is_begin && chance == 0) {
        return WIRE_END | WIRE_FAILED;
    }
    return (uint8_t)((is_begin ? WIRE_FIRST : 0) | (chance == 1 ? WIRE_TERMINATED : 0) |
                     (chance == 2 ? WIRE_TRUNCATED : 0) | (chance > 18 ? WIRE_RANDOM : 0));
}

// batches batches of one actor into the table of the file, which is left as by a kill.
static inline void
data_test_record(data_test *test, uint64_t capacity, uint32_t batches)
{
    static test_actor actor;
    oct_reason why;
    wire_configure configure = test_configure(capacity, WIRE_SAMPLER_PRIORITIZED);
    configure.streams = DATA_STREAMS;
    configure.extra_dim = test->extra_dim;
    replay_file *file;
    T_OK(replay_file_create(&file, test->file, &configure, &why));
    replay_table *table = replay_table_create_in(&configure, file);
    test_actor_init(&actor, 5, 77);
    actor.batch.extra_dim = test->extra_dim;
    for (uint32_t b = 0; b < batches; b++) {
        (void)test_batch_begin(&actor);
        for (uint32_t s = 0; s < DATA_STREAMS; s++) {
            if (oct_rng_below(&test->rng, 40) == 0) {
                test->next[s] += 1 + oct_rng_below(&test->rng, 30); // rows are missing
                test->last[s] = 0;
            }
            test_batch_run(&actor, s, test->next[s], b);
            for (uint32_t i = 1 + oct_rng_below(&test->rng, 50); i > 0; i--) {
                uint8_t flags = data_test_flags(test, s);
                uint64_t row = test->next[s]++;
                assert_true(row < DATA_ROWS_MAX);
                test->flags[s][row] = test->last[s] = flags;
                test->is_there[s][row] = true;
                test_batch_row(&actor, flags);
                actor.action[actor.batch.count - 1] %= DATA_ACTIONS;
            }
        }
        assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    }
    replay_table_destroy(table);
    replay_file_close(file);
}

static inline data_source *
data_test_open(const char *path)
{
    oct_reason why = {""};
    data_source *source = NULL;
    if (data_source_open(&source, path, NULL, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    return source;
}

// A data set of what is in from.
static inline data_written
data_test_export(const char *from, const char *to, bool complete_only, uint64_t last)
{
    oct_reason why = {""};
    data_source *source = data_test_open(from);
    data_episodes episodes;
    data_written written;
    data_episodes_find(&episodes, source);
    data_episodes_choose(&episodes, complete_only, last);
    if (data_write(&written, to, source, &episodes, "a test", &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    data_episodes_free(&episodes);
    data_source_close(source);
    return written;
}

#endif // TESTS_REPLAY_DATA_DATA_TEST_H
