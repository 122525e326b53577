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
// `line` numbers apart. The patches of two positions are `step` numbers apart.
typedef struct windows {
    policy_axis rows, columns;
    uint32_t down, across;    // positions of the kernel
    uint32_t inside, outside; // windows [inside, outside) across are not on zeros left or right
    size_t channels, run, line, step;
} windows;

static windows
windows_of(const policy_conv *conv, size_t step)
{
    const policy_axis *x = &conv->columns;
    const uint32_t across = policy_axis_positions(x), end = x->before + x->size;
    const uint32_t inside = OCT_MIN((x->before + x->stride - 1) / x->stride, across);
    const uint32_t outside = end < x->kernel ? 0 : (end - x->kernel) / x->stride + 1;
    return (windows){
        .rows = conv->rows,
        .columns = conv->columns,
        .down = policy_axis_positions(&conv->rows),
        .across = across,
        .inside = inside,
        .outside = OCT_MAX(OCT_MIN(outside, across), inside),
        .channels = conv->channels,
        .run = (size_t)x->kernel * conv->channels,
        .line = (size_t)x->size * conv->channels,
        .step = step,
    };
}

static bool
is_inside(const windows *w, uint32_t x)
{
    return x >= w->inside && x < w->outside;
}

// What a line of the map has under the window at position x: count numbers, which begin at number
// `at` of the line and at number `skip` of the window's line.
typedef struct overlap {
    size_t at, skip, count;
} overlap;

static inline overlap
overlap_of(const windows *w, uint32_t x)
{
    if (is_inside(w, x)) {
        return (overlap){(x * w->columns.stride - w->columns.before) * w->channels, 0, w->run};
    }
    const policy_span span = policy_axis_span(&w->columns, x);
    return (overlap){span.first * w->channels, span.zeros * w->channels,
                     (span.end - span.first) * w->channels};
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

// Sets to 0 what the windows of row y have on zeros around the map, and the numbers of a patch
// beyond its window.
static void
band_clear(const windows *w, bool is_whole, float *patches)
{
    const size_t numbers = w->rows.kernel * w->run;
    for (uint32_t x = 0; x < w->across; x++, patches += w->step) {
        for (size_t i = is_whole && is_inside(w, x) ? numbers : 0; i < w->step; i++) {
            patches[i] = 0;
        }
    }
}

static void
line_unfold(const windows *w, const float *restrict line, float *restrict patches)
{
    for (uint32_t x = 0; x < w->across; x++, patches += w->step) {
        const overlap o = overlap_of(w, x);
        run_copy(patches + o.skip, line + o.at, o.count);
    }
}

// Unfolds one map to patches[places][step] (im2col). The lines of the map are read from the first
// to the last, once for each row of the kernel that is over them, and the patches of one row of
// positions stay in the nearest cache meanwhile.
static void
map_unfold(const windows *w, const float *restrict map, float *restrict patches)
{
    for (uint32_t y = 0; y < w->down; y++, patches += w->across * w->step) {
        const policy_span rows = policy_axis_span(&w->rows, y);
        band_clear(w, rows.end - rows.first == w->rows.kernel, patches);
        for (uint32_t k = 0; k < rows.end - rows.first; k++) {
            line_unfold(w, map + (rows.first + k) * w->line, patches + (rows.zeros + k) * w->run);
        }
    }
}

static void
line_fold(const windows *w, float *restrict line, const float *restrict patches)
{
    for (uint32_t x = 0; x < w->across; x++, patches += w->step) {
        const overlap o = overlap_of(w, x);
        float *restrict to = line + o.at;
        const float *restrict from = patches + o.skip;
        for (size_t i = 0; i < o.count; i++) {
            to[i] += from[i];
        }
    }
}

// The reverse of map_unfold: each number of the map becomes the sum of the numbers of all patches
// that are its copies, in the order of positions.
static void
map_fold(const windows *w, float *restrict map, const float *restrict patches)
{
    memset(map, 0, w->rows.size * w->line * sizeof(*map));
    for (uint32_t y = 0; y < w->down; y++, patches += w->across * w->step) {
        const policy_span rows = policy_axis_span(&w->rows, y);
        for (uint32_t k = 0; k < rows.end - rows.first; k++) {
            line_fold(w, map + (rows.first + k) * w->line, patches + (rows.zeros + k) * w->run);
        }
    }
}

static void
rows_unfold(const nn_layer *layer, const float *x, float *patches, size_t step, uint32_t rows)
{
    const windows w = windows_of(&layer->conv, step);
    for (size_t r = 0; r < rows; r++) {
        map_unfold(&w, x + r * layer->inputs, patches + r * layer->places * step);
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
    const windows w = windows_of(&layer->conv, layer->columns);
    const uint32_t most = block_maps(layer, pass->rows);
    float *patches = patches_of(pass->context, layer, most);
    (void)x;
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
