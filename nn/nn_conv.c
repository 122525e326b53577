// Convolutions (policy_spec.h) as matrix products: the numbers under the kernel at one position
// become one row of patches[places][columns] (im2col), and the product for dense layers multiplies
// these rows. Each step unfolds only as many rows of the batch as stay in the L2 cache.
#include "nn/nn_kind.h"

#include <string.h>

#include "common/oct_base.h"

// Numbers in the patches of one block of maps; a single larger map is a block of its own. A block
// stays in L2 from when it is unfolded until its product is done. The size depends on the layer's
// shape alone, and so does the order of sums.
#define BLOCK_NUMBERS (64u * 1024)
// For the gradient of weights, columns of patches are padded to whole vectors of any CPU, so that
// the product reads them unpacked.
#define COLUMNS_UNIT 16u

// Returns the number of maps (rows of the batch) in one block.
static uint32_t
block_maps(const nn_layer *layer, uint32_t rows)
{
    uint32_t maps = BLOCK_NUMBERS / (layer->places * layer->columns);
    return OCT_MIN(OCT_MAX(maps, 1), rows);
}

static uint32_t
columns_padded(const nn_layer *layer)
{
    return (layer->columns + COLUMNS_UNIT - 1) / COLUMNS_UNIT * COLUMNS_UNIT;
}

// Returns space for the patches of `maps` maps, with padded columns, followed by the sums of one
// block.
static float *
patches_of(nn_context *context, const nn_layer *layer, uint32_t maps)
{
    const size_t columns = columns_padded(layer);
    return nn_context_space(context, NN_SPACE_PATCHES,
                            ((size_t)maps * layer->places + layer->units) * columns);
}

static void
conv_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max)
{
    const uint32_t maps = block_maps(layer, rows_max), places = maps * layer->places;
    (void)patches_of(context, layer, maps);
    nn_gemm_reserve(context, places, layer->units, layer->columns);
    nn_gemm_reserve(context, places, layer->units, columns_padded(layer));
}

// The windows of a map, one per position of the kernel: `kernel` lines of `run` numbers each,
// `line` numbers apart.
typedef struct windows {
    policy_axis rows, columns;
    uint32_t down, across;      // positions of the kernel
    size_t channels, run, line; // channels of the map, in numbers
} windows;

static windows
windows_of(const policy_conv *conv)
{
    return (windows){
        .rows = conv->rows,
        .columns = conv->columns,
        .down = policy_axis_positions(&conv->rows),
        .across = policy_axis_positions(&conv->columns),
        .channels = conv->channels,
        .run = (size_t)conv->columns.kernel * conv->channels,
        .line = (size_t)conv->columns.size * conv->channels,
    };
}

// The part of a window that is on the map: its first row and column there, and in the kernel; rows
// and columns of it.
typedef struct overlap {
    uint32_t y, x, top, left, rows, columns;
} overlap;

static void
axis_overlap(const policy_axis *axis, uint32_t position, uint32_t *at, uint32_t *skip,
             uint32_t *count)
{
    const policy_span span = policy_axis_span(axis, position);
    *at = span.first;
    *skip = span.first + axis->before - position * axis->stride;
    *count = span.end - span.first;
}

static overlap
overlap_of(const windows *w, uint32_t y, uint32_t x)
{
    overlap o;
    axis_overlap(&w->rows, y, &o.y, &o.top, &o.rows);
    axis_overlap(&w->columns, x, &o.x, &o.left, &o.columns);
    return o;
}

// Copies a short run. Two pieces of a fixed size, which may overlap, take a fraction of the time of
// a call.
static void
run_copy(float *restrict to, const float *restrict from, size_t count)
{
    enum { PIECE = 8 };
    if (count < PIECE) {
        memcpy(to, from, count * sizeof(*to));
        return;
    }
    for (size_t i = 0; i + PIECE < count; i += PIECE) {
        memcpy(to + i, from + i, PIECE * sizeof(*to));
    }
    memcpy(to + count - PIECE, from + count - PIECE, PIECE * sizeof(*to));
}

// Unfolds one map to patches[places][columns] (im2col); consecutive positions are `step` numbers
// apart, and the numbers beyond the window are 0.
static void
map_unfold(const windows *w, const float *restrict map, float *restrict patches, size_t step)
{
    const size_t numbers = w->rows.kernel * w->run;
    for (uint32_t y = 0; y < w->down; y++) {
        for (uint32_t x = 0; x < w->across; x++, patches += step) {
            const overlap o = overlap_of(w, y, x);
            const float *from = map + o.y * w->line + o.x * w->channels;
            float *to = patches + o.top * w->run + o.left * w->channels;
            const size_t count = o.columns * w->channels;
            if (o.rows < w->rows.kernel || o.columns < w->columns.kernel) {
                memset(patches, 0, numbers * sizeof(*patches));
            }
            for (uint32_t k = 0; k < o.rows; k++) {
                run_copy(to + k * w->run, from + k * w->line, count);
            }
            for (size_t i = numbers; i < step; i++) {
                patches[i] = 0;
            }
        }
    }
}

// The reverse of map_unfold: adds each patch to its window, in the order of positions, so that
// numbers under several windows are summed.
static void
map_fold(const windows *w, float *restrict map, const float *restrict patches)
{
    const size_t step = w->rows.kernel * w->run;
    for (uint32_t y = 0; y < w->down; y++) {
        for (uint32_t x = 0; x < w->across; x++, patches += step) {
            const overlap o = overlap_of(w, y, x);
            float *to = map + o.y * w->line + o.x * w->channels;
            const float *from = patches + o.top * w->run + o.left * w->channels;
            const size_t count = o.columns * w->channels;
            for (uint32_t k = 0; k < o.rows; k++) {
                for (size_t i = 0; i < count; i++) {
                    to[k * w->line + i] += from[k * w->run + i];
                }
            }
        }
    }
}

static void
rows_unfold(const nn_layer *layer, const float *x, float *patches, size_t step, uint32_t rows)
{
    const windows w = windows_of(&layer->conv);
    for (size_t r = 0; r < rows; r++) {
        map_unfold(&w, x + r * layer->inputs, patches + r * layer->places * step, step);
    }
}

static void
conv_forward(const nn_pass *pass, float *y, const float *x)
{
    const nn_layer *layer = pass->layer;
    const uint32_t most = block_maps(layer, pass->rows);
    float *patches = patches_of(pass->context, layer, most);
    for (uint32_t from = 0; from < pass->rows; from += most) {
        uint32_t maps = OCT_MIN(most, pass->rows - from);
        rows_unfold(layer, x + (size_t)from * layer->inputs, patches, layer->columns, maps);
        nn_gemm_nt_kept(pass->context, y + (size_t)from * layer->outputs, patches, pass->W,
                        pass->panels, maps * layer->places, layer->units, layer->columns, NULL,
                        NULL);
        if (pass->then != NULL) {
            pass->then(pass->arg, from, maps);
        }
    }
}

// Adds a block's part of dW.
static void
weights_add(const nn_layer *layer, float *restrict dW, const float *restrict sums)
{
    for (size_t u = 0; u < layer->units; u++, dW += layer->columns, sums += columns_padded(layer)) {
        for (size_t i = 0; i < layer->columns; i++) {
            dW[i] += sums[i];
        }
    }
}

// The patches are unfolded again, because those that forward left belong to the last block of rows
// only.
static void
conv_backward_weights(const nn_pass *pass, float *dW, const float *dy, const float *x)
{
    const nn_layer *layer = pass->layer;
    const uint32_t most = block_maps(layer, pass->rows), columns = columns_padded(layer);
    float *patches = patches_of(pass->context, layer, most);
    float *sums = patches + (size_t)most * layer->places * columns;
    memset(dW, 0, (size_t)layer->units * layer->columns * sizeof(*dW));
    for (uint32_t from = 0; from < pass->rows; from += most) {
        uint32_t maps = OCT_MIN(most, pass->rows - from);
        rows_unfold(layer, x + (size_t)from * layer->inputs, patches, columns, maps);
        nn_gemm_tn(pass->context, sums, dy + (size_t)from * layer->outputs, patches, layer->units,
                   columns, maps * layer->places);
        weights_add(layer, dW, sums);
    }
}

static void
conv_backward_inputs(const nn_pass *pass, float *dx, const float *dy, const float *x)
{
    const nn_layer *layer = pass->layer;
    const windows w = windows_of(&layer->conv);
    const uint32_t most = block_maps(layer, pass->rows);
    float *patches = patches_of(pass->context, layer, most);
    (void)x;
    memset(dx, 0, (size_t)pass->rows * layer->inputs * sizeof(*dx));
    for (uint32_t from = 0; from < pass->rows; from += most) {
        uint32_t maps = OCT_MIN(most, pass->rows - from);
        nn_gemm_nn(pass->context, patches, dy + (size_t)from * layer->outputs, pass->W,
                   maps * layer->places, layer->columns, layer->units);
        for (size_t m = 0; m < maps; m++) {
            map_fold(&w, dx + (from + m) * layer->inputs,
                     patches + m * layer->places * layer->columns);
        }
        if (pass->then != NULL) {
            pass->then(pass->arg, from, maps);
        }
    }
}

const nn_kind_ops nn_conv = {
    .reserve = conv_reserve,
    .forward = conv_forward,
    .backward_weights = conv_backward_weights,
    .backward_inputs = conv_backward_inputs,
};
