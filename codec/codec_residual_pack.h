#ifndef CODEC_CODEC_RESIDUAL_PACK_H
#define CODEC_CODEC_RESIDUAL_PACK_H

#include <stddef.h>
#include <stdint.h>

// Leaves of the residual coder: rows of small numbers <-> bytes of digits. A byte holds the digits
// of 8 / bits rows of one column (bits 2, 4, 8). Values beyond -most..most are escapes: their digit
// is the marker, they themselves stand apart in order of row, then column.
//
// Threads: any, no state. Owns: nothing.

#define CODEC_RESIDUAL_SHARE_MAX     4 // rows in a byte
#define CODEC_RESIDUAL_ESCAPES_SLACK 8 // bytes beyond escapes that may be read and written

// to[k] = from[order[k]], with another sign where sign[k] and row_sign (0 or -1) differ. order
// NULL: as they are.
void codec_residual_row_arrange(int8_t *restrict to, const int8_t *restrict from,
                                const uint16_t *restrict order, const int8_t *restrict sign,
                                int8_t row_sign, uint32_t columns);
// The values of row[width] that are escapes; how many.
size_t codec_residual_escapes_take(uint8_t *restrict escapes, const int8_t *restrict row,
                                   uint32_t width, int8_t most);
// Puts escapes at markers; how many were used, or SIZE_MAX when there are more than count.
size_t codec_residual_escapes_give(int8_t *restrict row, uint32_t width, unsigned bits,
                                   const uint8_t *restrict escapes, size_t count);

// rows[8 / bits][width] <-> symbols[width].
void codec_residual_digits_pack(uint8_t *restrict symbols, const int8_t *const *rows,
                                uint32_t width, unsigned bits, int8_t most);
void codec_residual_digits_unpack(int8_t *const *rows, const uint8_t *restrict symbols,
                                  uint32_t width, unsigned bits);

#endif // CODEC_CODEC_RESIDUAL_PACK_H
