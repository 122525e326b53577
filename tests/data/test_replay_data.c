// Data sets that are damaged, cut off or made up: refused in words, never a crash.
#include "tests/data/data_test.h"

#include "common/oct_bytes.h"

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
look(uint64_t count, char *reason, size_t reason_size)
{
    replay_data *data;
    OCT_TRY(replay_data_view(&data, "FILE", bytes, count, reason, reason_size));
    oct_err err = replay_data_check(data, reason, reason_size);
    replay_data_close(data);
    return err;
}

static void
test_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    char reason[256];
    T_OK(look(length, reason, sizeof(reason)));
    for (size_t at = 0; at < length; at++) {
        uint8_t bit = (uint8_t)(1u << (at * 7 % 8));
        reason[0] = 0;
        bytes[at] ^= bit;
        if (look(length, reason, sizeof(reason)) != OCT_EINVAL || !strstr(reason, "FILE")) {
            fail_msg("bit %u of byte %zu: '%s'", bit, at, reason);
        }
        bytes[at] ^= bit;
    }
    T_OK(look(length, reason, sizeof(reason)));
}

static void
test_any_other_length_is_refused(void **state)
{
    (void)state;
    char reason[256];
    for (size_t count = 0; count < length; count += count < 5000 ? 1 : 97) {
        T_ERR(look(count, reason, sizeof(reason)), OCT_EINVAL);
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
    char reason[256] = "";
    uint8_t was[64];
    replay_layout layout;
    replay_block *block = block_at(1, &layout);
    uint8_t *at = (uint8_t *)block + at_in_block;
    uint32_t sum = block->checksum;
    memcpy(was, at, size);
    memcpy(at, value, size);
    block->checksum = replay_data_block_sum(&layout, block);
    T_ERR(look(length, reason, sizeof(reason)), OCT_EINVAL);
    if (!strstr(reason, words) || !strstr(reason, "block 1")) {
        fail_msg("'%s' is not in '%s'", words, reason);
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
    made_up(layout.flags + 3, &first, 1, "out of place");
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

// The same of the header.
static void
header_made_up(const char *words, void change(replay_data_header *))
{
    char reason[256] = "";
    replay_data_header *header = (replay_data_header *)(void *)bytes, was = *header;
    change(header);
    header->crc = oct_crc32(0, header, offsetof(replay_data_header, crc));
    T_ERR(look(length, reason, sizeof(reason)), OCT_EINVAL);
    if (!strstr(reason, words)) {
        fail_msg("'%s' is not in '%s'", words, reason);
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
    header_made_up("room", change_actions);
    header_made_up("room", change_name);
    header_made_up("made it", change_maker);
}

static void
test_files_that_are_none_are_refused(void **state)
{
    (void)state;
    char reason[256];
    replay_data *data;
    T_ERR(replay_data_open(&data, "/nonexistent/x", reason, sizeof(reason)), OCT_ENOTFOUND);
    T_ERR(replay_data_open(&data, "/dev/null", reason, sizeof(reason)), OCT_EINVAL);
    T_ERR(replay_data_open(&data, "/tmp", reason, sizeof(reason)), OCT_EINVAL);
    T_OK(replay_data_open(&data, test.out, reason, sizeof(reason)));
    wire_env_spec env;
    replay_data_env_view(&env, &data->header->env);
    assert_string_equal(env.env_id, "Test-v0");
    assert_null(env.action_low);
    replay_data_close(data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_flipped_bit_is_refused),
        cmocka_unit_test(test_any_other_length_is_refused),
        cmocka_unit_test(test_rows_that_cannot_be_are_refused),
        cmocka_unit_test(test_headers_that_cannot_be_are_refused),
        cmocka_unit_test(test_files_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
