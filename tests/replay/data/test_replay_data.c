// Data sets that are damaged, cut off or made up: refused in words, never a crash. Good ones:
// served as the table that they were recorded from.
#include "common/oct_reason.h"
#include "tests/replay/data/data_test.h"

#include "common/oct_bytes.h"
#include "replay/replay_recover.h"

static data_test test;
static uint8_t *bytes; // of a good data set, at a multiple of 64
static size_t length;

static int
set_up(void **state)
{
    (void)state;
    uint8_t *read;
    data_test_begin(&test, 9);
    data_test_record(&test, 2048, 6);
    (void)data_test_export(test.file, test.out, false, 0);
    T_OK(oct_file_read(test.out, 1u << 26, &read, &length));
    bytes = aligned_alloc(64, (length + 63) / 64 * 64);
    assert_non_null(bytes);
    memcpy(bytes, read, length);
    free(read);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(bytes);
    data_test_end(&test);
    return 0;
}

static oct_err
look(uint64_t count, oct_reason *why)
{
    replay_data *data;
    OCT_TRY(replay_data_view(&data, "FILE", bytes, count, why));
    oct_err err = replay_data_check(data, why);
    replay_data_close(data);
    return err;
}

static void
test_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    oct_reason why;
    T_OK(look(length, &why));
    for (size_t at = 0; at < length; at++) {
        uint8_t bit = (uint8_t)(1u << (at * 7 % 8));
        why.text[0] = 0;
        bytes[at] ^= bit;
        if (look(length, &why) != OCT_EINVAL || !strstr(why.text, "FILE")) {
            fail_msg("bit %u of byte %zu: '%s'", bit, at, why.text);
        }
        bytes[at] ^= bit;
    }
    T_OK(look(length, &why));
}

static void
test_any_other_length_is_refused(void **state)
{
    (void)state;
    oct_reason why;
    for (size_t count = 0; count < length; count += count < 5000 ? 1 : 97) {
        T_ERR(look(count, &why), OCT_EINVAL);
    }
}

static replay_block *
block_at(uint32_t index, replay_layout *layout)
{
    replay_data_header *header = (replay_data_header *)(void *)bytes;
    replay_data_header copy = *header;
    *layout = replay_data_header_make(&copy);
    return (replay_block *)(void *)(bytes + header->blocks_at + index * layout->bytes);
}

// A change that somebody made who can add up.
static void
made_up(size_t at_in_block, const void *value, size_t size, const char *words)
{
    oct_reason why = {""};
    uint8_t was[64];
    replay_layout layout;
    replay_block *block = block_at(1, &layout);
    uint8_t *at = (uint8_t *)block + at_in_block;
    uint32_t sum = block->checksum;
    memcpy(was, at, size);
    memcpy(at, value, size);
    block->checksum = replay_data_block_sum(&layout, block);
    T_ERR(look(length, &why), OCT_EINVAL);
    if (!strstr(why.text, words) || !strstr(why.text, "block 1")) {
        fail_msg("'%s' is not in '%s'", words, why.text);
    }
    memcpy(at, was, size);
    block->checksum = sum;
}

static void
test_rows_that_cannot_be_are_refused(void **state)
{
    (void)state;
    replay_layout layout;
    (void)block_at(0, &layout);
    const float nan = NAN;
    const int32_t action = DATA_ACTIONS, below = -1;
    const uint16_t none = 0, many = 65;
    const uint64_t elsewhere = 40;
    const uint32_t age = 3000, stream = WIRE_STREAMS_MAX;
    const uint8_t unknown = 0x80, end = WIRE_END | WIRE_TERMINATED,
                  first = WIRE_FIRST | WIRE_RANDOM;
    made_up(layout.obs, &nan, sizeof(nan), "observation");
    made_up(layout.reward, &nan, sizeof(nan), "reward");
    made_up(layout.action, &action, sizeof(action), "does not have");
    made_up(layout.action, &below, sizeof(below), "does not have");
    made_up(layout.flags + 3, &unknown, 1, "flags");
    made_up(layout.flags + 3, &end, 1, "flags");
    made_up(layout.flags + 3, &first, 1, "a misplaced");
    made_up(offsetof(replay_block, count), &none, sizeof(none), "rows");
    made_up(offsetof(replay_block, count), &many, sizeof(many), "rows");
    made_up(offsetof(replay_block, serial), &elsewhere, sizeof(elsewhere), "another block");
    made_up(offsetof(replay_block, next), &elsewhere, sizeof(elsewhere), "links");
    made_up(offsetof(replay_block, previous), &elsewhere, sizeof(elsewhere), "links");
    made_up(offsetof(replay_block, first), &elsewhere, sizeof(elsewhere), "follow");
    made_up(offsetof(replay_block, session), &elsewhere, sizeof(elsewhere), "follow");
    made_up(offsetof(replay_block, episode_age), &age, sizeof(age), "stream");
    made_up(offsetof(replay_block, stream), &stream, sizeof(stream), "stream");
}

static void
test_actions_of_a_box_are_within_its_bounds(void **state)
{
    (void)state;
    replay_data_env env = {.obs_dtype = 1,
                           .obs_count = 1,
                           .action_kind = 2,
                           .action_count = 3,
                           .action_low = {-2, 1, -INFINITY},
                           .action_high = {2, 2, INFINITY}};
    const struct {
        float action[3];
        bool is_inside;
    } cases[] = {
        {{-2, 2, 1e30f}, true},   {{2.0015f, 1, 0}, true}, // half of 4 has a tolerance of 0.002
        {{-2.0015f, 1, 0}, true}, {{2.01f, 1, 0}, false},      {{-2.01f, 1, 0}, false},
        {{0, 2.001f, 0}, false},  {{0, 0.999f, -9e9f}, false}, {{0, NAN, 0}, false},
    };
    replay_layout layout = replay_layout_make(REPLAY_BLOCK_ROWS_MAX, 4, 12, 0);
    replay_block *block = aligned_alloc(64, layout.bytes);
    assert_non_null(block);
    for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
        memset(block, 0, layout.bytes);
        block->count = 2;
        ((uint8_t *)block)[layout.flags + 1] = WIRE_END; // of which the zeros are no action
        memcpy((uint8_t *)block + layout.action, cases[i].action, sizeof(cases[i].action));
        const char *fault = replay_data_numbers_fault(&env, &layout, block);
        if ((fault == NULL) != cases[i].is_inside) {
            fail_msg("case %zu: %s", i, fault ? fault : "nothing");
        }
    }
    free(block);
}

// The same of the header.
static void
header_made_up(const char *words, void change(replay_data_header *))
{
    oct_reason why = {""};
    replay_data_header *header = (replay_data_header *)(void *)bytes, was = *header;
    change(header);
    header->crc = oct_crc32(0, header, offsetof(replay_data_header, crc));
    T_ERR(look(length, &why), OCT_EINVAL);
    if (!strstr(why.text, words)) {
        fail_msg("'%s' is not in '%s'", words, why.text);
    }
    *header = was;
}

static void
change_version(replay_data_header *header)
{
    header->version++;
}

static void
change_order(replay_data_header *header)
{
    header->byte_order = 0x04030201;
}

static void
change_blocks(replay_data_header *header)
{
    header->blocks = UINT32_MAX;
}

static void
change_places(replay_data_header *header)
{
    header->blocks_at += 64;
}

static void
change_rows(replay_data_header *header)
{
    header->block_rows = 63;
}

static void
change_shape(replay_data_header *header)
{
    header->env.obs_shape[0] = 3;
}

static void
change_actions(replay_data_header *header)
{
    header->env.action_kind = 2;
    header->env.action_count = UINT32_MAX;
}

static void
change_name(replay_data_header *header)
{
    memset(header->env.id, 'x', sizeof(header->env.id));
}

static void
change_maker(replay_data_header *header)
{
    memset(header->made_by, 'x', sizeof(header->made_by));
}

static void
test_headers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    header_made_up("version 2.1 of the format, this program reads 1.1", change_version);
    header_made_up("byte order", change_order);
    header_made_up("out of range", change_blocks);
    header_made_up("contradict", change_places);
    header_made_up("out of range", change_rows);
    header_made_up("obs_shape", change_shape);
    header_made_up("more than its memory holds", change_actions);
    header_made_up("more than its memory holds", change_name);
    header_made_up("its maker", change_maker);
}

static void
test_files_that_are_none_are_refused(void **state)
{
    (void)state;
    oct_reason why;
    replay_data *data;
    T_ERR(replay_data_open(&data, "/nonexistent/x", &why), OCT_ENOTFOUND);
    T_ERR(replay_data_open(&data, "/dev/null", &why), OCT_EINVAL);
    T_ERR(replay_data_open(&data, "/tmp", &why), OCT_EINVAL);
    T_OK(replay_data_open(&data, test.out, &why));
    wire_env_spec env;
    replay_data_env_view(&env, &data->header->env);
    assert_string_equal(env.env_id, "Test-v0");
    assert_null(env.action_low);
    replay_data_close(data);
}

// ---- served

// As the learner may ask for it.
static wire_configure
wanted_table(wire_window window, uint32_t steps, uint32_t stride)
{
    wire_configure wanted = test_configure(4096, WIRE_SAMPLER_UNIFORM);
    wanted.run_id = 99;
    wanted.streams = 8;
    wanted.window = window;
    wanted.window_steps = steps;
    wanted.window_stride = stride;
    wanted.min_size = 1000;
    wanted.samples_per_insert = 4;
    wanted.tolerance = 0.1;
    return wanted;
}

static replay_table *
table_over(const replay_data *data, const wire_configure *wanted)
{
    oct_reason why;
    wire_configure fitted;
    T_OK(replay_data_fit(&fitted, data, wanted, &why));
    return replay_table_create_over(&fitted, data);
}

// Of the table that was recorded, with these windows.
static uint64_t
windows_of_table(const wire_configure *wanted)
{
    oct_reason why;
    replay_file *file;
    replay_recovered recovered;
    replay_table *table;
    T_OK(replay_file_open_copy(&file, test.file, &why));
    T_OK(replay_recover(&recovered, file, &why));
    T_OK(replay_table_restore(&table, file, recovered.is_exact));
    wire_configure changed = *replay_table_configure(table);
    changed.window = wanted->window;
    changed.window_steps = wanted->window_steps;
    changed.window_stride = wanted->window_stride;
    replay_table_set(table, &changed);
    uint64_t size = replay_table_stats_get(table).size;
    replay_table_destroy(table);
    replay_file_close(file);
    return size;
}

static void
test_windows_are_those_of_the_table(void **state)
{
    (void)state;
    oct_reason why;
    replay_data *data;
    T_OK(replay_data_open(&data, test.out, &why));
    for (uint32_t steps = 1; steps <= 12; steps += 3) {
        const wire_configure cases[] = {wanted_table(WIRE_WINDOW_N_STEP, steps, 0),
                                        wanted_table(WIRE_WINDOW_SEQUENCE, steps, 1),
                                        wanted_table(WIRE_WINDOW_SEQUENCE, steps, steps),
                                        wanted_table(WIRE_WINDOW_SEQUENCE, steps, 0)};
        for (size_t i = 0; i < OCT_COUNTOF(cases); i++) {
            replay_table *table = table_over(data, &cases[i]);
            uint64_t size = replay_table_stats_get(table).size;
            assert_true(size > 10);
            assert_int_equal(size, windows_of_table(&cases[i]));
            replay_table_destroy(table);
        }
    }
    replay_data_close(data);
}

static void
test_nothing_holds_samples_back(void **state)
{
    (void)state;
    oct_reason why;
    replay_data *data;
    wire_sampled sampled;
    T_OK(replay_data_open(&data, test.out, &why));
    wire_configure wanted = wanted_table(WIRE_WINDOW_N_STEP, 1, 0);
    wanted.sampler = WIRE_SAMPLER_PRIORITIZED;
    replay_table *table = table_over(data, &wanted);
    replay_table_stats stats = replay_table_stats_get(table);
    static bool is_drawn[DATA_STREAMS][DATA_ROWS_MAX];
    uint64_t different = 0;
    for (int i = 0; i < 400; i++) {
        assert_int_equal(replay_table_may_sample(table, 64, 2, 0), 2);
        replay_table_sample(&sampled, table, 64, 2);
        for (uint32_t j = 0; j < sampled.count; j++) {
            float obs[TEST_OBS_FLOATS], next[TEST_OBS_FLOATS];
            memcpy(obs, sampled.obs + j * sizeof(obs), sizeof(obs));
            memcpy(next, sampled.next + j * sizeof(next), sizeof(next));
            T_NEAR(sampled.reward[j], (double)obs[1], 0, 0);
            T_NEAR(next[1], (double)obs[1] + 1, 0, 0);
            T_NEAR(sampled.probability[j], 1 / (double)stats.size, 0, 1e-5);
            bool *drawn = &is_drawn[(uint32_t)obs[2]][(uint32_t)obs[1]];
            different += !*drawn;
            *drawn = true;
        }
    }
    assert_int_equal(different, stats.size); // each of them, sooner or later
    assert_int_equal(replay_table_stats_get(table).rows_taken, 0);
    // A priority is what draws go by.
    uint64_t key = sampled.key[0];
    float priority = 1e6f;
    replay_table_update(table, &(wire_priorities){.count = 1, .key = &key, .priority = &priority});
    assert_int_equal(replay_table_may_sample(table, 64, 1, 0), 1);
    replay_table_sample(&sampled, table, 64, 1);
    uint32_t again = 0;
    for (uint32_t j = 0; j < sampled.count; j++) {
        again += sampled.key[j] == key;
    }
    assert_true(again > 32);
    // And nothing comes in.
    static test_actor actor;
    test_actor_init(&actor, 1, 1);
    replay_insert insert = test_insert(table, test_batch_steps(&actor, 4));
    assert_int_equal(insert.kind, REPLAY_INSERT_REJECTED);
    assert_int_equal(replay_table_stats_get(table).rows, stats.rows);
    replay_table_destroy(table);
    replay_data_close(data);
}

// Windows of one action that were drawn from a data set whose numbers beside an action are twice
// the row's number; extra_dim: of the answer.
static void
served_check(const replay_data *data, const wire_configure *wanted, uint32_t extra_dim)
{
    wire_sampled sampled;
    bool is_n_step = wanted->window == WIRE_WINDOW_N_STEP;
    replay_table *table = table_over(data, wanted);
    assert_true(replay_table_stats_get(table).memory_bytes < 1u << 30); // less those of the file
    assert_int_equal(replay_table_may_sample(table, 64, 1, 0), 1);
    replay_table_sample(&sampled, table, 64, 1);
    assert_int_equal(sampled.extra_dim, extra_dim);
    for (uint32_t i = 0; i < sampled.count; i++) {
        float obs[TEST_OBS_FLOATS];
        memcpy(obs, sampled.obs + i * (is_n_step ? 1 : 2) * sizeof(obs), sizeof(obs));
        uint8_t flags = test.flags[(uint32_t)obs[2]][(uint32_t)obs[1]];
        double number = (flags & WIRE_END) != 0 ? 0 : (double)obs[1];
        T_NEAR(sampled.reward[i], number, 0, 0);
        if (!is_n_step) {
            assert_int_equal(sampled.flags[i] & ~WIRE_ROLLOUT, flags);
        }
        if (extra_dim > 0) {
            T_NEAR(sampled.extra[i], 2 * number, 0, 0);
        }
    }
    replay_table_destroy(table);
}

static void
test_what_is_beside_an_action_is_left_out_where_nobody_reads_it(void **state)
{
    (void)state;
    static data_test before;
    oct_reason why;
    replay_data *data;
    wire_configure fitted;
    before = test;
    data_test_begin(&test, 5);
    test.extra_dim = 1;
    data_test_record(&test, 2048, 6);
    (void)data_test_export(test.file, test.out, false, 0);
    T_OK(replay_data_open(&data, test.out, &why));
    assert_int_equal(data->header->extra_dim, 1);
    wire_configure n_step = wanted_table(WIRE_WINDOW_N_STEP, 1, 0);
    wire_configure sequence = wanted_table(WIRE_WINDOW_SEQUENCE, 1, 1);
    served_check(data, &n_step, 0); // as TD3 learns from what SAC recorded
    served_check(data, &sequence, 0);
    n_step.extra_dim = sequence.extra_dim = 1;
    served_check(data, &n_step, 1);
    served_check(data, &sequence, 1);
    n_step.extra_dim = sequence.extra_dim = 3;
    served_check(data, &n_step, 0); // as SAC learns from what TD3 recorded
    T_ERR(replay_data_fit(&fitted, data, &sequence, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "has 1 more numbers with each action, but algo.name needs 3"));
    replay_data_close(data);
    data_test_end(&test);
    test = before;
}

static void
test_a_learner_of_something_else_is_refused(void **state)
{
    (void)state;
    oct_reason why;
    replay_data *data;
    wire_configure fitted;
    T_OK(replay_data_open(&data, test.out, &why));
    wire_configure wanted = wanted_table(WIRE_WINDOW_N_STEP, 1, 0);
    wanted.obs_bytes = 20;
    T_ERR(replay_data_fit(&fitted, data, &wanted, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "the table's have 20 (float32) and 4 (int32)"));
    wanted = wanted_table(WIRE_WINDOW_N_STEP, 1, 0);
    wanted.action_is_float = true;
    T_ERR(replay_data_fit(&fitted, data, &wanted, &why), OCT_EINVAL);
    wanted = wanted_table(WIRE_WINDOW_SEQUENCE, 1, 1);
    wanted.extra_dim = 1;
    T_ERR(replay_data_fit(&fitted, data, &wanted, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "with each action"));
    wanted = wanted_table(WIRE_WINDOW_N_STEP, 1, 0);
    wanted.sampler = WIRE_SAMPLER_FIFO;
    T_ERR(replay_data_fit(&fitted, data, &wanted, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "fifo"));
    replay_data_close(data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_flipped_bit_is_refused),
        cmocka_unit_test(test_any_other_length_is_refused),
        cmocka_unit_test(test_rows_that_cannot_be_are_refused),
        cmocka_unit_test(test_actions_of_a_box_are_within_its_bounds),
        cmocka_unit_test(test_headers_that_cannot_be_are_refused),
        cmocka_unit_test(test_files_that_are_none_are_refused),
        cmocka_unit_test(test_windows_are_those_of_the_table),
        cmocka_unit_test(test_nothing_holds_samples_back),
        cmocka_unit_test(test_what_is_beside_an_action_is_left_out_where_nobody_reads_it),
        cmocka_unit_test(test_a_learner_of_something_else_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
