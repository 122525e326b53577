// Max pools and mean pools, for every instruction set: the compiler vectorises along the channels.
#include "policy/policy_pool.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_activate.h"
#include "policy/policy_block.h"

// Sets [*first, *end) to the part of a kernel at position p that is not on zeros around the map.
static void
span_of(const policy_axis *axis, uint32_t p, uint32_t *first, uint32_t *end)
{
    uint32_t from = p * axis->stride;
    *first = OCT_MAX(from, axis->before) - axis->before;
    *end = OCT_MIN(from + axis->kernel - axis->before, axis->size);
}

// y[channels] = the pool over rows [span[0], span[1]) and columns [span[2], span[3]) of the map.
static void
cell_pool(const policy_layer *layer, const float *map, const uint32_t span[4], size_t channels,
          float *restrict y)
{
    const size_t width = layer->conv.columns.size;
    for (uint32_t i = span[0]; i < span[1]; i++) {
        for (uint32_t j = span[2]; j < span[3]; j++) {
            const float *restrict x = map + (i * width + j) * channels;
            if (i == span[0] && j == span[2]) {
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
        const float count = (float)((span[1] - span[0]) * (span[3] - span[2]));
        for (size_t c = 0; c < channels; c++) {
            y[c] = y[c] / count;
        }
    }
}

void
policy_pool_map(const policy_layer *layer, size_t lanes, const float *x, float *y)
{
    const policy_conv *conv = &layer->conv;
    const uint32_t across = policy_axis_positions(&conv->columns);
    const uint32_t places = policy_layer_places(layer);
    const size_t channels = conv->channels * lanes;
    for (uint32_t place = 0; place < places; place++) {
        uint32_t span[4];
        span_of(&conv->rows, place / across, &span[0], &span[1]);
        span_of(&conv->columns, place % across, &span[2], &span[3]);
        cell_pool(layer, x, span, channels, y + place * channels);
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
