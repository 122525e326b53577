// Converts the values of an experiment from text and back: numbers, switches, words, texts, lists.
#include "config/config_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_locale.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_algos.h"

#define QUOTED_BYTES 48                 // of a user's value in messages
#define WHOLE_MAX    9007199254740992.0 // 2^53: doubles above it are not exact

#define FIELD(config, key, type) ((type *)(void *)((char *)(config) + (key)->offset))
#define FIELD_CONST(config, key, type)                                                             \
    ((const type *)(const void *)((const char *)(config) + (key)->offset))

bool
config_number_copy(char *out, size_t size, const config_scalar *value)
{
    size_t used = 0;
    bool digit = false, point = false, exponent = false;
    for (size_t i = 0; i < value->length; i++) {
        char c = value->text[i], before = i > 0 ? value->text[i - 1] : 0;
        if (isdigit((unsigned char)c)) {
            digit = true;
        } else if (c == '_' && isdigit((unsigned char)before) &&
                   isdigit((unsigned char)value->text[i + 1])) {
            continue;
        } else if (c == '.' && !point && !exponent) {
            point = true;
        } else if ((c == 'e' || c == 'E') && digit && !exponent) {
            exponent = true;
            digit = false;
        } else if ((c != '-' && c != '+') || (before != 0 && before != 'e' && before != 'E')) {
            return false;
        }
        if (used + 1 >= size) {
            return false;
        }
        out[used++] = c;
    }
    out[used] = 0;
    return digit;
}

// Whole numbers may also be written 1e6 or 1_000_000.
static oct_err
parse_whole(uint64_t *out, const config_key *key, const config_scalar *value, oct_reason *why)
{
    char digits[64], quoted[QUOTED_BYTES], allowed[CONFIG_VALUE_MAX];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    (void)snprintf(allowed, sizeof(allowed), "%.0f .. %.0f", key->min, key->max);
    if (value->quoted || !config_number_copy(digits, sizeof(digits), value)) {
        return oct_refuse(why, "%s%s%s is not a whole number, allowed %s",
                          value->quoted ? "\"" : "", quoted, value->quoted ? "\"" : "", allowed);
    }
    // A long double is exact beyond 2^53, where a double is not.
    long double number = strtold_l(digits, NULL, oct_locale_plain());
    if (number != floorl(number)) {
        return oct_refuse(why, "%s is not a whole number, allowed %s", quoted, allowed);
    }
    if (!(number >= key->min && number <= key->max)) {
        return oct_refuse(why, "%s is out of range, allowed %s", quoted, allowed);
    }
    OCT_ASSERT(key->max <= WHOLE_MAX);
    *out = (uint64_t)number;
    return OCT_OK;
}

static bool
is_word(const config_scalar *value, const char *word)
{
    return value->length == strlen(word) && memcmp(value->text, word, value->length) == 0;
}

static oct_err
set_f64(config_experiment *config, const config_key *key, const config_scalar *value,
        oct_reason *why)
{
    char digits[64], quoted[QUOTED_BYTES], allowed[CONFIG_VALUE_MAX];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    (void)config_allowed(key, allowed);
    bool none = key->none != NULL && !value->quoted && is_word(value, key->none);
    double number = NAN;
    if (!none) {
        if (value->quoted || !config_number_copy(digits, sizeof(digits), value)) {
            return oct_refuse(why, "%s%s%s is not a number, allowed %s", value->quoted ? "\"" : "",
                              quoted, value->quoted ? "\"" : "", allowed);
        }
        number = oct_text_number(digits, NULL);
        if (!(number >= key->min && number <= key->max)) {
            return oct_refuse(why, "%s is out of range, allowed %s", quoted, allowed);
        }
    }
    *FIELD(config, key, double) = number;
    if (key->flag != 0) {
        *(bool *)((char *)config + key->flag) = none;
    }
    return OCT_OK;
}

static oct_err
set_bool(config_experiment *config, const config_key *key, const config_scalar *value,
         oct_reason *why)
{
    bool yes = is_word(value, "true"), no = is_word(value, "false");
    if (value->quoted || (!yes && !no)) {
        char quoted[QUOTED_BYTES];
        return oct_refuse(why, "%s%s%s is not one of true, false", value->quoted ? "\"" : "",
                          oct_text_quote(quoted, sizeof(quoted), value->text, value->length),
                          value->quoted ? "\"" : "");
    }
    *FIELD(config, key, bool) = yes;
    return OCT_OK;
}

// Returns the code point of the UTF-8 character bytes[0 .. count), or the value of a single byte.
static unsigned
code_of(const char *bytes, size_t count)
{
    unsigned first = (unsigned char)bytes[0];
    unsigned code = count == 1 ? first : first & (0x7Fu >> count);
    for (size_t i = 1; i < count; i++) {
        code = code << 6 | ((unsigned char)bytes[i] & 0x3Fu);
    }
    return code;
}

// Returns the length of the character at text if it is a control character, or a character that
// YAML does not accept, because a printed experiment has to parse; else 0. left: bytes of text.
static size_t
unprintable(const char *text, size_t left)
{
    static const char others[][4] = {"\xEF\xBB\xBF", "\xEF\xBF\xBE", "\xEF\xBF\xBF"};
    size_t control = oct_text_control(text, left);
    for (size_t i = 0; control == 0 && left > 2 && i < OCT_COUNTOF(others); i++) {
        control = memcmp(text, others[i], 3) == 0 ? 3 : 0;
    }
    return control;
}

static oct_err
set_text(config_experiment *config, const config_key *key, const config_scalar *value,
         oct_reason *why)
{
    size_t most = (size_t)key->max;
    if (value->length > most) {
        return oct_refuse(why, "the text has %zu bytes, allowed up to %zu", value->length, most);
    }
    for (size_t i = 0; i < value->length;) {
        const char *at = value->text + i;
        size_t step = oct_text_character((const uint8_t *)at, value->length - i);
        size_t bad = unprintable(at, value->length - i);
        if (bad > 0) {
            return oct_refuse(why,
                              "byte %zu of the text is a control character (code %u), allowed is "
                              "one line of printable text",
                              i + 1, code_of(at, bad));
        }
        i += OCT_MAX(step, (size_t)1);
    }
    char *field = FIELD(config, key, char);
    memset(field, 0, most + 1);
    memcpy(field, value->text, value->length);
    return OCT_OK;
}

static oct_err
set_word(config_experiment *config, const config_key *key, const config_scalar *value,
         oct_reason *why)
{
    char quoted[QUOTED_BYTES], allowed[CONFIG_VALUE_MAX], hint[QUOTED_BYTES];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    for (unsigned i = 0; key->words[i] != NULL; i++) {
        if (is_word(value, key->words[i])) {
            *FIELD(config, key, unsigned) = i;
            return OCT_OK;
        }
    }
    return oct_refuse(why, "%s is not one of %s%s", quoted, config_allowed(key, allowed),
                      config_suggest_word(key, quoted, hint, sizeof(hint)));
}

// Stores a list as text, with or without its brackets.
static oct_err
set_layers(config_experiment *config, const config_key *key, const config_scalar *value,
           oct_reason *why)
{
    policy_words words;
    const char *text = value->text;
    size_t length = value->length;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    char copy[CONFIG_LAYERS_MAX] = "";
    if (length >= sizeof(copy)) {
        return oct_refuse(why, "the list has %zu bytes, allowed up to %zu", length,
                          sizeof(copy) - 1);
    }
    memcpy(copy, text, length);
    OCT_TRY(policy_words_parse(&words, copy, why));
    if (strlen(copy) != length) {
        return oct_refuse(why, "the list has a zero byte");
    }
    memcpy(FIELD(config, key, char), copy, sizeof(copy));
    return OCT_OK;
}

oct_err
config_value_set(config_experiment *config, const config_key *key, const config_scalar *value,
                 oct_reason *why)
{
    char allowed[CONFIG_VALUE_MAX];
    uint64_t whole = 0;
    if (value->length == 0 && !value->quoted) {
        return oct_refuse(why, "has no value, allowed %s", config_allowed(key, allowed));
    }
    switch (key->kind) {
    case CONFIG_U32:
        OCT_TRY(parse_whole(&whole, key, value, why));
        *FIELD(config, key, uint32_t) = (uint32_t)whole;
        return OCT_OK;
    case CONFIG_U64:
        return parse_whole(FIELD(config, key, uint64_t), key, value, why);
    case CONFIG_F64:
        return set_f64(config, key, value, why);
    case CONFIG_BOOL:
        return set_bool(config, key, value, why);
    case CONFIG_TEXT:
        return set_text(config, key, value, why);
    case CONFIG_WORD:
        return set_word(config, key, value, why);
    case CONFIG_INTS:
        return oct_refuse(why, "must be " CONFIG_LIST_TEXT);
    case CONFIG_LAYERS:
        return set_layers(config, key, value, why);
    }
    OCT_ASSERT(false);
}

void
config_value_store(config_experiment *config, const config_key *key, const char *text)
{
    oct_reason why;
    const config_scalar value = {.text = text, .length = strlen(text)};
    OCT_ASSERT(config_value_set(config, key, &value, &why) == OCT_OK);
}

oct_err
config_int_parse(uint32_t *out, const config_key *key, const config_scalar *value, oct_reason *why)
{
    uint64_t whole;
    OCT_TRY(parse_whole(&whole, key, value, why));
    *out = (uint32_t)whole;
    return OCT_OK;
}

oct_err
config_ints_set(config_experiment *config, const config_key *key, const uint32_t *value,
                size_t count, oct_reason *why)
{
    OCT_ASSERT(key->kind == CONFIG_INTS);
    if (count > CONFIG_INTS_MAX) {
        return oct_refuse(why, "the list has %zu numbers, allowed up to %d", count,
                          CONFIG_INTS_MAX);
    }
    config_ints *field = FIELD(config, key, config_ints);
    memset(field, 0, sizeof(*field));
    field->count = (uint32_t)count;
    if (count > 0) {
        memcpy(field->value, value, count * sizeof(*value));
    }
    return OCT_OK;
}

void
config_resolve(config_experiment *config)
{
    config_defaults_apply(config);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        const char *bytes = (const char *)config;
        if (key->flag != 0 && *(const bool *)(bytes + key->flag)) {
            *FIELD(config, key, double) = *(const double *)(const void *)(bytes + key->other);
        }
    }
}

static void
print_quoted(oct_text *text, const char *field)
{
    oct_text_add(text, "\"");
    for (; *field != 0; field++) {
        oct_text_add(text, *field == '"' || *field == '\\' ? "\\%c" : "%c", *field);
    }
    oct_text_add(text, "\"");
}

static void
print_ints(oct_text *text, const config_ints *ints)
{
    oct_text_add(text, "[");
    for (uint32_t i = 0; i < ints->count; i++) {
        oct_text_add(text, "%s%u", i > 0 ? ", " : "", ints->value[i]);
    }
    oct_text_add(text, "]");
}

static void
print_f64(oct_text *text, const config_experiment *config, const config_key *key)
{
    char digits[32];
    double number = *FIELD_CONST(config, key, double);
    bool none = key->flag != 0 ? *(const bool *)((const char *)config + key->flag) : isnan(number);
    oct_text_add(text, "%s",
                 key->none != NULL && none ? key->none
                                           : oct_text_double(digits, sizeof(digits), number));
}

const char *
config_value_print(const config_experiment *config, const config_key *key,
                   char out[CONFIG_VALUE_MAX])
{
    oct_text text;
    oct_text_init(&text, out, CONFIG_VALUE_MAX);
    switch (key->kind) {
    case CONFIG_U32:
        oct_text_add(&text, "%u", *FIELD_CONST(config, key, uint32_t));
        break;
    case CONFIG_U64:
        oct_text_add(&text, "%llu", (unsigned long long)*FIELD_CONST(config, key, uint64_t));
        break;
    case CONFIG_F64:
        print_f64(&text, config, key);
        break;
    case CONFIG_BOOL:
        oct_text_add(&text, "%s", *FIELD_CONST(config, key, bool) ? "true" : "false");
        break;
    case CONFIG_TEXT:
        print_quoted(&text, FIELD_CONST(config, key, char));
        break;
    case CONFIG_WORD:
        oct_text_add(&text, "%s", key->words[*FIELD_CONST(config, key, unsigned)]);
        break;
    case CONFIG_LAYERS:
        oct_text_add(&text, "[%s]", FIELD_CONST(config, key, char));
        break;
    case CONFIG_INTS:
        print_ints(&text, FIELD_CONST(config, key, config_ints));
        break;
    }
    OCT_ASSERT(!text.truncated);
    return out;
}

const char *
config_allowed(const config_key *key, char out[CONFIG_VALUE_MAX])
{
    char low[32], high[32];
    oct_text text;
    oct_text_init(&text, out, CONFIG_VALUE_MAX);
    (void)oct_text_double(low, sizeof(low), key->min);
    if (key->kind == CONFIG_F64) {
        (void)oct_text_double(high, sizeof(high), key->max);
    } else {
        (void)snprintf(low, sizeof(low), "%.0f", key->min);
        (void)snprintf(high, sizeof(high), "%.0f", key->max);
    }
    switch (key->kind) {
    case CONFIG_U32:
    case CONFIG_U64:
    case CONFIG_F64:
        oct_text_add(&text, "%s .. %s%s%s", low, high, key->none != NULL ? " or " : "",
                     key->none != NULL ? key->none : "");
        break;
    case CONFIG_BOOL:
        oct_text_add(&text, "true, false");
        break;
    case CONFIG_TEXT:
        oct_text_add(&text, "text of up to %zu bytes", (size_t)key->max);
        break;
    case CONFIG_WORD:
        for (unsigned i = 0; key->words[i] != NULL; i++) {
            oct_text_add(&text, "%s%s", i > 0 ? ", " : "", key->words[i]);
        }
        break;
    case CONFIG_LAYERS:
        oct_text_add(&text, "a list of up to %d layers such as [conv 16 3x3, dense 128]",
                     POLICY_LAYERS_MAX - 1);
        break;
    case CONFIG_INTS:
        oct_text_add(&text, "a list such as [64, 64] of up to %d whole numbers %s .. %s",
                     CONFIG_INTS_MAX, low, high);
        break;
    }
    return out;
}
