// Converts the values of an experiment from text and back: numbers, booleans, words, texts, lists.
#include "common/oct_config_table.h"
#include "common/oct_config_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_algos.h"
#include "common/oct_locale.h"
#include "common/oct_text.h"

#define QUOTED_BYTES 48                 // of a foreign value, in messages
#define WHOLE_MAX    9007199254740992.0 // 2^53: doubles above it are not exact

#define FIELD(config, key, type) ((type *)(void *)((char *)(config) + (key)->offset))
#define FIELD_CONST(config, key, type)                                                             \
    ((const type *)(const void *)((const char *)(config) + (key)->offset))

bool
oct_config_number_copy(char *out, size_t size, const oct_config_scalar *value)
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
parse_whole(uint64_t *out, const oct_config_key *key, const oct_config_scalar *value, char *reason,
            size_t reason_size)
{
    char digits[64], quoted[QUOTED_BYTES], allowed[OCT_CONFIG_VALUE_MAX];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    (void)snprintf(allowed, sizeof(allowed), "%.0f .. %.0f", key->min, key->max);
    if (value->quoted || !oct_config_number_copy(digits, sizeof(digits), value)) {
        return oct_refuse(reason, reason_size, "%s%s%s is not a whole number, allowed %s",
                          value->quoted ? "\"" : "", quoted, value->quoted ? "\"" : "", allowed);
    }
    // Exact beyond 2^53, which doubles are not.
    long double number = strtold_l(digits, NULL, oct_locale_plain());
    if (number != floorl(number)) {
        return oct_refuse(reason, reason_size, "%s is not a whole number, allowed %s", quoted,
                          allowed);
    }
    if (!(number >= key->min && number <= key->max)) {
        return oct_refuse(reason, reason_size, "%s is out of range, allowed %s", quoted, allowed);
    }
    OCT_ASSERT(key->max <= WHOLE_MAX);
    *out = (uint64_t)number;
    return OCT_OK;
}

static bool
is_word(const oct_config_scalar *value, const char *word)
{
    return value->length == strlen(word) && memcmp(value->text, word, value->length) == 0;
}

static oct_err
set_f64(oct_config *config, const oct_config_key *key, const oct_config_scalar *value, char *reason,
        size_t reason_size)
{
    char digits[64], quoted[QUOTED_BYTES], allowed[OCT_CONFIG_VALUE_MAX];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    (void)oct_config_allowed(key, allowed);
    bool none = key->none != NULL && !value->quoted && is_word(value, key->none);
    double number = NAN;
    if (!none) {
        if (value->quoted || !oct_config_number_copy(digits, sizeof(digits), value)) {
            return oct_refuse(reason, reason_size, "%s%s%s is not a number, allowed %s",
                              value->quoted ? "\"" : "", quoted, value->quoted ? "\"" : "",
                              allowed);
        }
        number = oct_text_number(digits, NULL);
        if (!(number >= key->min && number <= key->max)) {
            return oct_refuse(reason, reason_size, "%s is out of range, allowed %s", quoted,
                              allowed);
        }
    }
    *FIELD(config, key, double) = number;
    if (key->none_flag != 0) {
        *(bool *)((char *)config + key->none_flag) = none;
    }
    return OCT_OK;
}

static oct_err
set_bool(oct_config *config, const oct_config_key *key, const oct_config_scalar *value,
         char *reason, size_t reason_size)
{
    bool yes = is_word(value, "true"), no = is_word(value, "false");
    if (value->quoted || (!yes && !no)) {
        char quoted[QUOTED_BYTES];
        return oct_refuse(reason, reason_size, "%s%s%s is not one of true, false",
                          value->quoted ? "\"" : "",
                          oct_text_quote(quoted, sizeof(quoted), value->text, value->length),
                          value->quoted ? "\"" : "");
    }
    *FIELD(config, key, bool) = yes;
    return OCT_OK;
}

// The number of the UTF-8 character at bytes[count]; that of a byte alone is its value.
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

// Returns the bytes of a character at text that a terminal may obey or that YAML does not accept,
// because what is printed has to parse; 0: there is none. left: bytes that are there.
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
set_text(oct_config *config, const oct_config_key *key, const oct_config_scalar *value,
         char *reason, size_t reason_size)
{
    size_t most = (size_t)key->max;
    if (value->length > most) {
        return oct_refuse(reason, reason_size, "the text has %zu bytes, allowed up to %zu",
                          value->length, most);
    }
    for (size_t i = 0; i < value->length;) {
        const char *at = value->text + i;
        size_t step = oct_text_character((const uint8_t *)at, value->length - i);
        size_t bad = unprintable(at, value->length - i);
        if (bad > 0) {
            return oct_refuse(reason, reason_size,
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

// The index-th of words separated by one blank, false when there are fewer.
static bool
word_at(char *out, size_t size, const char *words, unsigned index)
{
    for (; index > 0; index--) {
        words = strchr(words, ' ');
        if (words == NULL) {
            return false;
        }
        words++;
    }
    size_t length = strcspn(words, " ");
    OCT_ASSERT(length < size);
    memcpy(out, words, length);
    out[length] = 0;
    return true;
}

static oct_err
set_word(oct_config *config, const oct_config_key *key, const oct_config_scalar *value,
         char *reason, size_t reason_size)
{
    char word[32], quoted[QUOTED_BYTES], allowed[OCT_CONFIG_VALUE_MAX], hint[QUOTED_BYTES];
    (void)oct_text_quote(quoted, sizeof(quoted), value->text, value->length);
    for (unsigned i = 0; word_at(word, sizeof(word), key->words, i); i++) {
        if (is_word(value, word)) {
            // Every enum of oct_config counts up from 0 and has the size of unsigned.
            *FIELD(config, key, unsigned) = i;
            return OCT_OK;
        }
    }
    return oct_refuse(reason, reason_size, "%s is not one of %s%s", quoted,
                      oct_config_allowed(key, allowed),
                      oct_config_suggest_word(key, quoted, hint, sizeof(hint)));
}

_Static_assert(sizeof(oct_algo_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_activation_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_precision_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_scale_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_range_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_kernels_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_sampler_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_when_full_name) == sizeof(unsigned), "set_word writes an unsigned");
_Static_assert(sizeof(oct_sync_name) == sizeof(unsigned), "set_word writes an unsigned");

oct_err
oct_config_value_set(oct_config *config, const oct_config_key *key, const oct_config_scalar *value,
                     char *reason, size_t reason_size)
{
    char allowed[OCT_CONFIG_VALUE_MAX];
    uint64_t whole = 0;
    if (value->length == 0 && !value->quoted) {
        return oct_refuse(reason, reason_size, "has no value, allowed %s",
                          oct_config_allowed(key, allowed));
    }
    switch (key->kind) {
    case OCT_CONFIG_U32:
        OCT_TRY(parse_whole(&whole, key, value, reason, reason_size));
        *FIELD(config, key, uint32_t) = (uint32_t)whole;
        return OCT_OK;
    case OCT_CONFIG_U64:
        return parse_whole(FIELD(config, key, uint64_t), key, value, reason, reason_size);
    case OCT_CONFIG_F64:
        return set_f64(config, key, value, reason, reason_size);
    case OCT_CONFIG_BOOL:
        return set_bool(config, key, value, reason, reason_size);
    case OCT_CONFIG_TEXT:
        return set_text(config, key, value, reason, reason_size);
    case OCT_CONFIG_WORD:
        return set_word(config, key, value, reason, reason_size);
    case OCT_CONFIG_INTS:
        return oct_refuse(reason, reason_size, "must be " OCT_CONFIG_LIST_TEXT);
    }
    OCT_ASSERT(false);
}

oct_err
oct_config_int_parse(uint32_t *out, const oct_config_key *key, const oct_config_scalar *value,
                     char *reason, size_t reason_size)
{
    uint64_t whole;
    OCT_TRY(parse_whole(&whole, key, value, reason, reason_size));
    *out = (uint32_t)whole;
    return OCT_OK;
}

oct_err
oct_config_ints_set(oct_config *config, const oct_config_key *key, const uint32_t *value,
                    size_t count, char *reason, size_t reason_size)
{
    OCT_ASSERT(key->kind == OCT_CONFIG_INTS);
    if (count > OCT_CONFIG_INTS_MAX) {
        return oct_refuse(reason, reason_size, "the list has %zu numbers, allowed up to %d", count,
                          OCT_CONFIG_INTS_MAX);
    }
    oct_config_ints *field = FIELD(config, key, oct_config_ints);
    memset(field, 0, sizeof(*field));
    field->count = (uint32_t)count;
    if (count > 0) {
        memcpy(field->value, value, count * sizeof(*value));
    }
    return OCT_OK;
}

void
oct_config_resolve(oct_config *config)
{
    oct_config_defaults_apply(config);
    if (config->algo.learning_rate_final_is_same) {
        config->algo.learning_rate_final = config->algo.learning_rate;
    }
    if (config->algo.entropy_cost_final_is_same) {
        config->algo.entropy_cost_final = config->algo.entropy_cost;
    }
    if (config->algo.critic_learning_rate_is_same) {
        config->algo.critic_learning_rate = config->algo.learning_rate;
    }
    if (config->replay.importance_exponent_final_is_same) {
        config->replay.importance_exponent_final = config->replay.importance_exponent;
    }
    if (config->actor.noise_low_is_same) {
        config->actor.noise_low = config->actor.noise;
    }
    if (config->actor.noise_final_is_same) {
        config->actor.noise_final = config->actor.noise;
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
print_ints(oct_text *text, const oct_config_ints *ints)
{
    oct_text_add(text, "[");
    for (uint32_t i = 0; i < ints->count; i++) {
        oct_text_add(text, "%s%u", i > 0 ? ", " : "", ints->value[i]);
    }
    oct_text_add(text, "]");
}

static void
print_f64(oct_text *text, const oct_config *config, const oct_config_key *key)
{
    char digits[32];
    double number = *FIELD_CONST(config, key, double);
    bool none = key->none_flag != 0 ? *(const bool *)((const char *)config + key->none_flag)
                                    : isnan(number);
    oct_text_add(text, "%s",
                 key->none != NULL && none ? key->none
                                           : oct_text_double(digits, sizeof(digits), number));
}

const char *
oct_config_value_print(const oct_config *config, const oct_config_key *key,
                       char out[OCT_CONFIG_VALUE_MAX])
{
    char word[32] = "";
    oct_text text;
    oct_text_init(&text, out, OCT_CONFIG_VALUE_MAX);
    switch (key->kind) {
    case OCT_CONFIG_U32:
        oct_text_add(&text, "%u", *FIELD_CONST(config, key, uint32_t));
        break;
    case OCT_CONFIG_U64:
        oct_text_add(&text, "%llu", (unsigned long long)*FIELD_CONST(config, key, uint64_t));
        break;
    case OCT_CONFIG_F64:
        print_f64(&text, config, key);
        break;
    case OCT_CONFIG_BOOL:
        oct_text_add(&text, "%s", *FIELD_CONST(config, key, bool) ? "true" : "false");
        break;
    case OCT_CONFIG_TEXT:
        print_quoted(&text, FIELD_CONST(config, key, char));
        break;
    case OCT_CONFIG_WORD:
        OCT_ASSERT(word_at(word, sizeof(word), key->words, *FIELD_CONST(config, key, unsigned)));
        oct_text_add(&text, "%s", word);
        break;
    case OCT_CONFIG_INTS:
        print_ints(&text, FIELD_CONST(config, key, oct_config_ints));
        break;
    }
    OCT_ASSERT(!text.truncated);
    return out;
}

const char *
oct_config_allowed(const oct_config_key *key, char out[OCT_CONFIG_VALUE_MAX])
{
    char word[32], low[32], high[32];
    oct_text text;
    oct_text_init(&text, out, OCT_CONFIG_VALUE_MAX);
    (void)oct_text_double(low, sizeof(low), key->min);
    if (key->kind == OCT_CONFIG_F64) {
        (void)oct_text_double(high, sizeof(high), key->max);
    } else {
        (void)snprintf(low, sizeof(low), "%.0f", key->min);
        (void)snprintf(high, sizeof(high), "%.0f", key->max);
    }
    switch (key->kind) {
    case OCT_CONFIG_U32:
    case OCT_CONFIG_U64:
    case OCT_CONFIG_F64:
        oct_text_add(&text, "%s .. %s%s%s", low, high, key->none != NULL ? " or " : "",
                     key->none != NULL ? key->none : "");
        break;
    case OCT_CONFIG_BOOL:
        oct_text_add(&text, "true, false");
        break;
    case OCT_CONFIG_TEXT:
        oct_text_add(&text, "text of up to %zu bytes", (size_t)key->max);
        break;
    case OCT_CONFIG_WORD:
        for (unsigned i = 0; word_at(word, sizeof(word), key->words, i); i++) {
            oct_text_add(&text, "%s%s", i > 0 ? ", " : "", word);
        }
        break;
    case OCT_CONFIG_INTS:
        oct_text_add(&text, "a list such as [64, 64] of up to %d whole numbers %s .. %s",
                     OCT_CONFIG_INTS_MAX, low, high);
        break;
    }
    return out;
}
