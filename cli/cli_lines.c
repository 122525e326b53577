// Parses observations from lines of text.
#include "cli/cli_lines.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_text.h"

// Most characters of a line: NUMBER_BYTES for each number, plus LINE_BYTES.
#define NUMBER_BYTES 64
#define LINE_BYTES   1024
#define QUOTE_BYTES  40 // of a word in a message
#define ERROR_BYTES  512

// Allocates one row and one line. The caller has set the other fields.
void
cli_lines_begin(cli_lines *lines)
{
    size_t number_bytes = lines->is_bytes ? 1 : sizeof(float);
    lines->line = 0;
    lines->failed = false;
    lines->row = oct_alloc(lines->obs_count * number_bytes);
    lines->text_bytes = LINE_BYTES + (size_t)lines->obs_count * NUMBER_BYTES;
    lines->text = oct_alloc(lines->text_bytes);
}

void
cli_lines_end(cli_lines *lines)
{
    free(lines->row);
    free(lines->text);
}

// Prints "FILE: line 3: …". Returns false.
OCT_PRINTF(2, 3)
static bool
lines_error(cli_lines *lines, const char *format, ...)
{
    char words[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    cli_error(lines->command, "%s%sline %llu: %s", lines->name != NULL ? lines->name : "",
              lines->name != NULL ? ": " : "", lines->line, words);
    lines->failed = true;
    return false;
}

static bool
is_separator(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r' || c == '\n';
}

// Prints why a word of the line cannot be number i of the observation. Returns false.
static bool
number_refuse(cli_lines *lines, uint32_t i, const char *text, int length, const char *why)
{
    cli_plain_text quoted = cli_text_plain(text, OCT_MIN((size_t)length, (size_t)QUOTE_BYTES));
    lines_error(lines, "number %u is '%s'%s", i + 1, quoted.text, why);
    return false;
}

// Stores number i of the observation. False: it is not valid, which was printed.
static bool
number_take(cli_lines *lines, uint32_t i, const char *text, int length)
{
    char *end;
    float value = strtof(text, &end);
    if (end != text + length) {
        return number_refuse(lines, i, text, length, ", which is not a number");
    }
    if (!isfinite(value)) {
        return number_refuse(lines, i, text, length, ", which is not a finite float");
    }
    if (!lines->is_bytes) {
        ((float *)lines->row)[i] = value;
        return true;
    }
    if (!(value >= 0.0f && value <= 255.0f && value == floorf(value))) {
        return number_refuse(lines, i, text, length, "; allowed is a whole number from 0 to 255");
    }
    ((uint8_t *)lines->row)[i] = (uint8_t)value;
    return true;
}

// Splits a line into the numbers of an observation. False: it is not valid, which was printed.
static bool
line_parse(cli_lines *lines, const char *line)
{
    uint32_t count = 0;
    while (*line != '\0') {
        while (is_separator(*line)) {
            line++;
        }
        int length = 0;
        while (line[length] != '\0' && !is_separator(line[length])) {
            length++;
        }
        if (length > 0 && count < lines->obs_count && !number_take(lines, count, line, length)) {
            return false;
        }
        count += length > 0;
        line += length;
    }
    if (count != lines->obs_count) {
        lines_error(lines, "%u number%s; an observation of '%s' has %u", count,
                    oct_text_plural(count), cli_text_plain(lines->env_id, SIZE_MAX).text,
                    lines->obs_count);
        return false;
    }
    return true;
}

// Reads the next line without its newline, 0-terminated. False at the end of the input, or if the
// line is not text, which was printed.
static bool
line_read(cli_lines *lines)
{
    size_t length = 0;
    int c;
    lines->line++;
    while ((c = getc_unlocked(lines->in)) != EOF && c != '\n') {
        if (c == '\0') {
            return lines_error(lines, "a zero byte; this is not text");
        }
        if (length + 1 == lines->text_bytes) {
            return lines_error(lines, "more than %zu characters", length);
        }
        lines->text[length++] = (char)c;
    }
    lines->text[length] = '\0';
    if (ferror(lines->in)) {
        cli_error(lines->command, "cannot read %s: %s",
                  lines->name != NULL ? lines->name : "standard input", strerror(errno));
        lines->failed = true;
        return false;
    }
    return c != EOF || length > 0;
}

bool
cli_lines_next(cli_lines *lines)
{
    return line_read(lines) && line_parse(lines, lines->text);
}
