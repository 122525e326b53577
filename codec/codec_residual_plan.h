#ifndef CODEC_CODEC_RESIDUAL_PLAN_H
#define CODEC_CODEC_RESIDUAL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a matrix of residuals is divided before its parts are compressed (codec_residual.c). Rows
// and columns are sorted into classes of activity, because a unit's weights, and an input's, change
// about as much as one another. Signs of rows and columns are turned so that most residuals are
// positive, because the gradient of a layer is nearly an outer product. A tile (class of rows,
// class of columns) has a number of bits for each of its digits.
//
// Threads: as of its coder. Owns: its arrays.

#define CODEC_RESIDUAL_LINES_MAX   65536 // rows, columns
#define CODEC_RESIDUAL_CLASSES_MAX 8
#define CODEC_RESIDUAL_TILES_MAX   (CODEC_RESIDUAL_CLASSES_MAX * CODEC_RESIDUAL_CLASSES_MAX)

typedef struct codec_residual_plan {
    uint32_t rows, columns;
    uint32_t row_classes, column_classes;
    uint32_t row_begin[CODEC_RESIDUAL_CLASSES_MAX + 1]; // of each class in row_order
    uint32_t column_begin[CODEC_RESIDUAL_CLASSES_MAX + 1];
    uint8_t bits[CODEC_RESIDUAL_TILES_MAX]; // of a digit: 2, 4, 8; 0: the tile is empty
    uint8_t most[CODEC_RESIDUAL_TILES_MAX]; // digits are -most..most; larger values are escapes
    uint8_t codes[CODEC_RESIDUAL_TILES_MAX][256]; // frequencies of digits (codec_rans.h)
    uint8_t *row_class;                           // [rows]
    uint8_t *column_class;                        // [columns]
    uint16_t *row_order;                          // [rows]: by class, then as they were
    uint16_t *column_order;                       // [columns]
    uint16_t *column_place;                       // [columns]: the inverse of column_order
    int8_t *row_sign;                             // [rows]: 0, or -1 to turn
    int8_t *column_turn;                          // [columns]: 0, or -1 to turn
    int8_t *column_sign;                          // [columns]: column_turn in column_order
    // What codec_residual_plan_make works with.
    uint32_t step, window;
    int32_t *sums, *row_activity, *column_activity;
    float *line_value;
    void *block;
} codec_residual_plan;

void codec_residual_plan_init(codec_residual_plan *plan, size_t weights_max);
void codec_residual_plan_fini(codec_residual_plan *plan);

// False: all residuals are 0, there is no plan.
bool codec_residual_plan_make(codec_residual_plan *plan, const int8_t *residual, uint32_t rows,
                              uint32_t columns);

// Classes and signs of rows and columns as digits of 4 bits, two a byte, padded with zeros.
size_t codec_residual_plan_lines_bytes(uint32_t rows, uint32_t columns);
void codec_residual_plan_write_lines(const codec_residual_plan *plan, uint8_t *out);
// After row_classes and column_classes were set. False: no such lines.
bool codec_residual_plan_read_lines(codec_residual_plan *plan, uint32_t rows, uint32_t columns,
                                    const uint8_t *bytes);

// Digits of the tiles and their codes: at most CODEC_RESIDUAL_TILES_MAX * 258 bytes.
size_t codec_residual_plan_write_tiles(const codec_residual_plan *plan, uint8_t *out);
// The bytes read; 0: no such tiles.
size_t codec_residual_plan_read_tiles(codec_residual_plan *plan, const uint8_t *bytes,
                                      size_t length);

// Of the tile of row class c and column class d: residuals, and bytes of digits with their padding.
size_t codec_residual_plan_tile_weights(const codec_residual_plan *plan, uint32_t c, uint32_t d);
size_t codec_residual_plan_tile_bytes(const codec_residual_plan *plan, uint32_t c, uint32_t d);

#endif // CODEC_CODEC_RESIDUAL_PLAN_H
