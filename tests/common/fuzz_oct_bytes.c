// Fuzzes the byte readers and writers: random calls never leave the block (ASan watches) and
// succeed or fail as a model says.
#include <stdlib.h>

#include "tests/support/oct_test.h"

#include "common/oct_bytes.h"
#include "common/oct_rng.h"

enum { ROUNDS = 200000, BYTES_MAX = 64 };

// Random reads over a block of exact length: never beyond it (ASan watches), left and failed as a
// model says.
static void
read_at_random(oct_rng *rng)
{
    size_t length = oct_rng_below(rng, BYTES_MAX);
    uint8_t *bytes = malloc(length + (length == 0));
    memset(bytes, 0x5A, length);
    oct_reader reader = {.at = bytes, .left = length};
    size_t left = length;
    bool failed = false;
    for (uint32_t i = oct_rng_below(rng, 20); i > 0; i--) {
        static const size_t sizes[] = {1, 2, 4, 8, 4, 8};
        uint32_t kind = oct_rng_below(rng, 7);
        size_t size = kind < 6 ? sizes[kind] : oct_rng_u64(rng) >> oct_rng_below(rng, 64);
        failed = failed || size > left;
        left -= failed ? 0 : size;
        switch (kind) {
        case 0:
            assert_int_equal(oct_read_u8(&reader), failed ? 0 : 0x5A);
            break;
        case 1:
            assert_int_equal(oct_read_u16(&reader), failed ? 0 : 0x5A5A);
            break;
        case 2:
            assert_int_equal(oct_read_u32(&reader), failed ? 0 : 0x5A5A5A5A);
            break;
        case 3:
            assert_true(oct_read_u64(&reader) == (failed ? 0 : 0x5A5A5A5A5A5A5A5Au));
            break;
        case 4:
            assert_true((oct_read_f32(&reader) == 0) == failed);
            break;
        case 5:
            assert_true((oct_read_f64(&reader) == 0) == failed);
            break;
        default: {
            const uint8_t *view = oct_read_bytes(&reader, size);
            assert_true((view == NULL) == failed);
            assert_true(view == NULL || view + size <= bytes + length);
        }
        }
        assert_int_equal(reader.left, left);
        assert_int_equal(reader.failed, failed);
    }
    free(bytes);
}

static void
write_at_random(oct_rng *rng)
{
    static const uint8_t source[BYTES_MAX] = {0};
    size_t capacity = oct_rng_below(rng, BYTES_MAX), used = 0;
    uint8_t *bytes = malloc(capacity + (capacity == 0));
    oct_writer writer = {.base = bytes, .capacity = capacity};
    bool failed = false;
    for (uint32_t i = oct_rng_below(rng, 20); i > 0; i--) {
        size_t size = oct_rng_below(rng, 2) == 0 ? 8 : oct_rng_below(rng, BYTES_MAX);
        failed = failed || size > capacity - used;
        used += failed ? 0 : size;
        if (size == 8) {
            oct_write_u64(&writer, 0);
        } else {
            oct_write_bytes(&writer, source, size);
        }
        assert_int_equal(writer.used, used);
        assert_int_equal(writer.failed, failed);
    }
    free(bytes);
}

static void
test_readers_and_writers_never_leave_their_block(void **state)
{
    (void)state;
    oct_rng rng;
    oct_rng_init(&rng, 2, 0);
    for (int round = 0; round < ROUNDS; round++) {
        read_at_random(&rng);
        write_at_random(&rng);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readers_and_writers_never_leave_their_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
