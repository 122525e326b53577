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
    const uint8_t *map;
    uint32_t across; // positions in one row of the map
    size_t kernel, run, line, cell;
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
    const uint8_t *corner = here.map + place / here.across * here.line + x * here.cell;
    uint8_t *patches = here.patches;
    for (uint32_t i = 0; i < count; i++, patches += here.stride) {
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

// Computes one map, POLICY_TILE_ROWS positions at a time, with the kernels of a dense layer. They
// write whole groups of POLICY_LANES outputs; if the filters are not whole groups, maps takes the
// outputs first.
static void
image_forward(const policy_kernels *kernels, const policy_dense *dense,
              const policy_conv_work *work, const void *map, float *y)
{
    const policy_conv *conv = &dense->conv;
    const size_t size = policy_is_integer(dense->precision) ? kernels->code_bytes : sizeof(float);
    const window w = {
        .map = map,
        .across = conv->width - conv->kernel + 1,
        .kernel = conv->kernel,
        .run = conv->kernel * conv->channels * size,
        .line = conv->width * conv->channels * size,
        .cell = conv->channels * size,
        .patches = work->patches,
        .stride = patch_stride(dense->inputs, size),
    };
    const uint32_t places = (conv->height - conv->kernel + 1) * w.across;
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
    const uint32_t inputs = conv->height * conv->width * conv->channels;
    OCT_ASSERT(patch_stride(dense->inputs, sizeof(float)) <= conv_work->patch_bytes &&
               policy_round_up(dense->outputs, POLICY_LANES) <= conv_work->map_floats);
    if (!policy_is_integer(dense->precision)) {
        for (uint32_t r = 0; r < R; r++) {
            image_forward(kernels, dense, conv_work, work->x + r * work->x_stride,
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
                      work->y + r * work->y_stride);
    }
}
