// Packs residuals into digits of 2, 4 or 8 bits and unpacks them. Values that do not fit into a
// digit are collected as escapes. The loops have no branches that depend on data, so that the
// compiler vectorises them.
#include "policy/codec/codec_residual_pack.h"

#include <stdbool.h>
#include <string.h>

#include "common/oct_base.h"

#define CHUNK 64                           // values that are tested together for escapes
#define WORD  CODEC_RESIDUAL_ESCAPES_SLACK // flags that one comparison covers; the slack follows

// Returns v for sign 0, -v (modulo 256) for sign -1.
static inline int8_t
turned(int8_t v, int8_t sign)
{
    return (int8_t)((v ^ sign) - sign);
}

void
codec_residual_row_arrange(int8_t *restrict to, const int8_t *restrict from,
                           const codec_residual_columns *columns, int8_t row_sign)
{
    const codec_residual_columns by = *columns; // a copy, because the stores to `to` may alias it
    if (by.order == NULL) {
        memcpy(to, from, by.count);
    } else {
        for (uint32_t k = 0; k < by.count; k++) {
            to[k] = from[by.order[k]];
        }
    }
    for (uint32_t k = 0; k < by.count; k++) {
        to[k] = turned(to[k], (int8_t)(by.sign[k] ^ row_sign));
    }
}

// ---- escapes

// flags[CHUNK] = 1 for each of values[count] that is an escape, 0 for others and beyond count.
static void
escapes_flag(uint8_t *restrict flags, const int8_t *restrict values, uint32_t count, int8_t most)
{
    const int8_t least = (int8_t)-most; // an int8_t, so that no comparison widens the values
    if (count == CHUNK) {
        for (uint32_t k = 0; k < CHUNK; k++) {
            flags[k] = (uint8_t)(values[k] > most) | (uint8_t)(values[k] < least);
        }
        return;
    }
    memset(flags, 0, CHUNK);
    for (uint32_t k = 0; k < count; k++) {
        flags[k] = (uint8_t)(values[k] > most) | (uint8_t)(values[k] < least);
    }
}

// Returns true if one of WORD flags is set. Most words are 0 and cost only this comparison.
static inline bool
is_any(const uint8_t *flags)
{
    uint64_t word;
    memcpy(&word, flags, WORD);
    return word != 0;
}

size_t
codec_residual_escapes_take(uint8_t *restrict escapes, const int8_t *restrict row, uint32_t width,
                            int8_t most)
{
    uint8_t flags[CHUNK];
    size_t n = 0;
    for (uint32_t from = 0; from < width; from += CHUNK) {
        escapes_flag(flags, row + from, OCT_MIN(width - from, (uint32_t)CHUNK), most);
        for (uint32_t w = 0; w < CHUNK; w += WORD) {
            if (is_any(flags + w)) {
                uint32_t end = OCT_MIN(w + WORD, width - from);
                for (uint32_t k = w; k < end; k++) {
                    escapes[n] = (uint8_t)row[from + k];
                    n += flags[k];
                }
            }
        }
    }
    return n;
}

// Replaces the flagged ones of count values, at most WORD, by escapes. Returns how many were used.
static inline size_t
word_give(int8_t *restrict values, const uint8_t *restrict flags, uint32_t count,
          const uint8_t *restrict escapes)
{
    size_t n = 0;
    for (uint32_t k = 0; k < count; k++) {
        values[k] = (int8_t)(flags[k] != 0 ? escapes[n] : (uint8_t)values[k]);
        n += flags[k];
    }
    return n;
}

size_t
codec_residual_escapes_give(int8_t *restrict row, uint32_t width, unsigned bits,
                            const uint8_t *restrict escapes, size_t count)
{
    uint8_t flags[CHUNK];
    int8_t most = (int8_t)((1 << (bits - 1)) - 1); // only the marker is outside -most .. most
    size_t n = 0;
    for (uint32_t from = 0; from < width; from += CHUNK) {
        escapes_flag(flags, row + from, OCT_MIN(width - from, (uint32_t)CHUNK), most);
        for (uint32_t w = 0; w < CHUNK; w += WORD) {
            if (is_any(flags + w)) {
                uint32_t end = OCT_MIN(w + WORD, width - from);
                n += word_give(row + from + w, flags + w, end - w, escapes + n);
                if (n > count) {
                    return SIZE_MAX;
                }
            }
        }
    }
    return n;
}

// ---- digits

// Returns the digit of v in the low bits; the marker for |v| > most.
static inline uint8_t
digit(int8_t v, int8_t most, unsigned bits)
{
    const int8_t marker = (int8_t) - (1 << (bits - 1)), least = (int8_t)-most;
    int8_t d = v > most ? marker : v;
    d = v < least ? marker : d;
    return (uint8_t)d & (uint8_t)((1u << bits) - 1);
}

static void
pack_2(uint8_t *restrict symbols, const int8_t *restrict a, const int8_t *restrict b,
       const int8_t *restrict c, const int8_t *restrict d, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        symbols[k] =
            (uint8_t)(digit(a[k], 1, 2) | (uint8_t)(digit(b[k], 1, 2) << 2) |
                      (uint8_t)(digit(c[k], 1, 2) << 4) | (uint8_t)(digit(d[k], 1, 2) << 6));
    }
}

static void
pack_4(uint8_t *restrict symbols, const int8_t *restrict a, const int8_t *restrict b,
       uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        symbols[k] = (uint8_t)(digit(a[k], 7, 4) | (uint8_t)(digit(b[k], 7, 4) << 4));
    }
}

void
codec_residual_digits_pack(uint8_t *restrict symbols, const int8_t *const *rows, uint32_t width,
                           unsigned bits, int8_t most)
{
    if (bits == 2) {
        pack_2(symbols, rows[0], rows[1], rows[2], rows[3], width);
    } else if (bits == 4) {
        pack_4(symbols, rows[0], rows[1], width);
    } else {
        const int8_t *restrict row = rows[0];
        for (uint32_t k = 0; k < width; k++) {
            symbols[k] = digit(row[k], most, 8);
        }
    }
}

// Returns the value of the two's complement digit in the low 2 bits.
static inline int8_t
value_2(uint8_t digit_bits)
{
    return (int8_t)((uint8_t)((digit_bits & 3) ^ 2) - 2);
}

static inline int8_t
value_4(uint8_t digit_bits)
{
    return (int8_t)((uint8_t)((digit_bits & 15) ^ 8) - 8);
}

static void
unpack_2(int8_t *restrict a, int8_t *restrict b, int8_t *restrict c, int8_t *restrict d,
         const uint8_t *restrict symbols, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        a[k] = value_2(symbols[k]);
        b[k] = value_2((uint8_t)(symbols[k] >> 2));
        c[k] = value_2((uint8_t)(symbols[k] >> 4));
        d[k] = value_2((uint8_t)(symbols[k] >> 6));
    }
}

static void
unpack_4(int8_t *restrict a, int8_t *restrict b, const uint8_t *restrict symbols, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        a[k] = value_4(symbols[k]);
        b[k] = value_4((uint8_t)(symbols[k] >> 4));
    }
}

void
codec_residual_digits_unpack(int8_t *const *rows, const uint8_t *restrict symbols, uint32_t width,
                             unsigned bits)
{
    if (bits == 2) {
        unpack_2(rows[0], rows[1], rows[2], rows[3], symbols, width);
    } else if (bits == 4) {
        unpack_4(rows[0], rows[1], symbols, width);
    } else {
        memcpy(rows[0], symbols, width);
    }
}
