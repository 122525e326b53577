// Writes and reads complete policies as bytes; docs/internals/wire.md specifies the format.
#include "policy/policy_format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_reason.h"
#include "policy/policy_contract.h"
#include "policy/policy_header.h"

// Codes are copied and checked in chunks that stay in the L1 cache.
#define CHUNK_BYTES 16384u

// Returns the bytes of count 4-bit numbers, two in a byte.
static size_t
nibble_bytes(size_t count)
{
    return (count + 1) / 2;
}

// ---- writing

static void
nibbles_pack(uint8_t *restrict packed, const uint8_t *restrict numbers, size_t count)
{
    for (size_t k = 0; k < count / 2; k++) {
        packed[k] = (uint8_t)((numbers[2 * k] & 15) | numbers[2 * k + 1] << 4);
    }
    if (count % 2 != 0) {
        packed[count / 2] = numbers[count - 1] & 15;
    }
}

// Writes numbers[row_count][count] with 4 bits each, the first in the lower half of a byte. A row
// of odd length ends with a 0.
static void
nibbles_write(oct_writer *writer, const uint8_t *numbers, size_t row_count, size_t count)
{
    size_t row = nibble_bytes(count);
    OCT_ASSERT(writer->capacity - writer->used >= row_count * row);
    for (size_t j = 0; j < row_count; j++) {
        nibbles_pack(writer->base + writer->used, numbers + j * count, count);
        writer->used += row;
    }
}

static void
weights_write(oct_writer *writer, const policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t count = policy_layer_weights(layer);
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    switch (image->precision) {
    case POLICY_FP32:
        oct_write_bytes(writer, image->weights[l], count * sizeof(float));
        break;
    case POLICY_BF16:
    case POLICY_FP16:
        oct_write_bytes(writer, image->halves[l], count * sizeof(uint16_t));
        break;
    case POLICY_INT8:
        oct_write_bytes(writer, image->scales[l], policy_scale_count(image, l) * sizeof(float));
        oct_write_bytes(writer, image->codes[l], count);
        break;
    case POLICY_INT4:
        oct_write_bytes(writer, image->scales[l], rows * sizeof(float));
        nibbles_write(writer, image->multipliers[l], rows, policy_int4_groups(columns));
        nibbles_write(writer, (const uint8_t *)image->codes[l], rows, columns);
        break;
    }
}

static void
tensors_write(oct_writer *writer, const policy_image *image)
{
    const policy_spec *spec = &image->spec;
    if (spec->normalise) {
        oct_write_bytes(writer, image->obs_mean, spec->obs_count * sizeof(float));
        oct_write_bytes(writer, image->obs_inverse_std, spec->obs_count * sizeof(float));
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        size_t row = policy_layer_rows(layer) * sizeof(float);
        weights_write(writer, image, l);
        oct_write_bytes(writer, image->bias[l], row);
        if (layer->layer_norm) {
            oct_write_bytes(writer, image->gain[l], row);
            oct_write_bytes(writer, image->offset[l], row);
        }
    }
    if (policy_spec_has_deviation(spec)) {
        oct_write_bytes(writer, image->deviation, spec->action_count * sizeof(float));
    }
}

static uint64_t
weights_bytes(const policy_image *image, const policy_layer *layer)
{
    uint64_t rows = policy_layer_rows(layer), inputs = policy_layer_columns(layer);
    switch (image->precision) {
    case POLICY_FP32:
        return rows * inputs * sizeof(float);
    case POLICY_BF16:
    case POLICY_FP16:
        return rows * inputs * sizeof(uint16_t);
    case POLICY_INT8:
        return (image->per_tensor ? OCT_MIN(rows, 1u) : rows) * sizeof(float) + rows * inputs;
    case POLICY_INT4:
        return rows * (sizeof(float) + nibble_bytes(inputs) +
                       nibble_bytes(policy_int4_groups(policy_layer_columns(layer))));
    }
    return 0;
}

uint64_t
policy_complete_bytes(const policy_image *image)
{
    const policy_spec *spec = &image->spec;
    oct_writer measure = {0};
    policy_header_write(&measure, image, 0, 0);
    uint64_t bytes = measure.used + POLICY_CRC_BYTES;
    bytes += spec->normalise ? 2 * sizeof(float) * (uint64_t)spec->obs_count : 0;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        bytes += weights_bytes(image, layer);
        bytes += (layer->layer_norm ? 3 : 1) * sizeof(float) * (uint64_t)policy_layer_rows(layer);
    }
    bytes += policy_spec_has_deviation(spec) ? sizeof(float) * (uint64_t)spec->action_count : 0;
    return bytes;
}

size_t
policy_encoded_size(const policy_image *image)
{
    return (size_t)OCT_MIN(policy_complete_bytes(image), (uint64_t)SIZE_MAX);
}

void
policy_encode(const policy_image *image, uint8_t *out)
{
    size_t total = policy_encoded_size(image);
    OCT_ASSERT(total <= POLICY_BYTES_MAX && image->origin.base_version == 0);
    oct_writer writer = {.base = out, .capacity = total};
    policy_header_write(&writer, image, 0, (uint32_t)total);
    tensors_write(&writer, image);
    oct_write_u32(&writer, oct_crc32(0, out, writer.used));
    OCT_ASSERT(!writer.failed && writer.used == total);
}

uint32_t
policy_checksum(const uint8_t *bytes, size_t length)
{
    return length > POLICY_CRC_BYTES ? oct_crc32(0, bytes, length - POLICY_CRC_BYTES) : 0;
}

// ---- reading

oct_err
policy_floats_check(const policy_parser *d, const float *floats, size_t count, float least,
                    const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(floats[i]) || floats[i] < least) {
            return policy_refuse(d, "%s %zu is %g", what, i, (double)floats[i]);
        }
    }
    return OCT_OK;
}

static oct_err
floats_read(policy_parser *d, float *out, size_t count, float least, const char *what)
{
    const uint8_t *at = oct_read_bytes(&d->reader, count * sizeof(float));
    if (at == NULL) {
        return policy_refuse(d, "it ends inside the %s", what);
    }
    memcpy(out, at, count * sizeof(float));
    return policy_floats_check(d, out, count, least, what);
}

oct_err
policy_codes_check(const policy_parser *d, const int8_t *codes, size_t count)
{
    // The loop over millions of codes has no branch, so that the compiler vectorises it.
    uint8_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad |= codes[i] == INT8_MIN;
    }
    return bad == 0 ? OCT_OK : policy_refuse(d, "codes are -128, allowed -127..127");
}

static oct_err
codes_read(policy_parser *d, int8_t *out, size_t count)
{
    const uint8_t *at = oct_read_bytes(&d->reader, count);
    if (at == NULL) {
        return policy_refuse(d, "it ends inside the codes");
    }
    for (size_t begin = 0; begin < count; begin += CHUNK_BYTES) {
        size_t n = OCT_MIN(count - begin, (size_t)CHUNK_BYTES);
        memcpy(out + begin, at + begin, n);
        OCT_TRY(policy_codes_check(d, out + begin, n));
    }
    return OCT_OK;
}

// Reads 16-bit floats. exponent is the mask of its bits, which are all set in infinities and NaN.
static oct_err
halves_read(policy_parser *d, uint16_t *out, size_t count, uint16_t exponent)
{
    const uint8_t *at = oct_read_bytes(&d->reader, count * sizeof(uint16_t));
    if (at == NULL) {
        return policy_refuse(d, "it ends inside the weights");
    }
    memcpy(out, at, count * sizeof(uint16_t));
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        bad |= (out[i] & exponent) == exponent;
    }
    return bad == 0 ? OCT_OK : policy_refuse(d, "a weight is not finite");
}

// Unpacks each 4-bit number x as (x ^ flip) - flip: with flip 8 numbers are signed, with 0
// unsigned.
static void
nibbles_unpack(uint8_t *restrict numbers, const uint8_t *restrict packed, size_t count,
               uint8_t flip)
{
    for (size_t k = 0; k < count / 2; k++) {
        numbers[2 * k] = (uint8_t)(((packed[k] & 15) ^ flip) - flip);
        numbers[2 * k + 1] = (uint8_t)((packed[k] >> 4 ^ flip) - flip);
    }
    if (count % 2 != 0) {
        numbers[count - 1] = (uint8_t)(((packed[count / 2] & 15) ^ flip) - flip);
    }
}

// Reads what nibbles_write wrote. The last half byte of a row of odd length must be 0.
static oct_err
nibbles_read(policy_parser *d, uint8_t *numbers, size_t row_count, size_t count, uint8_t flip,
             const char *what)
{
    size_t row = nibble_bytes(count);
    const uint8_t *at = oct_read_bytes(&d->reader, row_count * row);
    if (at == NULL) {
        return policy_refuse(d, "it ends inside the %s", what);
    }
    for (size_t j = 0; j < row_count; j++, at += row) {
        nibbles_unpack(numbers + j * count, at, count, flip);
        if (count % 2 != 0 && at[row - 1] >> 4 != 0) {
            return policy_refuse(d, "row %zu of the %s does not end with zero", j, what);
        }
    }
    return OCT_OK;
}

// Returns true if a code is not in -limit .. limit.
static bool
codes_exceed(const int8_t *codes, uint32_t count, uint32_t limit)
{
    // No branch, see policy_codes_check.
    uint8_t large = 0;
    for (uint32_t k = 0; k < count; k++) {
        large |= (uint8_t)(codes[k] + limit) > 2 * limit;
    }
    return large != 0;
}

oct_err
policy_int4_check(const policy_parser *d, const policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    uint32_t inputs = policy_layer_columns(layer), groups = policy_int4_groups(inputs);
    for (uint32_t j = 0; j < policy_layer_rows(layer); j++) {
        const int8_t *codes = image->codes[l] + (size_t)j * inputs;
        const uint8_t *multipliers = image->multipliers[l] + (size_t)j * groups;
        if (codes_exceed(codes, inputs, POLICY_INT4_CODE_MAX)) {
            return policy_refuse(d, "row %u has a code that is not in -7..7", j);
        }
        for (uint32_t g = 0; g < groups; g++) {
            uint32_t begin = g * POLICY_INT4_GROUP;
            uint32_t n = OCT_MIN(inputs - begin, (uint32_t)POLICY_INT4_GROUP);
            if (multipliers[g] > POLICY_MULTIPLIER_MAX ||
                (multipliers[g] == 0 && codes_exceed(codes + begin, n, 0))) {
                return policy_refuse(d, "row %u: the multiplier of group %u is %u", j, g,
                                     multipliers[g]);
            }
        }
    }
    return OCT_OK;
}

static oct_err
int4_read(policy_parser *d, policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    uint32_t groups = policy_int4_groups(columns);
    uint8_t *codes = (uint8_t *)image->codes[l];
    OCT_TRY(floats_read(d, image->scales[l], rows, 0.0f, "scale"));
    OCT_TRY(nibbles_read(d, image->multipliers[l], rows, groups, 0, "multipliers"));
    OCT_TRY(nibbles_read(d, codes, rows, columns, 8, "codes"));
    return policy_int4_check(d, image, l);
}

static oct_err
int8_read(policy_parser *d, policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t scale_count = policy_scale_count(image, l);
    OCT_TRY(floats_read(d, image->scales[l], scale_count, 0.0f, "scale"));
    for (size_t i = scale_count; i < policy_layer_rows(layer); i++) {
        image->scales[l][i] = image->scales[l][0];
    }
    return codes_read(d, image->codes[l], policy_layer_weights(layer));
}

static oct_err
weights_read(policy_parser *d, policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    size_t count = policy_layer_weights(layer);
    switch (image->precision) {
    case POLICY_FP32:
        return floats_read(d, image->weights[l], count, -INFINITY, "weight");
    case POLICY_BF16:
        return halves_read(d, image->halves[l], count, 0x7f80);
    case POLICY_FP16:
        return halves_read(d, image->halves[l], count, 0x7c00);
    case POLICY_INT8:
        return int8_read(d, image, l);
    case POLICY_INT4:
        return int4_read(d, image, l);
    }
    return OCT_EINTERNAL;
}

oct_err
policy_tensors_read(policy_parser *d, policy_image *image, const policy_head_info *head)
{
    const float any = -INFINITY;
    const policy_spec *spec = &image->spec;
    image->origin = head->origin;
    image->per_tensor = head->per_tensor;
    if (spec->normalise) {
        OCT_TRY(floats_read(d, image->obs_mean, spec->obs_count, any, "observation mean"));
        OCT_TRY(floats_read(d, image->obs_inverse_std, spec->obs_count, 0.0f,
                            "observation inverse deviation"));
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        OCT_TRY(weights_read(d, image, l));
        OCT_TRY(floats_read(d, image->bias[l], policy_layer_rows(layer), any, "bias"));
        if (layer->layer_norm) {
            OCT_TRY(floats_read(d, image->gain[l], layer->outputs, any, "gain"));
            OCT_TRY(floats_read(d, image->offset[l], layer->outputs, any, "offset"));
        }
    }
    return policy_spec_has_deviation(spec)
               ? floats_read(d, image->deviation, spec->action_count, any, "log deviation")
               : OCT_OK;
}

oct_err
policy_complete_check(const policy_parser *d, const policy_head_info *head, size_t length)
{
    if (head->origin.base_version != 0) {
        return policy_refuse(d, "the policy is a change of version %" PRIu64 ", not complete",
                             head->origin.base_version);
    }
    policy_image measured = {.spec = head->spec,
                             .origin = head->origin,
                             .precision = head->precision,
                             .per_tensor = head->per_tensor,
                             .contract = (uint8_t *)head->contract,
                             .contract_bytes = head->contract_bytes};
    uint64_t needed = policy_complete_bytes(&measured);
    if (needed != length) {
        return policy_refuse(d, "it has %zu bytes, its layers need %" PRIu64, length, needed);
    }
    return OCT_OK;
}

oct_err
policy_decode(policy_image **out, const uint8_t *bytes, size_t length, oct_reason *why)
{
    policy_parser parser;
    policy_head_info head;
    policy_image *image;
    OCT_TRY(policy_header_read(&parser, &head, bytes, length, why));
    // Checks the length before anything is allocated.
    OCT_TRY(policy_complete_check(&parser, &head, length));
    if (policy_image_reserve(&image, &head.spec, head.precision) != OCT_OK) {
        return policy_refuse(&parser, "its layers need more than %u bytes", POLICY_BYTES_MAX);
    }
    oct_err err = policy_tensors_read(&parser, image, &head);
    if (err != OCT_OK) {
        policy_image_destroy(image);
        return err;
    }
    policy_contract_set(image, head.contract, head.contract_bytes);
    *out = image;
    return OCT_OK;
}

oct_err
policy_decode_into(policy_image *image, const uint8_t *bytes, size_t length, oct_reason *why)
{
    policy_parser parser;
    policy_head_info head;
    OCT_TRY(policy_header_read(&parser, &head, bytes, length, why));
    OCT_TRY(policy_complete_check(&parser, &head, length));
    if (head.precision != image->precision || !policy_spec_equal(&head.spec, &image->spec)) {
        return policy_refuse(&parser, "the policy's network or precision differs from its base's");
    }
    if (head.contract_bytes > 0 || image->contract_bytes > 0) {
        return policy_refuse(&parser, "the policy has a contract, which no run publishes");
    }
    return policy_tensors_read(&parser, image, &head);
}
