// Encodes and decodes the change between two versions of a policy; docs/internals/wire.md specifies
// the bytes.
//
// Both sides hold the base. The sender sends only what the receiver cannot derive from the base:
//
// 1. The header of a complete policy with base_version set, then a check value: the CRC-32 of every
//    float, multiplier and code of the result.
// 2. Floats, because the codes are predicted with the new scales: first all scales, then all other
//    floats. For each float the difference of the two IEEE words, in zigzag, is split into four
//    planes of bytes. The upper planes of floats that moved a little are almost all 0, so zstd
//    shortens them well.
// 3. For each layer the multipliers (INT4) and the codes. The receiver predicts a code as the old
//    weight on the new grid: round(old code * old step / new step). The sender sends the residual,
//    new code - prediction modulo 256, so any code can follow any other. A row with a new scale
//    costs only the codes that round differently.
// 4. Each of these arrays is one part: nothing if all its bytes are 0, packed if that is shorter,
//    otherwise raw. The residual coder (codec_residual.c) packs codes and multipliers, zstd packs
//    floats.
//
// Both sides compute the same prediction on every machine: each operation of ratio_of and predicted
// is one IEEE 754 operation, and the build contracts none of them.
//
// Failures:
// - The change is not shorter than the complete policy: the writer's capacity ends one byte before
//   that length, encode returns OCT_EAGAIN, and the sender sends the complete policy.
// - The receiver holds another version: the header shows it before a part is read (OCT_ENOTFOUND).
// - The receiver holds another policy with the same version number, for example because a restarted
//   learner numbered its versions from an older checkpoint: every part decodes, but the check value
//   of the result differs (OCT_ENOTFOUND). The receiver then asks for a complete policy.
// - Damaged bytes fail the CRC-32 of the message; bytes that no encoder writes fail in a part
//   (OCT_EPROTO).
// Decoding writes next and never base, so after every failure the receiver continues with base.
#include "policy/codec/codec_delta.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "common/oct_bits.h"
#include "common/oct_reason.h"
#include "policy/codec/codec_residual.h"
#include "policy/policy_header.h"

#define PLANES      4      // bytes of a float
#define FLOAT_LEVEL 3      // of zstd
#define RATIO_MAX   256.0f // from here on every code except 0 is predicted at its limit
// Observation means and inverse deviations, log deviations; bias, gain and offset of each layer.
#define SPANS_MAX    (3 + 3 * POLICY_LAYERS_MAX)
#define PACKED_EXTRA 5 // bytes before packed bytes: kind (u8) and length (u32)

// The kinds of a part, as in the bytes.
enum { PART_RAW = 0, PART_PACKED = 1, PART_ZERO = 2 };

struct codec_coder {
    size_t weights_max; // weights of the largest layer; 0: the precision has no codes
    size_t floats_max;  // the larger of the counts of SCALES and OTHERS
    size_t bytes_max;   // of a complete policy with the longest run name
    codec_residual_coder *residuals;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    uint8_t *planes;  // [PLANES][floats_max]
    int8_t *residual; // [weights_max], used by encode only
    uint8_t *bytes;   // [bytes_max], the change that was encoded last
};

// ---- floats

// One array of floats in an image.
typedef struct span {
    float *at;
    size_t count;
    float least;      // smallest value that a decoder accepts
    const char *what; // its name in error messages
} span;

// Scales change seldom and the other floats with every version, so they have separate planes.
typedef enum floats { SCALES, OTHERS } floats;

// Lists the arrays of one kind in the order of the bytes; returns their count. A per-tensor layer
// has one scale.
static size_t
spans_of(const policy_image *image, floats which, span spans[SPANS_MAX])
{
    const float any = -INFINITY;
    const policy_spec *spec = &image->spec;
    size_t n = 0;
    if (which == OTHERS && spec->normalise) {
        spans[n++] = (span){image->obs_mean, spec->obs_count, any, "observation mean"};
        spans[n++] =
            (span){image->obs_inverse_std, spec->obs_count, 0.0f, "observation inverse deviation"};
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        size_t outputs = policy_layer_rows(&spec->layers[l]);
        if (which == SCALES) {
            spans[n++] = (span){image->scales[l], policy_scale_count(image, l), 0.0f, "scale"};
            continue;
        }
        spans[n++] = (span){image->bias[l], outputs, any, "bias"};
        if (spec->layers[l].layer_norm) {
            spans[n++] = (span){image->gain[l], outputs, any, "gain"};
            spans[n++] = (span){image->offset[l], outputs, any, "offset"};
        }
    }
    if (which == OTHERS && policy_spec_has_deviation(spec)) {
        spans[n++] = (span){image->deviation, spec->action_count, any, "log deviation"};
    }
    return n;
}

// Returns the sum of the counts of spans_of. The tensors of image may be NULL.
static size_t
floats_count(const policy_image *image, floats which)
{
    const policy_spec *spec = &image->spec;
    size_t count = which == OTHERS && spec->normalise ? 2 * (size_t)spec->obs_count : 0;
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const policy_layer *layer = &spec->layers[l];
        count += which == SCALES ? policy_scale_count(image, l)
                                 : policy_layer_rows(layer) * (size_t)(layer->layer_norm ? 3 : 1);
    }
    count += which == OTHERS && policy_spec_has_deviation(spec) ? spec->action_count : 0;
    return count;
}

// Returns the difference of two floats' words in zigzag: 0, -1, 1, -2 … become 0, 1, 2, 3 … Two
// floats that are close and have the same sign have close words, so the difference is small.
static uint32_t
word_difference(float to, float from)
{
    uint32_t d = oct_bits_of(to) - oct_bits_of(from);
    return d << 1 ^ (0u - (d >> 31));
}

// Inverts word_difference.
static float
word_add(float from, uint32_t zigzag)
{
    return oct_float_of(oct_bits_of(from) + (zigzag >> 1 ^ (0u - (zigzag & 1))));
}

// planes[PLANES][count] = the differences between next and base, the lowest bytes in plane 0.
static void
planes_fill(uint8_t *planes, size_t count, const policy_image *next, const policy_image *base,
            floats which)
{
    span to[SPANS_MAX], from[SPANS_MAX];
    size_t n = spans_of(next, which, to), at = 0;
    (void)spans_of(base, which, from);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < to[i].count; k++, at++) {
            uint32_t zigzag = word_difference(to[i].at[k], from[i].at[k]);
            for (size_t p = 0; p < PLANES; p++) {
                planes[p * count + at] = (uint8_t)(zigzag >> 8 * p);
            }
        }
    }
}

// Sets the floats of next from those of base and planes[PLANES][count].
static void
planes_apply(const uint8_t *planes, size_t count, policy_image *next, const policy_image *base,
             floats which)
{
    span to[SPANS_MAX], from[SPANS_MAX];
    size_t n = spans_of(next, which, to), at = 0;
    (void)spans_of(base, which, from);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < to[i].count; k++, at++) {
            uint32_t zigzag = 0;
            for (size_t p = 0; p < PLANES; p++) {
                zigzag |= (uint32_t)planes[p * count + at] << 8 * p;
            }
            to[i].at[k] = word_add(from[i].at[k], zigzag);
        }
    }
}

// ---- codes

// Returns the length of one step of the old grid in steps of the new grid, at most RATIO_MAX. A new
// step of 0 gives 0: all codes are then 0.
static float
ratio_of(float from, float to)
{
    if (from == to) {
        return 1.0f;
    }
    float ratio = to > 0.0f ? from / to : 0.0f;
    return ratio < RATIO_MAX ? ratio : RATIO_MAX;
}

// Returns the code that the receiver predicts: the old weight on the new grid. Adding and
// subtracting 1.5 * 2^23 rounds to the nearest whole number, ties to even, because |code * ratio|
// <= 2^15.
static inline int32_t
predicted(int8_t code, float ratio, int32_t limit)
{
    int32_t moved = (int32_t)(((float)code * ratio + 0x1.8p23f) - 0x1.8p23f);
    moved = moved > limit ? limit : moved;
    return moved < -limit ? -limit : moved;
}

// Consecutive weights of a row that share one grid in base and one grid in next.
typedef struct run {
    size_t at; // index of the first code in the layer's codes
    uint32_t count;
    float ratio;   // old step / new step, see ratio_of
    int32_t limit; // of the codes
} run;

// residual = next - predicted, modulo 256. run_add inverts this exactly for all values.
static void
run_subtract(int8_t *restrict residual, const int8_t *restrict next, const int8_t *restrict base,
             const run *r)
{
    const uint32_t n = r->count;
    const float ratio = r->ratio;
    const int32_t limit = r->limit;
    if (ratio == 1.0f) {
        for (uint32_t k = 0; k < n; k++) {
            residual[k] = (int8_t)(uint8_t)(next[k] - base[k]);
        }
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        residual[k] = (int8_t)(uint8_t)(next[k] - predicted(base[k], ratio, limit));
    }
}

// codes, which hold the residual on entry, += predicted, modulo 256.
static void
run_add(int8_t *restrict codes, const int8_t *restrict base, const run *r)
{
    const uint32_t n = r->count;
    const float ratio = r->ratio;
    const int32_t limit = r->limit;
    if (ratio == 1.0f) {
        for (uint32_t k = 0; k < n; k++) {
            codes[k] = (int8_t)(uint8_t)(codes[k] + base[k]);
        }
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        codes[k] = (int8_t)(uint8_t)(codes[k] + predicted(base[k], ratio, limit));
    }
}

// Returns row j as one run.
static run
run_of_row(const policy_image *next, const policy_image *base, uint32_t l, uint32_t j)
{
    uint32_t inputs = policy_layer_columns(&next->spec.layers[l]);
    return (run){
        .at = (size_t)j * inputs,
        .count = inputs,
        .ratio = ratio_of(base->scales[l][j], next->scales[l][j]),
        .limit = next->precision == POLICY_INT4 ? POLICY_INT4_CODE_MAX : INT8_MAX,
    };
}

// Returns INT4 group g of row j.
static run
run_of_group(const policy_image *next, const policy_image *base, uint32_t l, uint32_t j, uint32_t g)
{
    run r = run_of_row(next, base, l, j);
    size_t multiplier = (size_t)j * policy_int4_groups(r.count) + g;
    uint32_t begin = g * POLICY_INT4_GROUP;
    r.at += begin;
    r.count = OCT_MIN(r.count - begin, (uint32_t)POLICY_INT4_GROUP);
    r.ratio = ratio_of(base->scales[l][j] * (float)base->multipliers[l][multiplier],
                       next->scales[l][j] * (float)next->multipliers[l][multiplier]);
    return r;
}

// Returns true if row j has the same ratio for all its weights: INT8, or INT4 with an unchanged
// scale and unchanged multipliers.
static bool
row_is_run(const policy_image *next, const policy_image *base, uint32_t l, uint32_t j)
{
    if (next->precision != POLICY_INT4) {
        return true;
    }
    size_t groups = policy_int4_groups(policy_layer_columns(&next->spec.layers[l])),
           at = (size_t)j * groups;
    return next->scales[l][j] == base->scales[l][j] &&
           memcmp(next->multipliers[l] + at, base->multipliers[l] + at, groups) == 0;
}

// Computes the residual of layer l into out. If is_adding, out holds the residual on entry and the
// codes of next on return.
static void
codes_walk(int8_t *out, const policy_image *next, const policy_image *base, uint32_t l,
           bool is_adding)
{
    const policy_layer *layer = &next->spec.layers[l];
    for (uint32_t j = 0; j < policy_layer_rows(layer); j++) {
        bool is_whole = row_is_run(next, base, l, j);
        uint32_t count = is_whole ? 1 : policy_int4_groups(policy_layer_columns(layer));
        for (uint32_t g = 0; g < count; g++) {
            run r = is_whole ? run_of_row(next, base, l, j) : run_of_group(next, base, l, j, g);
            if (is_adding) {
                run_add(out + r.at, base->codes[l] + r.at, &r);
            } else {
                run_subtract(out + r.at, next->codes[l] + r.at, base->codes[l] + r.at, &r);
            }
        }
    }
}

static size_t
multiplier_count(const policy_image *image, uint32_t l)
{
    const policy_layer *layer = &image->spec.layers[l];
    return (size_t)policy_layer_rows(layer) * policy_int4_groups(policy_layer_columns(layer));
}

// Returns the CRC-32 of all floats, multipliers and codes, so that a change that was applied to the
// wrong base is noticed.
static uint32_t
result_check(const policy_image *image)
{
    uint32_t crc = 0;
    for (floats which = SCALES; which <= OTHERS; which++) {
        span spans[SPANS_MAX];
        size_t n = spans_of(image, which, spans);
        for (size_t i = 0; i < n; i++) {
            crc = oct_crc32(crc, spans[i].at, spans[i].count * sizeof(float));
        }
    }
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        const policy_layer *layer = &image->spec.layers[l];
        if (image->precision == POLICY_INT4) {
            crc = oct_crc32(crc, image->multipliers[l], multiplier_count(image, l));
        }
        crc = oct_crc32(crc, image->codes[l], policy_layer_weights(layer));
    }
    return crc;
}

// ---- coder

codec_coder *
codec_coder_create(const policy_spec *spec, policy_precision precision)
{
    policy_image measured = {.spec = *spec, .precision = precision}; // without a run name
    codec_coder *coder = oct_alloc(sizeof(*coder));
    if (!policy_is_integer(precision)) {
        return coder;
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        size_t count = policy_layer_weights(&spec->layers[l]);
        coder->weights_max = OCT_MAX(coder->weights_max, count);
    }
    size_t scales = floats_count(&measured, SCALES), others = floats_count(&measured, OTHERS);
    coder->floats_max = OCT_MAX(scales, others);
    coder->bytes_max = policy_encoded_size(&measured) + POLICY_NAME_MAX;
    coder->residuals = codec_residual_coder_create(coder->weights_max);
    coder->compressor = ZSTD_createCCtx();
    coder->decompressor = ZSTD_createDCtx();
    coder->planes = oct_alloc(PLANES * coder->floats_max);
    // calloc, because a receiver never touches these pages and so never gets them.
    coder->residual = calloc(1, coder->weights_max);
    coder->bytes = calloc(1, coder->bytes_max);
    OCT_ASSERT(coder->compressor != NULL && coder->decompressor != NULL &&
               coder->residual != NULL && coder->bytes != NULL);
    // zstd allocates its tables at the first use, so that later uses allocate nothing.
    size_t n = ZSTD_compressCCtx(coder->compressor, coder->bytes, coder->bytes_max, coder->planes,
                                 coder->floats_max, FLOAT_LEVEL);
    OCT_ASSERT(!ZSTD_isError(n));
    return coder;
}

void
codec_coder_destroy(codec_coder *coder)
{
    if (coder != NULL) {
        codec_residual_coder_destroy(coder->residuals);
        (void)ZSTD_freeCCtx(coder->compressor);
        (void)ZSTD_freeDCtx(coder->decompressor);
        free(coder->planes);
        free(coder->residual);
        free(coder->bytes);
        free(coder);
    }
}

// ---- encoding

static bool
is_zero(const uint8_t *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

// Writes raw as one part of the shortest kind. is_codes: the residual coder packs the part,
// otherwise zstd.
static void
part_write(codec_coder *coder, oct_writer *writer, const codec_residual_matrix *raw, bool is_codes)
{
    const uint8_t *from = (const uint8_t *)raw->at;
    size_t count = (size_t)raw->rows * raw->columns;
    if (is_zero(from, count)) {
        oct_write_u8(writer, PART_ZERO);
        return;
    }
    size_t left = writer->capacity - writer->used;
    if (!writer->failed && left > PACKED_EXTRA && count > PACKED_EXTRA) {
        // Packs in place, after the kind and the length, and only into fewer bytes than raw ones.
        uint8_t *out = writer->base + writer->used + PACKED_EXTRA;
        size_t capacity = OCT_MIN(left, count) - PACKED_EXTRA;
        size_t packed;
        if (is_codes) {
            packed = codec_residual_encode(coder->residuals, raw, out, capacity);
        } else {
            packed = ZSTD_compressCCtx(coder->compressor, out, capacity, from, count, FLOAT_LEVEL);
            packed = ZSTD_isError(packed) ? 0 : packed;
        }
        if (packed != 0) {
            oct_write_u8(writer, PART_PACKED);
            oct_write_u32(writer, (uint32_t)packed);
            writer->used += packed;
            return;
        }
    }
    oct_write_u8(writer, PART_RAW);
    oct_write_bytes(writer, from, count);
}

static void
floats_write(codec_coder *coder, oct_writer *writer, const policy_image *next,
             const policy_image *base, floats which)
{
    size_t count = floats_count(next, which);
    OCT_ASSERT(count <= coder->floats_max);
    planes_fill(coder->planes, count, next, base, which);
    for (size_t p = 0; p < PLANES; p++) {
        int8_t *plane = (int8_t *)coder->planes + p * count;
        part_write(coder, writer, &(codec_residual_matrix){plane, 1, (uint32_t)count}, false);
    }
}

// Writes the multipliers (INT4) and the codes of layer l.
static void
layer_write(codec_coder *coder, oct_writer *writer, const policy_image *next,
            const policy_image *base, uint32_t l)
{
    const policy_layer *layer = &next->spec.layers[l];
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    OCT_ASSERT(policy_layer_weights(layer) <= coder->weights_max);
    if (next->precision == POLICY_INT4) {
        size_t count = multiplier_count(next, l);
        for (size_t i = 0; i < count; i++) {
            uint8_t moved = (uint8_t)(next->multipliers[l][i] - base->multipliers[l][i]);
            coder->residual[i] = (int8_t)moved;
        }
        part_write(coder, writer,
                   &(codec_residual_matrix){coder->residual, rows, policy_int4_groups(columns)},
                   true);
    }
    codes_walk(coder->residual, next, base, l, false);
    part_write(coder, writer, &(codec_residual_matrix){coder->residual, rows, columns}, true);
}

oct_err
codec_delta_encode(codec_coder *coder, const policy_image *base, const policy_image *next,
                   const uint8_t **bytes, size_t *length)
{
    OCT_ASSERT(next->precision == base->precision && next->per_tensor == base->per_tensor &&
               next->origin.run_id == base->origin.run_id &&
               next->origin.version > base->origin.version && base->origin.version != 0);
    if (!policy_is_integer(next->precision)) {
        return OCT_EAGAIN;
    }
    // One byte less than the complete policy: a change that is not shorter does not fit.
    oct_writer writer = {.base = coder->bytes, .capacity = policy_encoded_size(next) - 1};
    OCT_ASSERT(writer.capacity < coder->bytes_max);
    policy_header_write(&writer, next, base->origin.version, 0);
    oct_write_u32(&writer, result_check(next));
    floats_write(coder, &writer, next, base, SCALES);
    floats_write(coder, &writer, next, base, OTHERS);
    for (uint32_t l = 0; l < next->spec.layer_count && !writer.failed; l++) {
        layer_write(coder, &writer, next, base, l);
    }
    if (writer.failed || writer.capacity - writer.used < POLICY_CRC_BYTES) {
        return OCT_EAGAIN;
    }
    oct_writer total = {.base = coder->bytes + POLICY_TOTAL_AT, .capacity = sizeof(uint32_t)};
    oct_write_u32(&total, (uint32_t)(writer.used + POLICY_CRC_BYTES));
    oct_write_u32(&writer, oct_crc32(0, coder->bytes, writer.used));
    *bytes = coder->bytes;
    *length = writer.used;
    return OCT_OK;
}

// ---- decoding

// Reads one part into the numbers of out. OCT_EPROTO: its kind, length or content is wrong.
static oct_err
part_read(codec_coder *coder, policy_parser *d, const codec_residual_matrix *out, bool is_codes)
{
    size_t count = (size_t)out->rows * out->columns;
    uint8_t mode = oct_read_u8(&d->reader);
    size_t length = mode == PART_RAW ? count : mode == PART_PACKED ? oct_read_u32(&d->reader) : 0;
    const uint8_t *at = oct_read_bytes(&d->reader, length);
    if (at == NULL || mode > PART_ZERO) {
        return policy_refuse(d, at == NULL ? "it ends inside a part" : "a part of an unknown kind");
    }
    if (mode == PART_ZERO) {
        memset(out->at, 0, count);
        return OCT_OK;
    }
    if (mode == PART_RAW) {
        memcpy(out->at, at, count);
        return OCT_OK;
    }
    bool is_sound;
    if (is_codes) {
        is_sound = codec_residual_decode(coder->residuals, out, at, length) == OCT_OK;
    } else {
        is_sound = ZSTD_decompressDCtx(coder->decompressor, out->at, count, at, length) == count;
    }
    return is_sound ? OCT_OK : policy_refuse(d, "a part does not decompress to its size");
}

static oct_err
floats_read(codec_coder *coder, policy_parser *d, policy_image *next, const policy_image *base,
            floats which)
{
    size_t count = floats_count(next, which);
    OCT_ASSERT(count <= coder->floats_max);
    for (size_t p = 0; p < PLANES; p++) {
        int8_t *plane = (int8_t *)coder->planes + p * count;
        OCT_TRY(part_read(coder, d, &(codec_residual_matrix){plane, 1, (uint32_t)count}, false));
    }
    planes_apply(coder->planes, count, next, base, which);
    return OCT_OK;
}

// Reads layer l of next. The scales of next are complete by then, as the prediction needs them.
static oct_err
layer_read(codec_coder *coder, policy_parser *d, policy_image *next, const policy_image *base,
           uint32_t l)
{
    const policy_layer *layer = &next->spec.layers[l];
    uint32_t rows = policy_layer_rows(layer), columns = policy_layer_columns(layer);
    OCT_ASSERT(policy_layer_weights(layer) <= coder->weights_max);
    for (uint32_t j = 1; next->per_tensor && j < rows; j++) {
        next->scales[l][j] = next->scales[l][0];
    }
    if (next->precision == POLICY_INT4) {
        uint32_t groups = policy_int4_groups(columns);
        int8_t *at = (int8_t *)next->multipliers[l];
        OCT_TRY(part_read(coder, d, &(codec_residual_matrix){at, rows, groups}, true));
        for (size_t i = 0; i < (size_t)rows * groups; i++) {
            next->multipliers[l][i] = (uint8_t)(next->multipliers[l][i] + base->multipliers[l][i]);
        }
    }
    OCT_TRY(part_read(coder, d, &(codec_residual_matrix){next->codes[l], rows, columns}, true));
    codes_walk(next->codes[l], next, base, l, true);
    return OCT_OK;
}

// Makes the checks of policy_decode on a decoded result: floats, codes and multipliers in range.
static oct_err
result_is_sound(const policy_parser *d, const policy_image *image)
{
    for (floats which = SCALES; which <= OTHERS; which++) {
        span spans[SPANS_MAX];
        size_t n = spans_of(image, which, spans);
        for (size_t i = 0; i < n; i++) {
            OCT_TRY(
                policy_floats_check(d, spans[i].at, spans[i].count, spans[i].least, spans[i].what));
        }
    }
    for (uint32_t l = 0; l < image->spec.layer_count; l++) {
        if (image->precision == POLICY_INT4) {
            OCT_TRY(policy_int4_check(d, image, l));
        } else {
            const policy_layer *layer = &image->spec.layers[l];
            OCT_TRY(policy_codes_check(d, image->codes[l], policy_layer_weights(layer)));
        }
    }
    return OCT_OK;
}

oct_err
codec_delta_read(policy_parser *d, codec_coder *coder, policy_image *next, const policy_image *base,
                 const policy_head_info *head)
{
    OCT_ASSERT(next != base && next->precision == base->precision &&
               next->block_bytes == base->block_bytes);
    if (head->origin.base_version == 0) {
        return policy_refuse(d, "the policy is complete, not a change");
    }
    if (head->origin.run_id != base->origin.run_id ||
        head->origin.base_version != base->origin.version) {
        (void)policy_refuse(
            d, "the policy is a change of version %" PRIu64 ", but version %" PRIu64 " is held",
            head->origin.base_version, base->origin.version);
        return OCT_ENOTFOUND;
    }
    if (head->precision != base->precision || head->per_tensor != base->per_tensor ||
        !policy_spec_equal(&head->spec, &base->spec)) {
        return policy_refuse(d, "the policy's network or precision differs from its base's");
    }
    next->origin = head->origin;
    next->origin.base_version = 0;
    next->per_tensor = head->per_tensor;
    uint32_t check = oct_read_u32(&d->reader);
    OCT_TRY(floats_read(coder, d, next, base, SCALES));
    OCT_TRY(floats_read(coder, d, next, base, OTHERS));
    for (uint32_t l = 0; l < next->spec.layer_count; l++) {
        OCT_TRY(layer_read(coder, d, next, base, l));
    }
    if (d->reader.left != 0) {
        return policy_refuse(d, "%zu bytes too many", d->reader.left);
    }
    if (result_check(next) != check) {
        (void)policy_refuse(d,
                            "the policy is a change of version %" PRIu64
                            ", which is not the version that is held",
                            head->origin.base_version);
        return OCT_ENOTFOUND;
    }
    return result_is_sound(d, next);
}

oct_err
codec_delta_decode(codec_coder *coder, policy_image *next, const policy_image *base,
                   const uint8_t *bytes, size_t length, oct_reason *why)
{
    policy_parser parser;
    policy_head_info head;
    OCT_TRY(policy_header_read(&parser, &head, bytes, length, why));
    return codec_delta_read(&parser, coder, next, base, &head);
}
