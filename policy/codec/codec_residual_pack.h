#ifndef POLICY_CODEC_CODEC_RESIDUAL_PACK_H
#define POLICY_CODEC_CODEC_RESIDUAL_PACK_H

#include <stddef.h>
#include <stdint.h>

// The inner loops of the residual coder: they convert rows of small numbers to bytes of digits and
// back. A byte holds the digits of 8 / bits rows of one column; bits is 2, 4 or 8. A value outside
// -most .. most is an escape: its digit is the marker, the lowest number of that many bits, and the
// value itself goes to a separate array, ordered by row, then by column.
//
// Threads: any, no state. Owns: nothing.

#define CODEC_RESIDUAL_SHARE_MAX     4 // rows in a byte, with digits of 2 bits
#define CODEC_RESIDUAL_ESCAPES_SLACK 8 // bytes after the escapes that may be read and written

// The order of the columns of a row, and which of them are negated.
typedef struct codec_residual_columns {
    const uint16_t *order; // [count]; NULL: the columns stay where they are
    const int8_t *sign;    // [count], after ordering: 0 or -1
    uint32_t count;
} codec_residual_columns;

// to[k] = from[order[k]], negated modulo 256 where sign[k] and row_sign (0 or -1) differ.
void codec_residual_row_arrange(int8_t *restrict to, const int8_t *restrict from,
                                const codec_residual_columns *columns, int8_t row_sign);
// Copies the escapes of row[width] to escapes, which has room for width bytes and the slack.
// Returns their count.
size_t codec_residual_escapes_take(uint8_t *restrict escapes, const int8_t *restrict row,
                                   uint32_t width, int8_t most);
// Replaces the markers in row[width] by the next escapes; escapes[count] has slack after it.
// Returns how many escapes were used, or SIZE_MAX if row has more markers than count.
size_t codec_residual_escapes_give(int8_t *restrict row, uint32_t width, unsigned bits,
                                   const uint8_t *restrict escapes, size_t count);

// symbols[width] = the digits of rows[8 / bits][width], the first row in the low bits; values
// outside -most .. most become markers. For bits 2 and 4 most is 1 and 7.
void codec_residual_digits_pack(uint8_t *restrict symbols, const int8_t *const *rows,
                                uint32_t width, unsigned bits, int8_t most);
// Inverts codec_residual_digits_pack; markers stay in rows.
void codec_residual_digits_unpack(int8_t *const *rows, const uint8_t *restrict symbols,
                                  uint32_t width, unsigned bits);

#endif // POLICY_CODEC_CODEC_RESIDUAL_PACK_H
