// Convolutions with the kernels of dense layers, for every instruction set: copies the inputs under
// sixteen positions side by side (im2col) and multiplies them by the matrix of filters.
#include "policy/policy_conv.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/kernels/policy_unroll.h"

#define PIECE 16 // bytes in one copy; the copies of a run may write up to 15 bytes past its end

static size_t
patch_stride(uint32_t columns, size_t size)
{
    return policy_round_up(columns * size, PIECE);
}

void
policy_conv_work_cut(policy_conv_work *work, const policy_spec *spec, policy_block *block)
{
    *work = (policy_conv_work){0};
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        if (layer->kind == POLICY_CONV) {
            size_t bytes = patch_stride(policy_layer_columns(layer), sizeof(float));
            size_t floats = policy_round_up(policy_layer_rows(layer), POLICY_LANES);
            work->patch_bytes = OCT_MAX(work->patch_bytes, bytes);
            work->map_floats = OCT_MAX(work->map_floats, floats);
        }
    }
    if (work->patch_bytes > 0) {
        size_t rows = POLICY_TILE_ROWS;
        work->patches = policy_block_take(block, rows * work->patch_bytes + PIECE);
        work->maps = policy_block_take(block, rows * work->map_floats * sizeof(float));
        work->rows = policy_block_take(block, rows * sizeof(policy_row));
    }
}

// The bytes of a map that are under one position of the kernel: kernel runs, one in each line. run,
// line and cell are the bytes under one row of the kernel, in one row of the map, and in one cell
// of the map.
typedef struct window {
    uint32_t across; // positions in one row of the map
    size_t run, line, cell;
} window;

// Copies the patches of count positions that begin at `place`. Runs are copied in PIECES pieces;
// the bytes past the end of a run are overwritten by the next run or patch.
static POLICY_INLINE void
patches_copy(const size_t KERNEL, const size_t PIECES, const window *w, const uint8_t *map,
             uint32_t place, uint32_t count, uint8_t *patches, size_t stride)
{
    const window here = *w; // a copy, or the compiler would read the fields after each store
    uint32_t x = place % here.across;
    const uint8_t *corner = map + place / here.across * here.line + x * here.cell;
    for (uint32_t i = 0; i < count; i++, patches += stride) {
        for (size_t k = 0; k < KERNEL; k++) {
            for (size_t piece = 0; piece < PIECES; piece++) {
                memcpy(patches + k * here.run + piece * PIECE,
                       corner + k * here.line + piece * PIECE, PIECE);
            }
        }
        corner += here.cell;
        if (++x == here.across) {
            x = 0;
            corner += here.line - here.across * here.cell;
        }
    }
}

// Copies patches with the fastest variant. size: bytes of one number.
static void
patches_fill(const policy_conv *conv, size_t size, const void *map, uint32_t place, uint32_t count,
             void *patches, size_t stride)
{
    const window w = {
        .across = conv->width - conv->kernel + 1,
        .run = conv->kernel * conv->channels * size,
        .line = conv->width * conv->channels * size,
        .cell = conv->channels * size,
    };
    const size_t pieces = policy_round_up(w.run, PIECE) / PIECE;
    if (conv->kernel == 3 && pieces == 1) {
        patches_copy(3, 1, &w, map, place, count, patches, stride);
    } else if (conv->kernel == 3 && pieces == 2) {
        patches_copy(3, 2, &w, map, place, count, patches, stride);
    } else {
        patches_copy(conv->kernel, pieces, &w, map, place, count, patches, stride);
    }
}

// Multiplies count patches with the kernels of a dense layer; rows of y are y_stride floats apart.
static void
patches_multiply(const policy_kernels *kernels, const policy_dense *dense,
                 const policy_conv_work *work, size_t stride, uint32_t count, float *y,
                 size_t y_stride)
{
    switch (dense->precision) {
    case POLICY_FP32:
        kernels->layer_f32(dense, count, work->patches, stride / sizeof(float), y, y_stride);
        break;
    case POLICY_BF16:
    case POLICY_FP16:
        kernels->layer_half(dense, count, work->patches, stride / sizeof(float), y, y_stride);
        break;
    case POLICY_INT8:
    case POLICY_INT4:
        kernels->layer_q8(dense, count, work->patches, stride, work->rows, y, y_stride);
        break;
    }
}

// Computes one map, POLICY_TILE_ROWS positions at a time. Kernels write whole groups of
// POLICY_LANES outputs; if the filters are not whole groups, maps takes the outputs first.
static void
image_forward(const policy_kernels *kernels, const policy_dense *dense,
              const policy_conv_work *work, size_t size, const void *map, float *y)
{
    const policy_conv *conv = &dense->conv;
    const uint32_t places = (conv->height - conv->kernel + 1) * (conv->width - conv->kernel + 1);
    const uint32_t filters = dense->outputs;
    const size_t stride = patch_stride(dense->inputs, size);
    const size_t padded = policy_round_up(filters, POLICY_LANES);
    for (uint32_t place = 0; place < places; place += POLICY_TILE_ROWS) {
        uint32_t count = OCT_MIN(places - place, (uint32_t)POLICY_TILE_ROWS);
        float *to = y + (size_t)place * filters;
        patches_fill(conv, size, map, place, count, work->patches, stride);
        if (padded == filters) {
            patches_multiply(kernels, dense, work, stride, count, to, filters);
            continue;
        }
        patches_multiply(kernels, dense, work, stride, count, work->maps, padded);
        for (uint32_t i = 0; i < count; i++) {
            memcpy(to + (size_t)i * filters, work->maps + i * padded, filters * sizeof(float));
        }
    }
    size_t outputs = (size_t)places * filters;
    memset(y + outputs, 0, (policy_round_up(outputs, POLICY_LANES) - outputs) * sizeof(float));
}

void
policy_conv_forward(const policy_kernels *kernels, const policy_dense *dense,
                    const policy_work *work, const policy_conv_work *conv_work, uint32_t R,
                    const float *x, float *y)
{
    const policy_conv *conv = &dense->conv;
    const uint32_t inputs = conv->height * conv->width * conv->channels;
    OCT_ASSERT(patch_stride(dense->inputs, sizeof(float)) <= conv_work->patch_bytes &&
               policy_round_up(dense->outputs, POLICY_LANES) <= conv_work->map_floats);
    if (!policy_is_integer(dense->precision)) {
        for (uint32_t r = 0; r < R; r++) {
            image_forward(kernels, dense, conv_work, sizeof(float), x + r * work->stride,
                          y + r * work->stride);
        }
        return;
    }
    for (uint32_t r = 0; r < R; r += POLICY_TILE_ROWS) {
        uint32_t some = OCT_MIN(R - r, (uint32_t)POLICY_TILE_ROWS);
        kernels->quantize(some, inputs, x + r * work->stride, work->stride,
                          (uint8_t *)work->codes + r * work->q_stride, work->q_stride,
                          work->rows + r);
    }
    for (uint32_t r = 0; r < R; r++) {
        for (uint32_t i = 0; i < POLICY_TILE_ROWS; i++) {
            conv_work->rows[i] = work->rows[r];
        }
        image_forward(kernels, dense, conv_work, kernels->code_bytes,
                      (const uint8_t *)work->codes + r * work->q_stride, y + r * work->stride);
    }
}
