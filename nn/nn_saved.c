// Saves nets and trainers as bytes, and reads them back after checking shapes and numbers.
#include "nn/nn_saved.h"

#include <math.h>
#include <string.h>

#define NUMBERS_MAX 12 // that describe the kernel of a layer besides its inputs and outputs

// Bits of a layer's flags.
enum {
    LAYER_NORM = 1,
    PLAIN_CONV = 2, // height, width, channels, filters, kernel follow: stride 1, no padding
    CLOSES_BLOCK = 4,
    ANY_KERNEL = 8, // NUMBERS_MAX numbers follow
    POOL_SHIFT = 4  // bits 4 and 5: 1 max pool, 2 mean pool
};

static bool
is_plain(const policy_axis *axis)
{
    return axis->stride == 1 && axis->before == 0 && axis->after == 0;
}

static uint8_t
layer_flags(const nn_layer *layer)
{
    const policy_axis *y = &layer->conv.rows, *x = &layer->conv.columns;
    bool plain = layer->kind == POLICY_CONV && is_plain(y) && is_plain(x) && y->kernel == x->kernel;
    uint32_t pool = policy_is_pool(layer->kind) ? layer->kind - POLICY_MAX_POOL + 1u : 0;
    return (uint8_t)((layer->layer_norm ? LAYER_NORM : 0) | (plain ? PLAIN_CONV : 0) |
                     (layer->skip_end ? CLOSES_BLOCK : 0) |
                     (layer->kind != POLICY_DENSE && !plain ? ANY_KERNEL : 0) |
                     (pool << POOL_SHIFT));
}

// Returns how many numbers describe the kernel of the layer, and writes them.
static uint32_t
kernel_numbers(const nn_layer *layer, uint32_t numbers[NUMBERS_MAX])
{
    const policy_conv *c = &layer->conv;
    const uint32_t all[NUMBERS_MAX] = {
        c->rows.size,   c->columns.size,   c->channels,       c->filters,
        c->rows.kernel, c->columns.kernel, c->rows.stride,    c->columns.stride,
        c->rows.before, c->rows.after,     c->columns.before, c->columns.after,
    };
    memcpy(numbers, all, sizeof(all));
    return (layer_flags(layer) & PLAIN_CONV) != 0 ? 5
           : layer->kind == POLICY_DENSE          ? 0
                                                  : NUMBERS_MAX;
}

static void
shape_save(const nn_net *net, oct_writer *writer)
{
    oct_write_u32(writer, net->layer_count);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        uint32_t numbers[NUMBERS_MAX], count = kernel_numbers(layer, numbers);
        oct_write_u32(writer, layer->inputs);
        oct_write_u32(writer, layer->outputs);
        oct_write_u8(writer, (uint8_t)layer->activation);
        oct_write_u8(writer, layer_flags(layer));
        for (uint32_t i = 0; i < count; i++) {
            oct_write_u32(writer, numbers[i]);
        }
    }
}

static bool
shape_fits(const nn_net *net, oct_reader *reader)
{
    bool fits = oct_read_u32(reader) == net->layer_count;
    for (uint32_t l = 0; fits && l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        uint32_t numbers[NUMBERS_MAX], count = kernel_numbers(layer, numbers);
        fits &= oct_read_u32(reader) == layer->inputs;
        fits &= oct_read_u32(reader) == layer->outputs;
        fits &= oct_read_u8(reader) == (uint8_t)layer->activation;
        fits &= oct_read_u8(reader) == layer_flags(layer);
        for (uint32_t i = 0; fits && i < count; i++) {
            fits &= oct_read_u32(reader) == numbers[i];
        }
    }
    return fits && !reader->failed;
}

// Returns a view of count finite floats, all >= least, or NULL if the bytes are too few or a float
// is not. The view need not be aligned.
static const uint8_t *
read_floats(oct_reader *reader, size_t count, float least)
{
    const uint8_t *bytes = oct_read_bytes(reader, count * sizeof(float));
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        float value;
        memcpy(&value, bytes + i * sizeof(value), sizeof(value));
        if (!isfinite(value) || value < least) {
            return NULL;
        }
    }
    return bytes;
}

void
nn_net_save(const nn_net *net, oct_writer *writer)
{
    shape_save(net, writer);
    oct_write_bytes(writer, net->params, net->param_count * sizeof(float));
}

oct_err
nn_net_read(nn_net_view *out, const nn_net *net, oct_reader *reader)
{
    if (!shape_fits(net, reader)) {
        return OCT_EPROTO;
    }
    nn_net_view view = {.params = read_floats(reader, net->param_count, -INFINITY)};
    if (view.params == NULL) {
        return OCT_EPROTO;
    }
    *out = view;
    return OCT_OK;
}

void
nn_net_apply(nn_net *net, const nn_net_view *view)
{
    memcpy(net->params, view->params, net->param_count * sizeof(float));
}

void
nn_trainer_save(const nn_trainer *trainer, oct_writer *writer)
{
    size_t bytes = trainer->tape.net.param_count * sizeof(float);
    if (writer->base != NULL) {
        nn_trainer_share_moments(trainer);
    }
    nn_net_save(&trainer->tape.net, writer);
    oct_write_u64(writer, trainer->steps);
    oct_write_bytes(writer, trainer->m, bytes);
    oct_write_bytes(writer, trainer->v, bytes);
}

oct_err
nn_trainer_read(nn_trainer_view *out, const nn_trainer *trainer, oct_reader *reader)
{
    size_t count = trainer->tape.net.param_count;
    nn_trainer_view view = {0};
    OCT_TRY(nn_net_read(&view.net, &trainer->tape.net, reader));
    view.steps = oct_read_u64(reader);
    view.m = read_floats(reader, count, -INFINITY);
    view.v = read_floats(reader, count, 0.0f);
    if (view.m == NULL || view.v == NULL) {
        return OCT_EPROTO;
    }
    *out = view;
    return OCT_OK;
}

void
nn_trainer_apply(nn_trainer *trainer, const nn_trainer_view *view)
{
    size_t bytes = trainer->tape.net.param_count * sizeof(float);
    nn_net_apply(&trainer->tape.net, &view->net);
    trainer->steps = view->steps;
    memcpy(trainer->m, view->m, bytes);
    memcpy(trainer->v, view->v, bytes);
    trainer->moments_apart = false;
}

void
nn_support_save(const nn_support *support, oct_writer *writer)
{
    oct_write_f32(writer, support->low);
    oct_write_f32(writer, support->high);
}

oct_err
nn_support_check(const nn_support *support, oct_reader *reader)
{
    float low = oct_read_f32(reader), high = oct_read_f32(reader);
    bool same = !reader->failed && low == support->low && high == support->high;
    return same ? OCT_OK : OCT_EPROTO;
}
