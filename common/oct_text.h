#ifndef COMMON_OCT_TEXT_H
#define COMMON_OCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_base.h"
#include "common/oct_err.h"

// Formats and filters text for people. Threads: any. Owns: nothing; results are written to the
// caller's buffer, cut to its size and always 0-terminated.

// A buffer that text is appended to. What does not fit is cut, and truncated is set.
typedef struct oct_text {
    char *out;
    size_t size;
    size_t used;
    bool truncated;
} oct_text;

void oct_text_init(oct_text *text, char *out, size_t size);
void oct_text_add(oct_text *text, const char *format, ...) OCT_PRINTF(2, 3);
// Removes what was added beyond the first `used` bytes.
void oct_text_cut_to(oct_text *text, size_t used);

// Returns the number of single-character edits (insert, delete, replace, swap of neighbours) from a
// to b; upper and lower case are equal. Words of more than 64 characters count as far apart.
// O(length).
uint32_t oct_text_distance(const char *a, const char *b);
// Returns true if a user who typed `got` has probably meant `want`.
bool oct_text_is_near(const char *got, const char *want);

// Returns true if text is one of words[count].
bool oct_text_is_one_of(const char *text, const char *const *words, size_t count);

// Returns the bytes of the UTF-8 character at text; 0: there is none. Overlong forms, surrogates
// and numbers above U+10FFFF are not characters. left: bytes up to the end, at least 1.
size_t oct_text_character(const uint8_t *text, size_t left);
// Returns the bytes of the control character at text; 0: there is none. A terminal may obey it, or
// it reorders or breaks the text around it. It has 1 byte for U+0000 to U+001F and U+007F; 2 for
// U+0080 to U+009F, or 1 where the byte alone stands for one; 2 or 3 for the marks that set the
// direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and for line
// separators (U+2028, U+2029). The caller moves by whole characters, because such a byte inside a
// character is not a control character. left: as above.
#define OCT_TEXT_CONTROL_MAX 3
size_t oct_text_control(const char *text, size_t left);
// Returns true if text, of 1 or 2 bytes, is the beginning of a character that may be a control
// character.
bool oct_text_may_be_control(const char *text, size_t length);
bool oct_text_has_control(const char *text, size_t length);
// Replaces every byte of control characters by one character.
void oct_text_tame(char *text, size_t length, char with);
// The same with '?' for a text of several lines: line feeds and tabs stay.
void oct_text_tame_lines(char *text, size_t length);
// Returns how many bytes of text, UTF-8, fit in bytes_max without cutting a character.
size_t oct_text_cut(const char *text, size_t bytes_max);
// Copies text, UTF-8, cut between characters.
void oct_text_copy(char *out, size_t size, const char *text);

// Makes a foreign text fit for a message: control characters and invalid UTF-8 become '?', and a
// text longer than size ends in "...".
const char *oct_text_quote(char *out, size_t size, const char *text, size_t length);

// Writes a word of a command so that it can be pasted into a shell: in quotes if it needs them
// ($'…' if it has control characters or is not UTF-8), and after ./ if it would be read as an
// option. A word that does not fit is only shown (oct_text_quote). size: at least 8.
const char *oct_text_word(char *out, size_t size, const char *word);

// As strtod, with a decimal point in every locale: a program that links a library of Octet may use
// a comma. end may be NULL.
double oct_text_number(const char *text, char **end);

// Returns "" for 1 and "s" for any other number: "1 row", "2 rows".
const char *oct_text_plural(double count);
// Format a count, bytes and a duration: "950", "1.2 k", "34.5 M" (with unit "/s": "950/s" and so
// on); "1.5 MiB"; "850 ms", "12.3 s", "4:05", "1:02:03", "3 d 04:00". A number that is not finite
// gives "-".
const char *oct_text_count(char *out, size_t size, double value, const char *unit);
const char *oct_text_bytes(char *out, size_t size, double bytes, const char *unit);
const char *oct_text_duration(char *out, size_t size, double seconds);
// Formats the shortest decimal that reads back as exactly value, with a point in every locale:
// "0.001", "1e-08", "nan".
const char *oct_text_double(char *out, size_t size, double value);

#endif // COMMON_OCT_TEXT_H
