// Readers and writers of bytes keep their bounds and stay failed; check sums have their published
// values.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_bytes.h"

static void
test_reader_that_ran_past_its_end_stays_failed(void **state)
{
    (void)state;
    const uint8_t bytes[3] = {1, 2, 3};
    oct_reader reader = {.at = bytes, .left = sizeof(bytes)};
    assert_int_equal(oct_read_u32(&reader), 0);
    assert_true(reader.failed);
    assert_int_equal(oct_read_u8(&reader), 0);
    assert_null(oct_read_bytes(&reader, 0));
    assert_int_equal(reader.left, 3);
}

static void
test_reader_refuses_a_count_that_would_wrap(void **state)
{
    (void)state;
    const uint8_t bytes[8] = {0};
    oct_reader reader = {.at = bytes, .left = sizeof(bytes)};
    assert_null(oct_read_bytes(&reader, SIZE_MAX));
    assert_true(reader.failed);
}

static void
test_writer_that_is_full_writes_nothing_and_stays_failed(void **state)
{
    (void)state;
    uint8_t bytes[4] = {9, 9, 9, 9};
    oct_writer writer = {.base = bytes, .capacity = 3};
    oct_write_u32(&writer, 0);
    assert_true(writer.failed);
    oct_write_u8(&writer, 0);
    assert_int_equal(writer.used, 0);
    assert_int_equal(bytes[0], 9);
}

struct fields {
    bool flag;
    uint32_t count;
    uint64_t version;
    float weight;
    double mean;
    char name[3];
};

static void
fields(const oct_archive *archive, struct fields *of)
{
    oct_archive_bool(archive, &of->flag);
    oct_archive_u32(archive, &of->count);
    (void)oct_archive_check(archive, of->count <= 5);
    oct_archive_u64(archive, &of->version);
    oct_archive_f32(archive, &of->weight);
    oct_archive_f64(archive, &of->mean);
    oct_archive_bytes(archive, of->name, sizeof(of->name));
}

static void
test_archive_reads_what_it_wrote(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct fields in = {true, 5, UINT64_MAX, 0.5F, -0.25, {'a', 'b', 'c'}}, out = {0};
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    fields(&(oct_archive){.writer = &writer}, &in);
    assert_int_equal(writer.used, 1 + 4 + 8 + 4 + 8 + 3);
    oct_reader reader = {.at = bytes, .left = writer.used};
    fields(&(oct_archive){.reader = &reader}, &out);
    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
    assert_true(out.flag && out.count == 5 && out.version == UINT64_MAX && out.weight == 0.5F &&
                out.mean == -0.25);
    assert_memory_equal(out.name, in.name, sizeof(in.name));
}

static void
test_archive_fails_where_a_field_is_impossible(void **state)
{
    (void)state;
    uint8_t bytes[64];
    struct fields in = {.count = 6}, out = {0};
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    fields(&(oct_archive){.writer = &writer}, &in);
    assert_false(writer.failed);
    oct_reader reader = {.at = bytes, .left = writer.used};
    assert_true(oct_archive_check(&(oct_archive){.reader = &reader}, true));
    fields(&(oct_archive){.reader = &reader}, &out);
    assert_true(reader.failed);
    assert_false(oct_archive_check(&(oct_archive){.reader = &reader}, true));
}

static void
test_writer_without_memory_measures(void **state)
{
    (void)state;
    oct_writer writer = {0};
    oct_write_u64(&writer, 1);
    oct_write_bytes(&writer, "abc", 3);
    oct_write_bytes(&writer, NULL, 0);
    assert_false(writer.failed);
    assert_int_equal(writer.used, 11);
}

static void
test_bytes_are_little_endian(void **state)
{
    (void)state;
    uint8_t bytes[4];
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    oct_write_u32(&writer, 0x04030201);
    assert_memory_equal(bytes, ((uint8_t[]){1, 2, 3, 4}), 4);
}

static void
test_every_type_comes_back_and_the_last_byte_is_reached(void **state)
{
    (void)state;
    uint8_t bytes[30];
    oct_writer writer = {.base = bytes, .capacity = sizeof(bytes)};
    oct_write_u8(&writer, 0xFE);
    oct_write_u16(&writer, 0xFEDC);
    oct_write_u32(&writer, 0xFEDCBA98);
    oct_write_u64(&writer, 0xFEDCBA9876543210u);
    oct_write_f32(&writer, -0.1f);
    oct_write_f64(&writer, 1e-300);
    oct_write_bytes(&writer, "end", 3);
    assert_int_equal(writer.used, sizeof(bytes));
    oct_reader reader = {.at = bytes, .left = writer.used};
    assert_int_equal(oct_read_u8(&reader), 0xFE);
    assert_int_equal(oct_read_u16(&reader), 0xFEDC);
    assert_int_equal(oct_read_u32(&reader), 0xFEDCBA98);
    assert_true(oct_read_u64(&reader) == 0xFEDCBA9876543210u);
    assert_true(oct_read_f32(&reader) == -0.1f);
    assert_true(oct_read_f64(&reader) == 1e-300);
    assert_memory_equal(oct_read_bytes(&reader, 3), "end", 3);
    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
}

// The check values of the catalogue of CRC algorithms.
static void
test_crcs_have_their_check_values(void **state)
{
    (void)state;
    assert_int_equal(oct_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(oct_crc32c(0, "123456789", 9), 0xE3069283);
    assert_int_equal(oct_crc32(0, "", 0), 0);
    assert_int_equal(oct_crc32c(0, NULL, 0), 0);
}

static uint32_t
crc_bit_by_bit(uint32_t polynomial, const uint8_t *bytes, size_t count)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
    }
    return ~crc;
}

static void
test_crcs_equal_the_definition_at_every_length_and_start(void **state)
{
    (void)state;
    uint8_t bytes[80];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 167 + 13);
    }
    for (size_t start = 0; start < 8; start++) {
        for (size_t count = 0; start + count <= sizeof(bytes); count++) {
            assert_int_equal(oct_crc32(0, bytes + start, count),
                             crc_bit_by_bit(0xEDB88320u, bytes + start, count));
            assert_int_equal(oct_crc32c(0, bytes + start, count),
                             crc_bit_by_bit(0x82F63B78u, bytes + start, count));
        }
    }
}

// Long enough for the folds of every width, and begun anywhere.
static void
test_the_fast_crc_equals_the_table(void **state)
{
    (void)state;
    static uint8_t bytes[1200];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * i * 31 + i / 7);
    }
    for (size_t count = 0; count < sizeof(bytes) - 16; count += 1 + count / 300) {
        size_t start = count % 16;
        uint32_t crc = (uint32_t)count * 0x9E3779B9u;
        assert_int_equal(oct_crc32(crc, bytes + start, count),
                         oct_crc32_table(crc, bytes + start, count));
    }
    assert_int_equal(oct_crc32_table(0, "123456789", 9), 0xCBF43926);
}

static void
test_crc_goes_on_from_an_earlier_one(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= 9; cut++) {
        uint32_t begun = oct_crc32c(0, "123456789", cut);
        assert_int_equal(oct_crc32c(begun, &"123456789"[cut], 9 - cut), 0xE3069283);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_that_ran_past_its_end_stays_failed),
        cmocka_unit_test(test_reader_refuses_a_count_that_would_wrap),
        cmocka_unit_test(test_writer_that_is_full_writes_nothing_and_stays_failed),
        cmocka_unit_test(test_archive_reads_what_it_wrote),
        cmocka_unit_test(test_archive_fails_where_a_field_is_impossible),
        cmocka_unit_test(test_writer_without_memory_measures),
        cmocka_unit_test(test_bytes_are_little_endian),
        cmocka_unit_test(test_every_type_comes_back_and_the_last_byte_is_reached),
        cmocka_unit_test(test_crcs_have_their_check_values),
        cmocka_unit_test(test_crcs_equal_the_definition_at_every_length_and_start),
        cmocka_unit_test(test_the_fast_crc_equals_the_table),
        cmocka_unit_test(test_crc_goes_on_from_an_earlier_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
