// Plans how a matrix of residuals is coded: activity of lines (sampled), classes by k-means, signs
// by power iteration, then for each tile the width of digits that costs the fewest bits. Bits are
// estimated from histograms; docs/internals/decisions/0008-residual-coder.md has the measurements.
#include "policy/codec/codec_residual_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "policy/codec/codec_rans.h"

#define SIGN_ROUNDS  3 // more rounds change little
#define KMEAN_ROUNDS 8
#define BINS         256        // of the histogram from which the first centres are taken
#define SAMPLE_MAX   (1u << 19) // below this count of residuals, a plan uses all of them
#define ESCAPE_COST  2.0  // bits for each escape: its table serves all tiles, and it takes time
#define SPARSE       0.01 // mean |residual| below which classes and signs cost more than they save

void
codec_residual_plan_init(codec_residual_plan *plan, size_t weights_max)
{
    size_t lines = OCT_MIN(weights_max, (size_t)CODEC_RESIDUAL_LINES_MAX);
    size_t each = lines * (4 * sizeof(int32_t) + 3 * sizeof(uint16_t) + 5);
    *plan = (codec_residual_plan){.block = oct_alloc(each)};
    plan->sums = plan->block;
    plan->row_activity = plan->sums + lines;
    plan->column_activity = plan->row_activity + lines;
    plan->line_value = (float *)(plan->column_activity + lines);
    plan->row_order = (uint16_t *)(plan->line_value + lines);
    plan->column_order = plan->row_order + lines;
    plan->column_place = plan->column_order + lines;
    plan->row_class = (uint8_t *)(plan->column_place + lines);
    plan->column_class = plan->row_class + lines;
    plan->row_sign = (int8_t *)(plan->column_class + lines);
    plan->column_turn = plan->row_sign + lines;
    plan->column_sign = plan->column_turn + lines;
}

void
codec_residual_plan_fini(codec_residual_plan *plan)
{
    free(plan->block);
}

size_t
codec_residual_plan_tile_weights(const codec_residual_plan *plan, uint32_t c, uint32_t d)
{
    return (size_t)(plan->row_begin[c + 1] - plan->row_begin[c]) *
           (plan->column_begin[d + 1] - plan->column_begin[d]);
}

size_t
codec_residual_plan_tile_bytes(const codec_residual_plan *plan, uint32_t c, uint32_t d)
{
    unsigned bits = plan->bits[c * plan->column_classes + d];
    if (bits == 0) {
        return 0;
    }
    uint32_t share = 8 / bits;
    size_t lines = (plan->row_begin[c + 1] - plan->row_begin[c] + share - 1) / share;
    size_t bytes = lines * (plan->column_begin[d + 1] - plan->column_begin[d]);
    return codec_rans_padded(bytes);
}

// ---- activity and signs

// Large matrices are sampled: every step-th row as a whole for the activity of columns, and for the
// activity of each row a window of columns, which moves from row to row.
static void
sampling_set(codec_residual_plan *plan)
{
    size_t weights = (size_t)plan->rows * plan->columns;
    plan->step = (uint32_t)(1 + weights / SAMPLE_MAX);
    plan->window = OCT_MIN(plan->columns, OCT_MAX(plan->columns / plan->step, 256u));
}

// Returns the first column of the window of a row.
static uint32_t
window_begin(const codec_residual_plan *plan, uint32_t row)
{
    uint32_t places = plan->columns / plan->window;
    return row % places * plan->window;
}

// Sums |residual| over the samples of each row and each column.
static void
activity_sum(codec_residual_plan *plan, const int8_t *residual)
{
    memset(plan->column_activity, 0, plan->columns * sizeof(int32_t));
    for (uint32_t j = 0; j < plan->rows; j++) {
        const int8_t *restrict row = residual + (size_t)j * plan->columns;
        int32_t *restrict column = plan->column_activity;
        int32_t sum = 0;
        uint32_t begin = window_begin(plan, j);
        for (uint32_t k = begin; k < begin + plan->window; k++) {
            sum += row[k] < 0 ? -row[k] : row[k];
        }
        plan->row_activity[j] = sum;
        for (uint32_t k = 0; j % plan->step == 0 && k < plan->columns; k++) {
            column[k] += row[k] < 0 ? -row[k] : row[k];
        }
    }
}

// Returns the sum of row[count], where the values with turn -1 are negated.
static int32_t
turned_sum(const int8_t *restrict row, const int8_t *restrict turn, uint32_t count)
{
    int32_t sum = 0;
    for (uint32_t k = 0; k < count; k++) {
        sum += (row[k] ^ turn[k]) - turn[k];
    }
    return sum;
}

// Finds the signs of rows from those of columns and then the reverse, again and again: power
// iterations for the signs of the first pair of singular vectors.
static void
signs_turn(codec_residual_plan *plan, const int8_t *residual)
{
    for (int round = 0; round < SIGN_ROUNDS; round++) {
        memset(plan->sums, 0, plan->columns * sizeof(int32_t));
        for (uint32_t j = 0; j < plan->rows; j += plan->step) {
            const int8_t *restrict row = residual + (size_t)j * plan->columns;
            int32_t *restrict sums = plan->sums;
            int32_t turn = -(turned_sum(row, plan->column_turn, plan->columns) < 0);
            for (uint32_t k = 0; k < plan->columns; k++) {
                sums[k] += (row[k] ^ turn) - turn;
            }
        }
        for (uint32_t k = 0; k < plan->columns; k++) {
            plan->column_turn[k] = plan->sums[k] < 0 ? -1 : 0;
        }
    }
    for (uint32_t j = 0; j < plan->rows; j++) {
        uint32_t begin = window_begin(plan, j);
        const int8_t *row = residual + (size_t)j * plan->columns + begin;
        plan->row_sign[j] =
            (int8_t) - (turned_sum(row, plan->column_turn + begin, plan->window) < 0);
    }
}

// ---- classes

// Returns the class whose centre is nearest to value; the centres increase.
static uint32_t
nearest(const float *centre, uint32_t classes, float value)
{
    uint32_t best = 0;
    while (best + 1 < classes && value > 0.5f * (centre[best] + centre[best + 1])) {
        best++;
    }
    return best;
}

// Sets the first centres to the quantiles (2 c + 1) / (2 classes) of value[count], from a
// histogram.
static void
centres_begin(float *centre, uint32_t classes, const float *value, uint32_t count)
{
    uint32_t bins[BINS] = {0}, seen = 0, c = 0;
    float low = value[0], high = value[0];
    for (uint32_t i = 0; i < count; i++) {
        low = OCT_MIN(low, value[i]);
        high = OCT_MAX(high, value[i]);
    }
    float width = OCT_MAX((high - low) / BINS, 1e-6f);
    for (uint32_t i = 0; i < count; i++) {
        bins[OCT_MIN((uint32_t)((value[i] - low) / width), BINS - 1u)]++;
    }
    for (uint32_t b = 0; b < BINS; b++) {
        seen += bins[b];
        for (; c < classes && seen > (uint64_t)count * (2 * c + 1) / (2 * classes); c++) {
            centre[c] = low + ((float)b + 0.5f) * width;
        }
    }
}

// value[count] = the logarithm of the mean |residual| of each line, which has `across` residuals.
static void
values_of(float *value, const int32_t *activity, uint32_t count, uint32_t across)
{
    for (uint32_t i = 0; i < count; i++) {
        value[i] = log2f((float)activity[i] / (float)across + 0.0005f); // finite for idle lines
    }
}

// Sorts count lines into classes by k-means of log2 of their mean |residual|; activity[i] is a sum
// over `across` residuals.
static void
classes_find(uint8_t *class_of, const float *value, uint32_t count, uint32_t classes)
{
    float centre[CODEC_RESIDUAL_CLASSES_MAX];
    centres_begin(centre, classes, value, count);
    for (int round = 0; round < KMEAN_ROUNDS; round++) {
        float sum[CODEC_RESIDUAL_CLASSES_MAX] = {0};
        uint32_t members[CODEC_RESIDUAL_CLASSES_MAX] = {0};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t c = nearest(centre, classes, value[i]);
            class_of[i] = (uint8_t)c;
            sum[c] += value[i];
            members[c]++;
        }
        for (uint32_t c = 0; c < classes; c++) {
            centre[c] = members[c] > 0 ? sum[c] / (float)members[c] : centre[c];
        }
    }
}

// order[count] = the lines sorted by class, then by index; begin[classes + 1] = where each class
// begins in order.
static void
order_make(uint16_t *order, uint32_t *begin, const uint8_t *class_of, uint32_t count,
           uint32_t classes)
{
    uint32_t members[CODEC_RESIDUAL_CLASSES_MAX] = {0}, at[CODEC_RESIDUAL_CLASSES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        members[class_of[i]]++;
    }
    begin[0] = 0;
    for (uint32_t c = 0; c < classes; c++) {
        at[c] = begin[c];
        begin[c + 1] = begin[c] + members[c];
    }
    for (uint32_t i = 0; i < count; i++) {
        order[at[class_of[i]]++] = (uint16_t)i;
    }
}

static void
orders_make(codec_residual_plan *plan)
{
    order_make(plan->row_order, plan->row_begin, plan->row_class, plan->rows, plan->row_classes);
    order_make(plan->column_order, plan->column_begin, plan->column_class, plan->columns,
               plan->column_classes);
    for (uint32_t k = 0; k < plan->columns; k++) {
        plan->column_sign[k] = plan->column_turn[plan->column_order[k]];
        plan->column_place[plan->column_order[k]] = (uint16_t)k;
    }
}

// ---- digits

// Returns the bits of count equal symbols among total.
static double
entropy_term(double count, double total)
{
    return count > 0.0 ? -count * log2(count / total) : 0.0;
}

// Returns the estimated bits of all values of a tile with digits -most .. most, where all other
// values are escapes, and of its table. histogram[v + 128] counts the value v.
static double
digits_cost(const uint32_t histogram[256], double total, int most, unsigned bits)
{
    double outside = total, entropy = 0.0, escape = 0.0;
    for (int v = -most; v <= most; v++) {
        outside -= histogram[v + 128];
        entropy += entropy_term(histogram[v + 128], total);
    }
    for (int v = -128; v < 128 && outside > 0.0; v++) {
        if (v < -most || v > most) {
            escape += entropy_term(histogram[v + 128], outside);
        }
    }
    double table = 8.0 * (bits == 8 ? 2.0 * most + 2.0 : 1u << bits);
    return entropy + entropy_term(outside, total) + escape + ESCAPE_COST * outside + table;
}

// Returns the code of a value that occurs count times in the histogram. A count of 0 means absent
// only if the histogram covers all rows. Value 0 always occurs, because zeros fill the last byte of
// a tile.
static uint8_t
code_of(const codec_residual_plan *plan, int value, double count, double common)
{
    bool occurs = count > 0.0 || value == 0 || plan->step > 1;
    return occurs ? codec_rans_code(count, common) : CODEC_RANS_ABSENT;
}

// Chooses bits and most of tile t by the least cost, and sets its codes.
static void
tile_choose(codec_residual_plan *plan, uint32_t t, const uint32_t histogram[256])
{
    static const uint8_t digit_bits[] = {2, 4, 8};
    double total = 0.0, least = INFINITY;
    int largest = 1;
    for (int v = -128; v < 128; v++) {
        total += histogram[v + 128];
        int magnitude = OCT_MIN(abs(v), 127);
        largest = histogram[v + 128] > 0 ? OCT_MAX(largest, magnitude) : largest;
    }
    for (size_t i = 0; i < OCT_COUNTOF(digit_bits); i++) {
        unsigned bits = digit_bits[i];
        int most = bits == 8 ? largest : (1 << (bits - 1)) - 1;
        // Wider digits take longer to code, so they must save 1.5 % of the bits for each step.
        double cost = digits_cost(histogram, total, most, bits) * (1.0 + 0.015 * (double)i);
        if (cost < least) {
            least = cost;
            plan->bits[t] = (uint8_t)bits;
            plan->most[t] = (uint8_t)most;
        }
    }
    int most = plan->most[t];
    uint32_t mask = (1u << plan->bits[t]) - 1;
    double common = 0.0, outside = total;
    for (int v = -most; v <= most; v++) {
        common = OCT_MAX(common, (double)histogram[v + 128]);
        outside -= histogram[v + 128];
    }
    common = OCT_MAX(common, outside);
    memset(plan->codes[t], CODEC_RANS_ABSENT, sizeof(plan->codes[t]));
    for (int v = -most; v <= most; v++) {
        plan->codes[t][(uint32_t)v & mask] = code_of(plan, v, histogram[v + 128], common);
    }
    plan->codes[t][(mask + 1) / 2] = code_of(plan, -128, outside, common);
}

// Adds the values of every step-th row of row class c, with their signs flipped, to
// histogram[column class][value + 128].
static void
class_count(const codec_residual_plan *plan, const int8_t *residual, uint32_t c,
            uint32_t histogram[][256])
{
    for (uint32_t i = plan->row_begin[c]; i < plan->row_begin[c + 1]; i += plan->step) {
        uint32_t j = plan->row_order[i];
        const int8_t *row = residual + (size_t)j * plan->columns;
        for (uint32_t k = 0; k < plan->columns; k++) {
            int8_t turn = (int8_t)(plan->row_sign[j] ^ plan->column_turn[k]);
            int8_t v = (int8_t)((row[k] ^ turn) - turn);
            histogram[plan->column_class[k]][v + 128]++;
        }
    }
}

static void
digits_choose(codec_residual_plan *plan, const int8_t *residual)
{
    uint32_t histogram[CODEC_RESIDUAL_CLASSES_MAX][256];
    for (uint32_t c = 0; c < plan->row_classes; c++) {
        memset(histogram, 0, sizeof(histogram));
        class_count(plan, residual, c, histogram);
        for (uint32_t d = 0; d < plan->column_classes; d++) {
            uint32_t t = c * plan->column_classes + d;
            plan->bits[t] = 0;
            if (codec_residual_plan_tile_weights(plan, c, d) > 0) {
                tile_choose(plan, t, histogram[d]);
            }
        }
    }
}

// Returns how many classes to make. More classes fit better, but each tile costs a table; these
// limits were best on traces of real runs.
static uint32_t
classes_count(size_t weights, uint32_t lines)
{
    if (lines < 64 || weights < 1u << 14) {
        return 1;
    }
    return weights < 1u << 17 ? 2 : weights < 1u << 20 ? 5 : 8;
}

static bool
is_zero(const int8_t *values, size_t count)
{
    return count == 0 || (values[0] == 0 && memcmp(values, values + 1, count - 1) == 0);
}

bool
codec_residual_plan_make(codec_residual_plan *plan, const codec_residual_matrix *matrix)
{
    const int8_t *residual = matrix->at;
    const uint32_t rows = matrix->rows, columns = matrix->columns;
    size_t weights = (size_t)rows * columns;
    if (is_zero(residual, weights)) {
        return false;
    }
    plan->rows = rows;
    plan->columns = columns;
    sampling_set(plan);
    activity_sum(plan, residual);
    double total = 0.0;
    for (uint32_t j = 0; j < rows; j++) {
        total += plan->row_activity[j];
    }
    double activity = total / ((double)rows * plan->window);
    plan->row_classes = activity < SPARSE ? 1 : classes_count(weights, rows);
    plan->column_classes = activity < SPARSE ? 1 : classes_count(weights, columns);
    values_of(plan->line_value, plan->row_activity, rows, plan->window);
    classes_find(plan->row_class, plan->line_value, rows, plan->row_classes);
    values_of(plan->line_value, plan->column_activity, columns,
              (rows + plan->step - 1) / plan->step);
    classes_find(plan->column_class, plan->line_value, columns, plan->column_classes);
    memset(plan->column_turn, 0, columns);
    memset(plan->row_sign, 0, rows);
    if (activity >= SPARSE) {
        signs_turn(plan, residual);
    }
    orders_make(plan);
    digits_choose(plan, residual);
    return true;
}

// ---- as bytes

size_t
codec_residual_plan_lines_bytes(uint32_t rows, uint32_t columns)
{
    return codec_rans_padded(((size_t)rows + columns + 1) / 2);
}

void
codec_residual_plan_write_lines(const codec_residual_plan *plan, uint8_t *out)
{
    memset(out, 0, codec_residual_plan_lines_bytes(plan->rows, plan->columns));
    for (uint32_t j = 0; j < plan->rows; j++) {
        uint32_t code = plan->row_class[j] * 2u + (plan->row_sign[j] & 1);
        out[j / 2] |= (uint8_t)(code << (j % 2 * 4));
    }
    for (uint32_t k = 0; k < plan->columns; k++) {
        uint32_t at = plan->rows + k;
        uint32_t code = plan->column_class[k] * 2u + (plan->column_turn[k] & 1);
        out[at / 2] |= (uint8_t)(code << (at % 2 * 4));
    }
}

bool
codec_residual_plan_read_lines(codec_residual_plan *plan, uint32_t rows, uint32_t columns,
                               const uint8_t *bytes)
{
    plan->rows = rows;
    plan->columns = columns;
    for (uint32_t i = 0; i < rows + columns; i++) {
        const bool is_row = i < rows;
        const uint32_t line = is_row ? i : i - rows, code = bytes[i / 2] >> (i % 2 * 4) & 15;
        (is_row ? plan->row_class : plan->column_class)[line] = (uint8_t)(code / 2);
        (is_row ? plan->row_sign : plan->column_turn)[line] = (int8_t) - (int8_t)(code & 1);
        if (code / 2 >= (is_row ? plan->row_classes : plan->column_classes)) {
            return false;
        }
    }
    orders_make(plan);
    return true;
}

size_t
codec_residual_plan_write_tiles(const codec_residual_plan *plan, uint8_t *out)
{
    uint8_t *at = out;
    for (uint32_t t = 0; t < plan->row_classes * plan->column_classes; t++) {
        uint32_t digits = 1u << plan->bits[t];
        *at++ = plan->bits[t];
        if (plan->bits[t] == 8) {
            uint32_t most = plan->most[t];
            *at++ = plan->most[t];
            for (uint32_t i = 0; i <= 2 * most; i++) {
                *at++ = plan->codes[t][(i - most) & 255];
            }
            *at++ = plan->codes[t][128];
        } else if (plan->bits[t] != 0) {
            memcpy(at, plan->codes[t], digits);
            at += digits;
        }
    }
    return (size_t)(at - out);
}

// Reads bits, most and codes of tile t. Returns the address after them, or NULL if they are not
// valid.
static const uint8_t *
tile_read(codec_residual_plan *plan, uint32_t t, const uint8_t *at, const uint8_t *end)
{
    size_t left = (size_t)(end - at);
    if (left < 1 || (at[0] != 0 && at[0] != 2 && at[0] != 4 && at[0] != 8)) {
        return NULL;
    }
    unsigned bits = plan->bits[t] = at[0];
    at++;
    left--;
    if (bits == 0) {
        return at;
    }
    memset(plan->codes[t], CODEC_RANS_ABSENT, sizeof(plan->codes[t]));
    if (bits < 8) {
        uint32_t digits = 1u << bits;
        if (left < digits) {
            return NULL;
        }
        plan->most[t] = (uint8_t)(digits / 2 - 1);
        memcpy(plan->codes[t], at, digits);
        return at + digits;
    }
    uint32_t most = left > 0 ? at[0] : 0;
    if (left < 1 || most > 127 || left < 2 * most + 3) {
        return NULL;
    }
    plan->most[t] = (uint8_t)most;
    for (uint32_t i = 0; i <= 2 * most; i++) {
        plan->codes[t][(i - most) & 255] = at[1 + i];
    }
    plan->codes[t][128] = at[2 + 2 * most];
    return at + 3 + 2 * most;
}

size_t
codec_residual_plan_read_tiles(codec_residual_plan *plan, const uint8_t *bytes, size_t length)
{
    const uint8_t *at = bytes, *end = bytes + length;
    for (uint32_t t = 0; t < plan->row_classes * plan->column_classes; t++) {
        at = tile_read(plan, t, at, end);
        if (at == NULL) {
            return 0;
        }
    }
    return (size_t)(at - bytes);
}
