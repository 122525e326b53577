// Writes scalars of YAML as JSON, and as options of an environment.
#include <ctype.h>
#include <string.h>

#include "config/config_table.h"

#define DIGITS_BYTES 512 // a longer number is a text

typedef enum scalar_kind {
    SCALAR_TEXT,
    SCALAR_NUMBER,
    SCALAR_TRUE,
    SCALAR_FALSE,
    SCALAR_NULL
} scalar_kind;

static const char *const plain_words[] = {[SCALAR_TRUE] = "true True TRUE",
                                          [SCALAR_FALSE] = "false False FALSE",
                                          [SCALAR_NULL] = "null Null NULL ~"};

static bool
is_among(const char *words, const config_scalar *value)
{
    return config_word_is_among(words, value->text, value->length);
}

// digits receives the text of a number.
static scalar_kind
kind_of(const config_scalar *value, char digits[DIGITS_BYTES])
{
    if (value->quoted) {
        return SCALAR_TEXT;
    }
    for (scalar_kind kind = SCALAR_TRUE; kind <= SCALAR_NULL; kind++) {
        if (is_among(plain_words[kind], value)) {
            return kind;
        }
    }
    return value->length == 0                                ? SCALAR_NULL
           : config_number_copy(digits, DIGITS_BYTES, value) ? SCALAR_NUMBER
                                                             : SCALAR_TEXT;
}

// Writes "+.5" as 0.5, "007" as 7 and "1." as 1.0.
static void
add_number(oct_text *text, const char *digits)
{
    oct_text_add(text, "%s", *digits == '-' ? "-" : "");
    digits += *digits == '-' || *digits == '+';
    while (digits[0] == '0' && isdigit((unsigned char)digits[1])) {
        digits++;
    }
    size_t whole = strspn(digits, "0123456789");
    oct_text_add(text, "%.*s", whole > 0 ? (int)whole : 1, whole > 0 ? digits : "0");
    digits += whole;
    if (*digits == '.') {
        size_t part = strspn(digits + 1, "0123456789");
        oct_text_add(text, ".%.*s", part > 0 ? (int)part : 1, part > 0 ? digits + 1 : "0");
        digits += 1 + part;
    }
    oct_text_add(text, "%s", digits); // the exponent
}

void
config_json_add_text(oct_text *text, const config_scalar *value)
{
    oct_text_add(text, "\"");
    for (size_t i = 0; i < value->length; i++) {
        unsigned char c = (unsigned char)value->text[i];
        bool is_control = c < ' ' || c == 0x7f;
        oct_text_add(text, is_control ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    oct_text_add(text, "\"");
}

void
config_json_add(oct_text *text, const config_scalar *value)
{
    char digits[DIGITS_BYTES];
    scalar_kind kind = kind_of(value, digits);
    if (kind == SCALAR_NUMBER) {
        add_number(text, digits);
    } else if (kind == SCALAR_TEXT) {
        config_json_add_text(text, value);
    } else {
        oct_text_add(text, "%.*s", (int)strcspn(plain_words[kind], " "), plain_words[kind]);
    }
}

// Returns true if Python reads the text as a word. Such a text has no comma, either.
static bool
is_word(const config_scalar *value)
{
    for (size_t i = 0; i < value->length; i++) {
        char c = value->text[i];
        bool is_letter = isalpha((unsigned char)c) || c == '_' || c == '/';
        bool is_part = isdigit((unsigned char)c) || c == '.' || c == '-';
        if (!is_letter && (i == 0 || !is_part)) {
            return false;
        }
    }
    return value->length > 0 && !is_among("true false True False None", value);
}

void
config_option_add(oct_text *text, const config_scalar *value)
{
    char digits[DIGITS_BYTES];
    scalar_kind kind = kind_of(value, digits);
    if (kind == SCALAR_TEXT && is_word(value)) {
        oct_text_add(text, "=%.*s", (int)value->length, value->text);
    } else {
        oct_text_add(text, kind == SCALAR_TEXT || kind == SCALAR_NULL ? ":=" : "=");
        config_json_add(text, value);
    }
}
