// Max pools and mean pools (policy_spec.h). Forward is the actors' own code (policy_pool.h). The
// gradient at an output of a max pool goes to the first of the largest numbers under the kernel; of
// a mean pool every number under the kernel gets an equal share.
#include "nn/nn_kind.h"

#include <string.h>

#include "common/oct_base.h"
#include "policy/policy_pool.h"

#define GROUP_CHANNELS 64u // channels for which the largest numbers are found together

static void
pool_reserve(nn_context *context, const nn_layer *layer, uint32_t rows_max)
{
    (void)context;
    (void)layer;
    (void)rows_max;
}

static void
pool_forward(const nn_pass *pass, float *y, const float *x)
{
    const nn_layer *layer = pass->layer;
    const policy_layer shape = {.kind = layer->kind, .conv = layer->conv};
    for (uint32_t r = 0; r < pass->rows; r++, x += layer->inputs, y += layer->outputs) {
        policy_pool_map(&shape, 1, x, y);
    }
    if (pass->then != NULL) {
        pass->then(pass->arg, 0, pass->rows);
    }
}

// ---- max pools

// at[count] = the cell of the map, row * columns + column, that has the first of the largest
// numbers in the window, for channels [channel, channel + count).
static void
largest_find(const nn_layer *layer, const policy_window *w, const float *restrict map,
             uint32_t channel, uint32_t count, uint32_t *restrict at)
{
    const uint32_t width = layer->conv.columns.size;
    const uint32_t first = w->rows.first * width + w->columns.first;
    float most[GROUP_CHANNELS];
    memcpy(most, map + (size_t)first * layer->conv.channels + channel, count * sizeof(*most));
    for (uint32_t c = 0; c < count; c++) {
        at[c] = first;
    }
    for (uint32_t i = w->rows.first; i < w->rows.end; i++) {
        for (uint32_t j = w->columns.first; j < w->columns.end; j++) {
            const uint32_t cell = i * width + j;
            const float *restrict x = map + (size_t)cell * layer->conv.channels + channel;
            for (uint32_t c = 0; c < count; c++) {
                const uint32_t more = 0u - (uint32_t)(x[c] > most[c]); // without a branch
                at[c] = (at[c] & ~more) | (cell & more);
                most[c] = x[c] > most[c] ? x[c] : most[c];
            }
        }
    }
}

// Finds the source of every output of one map, and either adds to[source] += from[output] (is_back)
// or sets to[output] = from[source].
static void
map_select(const nn_layer *layer, bool is_back, float *restrict to, const float *restrict from,
           const float *restrict map)
{
    const uint32_t channels = layer->conv.channels;
    for (uint32_t place = 0; place < layer->places; place++) {
        const policy_window w = policy_conv_window(&layer->conv, place);
        const size_t out = (size_t)place * channels;
        for (uint32_t channel = 0; channel < channels; channel += GROUP_CHANNELS) {
            const uint32_t count = OCT_MIN(channels - channel, GROUP_CHANNELS);
            uint32_t at[GROUP_CHANNELS];
            largest_find(layer, &w, map, channel, count, at);
            for (uint32_t c = channel; is_back && c < channel + count; c++) {
                to[(size_t)at[c - channel] * channels + c] += from[out + c];
            }
            for (uint32_t c = channel; !is_back && c < channel + count; c++) {
                to[out + c] = from[(size_t)at[c - channel] * channels + c];
            }
        }
    }
}

static void
max_pool_tangent(const nn_pass *pass, float *dy, const float *dx, const float *x)
{
    const size_t inputs = pass->layer->inputs, outputs = pass->layer->outputs;
    for (size_t r = 0; r < pass->rows; r++) {
        map_select(pass->layer, false, dy + r * outputs, dx + r * inputs, x + r * inputs);
    }
}

static void
max_pool_backward(const nn_pass *pass, float *dx, const float *dy, const float *x)
{
    const size_t inputs = pass->layer->inputs, outputs = pass->layer->outputs;
    for (size_t r = 0; r < pass->rows; r++) {
        memset(dx + r * inputs, 0, inputs * sizeof(*dx));
        map_select(pass->layer, true, dx + r * inputs, dy + r * outputs, x + r * inputs);
    }
    if (pass->then != NULL) {
        pass->then(pass->arg, 0, pass->rows);
    }
}

// ---- mean pools

static void
map_spread(const nn_layer *layer, float *restrict dx, const float *restrict dy)
{
    const uint32_t channels = layer->conv.channels, width = layer->conv.columns.size;
    for (uint32_t place = 0; place < layer->places; place++, dy += channels) {
        const policy_window w = policy_conv_window(&layer->conv, place);
        const float share = 1.0f / (float)policy_window_cells(&w);
        for (uint32_t i = w.rows.first; i < w.rows.end; i++) {
            for (uint32_t j = w.columns.first; j < w.columns.end; j++) {
                float *restrict to = dx + (size_t)(i * width + j) * channels;
                for (uint32_t c = 0; c < channels; c++) {
                    to[c] += dy[c] * share;
                }
            }
        }
    }
}

static void
mean_pool_backward(const nn_pass *pass, float *dx, const float *dy, const float *x)
{
    const size_t inputs = pass->layer->inputs, outputs = pass->layer->outputs;
    (void)x;
    for (size_t r = 0; r < pass->rows; r++) {
        memset(dx + r * inputs, 0, inputs * sizeof(*dx));
        map_spread(pass->layer, dx + r * inputs, dy + r * outputs);
    }
    if (pass->then != NULL) {
        pass->then(pass->arg, 0, pass->rows);
    }
}

const nn_kind_ops nn_max_pool = {
    .reserve = pool_reserve,
    .forward = pool_forward,
    .tangent = max_pool_tangent,
    .backward_inputs = max_pool_backward,
};
const nn_kind_ops nn_mean_pool = {
    .reserve = pool_reserve,
    .forward = pool_forward,
    .backward_inputs = mean_pool_backward,
};
