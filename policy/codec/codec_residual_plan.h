#ifndef POLICY_CODEC_CODEC_RESIDUAL_PLAN_H
#define POLICY_CODEC_CODEC_RESIDUAL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/codec/codec_residual.h"

// The plan by which a matrix of residuals is divided before its parts are compressed
// (codec_residual.c). A line is a row or a column. Lines are sorted into classes of activity (mean
// |residual|), because all weights of a unit, and all weights of an input, change by similar
// amounts. The signs of lines are flipped so that most residuals are positive, because the gradient
// of a layer is nearly an outer product. A tile, the residuals of one row class and one column
// class, has its own width of digits and its own table of frequencies. The tile of row class c and
// column class d has index c * column_classes + d.
//
// Threads: those of its coder. Owns: its arrays.

#define CODEC_RESIDUAL_LINES_MAX   65536 // rows; columns
#define CODEC_RESIDUAL_CLASSES_MAX 8     // a class and a sign fit into a digit of 4 bits
#define CODEC_RESIDUAL_TILES_MAX   (CODEC_RESIDUAL_CLASSES_MAX * CODEC_RESIDUAL_CLASSES_MAX)

typedef struct codec_residual_plan {
    uint32_t rows, columns;
    uint32_t row_classes, column_classes; // 1 .. CODEC_RESIDUAL_CLASSES_MAX
    // Class c is row_order[row_begin[c] .. row_begin[c + 1]), and so for columns.
    uint32_t row_begin[CODEC_RESIDUAL_CLASSES_MAX + 1];
    uint32_t column_begin[CODEC_RESIDUAL_CLASSES_MAX + 1];
    uint8_t bits[CODEC_RESIDUAL_TILES_MAX]; // of a digit: 2, 4 or 8; 0: the tile is empty
    uint8_t most[CODEC_RESIDUAL_TILES_MAX]; // digits are -most .. most; other values are escapes
    uint8_t codes[CODEC_RESIDUAL_TILES_MAX][256]; // frequencies of digits (codec_rans.h)
    uint8_t *row_class;                           // [rows]
    uint8_t *column_class;                        // [columns]
    uint16_t *row_order;                          // [rows]: by class, then by index
    uint16_t *column_order;                       // [columns]: by class, then by index
    uint16_t *column_place;                       // [columns]: the inverse of column_order
    int8_t *row_sign;                             // [rows]: -1: negate the row; 0: do not
    int8_t *column_turn;                          // [columns]: -1: negate the column; 0: do not
    int8_t *column_sign;                          // [columns]: column_turn in column_order
    // The work space of codec_residual_plan_make. Large matrices are sampled: every step-th row, or
    // window columns of each row.
    uint32_t step, window;
    int32_t *sums, *row_activity, *column_activity; // sums of residuals, of |residual|
    float *line_value;                              // logarithm of the mean |residual| of a line
    void *block;                                    // the allocation that contains all arrays
} codec_residual_plan;

// Allocates the arrays for matrices of up to weights_max residuals.
void codec_residual_plan_init(codec_residual_plan *plan, size_t weights_max);
void codec_residual_plan_fini(codec_residual_plan *plan);

// Plans for a matrix. Returns false, without a plan, if all residuals are 0.
bool codec_residual_plan_make(codec_residual_plan *plan, const codec_residual_matrix *matrix);

// The lines as bytes: class and sign of each row, then of each column, as digits of 4 bits, two in
// a byte, padded with zeros to a whole number of symbols.
size_t codec_residual_plan_lines_bytes(uint32_t rows, uint32_t columns);
void codec_residual_plan_write_lines(const codec_residual_plan *plan, uint8_t *out);
// The caller has set row_classes and column_classes. Returns false if a line has a class that does
// not exist.
bool codec_residual_plan_read_lines(codec_residual_plan *plan, uint32_t rows, uint32_t columns,
                                    const uint8_t *bytes);

// Writes bits, most (of 8 bits) and codes of all tiles; returns the count of bytes, at most
// CODEC_RESIDUAL_TILES_MAX * 258.
size_t codec_residual_plan_write_tiles(const codec_residual_plan *plan, uint8_t *out);
// Returns the count of bytes that were read, or 0 if they are not valid tiles.
size_t codec_residual_plan_read_tiles(codec_residual_plan *plan, const uint8_t *bytes,
                                      size_t length);

// The tile of row class c and column class d: the count of its residuals, and of its bytes of
// digits with padding.
size_t codec_residual_plan_tile_weights(const codec_residual_plan *plan, uint32_t c, uint32_t d);
size_t codec_residual_plan_tile_bytes(const codec_residual_plan *plan, uint32_t c, uint32_t d);

#endif // POLICY_CODEC_CODEC_RESIDUAL_PLAN_H
