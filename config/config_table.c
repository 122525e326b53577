// Makes the table of keys from config_keys.def, and finds keys and words in it.
#include "config/config_table.h"

#include <string.h>

#define YEAR_S (366.0 * 86400)

const char *const config_sync_words[CONFIG_SYNCS] = {CONFIG_SYNC_WORDS(CONFIG_WORD_OF)};

#define ROW(s, n, k, ...)                                                                          \
    [CONFIG_KEY_##s##_##n] = {.name = #s "." #n,                                                   \
                              .section = #s,                                                       \
                              .leaf = #n,                                                          \
                              .kind = (k),                                                         \
                              .offset = offsetof(config_experiment, s.n),                          \
                              __VA_ARGS__},
#define BASIC .is_basic = true
#define NEW   .is_new = true

const config_key config_keys[CONFIG_KEYS] = {
#define NUMBER(s, n, k, low, high, value, ...)                                                     \
    ROW(s, n, k, .min = (low), .max = (high), .default_text = (value), .help = __VA_ARGS__)
#define TEXT(s, n, bytes, value, ...)                                                              \
    ROW(s, n, CONFIG_TEXT, .max = (bytes)-1, .default_text = (value), .help = __VA_ARGS__)
#define U32(s, n, ...)  NUMBER(s, n, CONFIG_U32, __VA_ARGS__)
#define U64(s, n, ...)  NUMBER(s, n, CONFIG_U64, __VA_ARGS__)
#define F64(s, n, ...)  NUMBER(s, n, CONFIG_F64, __VA_ARGS__)
#define INTS(s, n, ...) NUMBER(s, n, CONFIG_INTS, __VA_ARGS__)
#define LAYERS(s, n, value, ...)                                                                   \
    ROW(s, n, CONFIG_LAYERS, .default_text = (value), .help = __VA_ARGS__)
#define F64_OR(s, n, word, low, high, ...)                                                         \
    ROW(s, n, CONFIG_F64, .none = (word), .min = (low), .max = (high), .default_text = (word),     \
        .help = __VA_ARGS__)
#define F64_SAME(s, n, as, low, high, ...)                                                         \
    ROW(s, n, CONFIG_F64, .none = "same", .min = (low), .max = (high), .default_text = "same",     \
        .flag = offsetof(config_experiment, s.n##_is_same),                                        \
        .other = offsetof(config_experiment, s.as), .help = __VA_ARGS__)
#define BOOL(s, n, value, ...) ROW(s, n, CONFIG_BOOL, .default_text = (value), .help = __VA_ARGS__)
#define WORD(s, n, type, all, value, ...)                                                          \
    ROW(s, n, CONFIG_WORD, .words = (const char *const[]){all(CONFIG_WORD_OF) NULL},               \
        .default_text = (value), .help = __VA_ARGS__)
#include "config/config_keys.def"
};

const config_key *
config_key_find(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        if (strcmp(config_keys[i].name, name) == 0) {
            return &config_keys[i];
        }
    }
    return NULL;
}

bool
config_key_begins_section(const config_key *key)
{
    return key == config_keys || strcmp(key[-1].section, key->section) != 0;
}

bool
config_section_exists(const char *section)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        if (strcmp(config_keys[i].section, section) == 0) {
            return true;
        }
    }
    return false;
}

const char *
config_word_next(const char **words, size_t *length)
{
    const char *word = *words;
    *length = strcspn(word, " ");
    *words += *length + (word[*length] == ' ');
    return *length > 0 ? word : NULL;
}

bool
config_word_is_among(const char *words, const char *word, size_t length)
{
    size_t other_length;
    for (const char *other; (other = config_word_next(&words, &other_length)) != NULL;) {
        if (other_length == length && memcmp(other, word, length) == 0) {
            return true;
        }
    }
    return false;
}
