#ifndef CONFIG_CONFIG_TABLE_H
#define CONFIG_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_text.h"

// The table of keys, made from config_keys.def, and functions on its rows. Private to config/.
// Files,
// --set, printing, help and the documentation are loops over it.
//
// Threads: any. Owns: static storage.

typedef enum config_kind {
    CONFIG_U32,
    CONFIG_U64,
    CONFIG_F64,
    CONFIG_BOOL,
    CONFIG_TEXT,
    CONFIG_WORD, // an enum whose values count up from 0 in the order of words
    CONFIG_INTS,
    CONFIG_LAYERS,
} config_kind;

typedef struct config_key {
    const char *name;    // "learner.batch_size"
    const char *section; // "learner"
    const char *leaf;    // "batch_size", the name within the section
    config_kind kind;
    size_t offset;   // of the field in config_experiment
    double min, max; // inclusive bounds of numbers; CONFIG_TEXT: max is the bytes without the zero
    const char *const *words; // CONFIG_WORD: the allowed words, then NULL
    const char *none;         // CONFIG_F64: a word that is allowed instead of a number, or NULL
    size_t flag;  // offset of the field NAME_is_same, set by the word none; 0: the word is NaN
    size_t other; // with flag: offset of the double that the key is the same as
    const char *default_text; // as in YAML; NULL: a file must give the key
    const char *help;         // one sentence
    bool is_basic;            // most experiments choose the key
    bool is_new;              // the last release lacks the key
} config_key;

extern const config_key config_keys[CONFIG_KEYS]; // by config_key_index

// Returns the key with this name ("learner.batch_size"), or NULL.
const config_key *config_key_find(const char *name);
// Returns true if key is the first one of its section.
bool config_key_begins_section(const config_key *key);
bool config_section_exists(const char *section);

// ---- words separated by single blanks

// Returns the first word of *words and its length, and moves *words to the next word. Returns NULL
// at the end.
const char *config_word_next(const char **words, size_t *length);
// Returns true if word is one of words.
bool config_word_is_among(const char *words, const char *word, size_t length);

// ---- suggestions, each of which begins with "; ", or is ""; all return out

// For an unknown key or section: the key that was probably meant, or the names that exist. section
// is the section in which name stood, or NULL at the top.
const char *config_suggest(const char *section, const char *name, char *out, size_t size);
// For a value that key does not take: the word of key, or the synonym, that is near value.
const char *config_suggest_word(const config_key *key, const char *value, char *out, size_t size);
// For a section that was given a value, as in algo=dqn: the key that takes value, or the keys of
// the section.
const char *config_suggest_value(const char *section, const char *value, char *out, size_t size);

// ---- values

// A value as it stood in a file.
typedef struct config_scalar {
    const char *text; // ends with a zero, but may have zero bytes inside
    size_t length;
    bool quoted;
} config_scalar;

// Copies a number without the '_' that may stand between its digits. Returns false if the value is
// not a number in both YAML and C (digits, at most one '.' and one exponent), or too long for out.
bool config_number_copy(char *out, size_t size, const config_scalar *value);
// Adds a scalar of YAML's core schema as JSON: a number, true, false, null or a text.
void config_json_add(oct_text *text, const config_scalar *value);
void config_json_add_text(oct_text *text, const config_scalar *value);
// Adds the scalar as the value of an option (oct_option.h): "=value" if Gymnasium reads that as the
// same value, else ":=value".
void config_option_add(oct_text *text, const config_scalar *value);

// These three store a checked value in config. OCT_EINVAL: nothing was changed, and reason says
// what is wrong and what is allowed ("0 is out of range, allowed 1 .. 65536"). config_int_parse
// parses one number of a list, which config_ints_set stores.
OCT_CHECKED oct_err config_value_set(config_experiment *config, const config_key *key,
                                     const config_scalar *value, oct_reason *why);
OCT_CHECKED oct_err config_ints_set(config_experiment *config, const config_key *key,
                                    const uint32_t *value, size_t count, oct_reason *why);
#define CONFIG_LIST_TEXT   "a list, such as [64, 64]"
#define CONFIG_LAYERS_TEXT "a list of layers, such as [conv 16 3x3, dense 128]"
OCT_CHECKED oct_err config_int_parse(uint32_t *out, const config_key *key,
                                     const config_scalar *value, oct_reason *why);
// Stores a value of the program's own tables, which the key must allow.
void config_value_store(config_experiment *config, const config_key *key, const char *text);
// Sets the fields that follow other fields: defaults, and keys with the value "same". For after
// each layer.
void config_resolve(config_experiment *config);

// The value of key as in YAML, and what key allows in words. Both return out.
const char *config_value_print(const config_experiment *config, const config_key *key,
                               char out[CONFIG_VALUE_MAX]);
const char *config_allowed(const config_key *key, char out[CONFIG_VALUE_MAX]);

// ---- defaults

// The default of key with an algorithm, as in YAML, or one of these two formulas.
#define CONFIG_ENVIRONMENTS "actor.count * actor.envs"
#define CONFIG_ROLLOUTS     "max(4096, rows of rollouts of max(2, actor.count) actors)"
const char *config_default_with(const config_key *key, config_algo_name algo);
// The defaults of key that differ from key->default_text: "ppo, a2c: 16; table: 8", or "". quote
// stands on both sides of each value. Returns out.
const char *config_defaults_print(const config_key *key, const char *quote,
                                  char out[CONFIG_VALUE_MAX]);

#endif // CONFIG_CONFIG_TABLE_H
