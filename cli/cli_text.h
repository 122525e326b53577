#ifndef CLI_CLI_TEXT_H
#define CLI_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_base.h"

// Formats numbers for a person, bars and curves of block characters, and lines that know their
// width. Pure functions. NaN is printed as "-". Texts are UTF-8, 0-terminated, and cut between
// characters if they do not fit.
//
// Threads: any.

#define CLI_TEXT_NUMBER_MAX 32

typedef struct cli_number_text {
    char text[CLI_TEXT_NUMBER_MAX];
} cli_number_text;

// As in common/oct_text.h, but returned as values, for use within one call of printf.
cli_number_text cli_text_count(double value);
cli_number_text cli_text_bytes(double value);
cli_number_text cli_text_seconds(double value);
cli_number_text cli_text_value(double value); // 9.53, 498.2, 10412
cli_number_text cli_text_share(double value); // 0.634 gives "63 %"

// Returns the beginning of a foreign text (a name in a file, a word of the input) in a form that a
// terminal shows and does not obey: control characters become '?'. A value, as above.
#define CLI_TEXT_PLAIN_MAX 128
typedef struct cli_plain_text {
    char text[CLI_TEXT_PLAIN_MAX];
} cli_plain_text;

cli_plain_text cli_text_plain(const char *text, size_t length_max);
// Returns a word of a command that can be pasted into a shell (oct_text_word). A value, as above.
#define CLI_TEXT_WORD_MAX 8192
typedef struct cli_word_text {
    char text[CLI_TEXT_WORD_MAX];
} cli_word_text;

cli_word_text cli_text_word(const char *word);
// Returns "host/pid", with the first host_max bytes of the host's name, at most CLI_TEXT_HOST_MAX.
#define CLI_TEXT_HOST_MAX 64
cli_plain_text cli_text_process(const char *host, size_t host_max, uint32_t pid);

// Returns the length of the first line of a text that is broken at spaces into lines of at most
// room bytes. A longer word is broken between characters. room >= 4.
size_t cli_text_wrap(const char *text, size_t room);

// One line of a terminal.
#define CLI_TEXT_LINE_BYTES_MAX 2048
typedef struct cli_line {
    char bytes[CLI_TEXT_LINE_BYTES_MAX];
    size_t used;
    size_t cells;     // columns that are used
    size_t cells_max; // of the line; the rest is cut
    size_t begin;     // cells of its label; 0: none
    bool ascii;       // additions are written in ASCII
} cli_line;

// The line takes UTF-8, unless the caller sets ascii afterwards.
void cli_line_init(cli_line *line, size_t cells_max);
void cli_line_add(cli_line *line, const char *format, ...) OCT_PRINTF(2, 3);
// Adds the text only if all of it fits.
void cli_line_add_whole(cli_line *line, const char *format, ...) OCT_PRINTF(2, 3);
// Adds an escape sequence, which takes no cells and is never cut.
void cli_line_style(cli_line *line, const char *sequence);
// Adds spaces up to a column.
void cli_line_pad(cli_line *line, size_t cells);
// Adds a bar of `cells` columns that is full up to fraction (0 .. 1; NaN: 0).
void cli_line_bar(cli_line *line, size_t cells, double fraction);
// Adds values as columns of eight heights between their minimum and maximum, in at most `cells`
// columns. If there are more values, neighbours share a column, which shows their mean. NaN: a
// space.
void cli_line_curve(cli_line *line, size_t cells, const double *values, size_t count);

#endif // CLI_CLI_TEXT_H
