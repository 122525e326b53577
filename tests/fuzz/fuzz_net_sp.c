// Streams through the framing of SP: direction, tag and whether they are requests, the sizes of
// pieces there and back, then the bytes. Whatever they are and wherever they are cut, nothing is
// written beyond its bound, pieces make what the whole makes, and what is accepted turns back into
// itself.
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "net/net_sp.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX  4096
#define BYTES_MAX  300 // of a message: small, so that lengths around it come up
#define HEAD_BYTES 3

typedef struct made {
    uint8_t bytes[NET_SP_OUT_BYTES(INPUT_MAX)];
    size_t count;
    oct_err err;
} made;

// In pieces of at most step bytes.
static void
convert(made *out, net_sp_direction direction, uint64_t tag, bool has_number, const uint8_t *in,
        size_t in_bytes, size_t step)
{
    static uint8_t piece[NET_SP_OUT_BYTES(NET_SP_OUT_BYTES(INPUT_MAX))];
    net_sp_stream stream;
    net_sp_stream_init(&stream, direction, BYTES_MAX);
    stream.tag = tag;
    stream.has_number = has_number;
    out->count = 0;
    out->err = OCT_OK;
    for (size_t at = 0; at < in_bytes && out->err == OCT_OK; at += step) {
        size_t take = OCT_MIN(step, in_bytes - at), count = 0;
        out->err = net_sp_convert(&stream, in + at, take, piece, &count);
        OCT_ASSERT(count <= NET_SP_OUT_BYTES(take));
        OCT_ASSERT(out->count + count <= sizeof(out->bytes));
        memcpy(out->bytes + out->count, piece, count);
        out->count += count;
    }
}

static void
expect_header(const uint8_t *in, size_t size)
{
    uint16_t protocol;
    uint8_t again[NET_SP_HEADER_BYTES];
    if (size >= NET_SP_HEADER_BYTES && net_sp_header_read(in, &protocol)) {
        net_sp_header_write(again, protocol);
        OCT_ASSERT(memcmp(again, in, sizeof(again)) == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static made whole, pieces, back;
    if (size < HEAD_BYTES || size > INPUT_MAX) {
        return 0;
    }
    const uint8_t *in = data + HEAD_BYTES;
    size_t n = size - HEAD_BYTES;
    bool to_local = data[0] % 2 == 0;
    uint64_t tag = to_local && data[0] % 4 == 0 ? 0x0102030405060708u : 0;
    bool has_number = tag != 0 && data[0] % 8 == 4;
    net_sp_direction direction = to_local ? NET_SP_TO_LOCAL : NET_SP_FROM_LOCAL;
    expect_header(in, n);
    convert(&whole, direction, tag, has_number, in, n, INPUT_MAX);
    convert(&pieces, direction, tag, has_number, in, n, 1 + data[1]);
    OCT_ASSERT(pieces.err == whole.err && pieces.count == whole.count);
    OCT_ASSERT(memcmp(pieces.bytes, whole.bytes, whole.count) == 0);
    if (whole.err != OCT_OK) {
        return 0;
    }
    fuzz_accept();
    if (tag == 0) { // what was made of it turns back into it
        convert(&back, to_local ? NET_SP_FROM_LOCAL : NET_SP_TO_LOCAL, 0, false, whole.bytes,
                whole.count, 1 + data[2]);
        OCT_ASSERT(back.err == OCT_OK && back.count <= n);
        OCT_ASSERT(memcmp(back.bytes, in, back.count) == 0);
    }
    return 0;
}

// Messages of all lengths up to the longest, one after the other.
void
fuzz_seeds(void)
{
    static const uint32_t lengths[] = {0, 1, 0, 7, 8, BYTES_MAX, 64, BYTES_MAX - 1, 3};
    const uint8_t requests = 4; // the last kind
    uint8_t seed[INPUT_MAX] = {0};
    for (uint8_t kind = 0; kind <= requests; kind++) {
        uint8_t header[HEAD_BYTES] = {kind, 6, 9};
        size_t n = sizeof(header);
        memcpy(seed, header, n);
        for (size_t i = 0; i < OCT_COUNTOF(lengths); i++) {
            if (kind % 2 != 0) {
                seed[n++] = 1;
            }
            memset(seed + n, 0, 8);
            uint32_t length = lengths[i];
            if (kind == requests) {
                length = OCT_MIN(length + NET_SP_NUMBER_BYTES, BYTES_MAX);
                seed[n + 8] = 0x80;
            }
            seed[n + 6] = (uint8_t)(length >> 8);
            seed[n + 7] = (uint8_t)length;
            n += 8 + length;
        }
        fuzz_seed(seed, n);
    }
    net_sp_header_write(seed + HEAD_BYTES, 16);
    fuzz_seed(seed, HEAD_BYTES + NET_SP_HEADER_BYTES - 1);
}
