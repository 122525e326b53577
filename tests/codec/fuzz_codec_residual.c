// Bytes of the residual coder, damaged: matrices of all sizes that have classes of their own, which
// whole policies small enough for the other fuzzers have not. What is whole decodes to what was
// encoded; anything may come out of what is not, but nothing outside of the matrix is touched.
// usage: fuzz_codec_residual [SECONDS] [SEED]

#include <stdlib.h>
#include <time.h>

#include "codec/codec_residual.h"
#include "common/oct_rng.h"
#include "tests/support/oct_test.h"

#define WEIGHTS_MAX (1u << 18)
#define TRIES       12

static uint64_t tried, accepted;

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

static size_t
damage(uint8_t *bytes, size_t length, oct_rng *rng)
{
    if (oct_rng_below(rng, 4) == 0) {
        return oct_rng_below(rng, (uint32_t)length + 1);
    }
    // Most of what can go wrong is said in front.
    for (uint32_t n = 1 + oct_rng_below(rng, 4); n > 0; n--) {
        uint32_t reach = oct_rng_below(rng, 4) == 0 ? (uint32_t)length : 400;
        uint32_t at = oct_rng_below(rng, reach < length ? reach : (uint32_t)length);
        uint32_t bit = oct_rng_below(rng, 8);
        bytes[at] = oct_rng_below(rng, 2) == 0 ? (uint8_t)oct_rng_below(rng, 256)
                                               : (uint8_t)(bytes[at] ^ 1u << bit);
    }
    return length;
}

static void
fuzz_matrix(oct_rng *rng)
{
    uint32_t rows = 1 + oct_rng_below(rng, 600);
    uint32_t columns = 1 + oct_rng_below(rng, WEIGHTS_MAX / rows < 600 ? WEIGHTS_MAX / rows : 600);
    size_t count = (size_t)rows * columns, capacity = codec_residual_bound(rows, columns);
    codec_residual_coder *coder = codec_residual_coder_create(count);
    int8_t *residual = malloc(count), *got = malloc(count);
    uint8_t *bytes = malloc(capacity);
    residual_fill(residual, rows, columns, rng);
    size_t length = codec_residual_encode(coder, residual, rows, columns, bytes, capacity);
    assert_in_range(length, 1, capacity);
    for (int i = 0; i < TRIES; i++) {
        uint8_t *copy = malloc(length);
        memcpy(copy, bytes, length);
        size_t left = damage(copy, length, rng);
        uint8_t *exact = malloc(left > 0 ? left : 1); // a sanitizer sees a read past its end
        memcpy(exact, copy, left);
        accepted += codec_residual_decode(coder, got, rows, columns, exact, left) == OCT_OK;
        tried++;
        free(exact);
        free(copy);
    }
    T_OK(codec_residual_decode(coder, got, rows, columns, bytes, length));
    assert_memory_equal(got, residual, count);
    free(bytes);
    free(residual);
    free(got);
    codec_residual_coder_destroy(coder);
}

int
main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    oct_rng rng;
    oct_rng_init(&rng, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, 2);
    clock_t end = clock() + (clock_t)(limit * CLOCKS_PER_SEC);
    while (clock() < end) {
        fuzz_matrix(&rng);
    }
    printf("%llu damaged matrices, %llu sound enough\n", (unsigned long long)tried,
           (unsigned long long)accepted);
    return tried > accepted ? 0 : 1;
}
