#ifndef COMMON_OCT_TEXT_H
#define COMMON_OCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_base.h"
#include "common/oct_err.h"

// Text for people. Threads: any. Owns: nothing; results are written to the caller's buffer, cut to
// its size and always 0-terminated.

// A buffer that is appended to; what does not fit is cut and truncated says so.
typedef struct oct_text {
    char *out;
    size_t size;
    size_t used;
    bool truncated;
} oct_text;

void oct_text_init(oct_text *text, char *out, size_t size);
void oct_text_add(oct_text *text, const char *format, ...) OCT_PRINTF(2, 3);
// Takes back what was added after used bytes.
void oct_text_cut_to(oct_text *text, size_t used);

// Writes why something is refused, unless reason_size is 0. Returns OCT_EINVAL, for `return
// oct_refuse(…)`.
oct_err oct_refuse(char *reason, size_t reason_size, const char *format, ...) OCT_PRINTF(3, 4);

// Single-character edits (insert, delete, replace, swap of neighbours) from a to b, capitals taken
// as equal; a and b up to 64 characters, longer ones count as far apart. O(length).
uint32_t oct_text_distance(const char *a, const char *b);
// Whether somebody who typed got is likely to have meant want.
bool oct_text_is_near(const char *got, const char *want);

// Returns true if text is one of words[count].
bool oct_text_is_one_of(const char *text, const char *const *words, size_t count);

// Bytes of the UTF-8 character at text, 0 when there is none: overlong forms, surrogates and
// numbers above U+10FFFF are none. left: bytes that are there, at least 1.
size_t oct_text_character(const uint8_t *text, size_t left);
// Bytes of the control character at text, which a terminal may obey, or which reorders or breaks
// the text around it; 0: there is none. Of U+0000 to U+001F and U+007F, 1; of U+0080 to U+009F, 2,
// or 1 where the byte alone stands for it; 2 or 3 of the marks that set the direction of text
// (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and of separators of lines (U+2028,
// U+2029). Text is gone through by characters: inside of one such a byte is none. left: as above.
#define OCT_TEXT_CONTROL_MAX 3
size_t oct_text_control(const char *text, size_t left);
// Returns true if text, of 1 or 2 bytes, ends within a character that may be such a one.
bool oct_text_may_be_control(const char *text, size_t length);
bool oct_text_has_control(const char *text, size_t length);
// Puts a character in place of every byte of control characters.
void oct_text_tame(char *text, size_t length, char with);
// The same with '?', for a text of several lines: line feeds and tabs stay.
void oct_text_tame_lines(char *text, size_t length);
// Bytes of text, UTF-8: all of it, or so many of the first characters as bytes_max bytes hold.
size_t oct_text_cut(const char *text, size_t bytes_max);
// Copies text, UTF-8, cut between characters.
void oct_text_copy(char *out, size_t size, const char *text);

// A foreign text for a message: control characters and broken UTF-8 become '?', what is longer than
// size ends in "...".
const char *oct_text_quote(char *out, size_t size, const char *text, size_t length);

// A word of a command that can be pasted into a shell: in quotes where it needs them ($'…' where it
// has control characters or is not UTF-8), with ./ in front where it would be read as an option. A
// word that does not fit is only shown (oct_text_quote). size: at least 8.
const char *oct_text_word(char *out, size_t size, const char *word);

// strtod with a point, whatever the locale of the program: libraries of Octet are in those of
// others, where it may be a comma.
double oct_text_number(const char *text, char **end);

// "" for one, "s" for any other number: "1 row", "2 rows".
const char *oct_text_plural(double count);
// "950", "1.2 k", "34.5 M" ("950/s" and so on with unit "/s"); "1.5 MiB"; "850 ms", "12.3 s",
// "4:05", "1:02:03", "3 d 04:00"; a number that is not finite gives "-".
const char *oct_text_count(char *out, size_t size, double value, const char *unit);
const char *oct_text_bytes(char *out, size_t size, double bytes, const char *unit);
const char *oct_text_duration(char *out, size_t size, double seconds);
// The shortest decimal that reads back as exactly value, with a point in every locale: "0.001",
// "1e-08", "nan".
const char *oct_text_double(char *out, size_t size, double value);

#endif // COMMON_OCT_TEXT_H
