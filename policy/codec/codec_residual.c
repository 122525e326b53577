// Compresses the matrix of residuals of an integer policy. The plan (codec_residual_plan.c) sorts
// rows and columns into classes and so divides the matrix into tiles. Each tile becomes bytes of
// digits, and the values that are too large for a digit become escapes (codec_residual_pack.c). The
// lines (class and sign of each row and column), the escapes and the tiles are then one stream of
// symbols (codec_rans.c), which is encoded from its end and decoded from its beginning. If that is
// not shorter than the matrix, the matrix is sent as it is.
#include "policy/codec/codec_residual.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/codec/codec_rans.h"
#include "policy/codec/codec_residual_pack.h"
#include "policy/codec/codec_residual_plan.h"

// The first byte.
#define MODE_RAW     0 // residual[rows][columns] follows
#define MODE_ZERO    1 // all residuals are 0; nothing follows
#define MODE_CLASSED 2

#define GROUP 8 // rows that are packed together, a multiple of CODEC_RESIDUAL_SHARE_MAX

struct codec_residual_coder {
    size_t weights_max, symbols_max; // words has room for symbols_max digits, escapes and lines
    codec_residual_plan plan;
    uint8_t *work; // digits of all tiles, then of lines; in decode digits of lines or of one tile
    uint8_t *escapes; // [weights_max] and padding
    uint8_t *words;   // the buffer of the rANS encoder; in decode the rows of one class, whose
                      // columns are in order of class
    int8_t *rows;     // [GROUP][columns], columns in order of class; in decode one row of waste
    int8_t *zeros;    // [columns], all 0
    uint8_t line_codes[16], escape_codes[256]; // of digits (codec_rans.h)
    // Mode, classes; codes of lines; count, limits and codes of escapes; tiles.
    uint8_t head[2 + 16 + 4 + 256 + CODEC_RESIDUAL_TILES_MAX * 258];
    codec_rans_decoder decoder;
};

codec_residual_coder *
codec_residual_coder_create(size_t weights_max)
{
    codec_residual_coder *coder = oct_alloc(sizeof(*coder));
    size_t columns = OCT_MIN(weights_max, (size_t)CODEC_RESIDUAL_LINES_MAX);
    size_t lines = OCT_MIN(weights_max + 1, 2 * (size_t)CODEC_RESIDUAL_LINES_MAX);
    coder->weights_max = weights_max;
    // Symbols beyond this (many escapes) are not worth coding: classed_encode gives up.
    coder->symbols_max =
        weights_max + weights_max / 4 + lines + CODEC_RESIDUAL_TILES_MAX * CODEC_RANS_STATES + 64;
    coder->work =
        oct_alloc(weights_max + lines + CODEC_RESIDUAL_TILES_MAX * CODEC_RANS_STATES + 64);
    coder->escapes = oct_alloc(weights_max + CODEC_RANS_STATES + CODEC_RESIDUAL_ESCAPES_SLACK);
    coder->words = oct_alloc(codec_rans_buffer_bytes(coder->symbols_max));
    coder->rows = oct_alloc((GROUP + 1) * columns);
    coder->zeros = coder->rows + GROUP * columns;
    memset(coder->zeros, 0, columns);
    codec_residual_plan_init(&coder->plan, weights_max);
    return coder;
}

void
codec_residual_coder_destroy(codec_residual_coder *coder)
{
    if (coder != NULL) {
        codec_residual_plan_fini(&coder->plan);
        free(coder->work);
        free(coder->escapes);
        free(coder->words);
        free(coder->rows);
        free(coder);
    }
}

// Returns the count of residuals, and asserts the limits of a matrix.
static size_t
weights_of(const codec_residual_coder *coder, const codec_residual_matrix *residual)
{
    size_t count = (size_t)residual->rows * residual->columns;
    OCT_ASSERT(count <= coder->weights_max && residual->rows <= CODEC_RESIDUAL_LINES_MAX &&
               residual->columns <= CODEC_RESIDUAL_LINES_MAX);
    return count;
}

size_t
codec_residual_bound(uint32_t rows, uint32_t columns)
{
    return (size_t)rows * columns + 1;
}

// ---- encode

// The place where the next digits and the next escapes of a tile are written.
typedef struct sink {
    uint8_t *symbols;
    uint8_t *escapes;
} sink;

// Packs the first count <= GROUP of the coder's rows, as far as they belong to tile (c, d), into
// the tile's sink, which moves forward. Rows beyond count are zeros.
static void
group_pack(const codec_residual_coder *coder, uint32_t count, uint32_t c, uint32_t d, sink *to)
{
    const codec_residual_plan *plan = &coder->plan;
    uint32_t begin = plan->column_begin[d], width = plan->column_begin[d + 1] - begin;
    if (width == 0) {
        return;
    }
    uint32_t t = c * plan->column_classes + d, share = 8u / plan->bits[t];
    int8_t most = (int8_t)plan->most[t];
    for (uint32_t i = 0; i < count; i += share) {
        const int8_t *several[CODEC_RESIDUAL_SHARE_MAX];
        for (uint32_t n = 0; n < share; n++) {
            several[n] = i + n < count ? coder->rows + begin + (size_t)(i + n) * plan->columns
                                       : coder->zeros;
            to->escapes += codec_residual_escapes_take(to->escapes, several[n], width, most);
        }
        codec_residual_digits_pack(to->symbols, several, width, plan->bits[t], most);
        to->symbols += width;
    }
}

// Packs all tiles of row class c, the tile with column class d into to[d].
static void
class_pack(codec_residual_coder *coder, const int8_t *residual, uint32_t c,
           sink to[CODEC_RESIDUAL_CLASSES_MAX])
{
    codec_residual_plan *plan = &coder->plan;
    const codec_residual_columns columns = {plan->column_classes > 1 ? plan->column_order : NULL,
                                            plan->column_sign, plan->columns};
    for (uint32_t i = plan->row_begin[c]; i < plan->row_begin[c + 1]; i += GROUP) {
        uint32_t count = OCT_MIN(plan->row_begin[c + 1] - i, (uint32_t)GROUP);
        for (uint32_t n = 0; n < count; n++) {
            uint32_t j = plan->row_order[i + n];
            codec_residual_row_arrange(coder->rows + (size_t)n * plan->columns,
                                       residual + (size_t)j * plan->columns, &columns,
                                       plan->row_sign[j]);
        }
        for (uint32_t d = 0; d < plan->column_classes; d++) {
            group_pack(coder, count, c, d, &to[d]);
        }
    }
}

// Packs all tiles: their digits into work, their escapes one tile after another into escapes.
// Returns the count of escapes.
static size_t
tiles_pack(codec_residual_coder *coder, const int8_t *residual)
{
    codec_residual_plan *plan = &coder->plan;
    uint8_t *at = coder->work, *escapes_end = coder->escapes;
    for (uint32_t c = 0; c < plan->row_classes; c++) {
        sink to[CODEC_RESIDUAL_CLASSES_MAX];
        uint8_t *begin[CODEC_RESIDUAL_CLASSES_MAX], *spare = escapes_end;
        for (uint32_t d = 0; d < plan->column_classes; d++) {
            size_t bytes = codec_residual_plan_tile_bytes(plan, c, d);
            begin[d] = spare;
            to[d] = (sink){at, spare};
            memset(at, 0, bytes);
            at += bytes;
            spare += codec_residual_plan_tile_weights(plan, c, d);
        }
        class_pack(coder, residual, c, to);
        for (uint32_t d = 0; d < plan->column_classes; d++) { // closes the gaps between escapes
            size_t n = (size_t)(to[d].escapes - begin[d]);
            memmove(escapes_end, begin[d], n);
            escapes_end += n;
        }
    }
    return (size_t)(escapes_end - coder->escapes);
}

// codes[1 << bits] = the codes of the digits of bytes[count], by their frequency.
static void
codes_count(uint8_t *codes, const uint8_t *bytes, size_t count, unsigned bits)
{
    uint32_t histogram[256] = {0}, most = 0, digits = 1u << bits;
    for (size_t i = 0; i < count; i++) {
        for (unsigned shift = 0; shift < 8; shift += bits) {
            histogram[bytes[i] >> shift & (digits - 1)]++;
        }
    }
    for (uint32_t d = 0; d < digits; d++) {
        most = OCT_MAX(most, histogram[d]);
    }
    for (uint32_t d = 0; d < digits; d++) {
        codes[d] = histogram[d] > 0 ? codec_rans_code(histogram[d], most) : CODEC_RANS_ABSENT;
    }
}

// Pads escapes to a whole number of symbols; returns that count. The decoder ignores the padding,
// because it has the count of escapes. Repeating the first escape adds no new value to the table.
static size_t
escapes_pad(uint8_t *escapes, size_t count)
{
    while (count % CODEC_RANS_STATES != 0) {
        escapes[count] = escapes[0];
        count++;
    }
    return count;
}

// Writes [mode][classes][codes of lines][count of escapes][codes of escapes][tiles]; returns the
// count of bytes.
static size_t
head_write(codec_residual_coder *coder, size_t escapes, uint8_t *out)
{
    const codec_residual_plan *plan = &coder->plan;
    uint8_t *at = out;
    *at++ = MODE_CLASSED;
    *at++ = (uint8_t)(plan->row_classes | plan->column_classes << 4);
    memcpy(at, coder->line_codes, sizeof(coder->line_codes));
    at += sizeof(coder->line_codes);
    for (int i = 0; i < 4; i++) {
        *at++ = (uint8_t)(escapes >> (8 * i));
    }
    if (escapes > 0) {
        uint32_t low = 0, high = 255; // smallest and largest escape, plus 128
        while (coder->escape_codes[low ^ 128] == CODEC_RANS_ABSENT) {
            low++;
        }
        while (coder->escape_codes[high ^ 128] == CODEC_RANS_ABSENT) {
            high--;
        }
        *at++ = (uint8_t)low;
        *at++ = (uint8_t)high;
        for (uint32_t v = low; v <= high; v++) {
            *at++ = coder->escape_codes[v ^ 128];
        }
    }
    return (size_t)(at - out) + codec_residual_plan_write_tiles(plan, at);
}

// Encodes by the plan. Returns the count of bytes, or 0 if they do not fit into capacity. The order
// of encoding is tiles, escapes, lines, as the decoder needs the opposite order.
static size_t
classed_encode(codec_residual_coder *coder, const int8_t *residual, uint8_t *out, size_t capacity)
{
    codec_residual_plan *plan = &coder->plan;
    codec_rans_encoder encoder;
    codec_rans_model model;
    size_t escapes = tiles_pack(coder, residual), padded = escapes_pad(coder->escapes, escapes);
    size_t lines = codec_residual_plan_lines_bytes(plan->rows, plan->columns), digits = 0;
    for (uint32_t c = 0; c < plan->row_classes; c++) {
        for (uint32_t d = 0; d < plan->column_classes; d++) {
            digits += codec_residual_plan_tile_bytes(plan, c, d);
        }
    }
    if (digits + padded + lines > coder->symbols_max) {
        return 0;
    }
    codec_rans_encode_begin(&encoder, coder->words, coder->symbols_max);
    const uint8_t *at = coder->work + digits;
    for (uint32_t c = plan->row_classes; c-- > 0;) {
        for (uint32_t d = plan->column_classes; d-- > 0;) {
            uint32_t t = c * plan->column_classes + d;
            size_t bytes = codec_residual_plan_tile_bytes(plan, c, d);
            at -= bytes;
            if (bytes > 0 && codec_rans_model_make(&model, plan->codes[t], plan->bits[t])) {
                codec_rans_encode(&encoder, &model, at, bytes);
            }
        }
    }
    codes_count(coder->escape_codes, coder->escapes, padded, 8);
    if (padded > 0 && codec_rans_model_make(&model, coder->escape_codes, 8)) {
        codec_rans_encode(&encoder, &model, coder->escapes, padded);
    }
    codec_residual_plan_write_lines(plan, coder->work);
    codes_count(coder->line_codes, coder->work, lines, 4);
    OCT_ASSERT(codec_rans_model_make(&model, coder->line_codes, 4));
    codec_rans_encode(&encoder, &model, coder->work, lines);
    size_t head = head_write(coder, escapes, coder->head);
    if (head >= capacity) {
        return 0;
    }
    memcpy(out, coder->head, head);
    size_t length = codec_rans_encode_end(&encoder, out + head, capacity - head);
    return length > 0 ? head + length : 0;
}

size_t
codec_residual_encode(codec_residual_coder *coder, const codec_residual_matrix *residual,
                      uint8_t *out, size_t capacity)
{
    size_t count = weights_of(coder, residual);
    if (capacity == 0) {
        return 0;
    }
    if (!codec_residual_plan_make(&coder->plan, residual)) {
        out[0] = MODE_ZERO;
        return 1;
    }
    size_t length = classed_encode(coder, residual->at, out, OCT_MIN(capacity, count));
    if (length > 0 || capacity - 1 < count) {
        return length;
    }
    out[0] = MODE_RAW;
    memcpy(out + 1, residual->at, count);
    return 1 + count;
}

// ---- decode

// The escapes that no tile has taken yet.
typedef struct source {
    const uint8_t *escapes;
    const uint8_t *end;
} source;

// Unpacks the digits of tile (c, d) from work into words[rows of class c][columns] and replaces the
// markers by escapes. Rows beyond the class, which fill the last byte, go to waste. Returns false
// if the escapes run out.
static bool
tile_unpack(codec_residual_coder *coder, uint32_t c, uint32_t d, source *from)
{
    const codec_residual_plan *plan = &coder->plan;
    int8_t *arranged = (int8_t *)coder->words, *waste = coder->rows;
    uint32_t begin = plan->column_begin[d], width = plan->column_begin[d + 1] - begin;
    unsigned bits = plan->bits[c * plan->column_classes + d], share = 8 / bits;
    uint32_t rows = plan->row_begin[c + 1] - plan->row_begin[c];
    for (uint32_t i = 0; i < rows; i += share) {
        int8_t *several[CODEC_RESIDUAL_SHARE_MAX];
        for (uint32_t n = 0; n < share; n++) {
            bool is_row = i + n < rows;
            several[n] = is_row ? arranged + (size_t)(i + n) * plan->columns + begin : waste;
        }
        codec_residual_digits_unpack(several, coder->work + (size_t)(i / share) * width, width,
                                     bits);
        for (uint32_t n = 0; n < OCT_MIN(share, rows - i); n++) {
            size_t taken = codec_residual_escapes_give(several[n], width, bits, from->escapes,
                                                       (size_t)(from->end - from->escapes));
            if (taken == SIZE_MAX) {
                return false;
            }
            from->escapes += taken;
        }
    }
    return true;
}

// Reads the bytes before the states and words. Returns their count, or 0 if they are not valid.
static size_t
head_read(codec_residual_coder *coder, uint32_t *escapes, const uint8_t *bytes, size_t length)
{
    codec_residual_plan *plan = &coder->plan;
    size_t at = 2 + sizeof(coder->line_codes);
    if (length < at + 4) {
        return 0;
    }
    plan->row_classes = bytes[1] & 15;
    plan->column_classes = bytes[1] >> 4;
    if (plan->row_classes < 1 || plan->row_classes > CODEC_RESIDUAL_CLASSES_MAX ||
        plan->column_classes < 1 || plan->column_classes > CODEC_RESIDUAL_CLASSES_MAX) {
        return 0;
    }
    memcpy(coder->line_codes, bytes + 2, sizeof(coder->line_codes));
    *escapes = (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 |
               (uint32_t)bytes[at + 3] << 24;
    at += 4;
    if (*escapes > 0) {
        if (length - at < 2) {
            return 0;
        }
        uint32_t low = bytes[at], high = bytes[at + 1];
        at += 2;
        if (low > high || length - at < high - low + 1) {
            return 0;
        }
        memset(coder->escape_codes, CODEC_RANS_ABSENT, sizeof(coder->escape_codes));
        for (uint32_t v = low; v <= high; v++) {
            coder->escape_codes[v ^ 128] = bytes[at++];
        }
    }
    size_t tiles = codec_residual_plan_read_tiles(plan, bytes + at, length - at);
    return tiles > 0 ? at + tiles : 0;
}

// Decodes the tiles of row class c side by side into arranged, then copies the rows into residual,
// with rows, columns and signs as in the matrix. Returns false if a tile is not valid.
static bool
class_decode(codec_residual_coder *coder, int8_t *residual, uint32_t c, source *from)
{
    const codec_residual_plan *plan = &coder->plan;
    const codec_residual_columns columns = {plan->column_classes > 1 ? plan->column_place : NULL,
                                            plan->column_turn, plan->columns};
    const int8_t *arranged = (int8_t *)coder->words;
    for (uint32_t d = 0; d < plan->column_classes; d++) {
        uint32_t t = c * plan->column_classes + d;
        size_t weights = codec_residual_plan_tile_weights(plan, c, d);
        size_t bytes = codec_residual_plan_tile_bytes(plan, c, d);
        codec_rans_model model;
        if (weights == 0) {
            if (bytes != 0 || plan->bits[t] != 0) {
                return false;
            }
            continue;
        }
        if (plan->bits[t] == 0 || !codec_rans_model_make(&model, plan->codes[t], plan->bits[t]) ||
            !codec_rans_decode(&coder->decoder, &model, coder->work, bytes) ||
            !tile_unpack(coder, c, d, from)) {
            return false;
        }
    }
    for (uint32_t i = plan->row_begin[c]; i < plan->row_begin[c + 1]; i++) {
        uint32_t j = plan->row_order[i];
        codec_residual_row_arrange(residual + (size_t)j * plan->columns,
                                   arranged + (size_t)(i - plan->row_begin[c]) * plan->columns,
                                   &columns, plan->row_sign[j]);
    }
    return true;
}

// Decodes bytes of MODE_CLASSED. The count of escapes is checked before a buffer is filled.
static oct_err
classed_decode(codec_residual_coder *coder, const codec_residual_matrix *residual,
               const uint8_t *bytes, size_t length)
{
    const uint32_t rows = residual->rows, columns = residual->columns;
    codec_residual_plan *plan = &coder->plan;
    codec_rans_model model;
    uint32_t escapes = 0;
    size_t lines = codec_residual_plan_lines_bytes(rows, columns);
    size_t head = head_read(coder, &escapes, bytes, length);
    if (head == 0 || escapes > (size_t)rows * columns ||
        !codec_rans_decode_begin(&coder->decoder, bytes + head, length - head) ||
        !codec_rans_model_make(&model, coder->line_codes, 4) ||
        !codec_rans_decode(&coder->decoder, &model, coder->work, lines) ||
        !codec_residual_plan_read_lines(plan, rows, columns, coder->work)) {
        return OCT_EPROTO;
    }
    size_t padded = codec_rans_padded(escapes);
    if (escapes > 0 && (!codec_rans_model_make(&model, coder->escape_codes, 8) ||
                        !codec_rans_decode(&coder->decoder, &model, coder->escapes, padded))) {
        return OCT_EPROTO;
    }
    source from = {coder->escapes, coder->escapes + escapes};
    for (uint32_t c = 0; c < plan->row_classes; c++) {
        if (!class_decode(coder, residual->at, c, &from)) {
            return OCT_EPROTO;
        }
    }
    bool is_whole = from.escapes == from.end && codec_rans_decode_end(&coder->decoder);
    return is_whole ? OCT_OK : OCT_EPROTO;
}

oct_err
codec_residual_decode(codec_residual_coder *coder, const codec_residual_matrix *residual,
                      const uint8_t *bytes, size_t length)
{
    size_t count = weights_of(coder, residual);
    if (length == 0) {
        return OCT_EPROTO;
    }
    if (bytes[0] == MODE_RAW && length == 1 + count) {
        memcpy(residual->at, bytes + 1, count);
        return OCT_OK;
    }
    if (bytes[0] == MODE_ZERO && length == 1) {
        memset(residual->at, 0, count);
        return OCT_OK;
    }
    if (bytes[0] != MODE_CLASSED || length < 2) {
        return OCT_EPROTO;
    }
    return classed_decode(coder, residual, bytes, length);
}
