// Writes, reads and checks the header with which complete policies and changes begin, field by
// field as in docs/internals/wire.md.
#include "policy/policy_header.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_reason.h"
#include "policy/policy_contract.h"

static const char magic[4] = {'O', 'C', 'T', 'P'};

#define PREFIX_BYTES 12 // magic, format version, total length

#define DIRECT_VERSION 5 // format version of actions without mapping, and of contracts

// Format version of convolutions with any kernel, stride and padding, and of pools.
#define KERNEL_VERSION 7
// What a convolution of older formats has: a square kernel, and these values.
#define OLD_KERNEL_MAX 7
#define OLD_STRIDE     1
#define OLD_PADDING    0

oct_err
policy_refuse(const policy_parser *parser, const char *format, ...)
{
    if (parser->why != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(parser->why->text, sizeof(parser->why->text), format, args);
        va_end(args);
    }
    return OCT_EPROTO;
}

// Writes a text: one byte with its length, then that many bytes, none of them zero.
static void
text_write(oct_writer *writer, const char *text)
{
    size_t length = strnlen(text, POLICY_NAME_MAX - 1);
    oct_write_u8(writer, (uint8_t)length);
    oct_write_bytes(writer, text, length);
}

static oct_err
text_read(policy_parser *d, char text[POLICY_NAME_MAX], const char *what)
{
    uint8_t length = oct_read_u8(&d->reader);
    const uint8_t *bytes = oct_read_bytes(&d->reader, length);
    if (bytes == NULL || length >= POLICY_NAME_MAX || memchr(bytes, '\0', length) != NULL) {
        return policy_refuse(d, "the %s is not a text of at most %d bytes", what,
                             POLICY_NAME_MAX - 1);
    }
    memcpy(text, bytes, length);
    memset(text + length, 0, POLICY_NAME_MAX - length);
    return OCT_OK;
}

static oct_err
bool_read(policy_parser *d, bool *out, const char *what)
{
    uint8_t value = oct_read_u8(&d->reader);
    if (value > 1) {
        return policy_refuse(d, "%s is %u, allowed 0 and 1", what, value);
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
origin_read(policy_parser *d, policy_origin *origin)
{
    origin->run_id = oct_read_u64(&d->reader);
    origin->version = oct_read_u64(&d->reader);
    origin->base_version = oct_read_u64(&d->reader);
    origin->updates = oct_read_u64(&d->reader);
    origin->env_steps = oct_read_u64(&d->reader);
    origin->eval_return = oct_read_f32(&d->reader);
    if (isinf(origin->eval_return)) {
        return policy_refuse(d, "the evaluation return is infinite");
    }
    return text_read(d, origin->run_name, "run name");
}

static bool
axis_is_old(const policy_axis *axis)
{
    return axis->kernel <= OLD_KERNEL_MAX && axis->stride == OLD_STRIDE &&
           axis->before == OLD_PADDING && axis->after == OLD_PADDING;
}

// Returns true if older formats than KERNEL_VERSION can express the layer.
static bool
layer_is_old(const policy_layer *layer)
{
    const policy_axis *y = &layer->conv.rows, *x = &layer->conv.columns;
    return layer->kind == POLICY_DENSE ||
           (layer->kind == POLICY_CONV && axis_is_old(y) && axis_is_old(x) &&
            y->kernel == x->kernel && layer->inputs <= POLICY_WIDTH_MAX &&
            layer->outputs <= POLICY_WIDTH_MAX);
}

static void
axis_write(oct_writer *writer, const policy_axis *axis)
{
    oct_write_u8(writer, (uint8_t)axis->kernel);
    oct_write_u8(writer, (uint8_t)axis->stride);
    oct_write_u8(writer, (uint8_t)axis->before);
    oct_write_u8(writer, (uint8_t)axis->after);
}

static void
axis_read(oct_reader *reader, policy_axis *axis)
{
    axis->kernel = oct_read_u8(reader);
    axis->stride = oct_read_u8(reader);
    axis->before = oct_read_u8(reader);
    axis->after = oct_read_u8(reader);
}

static void
conv_write(oct_writer *writer, const policy_conv *conv, uint32_t version)
{
    oct_write_u32(writer, conv->rows.size);
    oct_write_u32(writer, conv->columns.size);
    oct_write_u32(writer, conv->channels);
    oct_write_u32(writer, conv->filters);
    if (version >= KERNEL_VERSION) {
        axis_write(writer, &conv->rows);
        axis_write(writer, &conv->columns);
    } else {
        oct_write_u8(writer, (uint8_t)conv->rows.kernel);
        oct_write_u8(writer, OLD_STRIDE);
        oct_write_u8(writer, OLD_PADDING);
    }
}

static oct_err
conv_read(policy_parser *d, policy_conv *conv)
{
    conv->rows.size = oct_read_u32(&d->reader);
    conv->columns.size = oct_read_u32(&d->reader);
    conv->channels = oct_read_u32(&d->reader);
    conv->filters = oct_read_u32(&d->reader);
    if (d->version >= KERNEL_VERSION) {
        axis_read(&d->reader, &conv->rows);
        axis_read(&d->reader, &conv->columns);
        return OCT_OK;
    }
    uint8_t kernel = oct_read_u8(&d->reader);
    uint8_t stride = oct_read_u8(&d->reader), padding = oct_read_u8(&d->reader);
    conv->rows.kernel = conv->columns.kernel = kernel;
    conv->rows.stride = conv->columns.stride = OLD_STRIDE;
    if (!d->reader.failed &&
        (kernel > OLD_KERNEL_MAX || stride != OLD_STRIDE || padding != OLD_PADDING)) {
        return policy_refuse(d,
                             "a convolution of kernel %u, stride %u and padding %u, allowed 1..%d, "
                             "%d and %d in format %u",
                             kernel, stride, padding, OLD_KERNEL_MAX, OLD_STRIDE, OLD_PADDING,
                             d->version);
    }
    return OCT_OK;
}

static void
spec_write(oct_writer *writer, const policy_spec *spec, uint32_t version)
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
    if (spec->head == POLICY_HEAD_GAUSSIAN) {
        oct_write_u8(writer, spec->state_deviation);
        if (version >= DIRECT_VERSION) {
            oct_write_u8(writer, spec->action_direct);
        }
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
        if (layer->kind != POLICY_DENSE) {
            conv_write(writer, &layer->conv, version);
        }
    }
}

static oct_err
spec_read_layers(policy_parser *d, policy_spec *spec)
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
        if (layer->kind == POLICY_CONV || policy_is_pool(layer->kind)) {
            OCT_TRY(conv_read(d, &layer->conv));
        }
    }
    return OCT_OK;
}

static oct_err
spec_read(policy_parser *d, policy_spec *spec)
{
    OCT_TRY(text_read(d, spec->env_id, "environment ID"));
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
                return policy_refuse(d, "%u actions, allowed 1..%d", spec->action_count,
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
    if (spec->head == POLICY_HEAD_GAUSSIAN) {
        OCT_TRY(bool_read(d, &spec->state_deviation, "state_deviation"));
        if (d->version >= DIRECT_VERSION) {
            OCT_TRY(bool_read(d, &spec->action_direct, "action_direct"));
        }
    }
    OCT_TRY(spec_read_layers(d, spec));
    if (d->reader.failed) {
        return policy_refuse(d, "it ends inside the network description");
    }
    if (policy_spec_check(spec, d->why) != OCT_OK) {
        return OCT_EPROTO;
    }
    return OCT_OK;
}

// Reads magic, format version, length and checksum. The reader is then at the origin, without the
// CRC.
static oct_err
prefix_read(policy_parser *d, const uint8_t *bytes, size_t length)
{
    uint32_t *version = &d->version;
    const uint8_t *found = oct_read_bytes(&d->reader, sizeof(magic));
    *version = oct_read_u32(&d->reader);
    uint32_t total_bytes = oct_read_u32(&d->reader);
    if (found == NULL || memcmp(found, magic, sizeof(magic)) != 0) {
        return policy_refuse(d, "not a policy: it does not begin with OCTP");
    }
    if (d->reader.failed) {
        return policy_refuse(d, "it ends after %zu bytes", length);
    }
    if (*version == 0) {
        return policy_refuse(d, "policy format 0 does not exist");
    }
    if (*version > POLICY_FORMAT_VERSION) {
        if (__builtin_bswap32(*version) <= POLICY_FORMAT_VERSION) {
            return policy_refuse(d, "its numbers are big-endian, but a policy's are little-endian");
        }
        (void)policy_refuse(d, "policy format %u is newer than this build knows (%d)", *version,
                            POLICY_FORMAT_VERSION);
        return OCT_EINVAL;
    }
    if (length > POLICY_BYTES_MAX || total_bytes != length ||
        length < PREFIX_BYTES + POLICY_CRC_BYTES) {
        return policy_refuse(d, "it has %zu bytes, its header says %u (at most %u)", length,
                             total_bytes, POLICY_BYTES_MAX);
    }
    oct_reader end = {.at = bytes + length - POLICY_CRC_BYTES, .left = POLICY_CRC_BYTES};
    if (oct_read_u32(&end) != oct_crc32(0, bytes, length - POLICY_CRC_BYTES)) {
        return policy_refuse(d, "its checksum does not match: the bytes are damaged");
    }
    d->reader.left -= POLICY_CRC_BYTES;
    return OCT_OK;
}

static bool
has_conv(const policy_spec *spec)
{
    return spec->layers[0].kind == POLICY_CONV; // convolutions come before dense layers
}

static bool
has_gaussian(const policy_spec *spec)
{
    return spec->head == POLICY_HEAD_GAUSSIAN || spec->head == POLICY_HEAD_TANH_GAUSSIAN;
}

// Returns the lowest format version that can express every layer.
static uint32_t
layers_version(const policy_spec *spec)
{
#define VERSION_OF(ENUM, name, version) [POLICY_##ENUM] = (version),
    static const uint8_t versions[] = {POLICY_ACTIVATIONS(VERSION_OF)};
#undef VERSION_OF
    uint32_t version = 1;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        version = OCT_MAX(version, versions[spec->layers[l].activation]);
        version = OCT_MAX(version, layer_is_old(&spec->layers[l]) ? 1u : KERNEL_VERSION);
    }
    return version;
}

// Returns the lowest format version that can express the policy. A file must have exactly this
// version.
static uint32_t
version_of(const policy_head_info *head)
{
    const policy_spec *spec = &head->spec;
    bool is_first = head->precision == POLICY_FP32 || head->precision == POLICY_INT8;
    uint32_t version = spec->action_direct || head->contract_bytes > 0 ? DIRECT_VERSION
                       : has_gaussian(spec)                            ? 4
                       : has_conv(spec)                                ? 3
                       : is_first && head->origin.base_version == 0    ? 1
                                                                       : 2;
    return OCT_MAX(version, layers_version(spec));
}

static oct_err
version_check(const policy_parser *d, const policy_head_info *head)
{
    uint64_t base = head->origin.base_version;
    uint32_t want = version_of(head);
    if (d->version != want) {
        return policy_refuse(d, "it says format %u, but %s %s%s is format %u", d->version,
                             base == 0 ? "a complete policy in" : "a change in",
                             policy_precision_name(head->precision),
                             want == KERNEL_VERSION      ? " with such kernels"
                             : want > DIRECT_VERSION     ? " with such activations"
                             : want == DIRECT_VERSION    ? " with a contract or direct actions"
                             : has_gaussian(&head->spec) ? " with a Gaussian head"
                             : has_conv(&head->spec)     ? " with convolutions"
                                                         : "",
                             want);
    }
    if (base != 0 && base >= head->origin.version) {
        return policy_refuse(d, "version %" PRIu64 " is a change of the later version %" PRIu64,
                             head->origin.version, base);
    }
    if (base != 0 && !policy_is_integer(head->precision)) {
        return policy_refuse(d, "a change in %s, which has no codes",
                             policy_precision_name(head->precision));
    }
    if (base != 0 && head->contract_bytes > 0) {
        return policy_refuse(d, "a change has a contract, which only complete policies have");
    }
    return OCT_OK;
}

static oct_err
contract_read(policy_parser *d, policy_head_info *head)
{
    uint32_t length = d->version >= DIRECT_VERSION ? oct_read_u32(&d->reader) : 0;
    const uint8_t *at = oct_read_bytes(&d->reader, length);
    if (at == NULL || d->reader.failed) {
        return policy_refuse(d, "it ends inside the contract");
    }
    if (!policy_contract_check(at, length)) {
        return policy_refuse(d, "its contract is not a list of at most %d bytes of keys and texts",
                             POLICY_CONTRACT_BYTES_MAX);
    }
    head->contract = length > 0 ? at : NULL;
    head->contract_bytes = length;
    return OCT_OK;
}

oct_err
policy_header_read(policy_parser *d, policy_head_info *head, const uint8_t *bytes, size_t length,
                   oct_reason *why)
{
    *d = (policy_parser){.reader = {.at = bytes, .left = length}, .why = why};
    *head = (policy_head_info){0};
    OCT_TRY(prefix_read(d, bytes, length));
    OCT_TRY(origin_read(d, &head->origin));
    head->precision = (policy_precision)oct_read_u8(&d->reader);
    if (head->precision < POLICY_FP32 || head->precision > POLICY_INT4) {
        return policy_refuse(d, "unknown precision %d", (int)head->precision);
    }
    OCT_TRY(bool_read(d, &head->per_tensor, "per_tensor"));
    if (head->per_tensor && head->precision != POLICY_INT8) {
        return policy_refuse(d, "one scale per tensor, but no int8 codes");
    }
    OCT_TRY(spec_read(d, &head->spec));
    OCT_TRY(contract_read(d, head));
    return version_check(d, head);
}

void
policy_header_write(oct_writer *writer, const policy_image *image, uint64_t base_version,
                    uint32_t total_bytes)
{
    policy_head_info head = {
        .spec = image->spec,
        .origin = image->origin,
        .precision = image->precision,
        .contract_bytes = base_version == 0 ? image->contract_bytes : 0,
    };
    head.origin.base_version = base_version;
    uint32_t version = version_of(&head);
    oct_write_bytes(writer, magic, sizeof(magic));
    oct_write_u32(writer, version);
    oct_write_u32(writer, total_bytes);
    origin_write(writer, &head.origin);
    oct_write_u8(writer, (uint8_t)image->precision);
    oct_write_u8(writer, image->precision == POLICY_INT8 && image->per_tensor);
    spec_write(writer, &image->spec, version);
    if (version >= DIRECT_VERSION) {
        oct_write_u32(writer, head.contract_bytes);
        oct_write_bytes(writer, image->contract, head.contract_bytes);
    }
}

oct_err
policy_peek(policy_head_info *out, const uint8_t *bytes, size_t length, oct_reason *why)
{
    policy_parser parser;
    policy_head_info head;
    OCT_TRY(policy_header_read(&parser, &head, bytes, length, why));
    *out = head;
    return OCT_OK;
}
