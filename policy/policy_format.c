#include "policy/policy_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"

// docs/policy-format.md has the bytes. Encoder and decoder are kept side by side, field by field.

static const char magic[4] = {'O', 'C', 'T', 'P'};

// What this build writes: the oldest version that can say it.
#define COMPLETE_VERSION 1
#define PREFIX_BYTES     12 // magic, format version, total length
#define CRC_BYTES        4

typedef struct decoder {
    oct_reader reader;
    char *reason;
    size_t reason_size;
} decoder;

static oct_err OCT_PRINTF(2, 3) refuse(const decoder *d, const char *format, ...)
{
    if (d->reason_size > 0) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(d->reason, d->reason_size, format, args);
        va_end(args);
    }
    return OCT_EPROTO;
}

// Text: one byte of length, then so many bytes, none of them zero.
static void
text_write(oct_writer *writer, const char *text)
{
    size_t length = strnlen(text, POLICY_NAME_MAX - 1);
    oct_write_u8(writer, (uint8_t)length);
    oct_write_bytes(writer, text, length);
}

static oct_err
text_read(decoder *d, char text[POLICY_NAME_MAX], const char *what)
{
    uint8_t length = oct_read_u8(&d->reader);
    const uint8_t *bytes = oct_read_bytes(&d->reader, length);
    if (bytes == NULL || length >= POLICY_NAME_MAX || memchr(bytes, '\0', length) != NULL) {
        return refuse(d, "the %s is not a text of at most %d bytes", what, POLICY_NAME_MAX - 1);
    }
    memcpy(text, bytes, length);
    memset(text + length, 0, POLICY_NAME_MAX - length);
    return OCT_OK;
}

static oct_err
bool_read(decoder *d, bool *out, const char *what)
{
    uint8_t value = oct_read_u8(&d->reader);
    if (value > 1) {
        return refuse(d, "%s is %u, allowed 0 and 1", what, value);
    }
    *out = value == 1;
    return OCT_OK;
}

static void
origin_write(oct_writer *writer, const policy_origin *origin)
{
    oct_write_u64(writer, origin->run_id);
    oct_write_u64(writer, origin->version);
    oct_write_u64(writer, origin->base_version);
    oct_write_u64(writer, origin->updates);
    oct_write_u64(writer, origin->env_steps);
    oct_write_f32(writer, origin->eval_return);
    text_write(writer, origin->run_name);
}

static oct_err
origin_read(decoder *d, policy_origin *origin)
{
    origin->run_id = oct_read_u64(&d->reader);
    origin->version = oct_read_u64(&d->reader);
    origin->base_version = oct_read_u64(&d->reader);
    origin->updates = oct_read_u64(&d->reader);
    origin->env_steps = oct_read_u64(&d->reader);
    origin->eval_return = oct_read_f32(&d->reader);
    if (origin->base_version != 0) {
        return refuse(d, "the policy is a change to version %" PRIu64 ", not complete",
                      origin->base_version);
    }
    if (isinf(origin->eval_return)) {
        return refuse(d, "the evaluation return is infinite");
    }
    return text_read(d, origin->run_name, "run name");
}

static void
spec_write(oct_writer *writer, const policy_spec *spec)
{
    text_write(writer, spec->env_id);
    oct_write_u8(writer, (uint8_t)spec->obs_dtype);
    oct_write_u32(writer, spec->obs_count);
    oct_write_u8(writer, (uint8_t)spec->action_kind);
    oct_write_u32(writer, spec->action_count);
    if (spec->action_kind == POLICY_BOX) {
        oct_write_bytes(writer, spec->action_low, spec->action_count * sizeof(float));
        oct_write_bytes(writer, spec->action_high, spec->action_count * sizeof(float));
    }
    oct_write_u8(writer, (uint8_t)spec->head);
    if (spec->head == POLICY_HEAD_ATOMS) {
        oct_write_u32(writer, spec->atoms);
        oct_write_f32(writer, spec->value_min);
        oct_write_f32(writer, spec->value_max);
    }
    oct_write_u8(writer, spec->normalise);
    oct_write_u8(writer, (uint8_t)spec->layer_count);
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        oct_write_u8(writer, (uint8_t)layer->kind);
        oct_write_u32(writer, layer->inputs);
        oct_write_u32(writer, layer->outputs);
        oct_write_u8(writer, (uint8_t)layer->activation);
        oct_write_u8(writer, layer->layer_norm);
    }
}

static oct_err
spec_read_layers(decoder *d, policy_spec *spec)
{
    OCT_TRY(bool_read(d, &spec->normalise, "normalise"));
    spec->layer_count = oct_read_u8(&d->reader);
    for (uint32_t l = 0; l < OCT_MIN(spec->layer_count, (uint32_t)POLICY_LAYERS_MAX); l++) {
        policy_layer *layer = &spec->layers[l];
        layer->kind = (policy_layer_kind)oct_read_u8(&d->reader);
        layer->inputs = oct_read_u32(&d->reader);
        layer->outputs = oct_read_u32(&d->reader);
        layer->activation = (policy_activation)oct_read_u8(&d->reader);
        OCT_TRY(bool_read(d, &layer->layer_norm, "layer_norm"));
    }
    return OCT_OK;
}

static oct_err
spec_read(decoder *d, policy_spec *spec)
{
    OCT_TRY(text_read(d, spec->env_id, "environment id"));
    spec->obs_dtype = (policy_dtype)oct_read_u8(&d->reader);
    spec->obs_count = oct_read_u32(&d->reader);
    spec->action_kind = (policy_action_kind)oct_read_u8(&d->reader);
    spec->action_count = oct_read_u32(&d->reader);
    if (spec->action_kind == POLICY_BOX) {
        for (uint32_t half = 0; half < 2; half++) {
            float *bounds = half == 0 ? spec->action_low : spec->action_high;
            size_t bytes = (size_t)spec->action_count * sizeof(float);
            const uint8_t *at = oct_read_bytes(&d->reader, bytes);
            if (at == NULL || spec->action_count > POLICY_ACTIONS_MAX) {
                return refuse(d, "%u actions, allowed 1..%d", spec->action_count,
                              POLICY_ACTIONS_MAX);
            }
            memcpy(bounds, at, bytes);
        }
    }
    spec->head = (policy_head)oct_read_u8(&d->reader);
    if (spec->head == POLICY_HEAD_ATOMS) {
        spec->atoms = oct_read_u32(&d->reader);
        spec->value_min = oct_read_f32(&d->reader);
        spec->value_max = oct_read_f32(&d->reader);
    }
    OCT_TRY(spec_read_layers(d, spec));
    if (d->reader.failed) {
        return refuse(d, "it ends inside the network description");
    }
    if (policy_spec_check(spec, d->reason, d->reason_size) != OCT_OK) {
        return OCT_EPROTO;
    }
    return OCT_OK;
}

// Everything but the CRC. With a measuring writer the tensors may be absent.
static void
image_write(oct_writer *writer, const policy_image *image, uint32_t total_bytes)
{
    const policy_spec *spec = &image->spec;
    bool is_int8 = image->precision == POLICY_INT8;
    oct_write_bytes(writer, magic, sizeof(magic));
    oct_write_u32(writer, COMPLETE_VERSION);
    oct_write_u32(writer, total_bytes);
    origin_write(writer, &image->origin);
    oct_write_u8(writer, (uint8_t)image->precision);
    oct_write_u8(writer, is_int8 && image->per_tensor);
    spec_write(writer, spec);
    if (spec->normalise) {
        oct_write_bytes(writer, image->obs_mean, spec->obs_count * sizeof(float));
        oct_write_bytes(writer, image->obs_inverse_std, spec->obs_count * sizeof(float));
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        size_t count = (size_t)layer->inputs * layer->outputs;
        size_t row = layer->outputs * sizeof(float);
        if (is_int8) {
            oct_write_bytes(writer, image->scales[l], image->per_tensor ? sizeof(float) : row);
            oct_write_bytes(writer, image->codes[l], count);
        } else {
            oct_write_bytes(writer, image->weights[l], count * sizeof(float));
        }
        oct_write_bytes(writer, image->bias[l], row);
        if (layer->layer_norm) {
            oct_write_bytes(writer, image->gain[l], row);
            oct_write_bytes(writer, image->offset[l], row);
        }
    }
}

size_t
policy_encoded_size(const policy_image *image)
{
    oct_writer measure = {0};
    image_write(&measure, image, 0);
    return measure.used + CRC_BYTES;
}

void
policy_encode(const policy_image *image, uint8_t *out)
{
    size_t total = policy_encoded_size(image);
    OCT_ASSERT(total <= POLICY_BYTES_MAX && image->origin.base_version == 0);
    oct_writer writer = {.base = out, .capacity = total};
    image_write(&writer, image, (uint32_t)total);
    oct_write_u32(&writer, oct_crc32(0, out, writer.used));
    OCT_ASSERT(!writer.failed && writer.used == total);
}

static oct_err
floats_read(decoder *d, float *out, size_t count, float least, const char *what)
{
    const uint8_t *at = oct_read_bytes(&d->reader, count * sizeof(float));
    if (at == NULL) {
        return refuse(d, "it ends inside the %s", what);
    }
    memcpy(out, at, count * sizeof(float));
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(out[i]) || out[i] < least) {
            return refuse(d, "%s %zu is %g", what, i, (double)out[i]);
        }
    }
    return OCT_OK;
}

static oct_err
codes_read(decoder *d, int8_t *out, size_t count)
{
    const uint8_t *at = oct_read_bytes(&d->reader, count);
    if (at == NULL) {
        return refuse(d, "it ends inside the codes");
    }
    memcpy(out, at, count);
    // Counted without a branch, so that the loop over millions of codes is one of vectors.
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad += out[i] == INT8_MIN;
    }
    return bad == 0 ? OCT_OK : refuse(d, "%zu codes are -128, allowed -127..127", bad);
}

static oct_err
layer_read(decoder *d, policy_image *image, uint32_t l)
{
    const float any = -INFINITY;
    const policy_layer *layer = &image->spec.layers[l];
    size_t count = (size_t)layer->inputs * layer->outputs;
    if (image->precision == POLICY_INT8) {
        size_t scale_count = image->per_tensor ? 1 : layer->outputs;
        OCT_TRY(floats_read(d, image->scales[l], scale_count, 0.0f, "scale"));
        for (size_t i = scale_count; i < layer->outputs; i++) {
            image->scales[l][i] = image->scales[l][0];
        }
        OCT_TRY(codes_read(d, image->codes[l], count));
    } else {
        OCT_TRY(floats_read(d, image->weights[l], count, any, "weight"));
    }
    OCT_TRY(floats_read(d, image->bias[l], layer->outputs, any, "bias"));
    if (layer->layer_norm) {
        OCT_TRY(floats_read(d, image->gain[l], layer->outputs, any, "gain"));
        OCT_TRY(floats_read(d, image->offset[l], layer->outputs, any, "offset"));
    }
    return OCT_OK;
}

static oct_err
tensors_read(decoder *d, policy_image *image)
{
    uint32_t obs_count = image->spec.obs_count;
    if (image->spec.normalise) {
        OCT_TRY(floats_read(d, image->obs_mean, obs_count, -INFINITY, "observation mean"));
        OCT_TRY(floats_read(d, image->obs_inverse_std, obs_count, 0.0f,
                            "observation inverse deviation"));
    }
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        OCT_TRY(layer_read(d, image, l));
    }
    return OCT_OK;
}

// Magic, format version, length and checksum; leaves the reader at the origin, without the CRC.
static oct_err
prefix_read(decoder *d, const uint8_t *bytes, size_t length)
{
    const uint8_t *found = oct_read_bytes(&d->reader, sizeof(magic));
    uint32_t version = oct_read_u32(&d->reader);
    uint32_t total_bytes = oct_read_u32(&d->reader);
    if (found == NULL || memcmp(found, magic, sizeof(magic)) != 0) {
        return refuse(d, "not a policy: it does not begin with OCTP");
    }
    if (d->reader.failed) {
        return refuse(d, "it ends after %zu bytes", length);
    }
    if (version > POLICY_FORMAT_VERSION) {
        (void)refuse(d, "policy format %u is newer than this build knows (%d)", version,
                     POLICY_FORMAT_VERSION);
        return OCT_EINVAL;
    }
    if (version == 0) {
        return refuse(d, "policy format 0 does not exist");
    }
    if (length > POLICY_BYTES_MAX || total_bytes != length || length < PREFIX_BYTES + CRC_BYTES) {
        return refuse(d, "it has %zu bytes, its header says %u (at most %u)", length, total_bytes,
                      POLICY_BYTES_MAX);
    }
    oct_reader end = {.at = bytes + length - CRC_BYTES, .left = CRC_BYTES};
    if (oct_read_u32(&end) != oct_crc32(0, bytes, length - CRC_BYTES)) {
        return refuse(d, "its checksum does not match: the bytes are damaged");
    }
    d->reader.left -= CRC_BYTES;
    return OCT_OK;
}

static oct_err
header_read(decoder *d, policy_image *image)
{
    OCT_TRY(origin_read(d, &image->origin));
    image->precision = (policy_precision)oct_read_u8(&d->reader);
    if (image->precision != POLICY_INT8 && image->precision != POLICY_FP32) {
        return refuse(d, "unknown precision %d", (int)image->precision);
    }
    OCT_TRY(bool_read(d, &image->per_tensor, "per_tensor"));
    if (image->per_tensor && image->precision != POLICY_INT8) {
        return refuse(d, "one scale per tensor, but no codes");
    }
    return spec_read(d, &image->spec);
}

oct_err
policy_decode(policy_image **out, const uint8_t *bytes, size_t length, char *reason,
              size_t reason_size)
{
    decoder d = {{.at = bytes, .left = length}, reason, reason_size};
    policy_image header = {0};
    OCT_TRY(prefix_read(&d, bytes, length));
    OCT_TRY(header_read(&d, &header));
    // The lengths agree before anything is allocated.
    size_t needed = policy_encoded_size(&header);
    if (needed != length) {
        return refuse(&d, "it has %zu bytes, its layers need %zu", length, needed);
    }
    policy_image *image;
    if (policy_image_create(&image, &header.spec, header.precision) != OCT_OK) {
        return refuse(&d, "its layers need more than %u bytes", POLICY_BYTES_MAX);
    }
    image->origin = header.origin;
    image->per_tensor = header.per_tensor;
    oct_err err = tensors_read(&d, image);
    if (err != OCT_OK) {
        policy_image_destroy(image);
        return err;
    }
    *out = image;
    return OCT_OK;
}
