// The byte readers and writers: a list of calls never leaves the block (a sanitizer watches) and
// succeeds or fails as a model says. First bytes: the block's length, and reader or writer; then
// two bytes for each call, what and how much.
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "tests/fuzz/fuzz.h"

static const size_t sizes[] = {1, 2, 4, 8, 4, 8};

static uint64_t
read_one(oct_reader *reader, uint32_t kind)
{
    switch (kind) {
    case 0:
        return oct_read_u8(reader);
    case 1:
        return oct_read_u16(reader);
    case 2:
        return oct_read_u32(reader);
    case 3:
        return oct_read_u64(reader);
    case 4:
        return oct_read_f32(reader) == 0 ? 0 : 0x5A5A5A5Au;
    default:
        return oct_read_f64(reader) == 0 ? 0 : 0x5A5A5A5A5A5A5A5Au;
    }
}

static void
read_all(oct_reader *calls, const uint8_t *bytes, size_t length)
{
    oct_reader reader = {.at = bytes, .left = length};
    size_t left = length;
    bool failed = false;
    while (calls->left >= 2) {
        uint32_t kind = oct_read_u8(calls) % 7u;
        uint8_t argument = oct_read_u8(calls);
        size_t size = kind < 6 ? sizes[kind] : SIZE_MAX >> (argument % 64u);
        failed = failed || size > left;
        left -= failed ? 0 : size;
        if (kind < 6) {
            uint64_t full = 0x5A5A5A5A5A5A5A5Au >> (64 - 8 * size);
            OCT_ASSERT(read_one(&reader, kind) == (failed ? 0 : full));
        } else {
            const uint8_t *view = oct_read_bytes(&reader, size);
            OCT_ASSERT((view == NULL) == failed);
            OCT_ASSERT(view == NULL || view + size <= bytes + length);
        }
        OCT_ASSERT(reader.left == left && reader.failed == failed);
    }
}

static void
write_one(oct_writer *writer, uint32_t kind, size_t size)
{
    static const uint8_t source[256];
    switch (kind) {
    case 0:
        oct_write_u8(writer, 1);
        break;
    case 1:
        oct_write_u16(writer, 1);
        break;
    case 2:
        oct_write_u32(writer, 1);
        break;
    case 3:
        oct_write_u64(writer, 1);
        break;
    case 4:
        oct_write_f32(writer, 1.0f);
        break;
    case 5:
        oct_write_f64(writer, 1.0);
        break;
    default:
        oct_write_bytes(writer, source, size);
    }
}

static void
write_all(oct_reader *calls, uint8_t *bytes, size_t length)
{
    oct_writer writer = {.base = bytes, .capacity = length};
    size_t used = 0;
    bool failed = false;
    while (calls->left >= 2) {
        uint32_t kind = oct_read_u8(calls) % 7u;
        uint8_t argument = oct_read_u8(calls);
        size_t size = kind < 6 ? sizes[kind] : argument;
        failed = failed || size > length - used;
        used += failed ? 0 : size;
        write_one(&writer, kind, size);
        OCT_ASSERT(writer.used == used && writer.failed == failed);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader calls = {.at = data, .left = size};
    size_t length = oct_read_u8(&calls);
    uint8_t *bytes = malloc(length + (length == 0));
    OCT_ASSERT(bytes != NULL);
    memset(bytes, 0x5A, length);
    if (oct_read_u8(&calls) % 2 == 0) {
        read_all(&calls, bytes, length);
    } else {
        write_all(&calls, bytes, length);
    }
    fuzz_accept();
    free(bytes);
    return 0;
}

void
fuzz_seeds(void)
{
    for (uint8_t kind = 0; kind < 2; kind++) {
        const uint8_t seed[] = {40, kind, 0, 0, 1,  0, 2,  0, 3,  0, 4,
                                0,  5,    0, 6, 62, 6, 10, 6, 60, 3, 0};
        fuzz_seed(seed, sizeof(seed));
    }
}
