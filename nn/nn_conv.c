// Convolutions, forward and backward, as matrix products over unfolded patches (im2col).
#include "nn/nn_conv.h"

#include <string.h>

#include "common/oct_base.h"
#include "nn/nn_gemm.h"

static float *
patches_of(nn_context *context, const nn_layer *layer, uint32_t rows)
{
    return nn_context_space(context, NN_SPACE_PATCHES,
                            (size_t)rows * layer->places * layer->columns);
}

void
nn_conv_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max)
{
    if (layer->conv.kernel > 0) {
        (void)patches_of(context, layer, rows_max);
    }
}

// Which numbers of a map are under each place: rows of the kernel, `run` numbers each, `line`
// apart.
typedef struct windows {
    uint32_t down, across, kernel;
    size_t channels, run, line;
} windows;

static windows
windows_of(const policy_conv *conv)
{
    return (windows){
        .down = conv->height - conv->kernel + 1,
        .across = conv->width - conv->kernel + 1,
        .kernel = conv->kernel,
        .channels = conv->channels,
        .run = (size_t)conv->kernel * conv->channels,
        .line = (size_t)conv->width * conv->channels,
    };
}

// One map laid out as patches[places][columns] (im2col).
static void
map_unfold(const windows *w, const float *restrict map, float *restrict patches)
{
    for (uint32_t y = 0; y < w->down; y++) {
        for (uint32_t x = 0; x < w->across; x++) {
            const float *corner = map + y * w->line + x * w->channels;
            for (uint32_t k = 0; k < w->kernel; k++, patches += w->run) {
                memcpy(patches, corner + k * w->line, w->run * sizeof(*patches));
            }
        }
    }
}

// The other way round, added up where patches overlap, in the order of places.
static void
map_fold(const windows *w, float *restrict map, const float *restrict patches)
{
    for (uint32_t y = 0; y < w->down; y++) {
        for (uint32_t x = 0; x < w->across; x++) {
            float *corner = map + y * w->line + x * w->channels;
            for (uint32_t k = 0; k < w->kernel; k++, patches += w->run) {
                float *at = corner + k * w->line;
                for (size_t i = 0; i < w->run; i++) {
                    at[i] += patches[i];
                }
            }
        }
    }
}

static void
rows_unfold(const nn_layer *layer, const float *x, float *patches, uint32_t rows)
{
    const windows w = windows_of(&layer->conv);
    for (size_t r = 0; r < rows; r++) {
        map_unfold(&w, x + r * layer->inputs, patches + r * layer->places * layer->columns);
    }
}

void
nn_conv_forward(nn_context *context, const nn_layer *layer, float *y, const float *x,
                const float *W, uint32_t rows)
{
    float *patches = patches_of(context, layer, rows);
    rows_unfold(layer, x, patches, rows);
    nn_gemm_nt(context, y, patches, W, rows * layer->places, layer->units, layer->columns);
}

void
nn_conv_backward(nn_context *context, const nn_layer *layer, float *dW, float *dx, const float *dy,
                 const float *x, const float *W, uint32_t rows)
{
    float *patches = patches_of(context, layer, rows);
    if (dW != NULL) {
        // Unfolded again: what forward left may be another layer's, or of more rows.
        rows_unfold(layer, x, patches, rows);
        nn_gemm_tn(context, dW, dy, patches, layer->units, layer->columns, rows * layer->places);
    }
    if (dx != NULL) {
        const windows w = windows_of(&layer->conv);
        nn_gemm_nn(context, patches, dy, W, rows * layer->places, layer->columns, layer->units);
        memset(dx, 0, (size_t)rows * layer->inputs * sizeof(*dx));
        for (size_t r = 0; r < rows; r++) {
            map_fold(&w, dx + r * layer->inputs, patches + r * layer->places * layer->columns);
        }
    }
}
