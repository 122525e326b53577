// Convolutions with the kernels of dense layers, for every instruction set: copies the inputs under
// sixteen positions side by side (im2col) and multiplies them by the matrix of filters.
#include "policy/policy_conv.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/kernels/policy_unroll.h"

#define PIECE 16 // bytes in one copy; the copies of a run may write up to 15 bytes past its end
#define SLACK 64 // bytes past a map that copies may read

static size_t
patch_stride(uint32_t columns, size_t size)
{
    return policy_round_up(columns * size, PIECE);
}

static uint32_t
padded_size(const policy_axis *axis)
{
    return axis->before + axis->size + axis->after;
}

static size_t
padded_numbers(const policy_conv *conv)
{
    return (size_t)padded_size(&conv->rows) * padded_size(&conv->columns) * conv->channels;
}

void
policy_conv_work_cut(policy_conv_work *work, const policy_spec *spec, policy_block *block)
{
    size_t padded = 0;
    *work = (policy_conv_work){0};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        if (layer->kind == POLICY_CONV) {
            size_t bytes = patch_stride(policy_layer_columns(layer), sizeof(float));
            size_t floats = policy_round_up(policy_layer_rows(layer), POLICY_LANES);
            work->patch_bytes = OCT_MAX(work->patch_bytes, bytes);
            work->map_floats = OCT_MAX(work->map_floats, floats);
            padded =
                OCT_MAX(padded, policy_has_zeros(&layer->conv) ? padded_numbers(&layer->conv) : 0);
        }
    }
    if (work->patch_bytes > 0) {
        size_t rows = POLICY_TILE_ROWS;
        work->patches = policy_block_take(block, rows * work->patch_bytes + PIECE);
        work->padded = policy_block_take(block, padded * sizeof(float) + SLACK);
        work->maps = policy_block_take(block, rows * work->map_floats * sizeof(float));
        work->rows = policy_block_take(block, rows * sizeof(policy_row));
    }
}

// The bytes of a map that are under one position of the kernel: kernel runs, one in each line. run
// and line are the bytes under one row of the kernel and in one row of the map; right and down are
// the bytes from position to position along a row, and from row to row of positions.
typedef struct window {
    const uint8_t *map;
    uint32_t across; // positions in one row
    size_t kernel, run, line, right, down;
    uint8_t *patches; // receives the bytes of a position,
    size_t stride;    // with this many bytes from position to position
} window;

// Copies the patches of count positions that begin at `place`. Runs are copied in PIECES pieces;
// the bytes past the end of a run are overwritten by the next run or patch.
static POLICY_INLINE void
patches_copy(const size_t KERNEL, const size_t PIECES, const window *w, uint32_t place,
             uint32_t count)
{
    const window here = *w; // a copy, or the compiler would read the fields after each store
    uint32_t x = place % here.across;
    const uint8_t *row = here.map + place / here.across * here.down;
    const uint8_t *corner = row + x * here.right;
    uint8_t *patches = here.patches;
    for (uint32_t i = 0; i < count; i++, patches += here.stride) {
        for (size_t k = 0; k < KERNEL; k++) {
            for (size_t piece = 0; piece < PIECES; piece++) {
                memcpy(patches + k * here.run + piece * PIECE,
                       corner + k * here.line + piece * PIECE, PIECE);
            }
        }
        corner += here.right;
        if (++x == here.across) {
            x = 0;
            row += here.down;
            corner = row;
        }
    }
}

// Copies patches with the fastest variant.
static void
patches_fill(const window *w, uint32_t place, uint32_t count)
{
    const size_t pieces = policy_round_up(w->run, PIECE) / PIECE;
    if (w->kernel == 3 && pieces == 1) {
        patches_copy(3, 1, w, place, count);
    } else if (w->kernel == 3 && pieces == 2) {
        patches_copy(3, 2, w, place, count);
    } else {
        patches_copy(w->kernel, pieces, w, place, count);
    }
}

// Copies a map with zeros around it to work->padded. zero is the bits of a zero in `size` bytes.
static const void *
map_pad(const policy_conv *conv, const policy_conv_work *work, const uint8_t *map, size_t size,
        uint32_t zero)
{
    const policy_axis *y = &conv->rows, *x = &conv->columns;
    const size_t cell = conv->channels * size, line = x->size * cell;
    const size_t bytes = padded_numbers(conv) * size, step = padded_size(x) * cell;
    uint8_t *to = work->padded;
    if (size == 1 || zero == 0) {
        memset(to, (int)zero, bytes);
    } else {
        for (size_t at = 0; at < bytes; at += size) {
            memcpy(to + at, &zero, size);
        }
    }
    for (uint32_t r = 0; r < y->size; r++) {
        memcpy(to + (y->before + r) * step + x->before * cell, map + r * line, line);
    }
    return to;
}

// Computes one map, POLICY_TILE_ROWS positions at a time, with the kernels of a dense layer. They
// write whole groups of POLICY_LANES outputs; if the filters are not whole groups, maps takes the
// outputs first. zero is the bits of a zero of the map.
static void
image_forward(const policy_kernels *kernels, const policy_dense *dense,
              const policy_conv_work *work, const void *map, uint32_t zero, float *y)
{
    const policy_conv *conv = &dense->conv;
    const policy_axis *rows = &conv->rows, *columns = &conv->columns;
    const size_t size = policy_is_integer(dense->precision) ? kernels->code_bytes : sizeof(float);
    const size_t cell = conv->channels * size, line = padded_size(columns) * cell;
    const window w = {
        .map = policy_has_zeros(conv) ? map_pad(conv, work, map, size, zero) : map,
        .across = policy_axis_positions(columns),
        .kernel = rows->kernel,
        .run = columns->kernel * cell,
        .line = line,
        .right = columns->stride * cell,
        .down = rows->stride * line,
        .patches = work->patches,
        .stride = patch_stride(dense->inputs, size),
    };
    const uint32_t places = policy_axis_positions(rows) * w.across;
    const uint32_t filters = dense->outputs;
    const size_t padded = policy_round_up(filters, POLICY_LANES);
    policy_work patches = {
        .x = work->patches,
        .x_stride = w.stride / sizeof(float),
        .y = work->maps,
        .y_stride = padded,
        .codes = work->patches,
        .q_stride = w.stride,
        .rows = work->rows,
    };
    for (uint32_t place = 0; place < places; place += POLICY_TILE_ROWS) {
        uint32_t count = OCT_MIN(places - place, (uint32_t)POLICY_TILE_ROWS);
        float *to = y + (size_t)place * filters;
        patches.y = padded == filters ? to : work->maps;
        patches_fill(&w, place, count);
        policy_layer_forward(kernels, dense, &patches, count);
        for (uint32_t i = 0; padded != filters && i < count; i++) {
            memcpy(to + (size_t)i * filters, work->maps + i * padded, filters * sizeof(float));
        }
    }
    size_t outputs = (size_t)places * filters;
    memset(y + outputs, 0, (policy_round_up(outputs, POLICY_LANES) - outputs) * sizeof(float));
}

void
policy_conv_forward(const policy_kernels *kernels, const policy_dense *dense,
                    const policy_work *work, const policy_conv_work *conv_work, uint32_t R)
{
    const policy_conv *conv = &dense->conv;
    const uint32_t inputs = conv->rows.size * conv->columns.size * conv->channels;
    OCT_ASSERT(patch_stride(dense->inputs, sizeof(float)) <= conv_work->patch_bytes &&
               policy_round_up(dense->outputs, POLICY_LANES) <= conv_work->map_floats);
    if (!policy_is_integer(dense->precision)) {
        for (uint32_t r = 0; r < R; r++) {
            image_forward(kernels, dense, conv_work, work->x + r * work->x_stride, 0,
                          work->y + r * work->y_stride);
        }
        return;
    }
    for (uint32_t r = 0; r < R; r += POLICY_TILE_ROWS) {
        policy_work some = *work;
        some.x += r * work->x_stride;
        some.codes = (uint8_t *)work->codes + r * work->q_stride;
        some.rows += r;
        kernels->quantize(&some, OCT_MIN(R - r, (uint32_t)POLICY_TILE_ROWS), inputs);
    }
    for (uint32_t r = 0; r < R; r++) {
        for (uint32_t i = 0; i < POLICY_TILE_ROWS; i++) {
            conv_work->rows[i] = work->rows[r];
        }
        image_forward(kernels, dense, conv_work, (const uint8_t *)work->codes + r * work->q_stride,
                      (uint32_t)work->rows[r].zero_point, work->y + r * work->y_stride);
    }
}
