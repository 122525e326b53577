// Saves nets and trainers as bytes, and reads them back after checking shapes and numbers.
#include "nn/nn_saved.h"

#include <math.h>
#include <string.h>

// The numbers that describe a convolution besides its inputs and outputs.
#define CONV_NUMBERS 5
static void
conv_numbers(const nn_layer *layer, uint32_t numbers[CONV_NUMBERS])
{
    const policy_conv *conv = &layer->conv;
    const uint32_t all[CONV_NUMBERS] = {conv->height, conv->width, conv->channels, conv->filters,
                                        conv->kernel};
    memcpy(numbers, all, sizeof(all));
}

// Bit 0: layer norm. Bit 1: a convolution, whose CONV_NUMBERS follow. Bit 2: closes a block.
static uint8_t
layer_flags(const nn_layer *layer)
{
    return (uint8_t)((layer->layer_norm ? 1 : 0) | (layer->conv.kernel > 0 ? 2 : 0) |
                     (layer->skip_end ? 4 : 0));
}

static void
shape_save(const nn_net *net, oct_writer *writer)
{
    oct_write_u32(writer, net->layer_count);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const nn_layer *layer = &net->layers[l];
        uint32_t numbers[CONV_NUMBERS];
        conv_numbers(layer, numbers);
        oct_write_u32(writer, layer->inputs);
        oct_write_u32(writer, layer->outputs);
        oct_write_u8(writer, (uint8_t)layer->activation);
        oct_write_u8(writer, layer_flags(layer));
        for (int i = 0; layer->conv.kernel > 0 && i < CONV_NUMBERS; i++) {
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
        uint32_t numbers[CONV_NUMBERS];
        conv_numbers(layer, numbers);
        fits &= oct_read_u32(reader) == layer->inputs;
        fits &= oct_read_u32(reader) == layer->outputs;
        fits &= oct_read_u8(reader) == (uint8_t)layer->activation;
        fits &= oct_read_u8(reader) == layer_flags(layer);
        for (int i = 0; fits && layer->conv.kernel > 0 && i < CONV_NUMBERS; i++) {
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
