// Formats numbers, times and lines of a terminal.

#include "cli/cli_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_text.h"

#define STYLE_RESERVE 16 // bytes that text leaves free for the sequence that ends a style

// ---- foreign texts

// A text that is too long is cut, without a mark: names in tables may be cut, but must keep their
// width.
cli_plain_text
cli_text_plain(const char *text, size_t length_max)
{
    cli_plain_text out;
    size_t length =
        strnlen(text, length_max < sizeof(out.text) ? length_max : sizeof(out.text) - 1);
    memcpy(out.text, text, length);
    out.text[length] = '\0';
    oct_text_tame(out.text, length, '?');
    return out;
}

cli_word_text
cli_text_word(const char *word)
{
    cli_word_text out;
    (void)oct_text_word(out.text, sizeof(out.text), word);
    return out;
}

cli_plain_text
cli_text_process(const char *host, size_t host_max, uint32_t pid)
{
    cli_plain_text out;
    size_t max = OCT_MIN(host_max, (size_t)CLI_TEXT_HOST_MAX);
    (void)snprintf(out.text, sizeof(out.text), "%.*s/%u", CLI_TEXT_HOST_MAX,
                   cli_text_plain(host, max).text, (unsigned)pid);
    return out;
}

// Returns how many bytes of text fit in a line of room bytes: up to a space if there is one.
size_t
cli_text_wrap(const char *text, size_t room)
{
    size_t length = strnlen(text, room + 1);
    if (length <= room) {
        return length;
    }
    for (length = room; length > 0 && text[length] != ' '; length--) {
    }
    if (length > 0) {
        return length;
    }
    // No space: the word is broken before a character.
    for (length = room; ((unsigned char)text[length] & 0xC0) == 0x80; length--) {
    }
    return length;
}

// ---- numbers

static cli_number_text
unknown(void)
{
    return (cli_number_text){.text = "-"};
}

// Prints about three significant digits; below 0.005 with an exponent.
static void
print_value(char *out, size_t size, double value)
{
    double size_of = fabs(value);
    // three significant digits or more, at most two decimals
    int decimals = size_of >= 999.95 ? 0 : size_of >= 99.995 ? 1 : 2;
    if (size_of != 0 && size_of < 0.005) {
        (void)snprintf(out, size, "%.1e", value);
        return;
    }
    (void)snprintf(out, size, "%.*f", decimals, value);
}

// For returns and other numbers of any size. For counts, bytes and times there are functions with
// units.
cli_number_text
cli_text_value(double value)
{
    if (isnan(value)) {
        return unknown();
    }
    cli_number_text out;
    print_value(out.text, sizeof(out.text), value);
    return out;
}

cli_number_text
cli_text_count(double value)
{
    cli_number_text out;
    (void)oct_text_count(out.text, sizeof(out.text), value, "");
    return out;
}

cli_number_text
cli_text_bytes(double value)
{
    cli_number_text out;
    (void)oct_text_bytes(out.text, sizeof(out.text), value, "");
    return out;
}

cli_number_text
cli_text_seconds(double value)
{
    cli_number_text out;
    (void)oct_text_duration(out.text, sizeof(out.text), value);
    return out;
}

// A share outside of 0 .. 1, which rounding of two clocks can give, is shown as 0 or 100 %.
cli_number_text
cli_text_share(double value)
{
    if (isnan(value)) {
        return unknown();
    }
    cli_number_text out;
    (void)snprintf(out.text, sizeof(out.text), "%.0f %%", 100 * OCT_MAX(0, OCT_MIN(value, 1)));
    return out;
}

// ---- lines

void
cli_line_init(cli_line *line, size_t cells_max)
{
    line->bytes[0] = '\0';
    line->used = 0;
    line->cells = 0;
    line->cells_max = cells_max;
    line->begin = 0;
    line->ascii = false;
}

// Every character that this program prints is one cell wide. False: there is no room.
static bool
add_character(cli_line *line, const char *bytes, size_t length)
{
    if (line->cells == line->cells_max ||
        line->used + length + STYLE_RESERVE >= sizeof(line->bytes)) {
        return false;
    }
    memcpy(line->bytes + line->used, bytes, length);
    line->used += length;
    line->bytes[line->used] = '\0';
    line->cells++;
    return true;
}

// Returns what replaces a character in ASCII.
static const char *
in_ascii(const char *bytes, size_t length)
{
    static const char *const pairs[][2] = {{"·", "|"}, {"±", "+-"}, {"…", "..."}};
    for (size_t i = 0; i < OCT_COUNTOF(pairs); i++) {
        if (strncmp(bytes, pairs[i][0], length) == 0) {
            return pairs[i][1];
        }
    }
    return "?";
}

// Returns false if a part of text was cut off.
static bool
add_text(cli_line *line, const char *text)
{
    bool has_room = true;
    while (*text != '\0' && has_room) {
        size_t left = strnlen(text, 4), control = oct_text_control(text, left);
        size_t length = OCT_MAX(oct_text_character((const uint8_t *)text, left), (size_t)1);
        if (control > 0) {
            has_room = add_character(line, " ", 1);
        } else if (line->ascii && (unsigned char)text[0] > 0x7F) {
            const char *instead = in_ascii(text, length);
            for (; *instead != '\0' && has_room; instead++) {
                has_room = add_character(line, instead, 1);
            }
        } else {
            has_room = add_character(line, text, length);
        }
        text += length;
    }
    return has_room;
}

void
cli_line_add(cli_line *line, const char *format, ...)
{
    char text[CLI_TEXT_LINE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)add_text(line, text);
}

void
cli_line_add_whole(cli_line *line, const char *format, ...)
{
    char text[CLI_TEXT_LINE_BYTES_MAX];
    size_t used = line->used, cells = line->cells;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!add_text(line, text)) {
        line->used = used;
        line->cells = cells;
        line->bytes[used] = '\0';
    }
}

// A sequence uses bytes, but no cells. STYLE_RESERVE guarantees that the sequence that ends a style
// always fits.
void
cli_line_style(cli_line *line, const char *sequence)
{
    size_t length = strlen(sequence);
    if (line->used + length < sizeof(line->bytes)) {
        memcpy(line->bytes + line->used, sequence, length + 1);
        line->used += length;
    }
}

void
cli_line_pad(cli_line *line, size_t cells)
{
    while (line->cells < OCT_MIN(cells, line->cells_max)) {
        size_t before = line->cells;
        (void)add_text(line, " ");
        if (line->cells == before) {
            return;
        }
    }
}

// Unicode has blocks of one to eight eighths of a cell, so a bar of 20 cells shows 160 steps.
void
cli_line_bar(cli_line *line, size_t cells, double fraction)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double full = isnan(fraction) ? 0 : OCT_MAX(0.0, OCT_MIN(fraction, 1.0));
    size_t eighths = (size_t)(full * (double)(8 * cells));
    for (size_t i = 0; i < cells; i++) {
        if (8 * (i + 1) <= eighths) {
            add_text(line, line->ascii ? "#" : "█");
        } else if (8 * i < eighths && !line->ascii) {
            add_text(line, parts[eighths % 8]);
        } else {
            add_text(line, line->ascii ? "." : "░");
        }
    }
}

// The mean of the finite values; NaN: there is none.
static double
mean_of(const double *values, size_t from, size_t to)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        if (isfinite(values[i])) {
            sum += values[i];
            count++;
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}

// Each column is the mean of its share of the values, so that a spike of one evaluation does not
// set the height. If all are equal, the curve is in the middle.
void
cli_line_curve(cli_line *line, size_t cells, const double *values, size_t count)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii_heights[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    size_t columns = OCT_MIN(cells, count);
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; i < columns; i++) {
        double value = mean_of(values, i * count / columns, (i + 1) * count / columns);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    for (size_t i = 0; i < columns; i++) {
        double value = mean_of(values, i * count / columns, (i + 1) * count / columns);
        if (isnan(value)) {
            add_text(line, " ");
            continue;
        }
        double place = greatest > least ? (value - least) / (greatest - least) : 0.5;
        size_t height = OCT_MIN((size_t)(8 * place), 7);
        add_text(line, line->ascii ? ascii_heights[height] : heights[height]);
    }
}
