// Random streams through the framing of SP: whatever the bytes and wherever they are cut, nothing
// is written beyond its bound, pieces make what the whole makes, and what is accepted turns back
// into itself. usage: fuzz_sp [ITERATIONS [SEED]]

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_rng.h"
#include "net/net_sp.h"

#define INPUT_MAX 4096
#define BYTES_MAX 300 // of a message: small, so that lengths around it come up

typedef struct made {
    uint8_t bytes[NET_SP_OUT_BYTES(INPUT_MAX)];
    size_t count;
    oct_err err;
} made;

// In pieces of at most step bytes.
static void
convert(made *out, net_sp_direction direction, uint64_t tag, const uint8_t *in, size_t in_bytes,
        size_t step)
{
    static uint8_t piece[NET_SP_OUT_BYTES(INPUT_MAX)];
    net_sp_stream stream;
    net_sp_stream_init(&stream, direction, BYTES_MAX);
    stream.tag = tag;
    *out = (made){.err = OCT_OK};
    for (size_t at = 0; at < in_bytes && out->err == OCT_OK; at += step) {
        size_t take = OCT_MIN(step, in_bytes - at), count = 0;
        out->err = net_sp_convert(&stream, in + at, take, piece, &count);
        OCT_ASSERT(count <= NET_SP_OUT_BYTES(take));
        OCT_ASSERT(out->count + count <= sizeof(out->bytes));
        memcpy(out->bytes + out->count, piece, count);
        out->count += count;
    }
}

// Messages with lengths that are mostly right, cut at the end, some bytes turned.
static size_t
input_make(uint8_t *in, net_sp_direction direction, oct_rng *rng)
{
    size_t n = 0;
    while (n + 9 + BYTES_MAX + 4 < INPUT_MAX && oct_rng_below(rng, 20) != 0) {
        uint32_t length = oct_rng_below(rng, BYTES_MAX + (oct_rng_below(rng, 50) == 0 ? 4 : 1));
        if (direction == NET_SP_FROM_LOCAL) {
            in[n++] = 1;
        }
        memset(in + n, 0, 6);
        in[n + 6] = (uint8_t)(length >> 8);
        in[n + 7] = (uint8_t)length;
        n += 8;
        for (uint32_t i = 0; i < length; i++) {
            in[n++] = (uint8_t)oct_rng_below(rng, 256);
        }
    }
    n -= n > 0 ? oct_rng_below(rng, (uint32_t)OCT_MIN(n, (size_t)20)) : 0;
    if (n > 0 && oct_rng_below(rng, 4) == 0) {
        in[oct_rng_below(rng, (uint32_t)n)] ^= (uint8_t)(1u << oct_rng_below(rng, 8));
    }
    return n;
}

int
main(int argc, char **argv)
{
    uint64_t iterations = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    oct_rng rng;
    oct_rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 20260101, 0);
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < iterations; i++) {
        static uint8_t in[INPUT_MAX];
        static made whole, pieces, back;
        net_sp_direction direction =
            oct_rng_below(&rng, 2) == 0 ? NET_SP_TO_LOCAL : NET_SP_FROM_LOCAL;
        size_t n = input_make(in, direction, &rng);
        uint64_t tag = direction == NET_SP_TO_LOCAL && oct_rng_below(&rng, 2) == 0 ? i + 1 : 0;
        convert(&whole, direction, tag, in, n, INPUT_MAX);
        convert(&pieces, direction, tag, in, n, 1 + oct_rng_below(&rng, 40));
        OCT_ASSERT(pieces.err == whole.err && pieces.count == whole.count);
        OCT_ASSERT(memcmp(pieces.bytes, whole.bytes, whole.count) == 0);
        accepted += whole.err == OCT_OK;
        if (whole.err == OCT_OK && tag == 0) { // what was made of it turns back into it
            net_sp_direction other =
                direction == NET_SP_TO_LOCAL ? NET_SP_FROM_LOCAL : NET_SP_TO_LOCAL;
            convert(&back, other, 0, whole.bytes, whole.count, 1 + oct_rng_below(&rng, 100));
            OCT_ASSERT(back.err == OCT_OK && back.count <= n);
            OCT_ASSERT(memcmp(back.bytes, in, back.count) == 0);
        }
    }
    printf("%llu streams, %llu accepted\n", (unsigned long long)iterations,
           (unsigned long long)accepted);
    OCT_ASSERT(accepted > iterations / 4 && accepted < iterations);
    return 0;
}
