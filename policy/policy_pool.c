// Max pools and mean pools, for every instruction set: the compiler vectorises along the channels.
#include "policy/policy_pool.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_activate.h"
#include "policy/policy_block.h"

// y[channels] = the pool over the numbers of the map in the window.
static void
cell_pool(const policy_layer *layer, const float *map, const policy_window *w, size_t channels,
          float *restrict y)
{
    const size_t width = layer->conv.columns.size;
    for (uint32_t i = w->rows.first; i < w->rows.end; i++) {
        for (uint32_t j = w->columns.first; j < w->columns.end; j++) {
            const float *restrict x = map + (i * width + j) * channels;
            if (i == w->rows.first && j == w->columns.first) {
                memcpy(y, x, channels * sizeof(*y));
            } else if (layer->kind == POLICY_MAX_POOL) {
                for (size_t c = 0; c < channels; c++) {
                    y[c] = x[c] > y[c] ? x[c] : y[c];
                }
            } else {
                for (size_t c = 0; c < channels; c++) {
                    y[c] = y[c] + x[c];
                }
            }
        }
    }
    if (layer->kind == POLICY_MEAN_POOL) {
        const float count = (float)policy_window_cells(w);
        for (size_t c = 0; c < channels; c++) {
            y[c] = y[c] / count;
        }
    }
}

void
policy_pool_map(const policy_layer *layer, size_t lanes, const float *x, float *y)
{
    const policy_conv *conv = &layer->conv;
    const uint32_t places = policy_layer_places(layer);
    const size_t channels = conv->channels * lanes;
    for (uint32_t place = 0; place < places; place++) {
        const policy_window w = policy_conv_window(conv, place);
        cell_pool(layer, x, &w, channels, y + place * channels);
    }
}

void
policy_pool_forward(const policy_layer *layer, const policy_work *work, uint32_t R)
{
    const uint32_t outputs = layer->outputs;
    for (uint32_t r = 0; r < R; r++) {
        float *y = work->y + r * work->y_stride;
        policy_pool_map(layer, 1, work->x + r * work->x_stride, y);
        for (uint32_t i = 0; layer->activation != POLICY_LINEAR && i < outputs; i++) {
            y[i] = policy_activate(layer->activation, y[i]);
        }
        memset(y + outputs, 0, (policy_round_up(outputs, POLICY_LANES) - outputs) * sizeof(*y));
    }
}
