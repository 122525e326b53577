// Finds the range of a row's codes by percentile or least squares, and decides if it has drifted. A
// percentile is selected exactly, by one of three methods for few weights, for the largest ranks,
// and for many weights.
#include "quantizer/quantizer_range.h"

#include <math.h>

#include "common/oct_base.h"
#include "common/oct_bits.h"

#define CODE_MAX     127.0f
#define RATIO_STEPS  64 // a search tries most * k / 64, k = 64 .. 22
#define RATIO_LEAST  22
#define SUM_COUNT    4096      // weights in one float sum; the sums are added in double
#define SEARCH_LEAST 0x1p-100f // the inverse of a smaller scale may not be finite
#define SMALL_COUNT  128 // up to this count of weights, ranks are found by pairwise comparison

// ---- percentile

// For count <= SMALL_COUNT, out = the |w| of rank and of rank + 1, or of rank again if it is last.
static void
small_select(float out[2], const float *w, size_t count, size_t rank)
{
    uint32_t bits[SMALL_COUNT];
    for (size_t i = 0; i < count; i++) {
        bits[i] = oct_bits_of(fabsf(w[i]));
    }
    size_t next = OCT_MIN(rank + 1, count - 1);
    for (size_t i = 0; i < count; i++) {
        uint32_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            below += bits[j] < bits[i];
            equal += bits[j] == bits[i];
        }
        if (below <= rank && rank < below + equal) {
            out[0] = oct_float_of(bits[i]);
        }
        if (below <= next && next < below + equal) {
            out[1] = oct_float_of(bits[i]);
        }
    }
}

// Does the same for the last two ranks: the second largest |w| and the largest.
static void
top_select(float out[2], const float *w, size_t count, size_t rank)
{
    float first = 0.0f, second = 0.0f;
    for (size_t i = 0; i < count; i++) {
        float a = fabsf(w[i]), less = a < first ? a : first;
        second = less > second ? less : second;
        first = a > first ? a : first;
    }
    out[0] = rank + 1 == count ? first : second;
    out[1] = first;
}

// One step of a radix selection. Among the |w| whose bits above the digit equal prefix, finds the
// digit of the number with that rank (from 0), makes *rank relative to that digit, and returns
// prefix with the digit appended.
static uint32_t
digit_select(const float *w, size_t count, uint32_t prefix, unsigned shift, unsigned width,
             size_t *rank)
{
    uint32_t counts[1u << 11] = {0};
    unsigned above = shift + width;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = oct_bits_of(fabsf(w[i]));
        if (bits >> above == prefix) {
            counts[bits >> shift & ((1u << width) - 1u)]++;
        }
    }
    uint32_t digit = 0;
    while (*rank >= counts[digit]) {
        *rank -= counts[digit++];
    }
    return prefix << width | digit;
}

// Returns the |w| of that rank, from its 31 bits in digits of 11, 10 and 10 bits.
static float
large_select(const float *w, size_t count, size_t rank)
{
    uint32_t prefix = digit_select(w, count, 0, 20, 11, &rank);
    prefix = digit_select(w, count, prefix, 10, 10, &rank);
    return oct_float_of(digit_select(w, count, prefix, 0, 10, &rank));
}

// Returns the least |w| above bound, or most if there is none.
static float
least_above(const float *w, size_t count, float bound, float most)
{
    float least = most;
    for (size_t i = 0; i < count; i++) {
        float a = fabsf(w[i]);
        least = a > bound && a < least ? a : least;
    }
    return least;
}

float
quantizer_percentile(const quantizer_rows *rows, const float *w, size_t count, float most,
                     double percentile)
{
    double position = percentile / 100.0 * (double)(count - 1);
    size_t rank = (size_t)position;
    float at[2];
    if (rank + 2 >= count) {
        top_select(at, w, count, rank);
    } else if (count <= SMALL_COUNT) {
        small_select(at, w, count, rank);
    } else {
        at[0] = large_select(w, count, rank);
        bool is_repeated = count - rows->count_above(w, count, at[0]) > rank + 1;
        at[1] = is_repeated ? at[0] : least_above(w, count, at[0], most);
    }
    double low = (double)at[0], high = (double)at[1];
    float range = (float)(low + (high - low) * (position - (double)rank));
    return range > 0.0f ? range : most;
}

// ---- least squared error

// Returns the sum of squared errors of w[count] with codes of that range.
static double
squares(const quantizer_rows *rows, const float *w, size_t count, float range)
{
    float inverse = CODE_MAX / range;
    double sum = 0.0;
    for (size_t i = 0; i < count; i += SUM_COUNT) {
        sum += (double)rows->squares8(w + i, OCT_MIN(count - i, (size_t)SUM_COUNT), inverse);
    }
    return sum * (double)range * (double)range;
}

static float
mse_range(const quantizer_rows *rows, const float *w, size_t count, float most)
{
    if (most < SEARCH_LEAST) {
        return most;
    }
    float best = most;
    double least = INFINITY;
    for (int k = RATIO_STEPS; k >= RATIO_LEAST; k--) {
        float range = most * ((float)k / RATIO_STEPS);
        double error = squares(rows, w, count, range);
        if (error < least) {
            least = error;
            best = range;
        }
    }
    return best;
}

float
quantizer_range8(const quantizer_rows *rows, const quantizer_method *method, quantizer_weights of)
{
    switch (method->range) {
    case QUANTIZER_PERCENTILE:
        return quantizer_percentile(rows, of.w, of.count, of.most, method->percentile);
    case QUANTIZER_MSE:
        return mse_range(rows, of.w, of.count, of.most);
    case QUANTIZER_ABSMAX:
        break;
    }
    return of.most;
}

// ---- drift

float
quantizer_tolerance(const quantizer_method *method, size_t count)
{
    return 1.0f + method->drift + 3.0f / sqrtf((float)count);
}

static bool
mse_drifted(const quantizer_rows *rows, const quantizer_method *method, quantizer_weights of,
            float scale)
{
    static const float others[] = {0.5f, 0.8f, 1.25f, 2.0f};
    float range = scale * CODE_MAX;
    if (range < SEARCH_LEAST || range > 1.0f / SEARCH_LEAST) {
        return true;
    }
    if (of.most * ((float)RATIO_LEAST / RATIO_STEPS) > range * (1.0f + method->drift)) {
        return true; // no search clamps a weight that far
    }
    double kept = squares(rows, of.w, of.count, range);
    double tolerance = (double)quantizer_tolerance(method, of.count);
    for (size_t i = 0; i < OCT_COUNTOF(others); i++) {
        if (squares(rows, of.w, of.count, range * others[i]) * tolerance < kept) {
            return true;
        }
    }
    return false;
}

// Returns true if the percentile is certainly between low and high, which only needs two counts:
// both order statistics next to it are inside, by more than scales are rounded. False decides
// nothing.
static bool
percentile_within(const quantizer_rows *rows, const quantizer_method *method, quantizer_weights of,
                  float low, float high)
{
    size_t rank = (size_t)(method->percentile / 100.0 * (double)(of.count - 1));
    size_t above_low = rows->count_above(of.w, of.count, low * 1.0001f);
    size_t above_high = rows->count_above(of.w, of.count, high * 0.9999f);
    return above_low >= of.count - rank && above_high + rank + 2 <= of.count;
}

bool
quantizer_drifted8(const quantizer_rows *rows, const quantizer_method *method, quantizer_weights of,
                   float scale)
{
    if (method->range == QUANTIZER_MSE) {
        return mse_drifted(rows, method, of, scale);
    }
    float high = scale * (1.0f + method->drift), low = scale * (1.0f - method->drift);
    if (method->range == QUANTIZER_PERCENTILE &&
        percentile_within(rows, method, of, low * CODE_MAX, high * CODE_MAX)) {
        return false;
    }
    float now = quantizer_range8(rows, method, of) / CODE_MAX;
    return now > high || now < low;
}
