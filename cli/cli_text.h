#ifndef CLI_CLI_TEXT_H
#define CLI_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_base.h"

// Numbers as a person reads them, bars and curves of block characters, and lines that know how wide
// they are. Pure functions. NaN is written "-". Texts are UTF-8, always ended by a zero byte, and
// cut at whole characters when they do not fit.
//
// Threads: any.

#define CLI_TEXT_NUMBER_MAX 32

typedef struct cli_number_text {
    char text[CLI_TEXT_NUMBER_MAX];
} cli_number_text;

// As in common/oct_text.h, as values: for use within one call of printf.
cli_number_text cli_text_count(double value);
cli_number_text cli_text_bytes(double value);
cli_number_text cli_text_seconds(double value);
cli_number_text cli_text_value(double value); // 9.53, 498.2, 10412
cli_number_text cli_text_share(double value); // 0.634: 63 %

// The beginning of a text that somebody else wrote (a name in a file, a word of the input), as one
// that a terminal shows and does not obey: control characters become '?'. A value, as above.
#define CLI_TEXT_PLAIN_MAX 128
typedef struct cli_plain_text {
    char text[CLI_TEXT_PLAIN_MAX];
} cli_plain_text;

cli_plain_text cli_text_plain(const char *text, size_t length_max);
// A word of a command that can be pasted into a shell (oct_text_word). A value, as above.
#define CLI_TEXT_WORD_MAX 8192
typedef struct cli_word_text {
    char text[CLI_TEXT_WORD_MAX];
} cli_word_text;

cli_word_text cli_text_word(const char *word);
// "host/pid", of the beginning of the host's name: host_max bytes, at most CLI_TEXT_HOST_MAX.
#define CLI_TEXT_HOST_MAX 64
cli_plain_text cli_text_process(const char *host, size_t host_max, uint32_t pid);

// Length of the first line of a text that is broken at spaces into lines of at most room bytes. A
// longer word is broken between characters. room: at least 4.
size_t cli_text_wrap(const char *text, size_t room);

// One line of a terminal.
#define CLI_TEXT_LINE_BYTES_MAX 2048
typedef struct cli_line {
    char bytes[CLI_TEXT_LINE_BYTES_MAX];
    size_t used;
    size_t cells;     // columns taken so far
    size_t cells_max; // the rest is cut off
    size_t begin;     // cells of its label, if it has one
    bool ascii;       // what is added is written in ASCII
} cli_line;

// In UTF-8, unless ascii is set then.
void cli_line_init(cli_line *line, size_t cells_max);
void cli_line_add(cli_line *line, const char *format, ...) OCT_PRINTF(2, 3);
// Adds nothing if there is not room for all of the text.
void cli_line_add_whole(cli_line *line, const char *format, ...) OCT_PRINTF(2, 3);
// An escape sequence: takes no cells and is never cut.
void cli_line_style(cli_line *line, const char *sequence);
// Spaces up to column cells.
void cli_line_pad(cli_line *line, size_t cells);
// cells columns that are full to fraction (0 .. 1; NaN: 0).
void cli_line_bar(cli_line *line, size_t cells, double fraction);
// values as columns of eight heights between their least and greatest, at most cells columns wide:
// several neighbours share a column (their mean) when there are more. NaN: a space.
void cli_line_curve(cli_line *line, size_t cells, const double *values, size_t count);

#endif // CLI_CLI_TEXT_H
