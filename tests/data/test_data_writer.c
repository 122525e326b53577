// What is exported is what was inserted: every row that the table holds, once, by its content.
#include "tests/data/data_test.h"

#include "data/data_numbers.h"

static data_test test;

// That a row is what was inserted at its place.
static void
row_check(const data_source *source, const replay_block *block, uint32_t row)
{
    const replay_layout *layout = data_source_layout(source);
    uint64_t number = block->first + row;
    assert_true(block->stream < DATA_STREAMS && number < DATA_ROWS_MAX);
    assert_true(test.is_there[block->stream][number]);
    uint8_t flags = *replay_block_flags(layout, block, row);
    bool is_end = (flags & WIRE_END) != 0;
    const float want[TEST_OBS_FLOATS] = {5, (float)number, (float)block->stream, 0};
    int32_t action = is_end ? 0 : (int32_t)(number * 3 % DATA_ACTIONS);
    float reward = is_end ? 0 : (float)number;
    assert_int_equal(flags, test.flags[block->stream][number]);
    assert_memory_equal(replay_block_obs(layout, block, row), want, sizeof(want));
    assert_memory_equal(replay_block_action(layout, block, row), &action, sizeof(action));
    assert_memory_equal(replay_block_reward(layout, block, row), &reward, sizeof(reward));
    assert_int_equal(block->session, 77);
    assert_int_equal(block->actor_id, 5);
}

typedef struct held {
    uint32_t version[DATA_STREAMS][DATA_ROWS_MAX]; // plus 1; 0: not held
    uint64_t rows;
} held;

static void
held_find(held *out, const char *path)
{
    memset(out, 0, sizeof(*out));
    data_source *source = data_test_open(path);
    for (uint32_t i = 0; i < data_source_blocks(source); i++) {
        const replay_block *block = data_source_block(source, i);
        for (uint32_t row = 0; row < block->count; row++) {
            row_check(source, block, row);
            uint32_t *version = &out->version[block->stream][block->first + row];
            assert_int_equal(*version, 0); // once
            *version = *replay_block_version(data_source_layout(source), block, row) + 1;
            out->rows++;
        }
    }
    data_source_close(source);
}

static void
test_export_is_what_was_inserted(void **state)
{
    (void)state;
    static held table, set, again;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        data_test_begin(&test, seed);
        data_test_record(&test, seed % 2 == 0 ? 8192 : 1536, 20);
        held_find(&table, test.file);
        assert_true(table.rows > 500);
        data_written written = data_test_export(test.file, test.out, false, 0);
        assert_int_equal(written.rows, table.rows);
        held_find(&set, test.out);
        assert_memory_equal(&set, &table, sizeof(set));
        if (seed % 2 == 0) { // all of it is held
            for (uint32_t s = 0; s < DATA_STREAMS; s++) {
                for (uint64_t row = 0; row < DATA_ROWS_MAX; row++) {
                    assert_int_equal(set.version[s][row] != 0, test.is_there[s][row]);
                }
            }
        }
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/again.data", test.folder);
        (void)data_test_export(test.out, path, false, 0);
        held_find(&again, path);
        assert_memory_equal(&again, &table, sizeof(again));
        data_test_end(&test);
    }
}

// Of what was recorded: complete episodes, and the returns of all of them.
static uint64_t
complete_count(double *total)
{
    uint64_t count = 0;
    *total = 0;
    for (uint32_t s = 0; s < DATA_STREAMS; s++) {
        bool has_begun = false;
        double sum = 0;
        for (uint64_t row = 0; row < DATA_ROWS_MAX; row++) {
            uint8_t flags = test.flags[s][row];
            if (!test.is_there[s][row]) {
                has_begun = false;
            } else if ((flags & WIRE_FIRST) != 0) {
                has_begun = true;
                sum = (double)row;
            } else if ((flags & WIRE_END) != 0) {
                count += has_begun;
                *total += has_begun ? sum : 0;
                has_begun = false;
            } else {
                sum += (double)row;
            }
        }
    }
    return count;
}

static void
test_complete_episodes_and_the_last_ones(void **state)
{
    (void)state;
    double total;
    data_test_begin(&test, 3);
    data_test_record(&test, 8192, 20);
    uint64_t count = complete_count(&total);
    assert_true(count > 20);
    (void)data_test_export(test.file, test.out, true, 0);
    data_source *source = data_test_open(test.out);
    data_episodes episodes;
    data_numbers numbers;
    data_episodes_find(&episodes, source);
    data_numbers_find(&numbers, source, &episodes);
    assert_int_equal(episodes.count, count);
    assert_int_equal(numbers.episodes, count);
    assert_int_equal(numbers.incomplete, 0);
    assert_int_equal(numbers.terminated + numbers.truncated + numbers.failed, count);
    assert_true(numbers.terminated > 0 && numbers.truncated > 0 && numbers.failed > 0);
    T_NEAR(numbers.returns.mean, total / (double)count, 0, 1e-12);
    assert_true(numbers.random > 0 && numbers.random < numbers.steps);
    assert_int_equal(numbers.version_least, 0);
    assert_int_equal(numbers.version_most, 19);
    data_numbers_free(&numbers);
    data_episodes_free(&episodes);
    data_source_close(source);
    // The last: their rows came in the last batches.
    (void)data_test_export(test.file, test.out, true, 3);
    source = data_test_open(test.out);
    data_episodes_find(&episodes, source);
    data_numbers_find(&numbers, source, &episodes);
    assert_int_equal(numbers.episodes, 3);
    assert_true(numbers.version_most >= 18);
    data_numbers_free(&numbers);
    data_episodes_free(&episodes);
    data_source_close(source);
    data_test_end(&test);
}

static void
test_what_is_known_goes_along(void **state)
{
    (void)state;
    data_test_begin(&test, 4);
    data_test_record(&test, 2048, 3);
    (void)data_test_export(test.file, test.out, false, 0);
    data_source *source = data_test_open(test.out);
    const replay_data_header *header = data_source_header(source);
    uint32_t bytes;
    const char *notes = data_source_notes(source, &bytes);
    assert_int_equal(bytes, strlen(DATA_NOTES));
    assert_memory_equal(notes, DATA_NOTES, bytes);
    assert_int_equal(header->run_id, 7);
    assert_int_equal(header->seed, 1);
    assert_string_equal(header->made_by, "a test");
    assert_string_equal(header->env.id, "Test-v0");
    assert_int_equal(header->env.max_episode_steps, 500);
    T_NEAR(header->env.reward_threshold, 1.5, 0, 0);
    assert_int_equal(header->env.obs_rank, 2);
    assert_int_equal(header->env.obs_shape[1], 2);
    data_source_close(source);
    data_test_end(&test);
}

static void
refused(const char *path, const char *words)
{
    char reason[512] = "";
    data_source *source;
    assert_true(data_source_open(&source, path, NULL, reason, sizeof(reason)) != OCT_OK);
    if (!strstr(reason, words)) {
        fail_msg("'%s' is not in '%s'", words, reason);
    }
}

static void
test_replay_files_are_left_alone(void **state)
{
    (void)state;
    char reason[256];
    data_test_begin(&test, 5);
    data_test_record(&test, 2048, 3);
    uint8_t *before, *after;
    size_t before_length, after_length;
    T_OK(oct_file_read(test.file, 1u << 26, &before, &before_length));
    (void)data_test_export(test.file, test.out, false, 0);
    T_OK(oct_file_read(test.file, 1u << 26, &after, &after_length));
    assert_int_equal(before_length, after_length);
    assert_memory_equal(before, after, after_length);
    free(before);
    free(after);
    // One that is in use is refused, and so is one of no known environment.
    replay_file *file;
    T_OK(replay_file_open(&file, test.file, reason, sizeof(reason)));
    refused(test.file, "in use");
    replay_file_close(file);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/environment.oct", test.folder);
    (void)unlink(path);
    refused(test.file, "--environment");
    data_test_end(&test);
}

static void
test_spread_of_values(void **state)
{
    (void)state;
    double values[] = {5, 1, 2, 4, 3};
    data_spread s = data_spread_of(values, OCT_COUNTOF(values));
    T_NEAR(s.mean, 3, 0, 0);
    T_NEAR(s.sd, sqrt(2.5), 1e-15, 0);
    T_NEAR(s.least, 1, 0, 0);
    T_NEAR(s.q25, 2, 0, 0);
    T_NEAR(s.median, 3, 0, 0);
    T_NEAR(s.q75, 4, 0, 0);
    T_NEAR(s.most, 5, 0, 0);
    double two[] = {2, 1};
    s = data_spread_of(two, 2);
    T_NEAR(s.q25, 1.25, 0, 0);
    assert_true(isnan(data_spread_of(NULL, 0).mean));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export_is_what_was_inserted),
        cmocka_unit_test(test_complete_episodes_and_the_last_ones),
        cmocka_unit_test(test_what_is_known_goes_along),
        cmocka_unit_test(test_replay_files_are_left_alone),
        cmocka_unit_test(test_spread_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
