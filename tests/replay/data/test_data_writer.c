// What is exported is what was inserted: every row that the table holds, once, by its content.
#include "common/oct_reason.h"
#include "tests/replay/data/data_test.h"

#include "config/config.h"
#include "replay/data/data_numbers.h"

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
    flags &= (uint8_t)~WIRE_ROLLOUT; // whether its episode's beginning may be missing
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

// Whatever is still going on came later than all that has ended.
static void
test_the_last_episodes_have_ended(void **state)
{
    (void)state;
    data_test_begin(&test, 3);
    data_test_record(&test, 8192, 20);
    data_source *source = data_test_open(test.file);
    data_episodes all, ended;
    data_episodes_find(&all, source);
    data_episodes_find(&ended, source);
    data_episodes_choose(&ended, false, all.count);
    uint64_t count = 0, begun = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        count += all.list[i].has_end;
    }
    for (uint64_t i = 0; i < ended.count; i++) {
        assert_true(ended.list[i].has_end);
        begun += ended.list[i].has_first;
    }
    assert_true(all.count - count >= DATA_STREAMS); // all streams go on
    assert_true(begun < count);                     // and others have no beginning
    assert_int_equal(ended.count, count);
    double least = ended.list[0].order;
    for (uint64_t i = 0; i < ended.count; i++) {
        least = fmin(least, ended.list[i].order);
    }
    data_episodes_choose(&ended, false, count - 1);
    assert_int_equal(ended.count, count - 1);
    for (uint64_t i = 0; i < ended.count; i++) {
        assert_true(ended.list[i].order >= least);
    }
    data_episodes_free(&all);
    data_episodes_free(&ended);
    data_source_close(source);
    data_test_end(&test);
}

static void
test_what_a_damaged_file_lacks_is_known(void **state)
{
    (void)state;
    oct_reason why;
    replay_file *file;
    data_test_begin(&test, 4);
    data_test_record(&test, 8192, 4);
    data_source *source = data_test_open(test.file);
    uint32_t blocks = data_source_blocks(source);
    assert_int_equal(data_source_lost(source).blocks, 0);
    data_source_close(source);
    T_OK(replay_file_open(&file, test.file, &why));
    replay_file_block(file, 1)->stream = WIRE_STREAMS_MAX;
    replay_file_close(file);
    source = data_test_open(test.file);
    assert_int_equal(data_source_lost(source).blocks, 1);
    assert_int_equal(data_source_blocks(source), blocks - 1);
    data_source_close(source);
    data_test_end(&test);
}

static void
test_rows_that_no_data_set_has_are_not_written(void **state)
{
    (void)state;
    oct_reason why;
    data_episodes episodes;
    data_written written;
    data_test_begin(&test, 4);
    data_test_record(&test, 8192, 4);
    data_source *source = data_test_open(test.file);
    replay_data_header *header = (replay_data_header *)(uintptr_t)data_source_header(source);
    header->env.action_count = 3;
    data_episodes_find(&episodes, source);
    T_ERR(data_write(&written, test.out, source, &episodes, "a test", &why), OCT_EINVAL);
    assert_non_null(
        strstr(why.text, "out.data is not written: an action that the environment does"));
    data_episodes_free(&episodes);
    data_source_close(source);
    data_test_end(&test); // nothing is left in its folder
}

// Rows of a stream that was recorded in rollouts, one behind the other: what is observed tells
// whether the episode goes on behind a rollout.
typedef struct paused_row {
    uint8_t flags;
    float observed;
} paused_row;

static const paused_row paused_rows[] = {
    {WIRE_FIRST | WIRE_ROLLOUT, 0}, // 4 steps, in two rollouts
    {0, 1},
    {WIRE_END | WIRE_ROLLOUT, 2},
    {WIRE_FIRST | WIRE_ROLLOUT, 2},
    {WIRE_TERMINATED | WIRE_TRUNCATED, 3}, // terminated
    {WIRE_END, 4},
    {WIRE_FIRST, 10}, // 1 step: given up behind a rollout
    {WIRE_END | WIRE_ROLLOUT, 11},
    {WIRE_FIRST, 20}, // 2 steps, and ends with the rollout
    {WIRE_TRUNCATED, 21},
    {WIRE_END | WIRE_ROLLOUT, 22},
    {WIRE_FIRST | WIRE_ROLLOUT, 30}, // 3 steps, the last one behind two rollouts; then it fails
    {WIRE_END | WIRE_ROLLOUT, 31},
    {WIRE_FIRST, 31},
    {WIRE_END | WIRE_ROLLOUT, 32},
    {WIRE_FIRST | WIRE_ROLLOUT, 32},
    {WIRE_END | WIRE_FAILED | WIRE_ROLLOUT, 33},
    {WIRE_FIRST | WIRE_ROLLOUT, 40}, // 1 step: not there to its end
    {WIRE_END | WIRE_ROLLOUT, 41},
};
#define PAUSED_ROWS OCT_COUNTOF(paused_rows)

// times of them, in batches of any length.
static void
paused_record(uint64_t capacity, uint32_t times)
{
    static test_actor actor;
    oct_reason why;
    wire_configure configure = test_configure(capacity, WIRE_SAMPLER_UNIFORM);
    replay_file *file;
    T_OK(replay_file_create(&file, test.file, &configure, &why));
    replay_table *table = replay_table_create_in(&configure, file);
    test_actor_init(&actor, 5, 77);
    for (uint64_t row = 0; row < times * PAUSED_ROWS;) {
        (void)test_batch_begin(&actor);
        test_batch_run(&actor, 0, row, 0);
        uint64_t end = OCT_MIN(row + 1 + oct_rng_below(&test.rng, 50), times * PAUSED_ROWS);
        for (; row < end; row++) {
            const paused_row *next = &paused_rows[row % PAUSED_ROWS];
            test_batch_row(&actor, next->flags);
            actor.obs[actor.batch.count - 1][1] = next->observed;
            actor.action[actor.batch.count - 1] %= DATA_ACTIONS;
        }
        assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    }
    replay_table_destroy(table);
    replay_file_close(file);
}

static data_numbers
numbers_of(const char *path)
{
    data_source *source = data_test_open(path);
    data_episodes episodes;
    data_numbers numbers;
    data_episodes_find(&episodes, source);
    data_numbers_find(&numbers, source, &episodes);
    data_numbers_free(&numbers);
    data_episodes_free(&episodes);
    data_source_close(source);
    return numbers;
}

// The observations of a data set, one behind the other.
static uint32_t
observed(float *out, uint32_t most)
{
    data_source *source = data_test_open(test.out);
    uint32_t count = 0;
    for (uint32_t i = 0; i < data_source_blocks(source); i++) {
        const replay_block *block = data_source_block(source, i);
        for (uint32_t row = 0; row < block->count; row++) {
            float obs[TEST_OBS_FLOATS];
            memcpy(obs, replay_block_obs(data_source_layout(source), block, row), sizeof(obs));
            assert_true(count < most);
            out[count++] = obs[1];
        }
    }
    data_source_close(source);
    return count;
}

static void
test_an_episode_goes_on_behind_a_rollout(void **state)
{
    (void)state;
    enum { TIMES = 40 };
    static const float want[] = {0, 1, 2, 3, 4, 20, 21, 22, 30, 31, 32, 33};
    static float got[TIMES * PAUSED_ROWS];
    data_test_begin(&test, 6);
    paused_record(8192, TIMES);
    for (uint32_t way = 0; way < 2; way++) { // of the table, then of the data set
        data_numbers n = numbers_of(way == 0 ? test.file : test.out);
        assert_int_equal(n.episodes, 3 * TIMES);
        assert_int_equal(n.incomplete, 2 * TIMES);
        assert_int_equal(n.steps, 11 * TIMES);
        assert_int_equal(n.steps_of_parts, 2 * TIMES);
        assert_int_equal(n.terminated, TIMES);
        assert_int_equal(n.truncated, TIMES);
        assert_int_equal(n.failed, TIMES);
        T_NEAR(n.lengths.mean, 3, 0, 1e-12);
        assert_int_equal(data_test_export(test.file, test.out, false, 0).steps, 11 * TIMES);
    }
    (void)data_test_export(test.out, test.file, true, 0); // and of that data set
    (void)data_test_export(test.file, test.out, true, 0);
    assert_int_equal(observed(got, OCT_COUNTOF(got)), TIMES * OCT_COUNTOF(want));
    for (uint32_t i = 0; i < TIMES * OCT_COUNTOF(want); i++) {
        T_NEAR(got[i], want[i % OCT_COUNTOF(want)], 0, 0);
    }
    data_test_end(&test);
}

// Whatever row is the first that is held: a rollout that is not there may have been of its episode.
static void
test_a_beginning_that_may_be_missing_is_not_one(void **state)
{
    (void)state;
    bool has_begun_first = false;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        data_test_begin(&test, seed);
        paused_record(64, 20 + seed);
        data_source *source = data_test_open(test.file);
        data_episodes episodes;
        data_episodes_find(&episodes, source);
        const replay_block *block = data_source_block(source, 0);
        assert_true(block->first > 0);
        assert_false(episodes.list[0].has_first);
        has_begun_first |=
            (*replay_block_flags(data_source_layout(source), block, 0) & WIRE_FIRST) != 0;
        data_episodes_free(&episodes);
        data_source_close(source);
        data_numbers table = numbers_of(test.file);
        (void)data_test_export(test.file, test.out, false, 0);
        data_numbers set = numbers_of(test.out);
        assert_int_equal(set.episodes, table.episodes);
        assert_int_equal(set.incomplete, table.incomplete);
        assert_int_equal(set.steps, table.steps);
        assert_int_equal(set.steps_of_parts, table.steps_of_parts);
        data_test_end(&test);
    }
    assert_true(has_begun_first);
}

// A stream of few rows has its block for long: when it was begun does not say when they came.
static void
test_the_last_episodes_are_those_of_slow_streams_too(void **state)
{
    (void)state;
    enum { BATCHES = 60, FAST = 20 };
    static test_actor actor;
    oct_reason why;
    wire_configure configure = test_configure(8192, WIRE_SAMPLER_UNIFORM);
    configure.streams = 2;
    data_test_begin(&test, 7);
    replay_file *file;
    T_OK(replay_file_create(&file, test.file, &configure, &why));
    replay_table *table = replay_table_create_in(&configure, file);
    test_actor_init(&actor, 5, 77);
    for (uint32_t b = 0; b < BATCHES; b++) {
        (void)test_batch_begin(&actor);
        for (uint32_t s = 0; s < 2; s++) { // episodes of one step
            uint32_t episodes = s == 0 ? 1 : FAST;
            test_batch_run(&actor, s, (uint64_t)b * episodes * 2, b);
            for (uint32_t i = 0; i < episodes; i++) {
                test_batch_row(&actor, WIRE_FIRST | WIRE_TERMINATED);
                actor.action[actor.batch.count - 1] = 0;
                test_batch_row(&actor, WIRE_END);
            }
        }
        assert_int_equal(test_insert(table, &actor.batch).kind, REPLAY_INSERT_TAKEN);
    }
    replay_table_destroy(table);
    replay_file_close(file);
    (void)data_test_export(test.file, test.out, false, 3 * (FAST + 1));
    data_source *source = data_test_open(test.out);
    uint32_t slow = 0;
    for (uint32_t i = 0; i < data_source_blocks(source); i++) {
        const replay_block *block = data_source_block(source, i);
        slow += block->stream == 0 ? block->count / 2 : 0;
        assert_true(*replay_block_version(data_source_layout(source), block, 0) >= BATCHES - 5);
    }
    assert_in_range(slow, 2, 4);
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
    oct_reason why = {""};
    data_source *source;
    assert_true(data_source_open(&source, path, NULL, &why) != OCT_OK);
    if (!strstr(why.text, words)) {
        fail_msg("'%s' is not in '%s'", words, why.text);
    }
}

static void
test_replay_files_are_left_alone(void **state)
{
    (void)state;
    oct_reason why;
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
    T_OK(replay_file_open(&file, test.file, &why));
    refused(test.file, "in use");
    replay_file_close(file);
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/environment.oct", test.folder);
    (void)unlink(path);
    refused(test.file, "--environment");
    data_test_end(&test);
}

// Steps of an environment whose rows have the same sizes, but are other numbers.
static void
test_rows_of_other_types_are_refused(void **state)
{
    (void)state;
    data_test_begin(&test, 5);
    data_test_record(&test, 2048, 3);
    const float low = -1, high = 1;
    wire_env_spec env = {
        .env_id = "Box-v0",
        .obs_dtype = 1,
        .obs_count = TEST_OBS_FLOATS,
        .action_kind = 2,
        .action_count = 1,
        .action_low = &low,
        .action_high = &high,
        .reward_threshold = 1,
    };
    data_test_environment(&test, &env);
    refused(test.file, "replay.oct: observations of Box-v0 have 16 bytes (float32) and actions 4 "
                       "(float32), the table's have 16 (float32) and 4 (int32)");
    env = (wire_env_spec){
        .env_id = "Bytes-v0",
        .obs_dtype = 2,
        .obs_count = 4 * TEST_OBS_FLOATS,
        .action_kind = 1,
        .action_count = DATA_ACTIONS,
        .reward_threshold = 1,
    };
    data_test_environment(&test, &env);
    refused(test.file,
            "16 bytes (not float32) and actions 4 (int32), the table's have 16 (float32)");
    data_test_end(&test);
}

static void
test_shards_of_other_rows_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t obs_bytes, extra_dim;
        uint64_t capacity;
        const char *words;
    } cases[] = {
        {20, 0, 8192,
         "replay-1.oct have 20 bytes of observation, 4 bytes of action and 0 more numbers, "
         "rows of the first shard 16, 4 and 0: name the files one by one"},
        {16, 1, 8192, "and 1 more numbers"},
        {16, 0, 64, "replay-1.oct has blocks of "},
    };
    oct_reason why;
    char path[128];
    data_test_begin(&test, 5);
    data_test_record(&test, 8192, 3);
    config_shard_name(test.file, 1, path, sizeof(path));
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        data_source_place place = {.shards = 2};
        data_source *source;
        replay_file *file;
        (void)snprintf(place.path, sizeof(place.path), "%s", test.file);
        (void)snprintf(place.home, sizeof(place.home), "%s", test.file);
        wire_configure configure = test_configure(cases[i].capacity, WIRE_SAMPLER_UNIFORM);
        configure.obs_bytes = cases[i].obs_bytes;
        configure.extra_dim = cases[i].extra_dim;
        T_OK(replay_file_create(&file, path, &configure, &why));
        replay_file_close(file);
        T_ERR(data_source_open_place(&source, &place, NULL, &why), OCT_EINVAL);
        assert_non_null(strstr(why.text, cases[i].words));
        assert_int_equal(unlink(path), 0);
    }
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
        cmocka_unit_test(test_the_last_episodes_have_ended),
        cmocka_unit_test(test_what_a_damaged_file_lacks_is_known),
        cmocka_unit_test(test_rows_that_no_data_set_has_are_not_written),
        cmocka_unit_test(test_an_episode_goes_on_behind_a_rollout),
        cmocka_unit_test(test_a_beginning_that_may_be_missing_is_not_one),
        cmocka_unit_test(test_the_last_episodes_are_those_of_slow_streams_too),
        cmocka_unit_test(test_what_is_known_goes_along),
        cmocka_unit_test(test_replay_files_are_left_alone),
        cmocka_unit_test(test_rows_of_other_types_are_refused),
        cmocka_unit_test(test_shards_of_other_rows_are_refused),
        cmocka_unit_test(test_spread_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
