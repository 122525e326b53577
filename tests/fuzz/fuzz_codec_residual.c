// Bytes of the residual coder: rows and columns (16 bits each), then the bytes. Matrices large
// enough to have classes of their own, which the policies of fuzz_codec_delta have not. Anything
// may come out of bytes that are none of the coder's, but nothing outside of the matrix is touched;
// what came out is encoded and comes back.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_rng.h"
#include "policy/codec/codec_residual.h"
#include "tests/fuzz/fuzz.h"

#define SIDE_MAX    200
#define WEIGHTS_MAX (1u << 13)
#define HEAD_BYTES  4

static codec_residual_coder *
coder_get(void)
{
    static codec_residual_coder *coder;
    if (coder == NULL) {
        coder = codec_residual_coder_create(WEIGHTS_MAX);
    }
    return coder;
}

static void
expect_back(codec_residual_coder *coder, const codec_residual_matrix *residual)
{
    uint32_t rows = residual->rows, columns = residual->columns;
    size_t capacity = codec_residual_bound(rows, columns), count = (size_t)rows * columns;
    uint8_t *bytes = oct_alloc(capacity);
    int8_t *again = oct_alloc(count);
    size_t length = codec_residual_encode(coder, residual, bytes, capacity);
    OCT_ASSERT(length > 0 && length <= capacity);
    oct_err err =
        codec_residual_decode(coder, &(codec_residual_matrix){again, rows, columns}, bytes, length);
    OCT_ASSERT(err == OCT_OK && memcmp(again, residual->at, count) == 0);
    free(again);
    free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    uint32_t rows = oct_read_u16(&in), columns = oct_read_u16(&in);
    if (in.failed || rows == 0 || columns == 0 || (uint64_t)rows * columns > WEIGHTS_MAX) {
        return 0;
    }
    size_t count = (size_t)rows * columns;
    codec_residual_coder *coder = coder_get();
    codec_residual_matrix got = {oct_alloc(count), rows, columns};
    uint8_t *bytes = fuzz_copy(in.at, in.left);
    if (codec_residual_decode(coder, &got, bytes, in.left) == OCT_OK) {
        expect_back(coder, &got);
        fuzz_accept();
    }
    free(bytes);
    free(got.at);
    return 0;
}

// Rows and columns of different activity, signs of an outer product, and a few large numbers.
static void
residual_fill(int8_t *residual, uint32_t rows, uint32_t columns, oct_rng *rng)
{
    uint32_t spread = oct_rng_below(rng, 4), large = 1 + oct_rng_below(rng, 4000);
    for (uint32_t j = 0; j < rows; j++) {
        uint32_t limit = 1 + (j * 7 % 5) * spread;
        for (uint32_t k = 0; k < columns; k++) {
            int32_t v = (int32_t)(oct_rng_below(rng, limit) * (k % 3)) / 2;
            v = (j + k) % 2 == 0 ? v : -v;
            v = oct_rng_below(rng, large) == 0 ? (int32_t)oct_rng_below(rng, 256) - 128 : v;
            residual[(size_t)j * columns + k] = (int8_t)v;
        }
    }
}

static void
seed_make(uint32_t rows, uint32_t columns, oct_rng *rng)
{
    size_t capacity = codec_residual_bound(rows, columns);
    int8_t *residual = oct_alloc((size_t)rows * columns);
    oct_writer out = {.base = oct_alloc(HEAD_BYTES + capacity), .capacity = HEAD_BYTES};
    residual_fill(residual, rows, columns, rng);
    oct_write_u16(&out, (uint16_t)rows);
    oct_write_u16(&out, (uint16_t)columns);
    size_t length =
        codec_residual_encode(coder_get(), &(codec_residual_matrix){residual, rows, columns},
                              out.base + HEAD_BYTES, capacity);
    fuzz_seed(out.base, HEAD_BYTES + length);
    free(out.base);
    free(residual);
}

void
fuzz_seeds(void)
{
    oct_rng rng;
    oct_rng_init(&rng, 1, 2);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t rows = 1 + oct_rng_below(&rng, i < 12 ? SIDE_MAX : 30);
        uint32_t columns = 1 + oct_rng_below(&rng, OCT_MIN(WEIGHTS_MAX / rows, SIDE_MAX));
        seed_make(rows, columns, &rng);
    }
}
