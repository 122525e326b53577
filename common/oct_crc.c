// CRC-32 and CRC-32C with eight tables, and CRC-32 with carry-less multiplication where the CPU has
// it.
#include "common/oct_bytes.h"

#include <pthread.h>

#ifdef __x86_64__
#include <emmintrin.h>
#include <wmmintrin.h>
#define CRC_FOLDS
#endif

#define CRC_SLICES 8 // bytes that one step consumes

// Filled once, by the first caller.
static uint32_t crc32_table[CRC_SLICES][256];
static uint32_t crc32c_table[CRC_SLICES][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void
crc_table_fill(uint32_t table[CRC_SLICES][256], uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        }
        table[0][i] = crc;
    }
    for (int slice = 1; slice < CRC_SLICES; slice++) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t previous = table[slice - 1][i];
            table[slice][i] = (previous >> 8) ^ table[0][previous & 0xff];
        }
    }
}

static void
crc_tables_init(void)
{
    crc_table_fill(crc32_table, 0xEDB88320u);
    crc_table_fill(crc32c_table, 0x82F63B78u);
}

// Returns the register after count bytes. Slicing by eight: table k holds the effect of a byte that
// is followed by k more bytes.
static uint32_t
crc_run(uint32_t table[CRC_SLICES][256], uint32_t crc, const uint8_t *at, size_t count)
{
    (void)pthread_once(&crc_once, crc_tables_init);
    for (; count >= 8; count -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][(low >> 8) & 0xff] ^ table[5][(low >> 16) & 0xff] ^
              table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][(high >> 8) & 0xff] ^
              table[1][(high >> 16) & 0xff] ^ table[0][high >> 24];
    }
    for (; count > 0; count--, at++) {
        crc = (crc >> 8) ^ table[0][(crc ^ *at) & 0xff];
    }
    return crc;
}

#ifdef CRC_FOLDS

// Folding: a carry-less multiplication moves 16 bytes of the message ahead, to where they are added
// to later bytes, without changing the remainder modulo the polynomial P. The lower and the upper
// 64 bits each have their own power of x. The constants are these powers modulo P with their bits
// reversed. The message's bits are reversed, too, so a product comes out shifted by one bit, and
// the constants make up for it. Source: V. Gopal et al., Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction, Intel 2009.
#define FOLD_BYTES  64
#define FOLD_4_LOW  0x154442bd4ll // 512 + 32 bits ahead
#define FOLD_4_HIGH 0x1c6e41596ll // 512 - 32
#define FOLD_1_LOW  0x1751997d0ll // 128 + 32
#define FOLD_1_HIGH 0x0ccaa009ell // 128 - 32

#define FOLDING __attribute__((target("pclmul,sse2")))

// Moves x ahead by `powers` and adds it to onto.
FOLDING static inline __m128i
fold(__m128i x, __m128i powers, __m128i onto)
{
    __m128i low = _mm_clmulepi64_si128(x, powers, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

FOLDING static inline __m128i
load(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

// Returns the register after count bytes, at least FOLD_BYTES. Four chains hide the latency of the
// multiplication. They end in 16 bytes with the same remainder as all bytes so far; the tables
// reduce these 16 and the rest.
FOLDING static uint32_t
crc_fold(uint32_t crc, const uint8_t *at, size_t count)
{
    const __m128i ahead_4 = _mm_set_epi64x(FOLD_4_HIGH, FOLD_4_LOW);
    const __m128i ahead_1 = _mm_set_epi64x(FOLD_1_HIGH, FOLD_1_LOW);
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128((int)crc));
    __m128i b = load(at + 16), c = load(at + 32), d = load(at + 48);
    for (at += 64, count -= 64; count >= 64; at += 64, count -= 64) {
        a = fold(a, ahead_4, load(at));
        b = fold(b, ahead_4, load(at + 16));
        c = fold(c, ahead_4, load(at + 32));
        d = fold(d, ahead_4, load(at + 48));
    }
    a = fold(fold(fold(a, ahead_1, b), ahead_1, c), ahead_1, d);
    for (; count >= 16; at += 16, count -= 16) {
        a = fold(a, ahead_1, load(at));
    }
    uint8_t rest[16];
    _mm_storeu_si128((__m128i *)(void *)rest, a);
    return crc_run(crc32_table, crc_run(crc32_table, 0, rest, sizeof(rest)), at, count);
}

#endif

uint32_t
oct_crc32_table(uint32_t crc, const void *bytes, size_t count)
{
    return ~crc_run(crc32_table, ~crc, bytes, count);
}

uint32_t
oct_crc32(uint32_t crc, const void *bytes, size_t count)
{
#ifdef CRC_FOLDS
    if (count >= FOLD_BYTES && __builtin_cpu_supports("pclmul")) {
        return ~crc_fold(~crc, bytes, count);
    }
#endif
    return oct_crc32_table(crc, bytes, count);
}

uint32_t
oct_crc32c(uint32_t crc, const void *bytes, size_t count)
{
    return ~crc_run(crc32c_table, ~crc, bytes, count);
}
