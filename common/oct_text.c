// Text for people: a bounded buffer, quoting, edit distance, and the printing of numbers, sizes and
// durations.
#include "common/oct_text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_locale.h"

#define DISTANCE_LENGTH_MAX 64 // letters: a column of the table is the bits of a 64-bit word

void
oct_text_init(oct_text *text, char *out, size_t size)
{
    *text = (oct_text){.out = out, .size = size};
    if (size > 0) {
        out[0] = 0;
    }
}

void
oct_text_add(oct_text *text, const char *format, ...)
{
    if (text->size - text->used <= 1) {
        text->truncated = true;
        return;
    }
    va_list args;
    va_start(args, format);
    int added = vsnprintf(text->out + text->used, text->size - text->used, format, args);
    va_end(args);
    OCT_ASSERT(added >= 0);
    size_t room = text->size - text->used - 1;
    text->truncated = text->truncated || (size_t)added > room;
    text->used += OCT_MIN((size_t)added, room);
}

void
oct_text_cut_to(oct_text *text, size_t used)
{
    if (used < text->used) {
        text->used = used;
        text->out[used] = 0;
        text->truncated = false;
    }
}

// Damerau-Levenshtein distance (optimal string alignment). Each column of the table is kept as
// differences, in the bits of words: H. Hyyrö, A bit-vector algorithm for computing Levenshtein and
// Damerau edit distances, Nordic Journal of Computing 10 (2003). up and down: the cell is one more
// or one less than the cell above it. plus and minus: than the cell to its left. same: the cell
// equals the cell above it to the left.
uint32_t
oct_text_distance(const char *a, const char *b)
{
    size_t a_length = strlen(a), b_length = strlen(b);
    // of_letter: the positions of each letter in a
    uint64_t of_letter[UCHAR_MAX + 1] = {0}, up = UINT64_MAX, down = 0, same = 0, before = 0;
    if (a_length > DISTANCE_LENGTH_MAX || b_length > DISTANCE_LENGTH_MAX) {
        return (uint32_t)OCT_MIN(OCT_MAX(a_length, b_length), (size_t)UINT32_MAX);
    }
    if (a_length == 0) {
        return (uint32_t)b_length;
    }
    for (size_t i = 0; i < a_length; i++) {
        of_letter[tolower((unsigned char)a[i])] |= UINT64_C(1) << i;
    }
    uint32_t distance = (uint32_t)a_length;
    for (size_t j = 0; j < b_length; j++) {
        uint64_t equal = of_letter[tolower((unsigned char)b[j])];
        uint64_t swapped = ((~same & equal) << 1) & before;
        same = (((equal & up) + up) ^ up) | equal | down | swapped;
        uint64_t plus = down | ~(same | up), minus = same & up;
        // The lowest cell of the column is the distance so far.
        distance += (uint32_t)(plus >> (a_length - 1) & 1);
        distance -= (uint32_t)(minus >> (a_length - 1) & 1);
        plus = plus << 1 | 1;
        up = minus << 1 | ~(same | plus);
        down = plus & same;
        before = equal;
    }
    return distance;
}

bool
oct_text_is_near(const char *got, const char *want)
{
    size_t length = strlen(want), got_length = strlen(got),
           edits_max = OCT_MAX(length / 3, (size_t)1);
    // At least as many edits are needed as the lengths differ.
    size_t differing = length > got_length ? length - got_length : got_length - length;
    return differing <= edits_max && oct_text_distance(got, want) <= edits_max;
}

bool
oct_text_is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0) {
            return true;
        }
    }
    return false;
}

size_t
oct_text_character(const uint8_t *text, size_t left)
{
    uint8_t lead = text[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length == 0 || length > left || lead > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    // overlong forms, surrogates, above U+10FFFF
    if ((lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] > 0x9f) ||
        (lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] > 0x8f)) {
        return 0;
    }
    return length;
}

size_t
oct_text_control(const char *text, size_t left)
{
    const uint8_t *bytes = (const uint8_t *)text;
    if (bytes[0] < ' ' || (bytes[0] >= 0x7F && bytes[0] < 0xA0)) {
        return 1;
    }
    // U+0080 to U+009F, U+061C
    if (left > 1 && ((bytes[0] == 0xC2 && bytes[1] >= 0x80 && bytes[1] < 0xA0) ||
                     (bytes[0] == 0xD8 && bytes[1] == 0x9C))) {
        return 2;
    }
    if (left < 3 || bytes[0] != 0xE2) {
        return 0;
    }
    bool is_mark = bytes[1] == 0x80 && // direction marks, line and paragraph separators, embeddings
                   (bytes[2] == 0x8E || bytes[2] == 0x8F || (bytes[2] >= 0xA8 && bytes[2] <= 0xAE));
    bool is_isolate = bytes[1] == 0x81 && bytes[2] >= 0xA6 && bytes[2] <= 0xA9;
    return is_mark || is_isolate ? 3 : 0;
}

bool
oct_text_may_be_control(const char *text, size_t length)
{
    // The first bytes of every control character of more than one byte.
    static const char *const begins[] = {"\xC2", "\xD8", "\xE2", "\xE2\x80", "\xE2\x81"};
    for (size_t i = 0; i < OCT_COUNTOF(begins); i++) {
        if (strlen(begins[i]) == length && memcmp(text, begins[i], length) == 0) {
            return true;
        }
    }
    return false;
}

// Returns the bytes of the character at text, or 1 for a byte that begins none.
static size_t
step_of(const char *text, size_t left)
{
    return OCT_MAX(oct_text_character((const uint8_t *)text, left), (size_t)1);
}

bool
oct_text_has_control(const char *text, size_t length)
{
    bool has_control = false;
    for (size_t i = 0; i < length && !has_control; i += step_of(text + i, length - i)) {
        has_control = oct_text_control(text + i, length - i) > 0;
    }
    return has_control;
}

void
oct_text_tame(char *text, size_t length, char with)
{
    for (size_t i = 0; i < length;) {
        size_t control = oct_text_control(text + i, length - i);
        size_t step = control > 0 ? control : step_of(text + i, length - i);
        memset(text + i, with, control);
        i += step;
    }
}

void
oct_text_tame_lines(char *text, size_t length)
{
    for (size_t i = 0, end; i < length; i = end + 1) {
        for (end = i; end < length && text[end] != '\n' && text[end] != '\t'; end++) {
        }
        oct_text_tame(text + i, end - i, '?');
    }
}

size_t
oct_text_cut(const char *text, size_t bytes_max)
{
    size_t length = strnlen(text, bytes_max + 1);
    if (length > bytes_max) {
        length = bytes_max;
        while (length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    return length;
}

void
oct_text_copy(char *out, size_t size, const char *text)
{
    OCT_ASSERT(size > 0);
    size_t length = oct_text_cut(text, size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

const char *
oct_text_quote(char *out, size_t size, const char *text, size_t length)
{
    OCT_ASSERT(size >= 8);
    const uint8_t *bytes = (const uint8_t *)text;
    size_t used = 0, cut = 0; // cut: the last position where "..." still fits
    for (size_t i = 0; i < length;) {
        size_t step = oct_text_character(bytes + i, length - i);
        bool plain = step > 0 && oct_text_control(text + i, length - i) == 0;
        size_t wide = plain ? step : 1;
        if (used + wide + 1 > size) {
            memcpy(out + cut, "...", 4);
            return out;
        }
        memcpy(out + used, plain ? text + i : "?", wide);
        used += wide;
        cut = used + 4 <= size ? used : cut;
        i += OCT_MAX(step, (size_t)1);
    }
    out[used] = 0;
    return out;
}

// Returns true if a text holds bytes that cannot be pasted into a terminal.
static bool
is_unprintable(const char *text, size_t length)
{
    bool is_found = oct_text_has_control(text, length);
    for (size_t i = 0, step; i < length && !is_found; i += step) {
        step = oct_text_character((const uint8_t *)text + i, length - i);
        is_found = step == 0;
    }
    return is_found;
}

const char *
oct_text_word(char *out, size_t size, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@=,";
    size_t length = strlen(word);
    bool is_plain = length > 0 && word[strspn(word, plain)] == '\0';
    bool is_coded = is_unprintable(word, length);
    oct_text text;
    oct_text_init(&text, out, size);
    // "./": the word must not be read as an option
    oct_text_add(&text, "%s%s", is_coded ? "$'" : is_plain ? "" : "'", word[0] == '-' ? "./" : "");
    for (size_t i = 0; i < length && !text.truncated; i++) {
        unsigned char c = (unsigned char)word[i];
        if (is_coded && (c < ' ' || c > '~' || c == '\'' || c == '\\')) {
            oct_text_add(&text, "\\%03o", c);
        } else {
            oct_text_add(&text, c == '\'' ? "'\\''" : "%c", c);
        }
    }
    oct_text_add(&text, "%s", is_plain ? "" : "'");
    // a cut word must not look as if it could be pasted
    return text.truncated ? oct_text_quote(out, size, word, length) : out;
}

struct scale {
    double base;
    const char *prefixes[5];
};

// Prints value / base^step with about three digits and the prefix of step.
static const char *
print_scaled(char *out, size_t size, double value, const struct scale *scale, const char *unit)
{
    if (!isfinite(value)) {
        (void)snprintf(out, size, "-");
        return out;
    }
    size_t step = 0;
    // 0.9995: a value that would be printed as 1000 takes the next prefix
    while (fabs(value) >= scale->base * 0.9995 && step + 1 < OCT_COUNTOF(scale->prefixes)) {
        value /= scale->base;
        step++;
    }
    bool whole = step == 0 ? value == floor(value) || fabs(value) >= 100 : fabs(value) >= 99.95;
    const char *prefix = scale->prefixes[step], *space = prefix[0] != 0 ? " " : "";
    (void)snprintf(out, size, "%.*f%s%s%s", whole ? 0 : 1, value, space, prefix, unit);
    return out;
}

const char *
oct_text_plural(double count)
{
    return count == 1 ? "" : "s";
}

const char *
oct_text_count(char *out, size_t size, double value, const char *unit)
{
    static const struct scale decimal = {1000, {"", "k", "M", "G", "T"}};
    return print_scaled(out, size, value, &decimal, unit);
}

const char *
oct_text_bytes(char *out, size_t size, double bytes, const char *unit)
{
    static const struct scale binary = {1024, {"B", "KiB", "MiB", "GiB", "TiB"}};
    return print_scaled(out, size, bytes, &binary, unit);
}

const char *
oct_text_duration(char *out, size_t size, double seconds)
{
    if (!isfinite(seconds) || seconds < 0 || seconds >= 1e12) {
        (void)snprintf(out, size, "-");
    } else if (seconds < 0.9995) {
        (void)snprintf(out, size, "%.0f ms", seconds * 1000);
    } else if (seconds < 59.95) {
        (void)snprintf(out, size, "%.1f s", seconds);
    } else {
        uint64_t s = (uint64_t)(seconds + 0.5);
        unsigned hours = (unsigned)(s / 3600 % 24), minutes = (unsigned)(s / 60 % 60);
        if (s < 3600) {
            (void)snprintf(out, size, "%u:%02u", minutes, (unsigned)(s % 60));
        } else if (s < 86400) {
            (void)snprintf(out, size, "%u:%02u:%02u", hours, minutes, (unsigned)(s % 60));
        } else {
            (void)snprintf(out, size, "%llu d %02u:%02u", (unsigned long long)(s / 86400), hours,
                           minutes);
        }
    }
    return out;
}

// The digits of a number as an integer, and the power of ten to multiply it by.
typedef struct decimal {
    uint64_t digits;
    int64_t count; // of digits, 0 if the text is no such number
    int64_t power;
} decimal;

// Reads digits[.digits][e[+-]digits]. Returns where that ends.
static const char *
decimal_read(decimal *out, const char *at)
{
    *out = (decimal){0};
    for (; *at >= '0' && *at <= '9'; at++, out->count++) {
        out->digits = 10 * out->digits + (uint64_t)(*at - '0');
    }
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++, out->count++, out->power--) {
            out->digits = 10 * out->digits + (uint64_t)(*at - '0');
        }
    }
    if (*at == 'e' && out->count > 0) {
        bool is_less = at[1] == '-';
        int power = 0, count = 0;
        at += 1 + (is_less || at[1] == '+');
        for (; *at >= '0' && *at <= '9' && count < 4; at++, count++) {
            power = 10 * power + (*at - '0');
        }
        out->power += is_less ? -power : power;
        out->count = count > 0 ? out->count : 0;
    }
    return at;
}

// Digits that fit into 53 bits, times or through a power of ten that a double holds exactly, are
// one correctly rounded operation, and several times faster than strtod (Clinger, PLDI 1990). They
// must end the text or a cell, so that strtod would not read further, as in 0x1.
double
oct_text_number(const char *text, char **end)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    const char *at = decimal_read(&d, text + (*text == '-'));
    bool is_end = *at == ',' || *at == '\n' || *at == '\0';
    if (!is_end || d.count == 0 || d.count > 18 || d.digits > 1ull << 53 || llabs(d.power) > 22) {
        return strtod_l(text, end, oct_locale_plain());
    }
    if (end != NULL) {
        *end = (char *)at;
    }
    double value =
        d.power < 0 ? (double)d.digits / powers[-d.power] : (double)d.digits * powers[d.power];
    return *text == '-' ? -value : value;
}

static void
print_double(char *out, size_t size, double value)
{
    if (fabs(value) < 1e15 && value == floor(value)) {
        (void)snprintf(out, size, "%.0f", value);
        return;
    }
    // The fewest digits that read back as the same double; 17 always do.
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
}

const char *
oct_text_double(char *out, size_t size, double value)
{
    // printf writes the decimal point of the thread's locale.
    locale_t before = uselocale(oct_locale_plain());
    print_double(out, size, value);
    (void)uselocale(before);
    return out;
}
