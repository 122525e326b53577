#ifndef COMMON_OCT_CONFIG_TABLE_H
#define COMMON_OCT_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_config_text.h"
#include "common/oct_text.h"

// The one table of all keys, private to oct_config*.c. Files, --set, printing, help and the
// documentation are loops over it; a new key is a field in oct_config.h and a row here.
//
// Threads: any. Owns: static storage.

typedef enum oct_config_kind {
    OCT_CONFIG_U32,
    OCT_CONFIG_U64,
    OCT_CONFIG_F64,
    OCT_CONFIG_BOOL,
    OCT_CONFIG_TEXT,
    OCT_CONFIG_WORD, // an enum; its values count up from 0 in the order of words
    OCT_CONFIG_INTS,
} oct_config_kind;

typedef struct oct_config_key {
    const char *section;
    const char *name;
    oct_config_kind kind;
    size_t offset;      // of the field in oct_config
    double min, max;    // numbers: inclusive; OCT_CONFIG_TEXT: bytes at most
    const char *words;  // OCT_CONFIG_WORD: "dqn"; "int8 fp32"
    const char *none;   // OCT_CONFIG_F64: a word that may stand for the number, stored as NaN
    size_t none_flag;   // 0, or the offset of a bool that keeps whether the word was given
    const char *preset; // the default, as in YAML; NULL: the file must give it
    const char *help;   // one sentence
    bool is_new;        // the last release lacks it; a release begins with none
} oct_config_key;

extern const oct_config_key oct_config_keys[];
extern const size_t oct_config_key_count;

// "learner.batch_size" of key, for messages.
void oct_config_key_name(const oct_config_key *key, char out[OCT_CONFIG_NAME_MAX]);
// NULL when there is none.
const oct_config_key *oct_config_key_find(const char *section, const char *name);
bool oct_config_section_exists(const char *section);
// What an unknown name probably meant: "; did you mean learner.batch_size?", or what there is.
// section: the one it stood in, NULL at the top. Returns out.
const char *oct_config_suggest(const char *section, const char *name, char *out, size_t size);
// The word of key, or the synonym, that is near value: "; did you mean relu?", or "". Returns out.
const char *oct_config_suggest_word(const oct_config_key *key, const char *value, char *out,
                                    size_t size);
// What was meant by a section with a value: "; did you mean algo.name=dqn?", or its keys. Returns
// out.
const char *oct_config_suggest_value(const char *section, const char *value, char *out,
                                     size_t size);

// One value as it stood in the file, without its place.
typedef struct oct_config_scalar {
    const char *text; // 0-terminated, but may hold zero bytes inside
    size_t length;
    bool quoted;
} oct_config_scalar;

// Digits, with '_' between them if one likes, and at most one '.' and exponent: what YAML and C
// both call a number. Copies it without '_' to out. False: it is none, or too long for out.
bool oct_config_number_copy(char *out, size_t size, const oct_config_scalar *value);
// What a scalar of YAML's core schema is as JSON: a number, true, false, null or a text.
void oct_config_json_add(oct_text *text, const oct_config_scalar *value);
void oct_config_json_add_text(oct_text *text, const oct_config_scalar *value);
// The scalar as "=value" or ":=value" of oct_option.h, whichever reads as the same for Gymnasium.
void oct_config_option_add(oct_text *text, const oct_config_scalar *value);

// Checks text against key and stores it in config. On OCT_EINVAL reason says what is wrong and what
// is allowed ("0 is out of range, allowed 1 .. 65536"); nothing was changed.
OCT_CHECKED oct_err oct_config_value_set(oct_config *config, const oct_config_key *key,
                                         const oct_config_scalar *value, char *reason,
                                         size_t reason_size);
OCT_CHECKED oct_err oct_config_ints_set(oct_config *config, const oct_config_key *key,
                                        const uint32_t *value, size_t count, char *reason,
                                        size_t reason_size);
#define OCT_CONFIG_LIST_TEXT "a list, such as [64, 64]"
// One element of a list.
OCT_CHECKED oct_err oct_config_int_parse(uint32_t *out, const oct_config_key *key,
                                         const oct_config_scalar *value, char *reason,
                                         size_t reason_size);
// Fields that follow others; after every layer.
void oct_config_resolve(oct_config *config);

// The default of key with an algorithm, as in YAML: its own, or key->preset; or the words
// OCT_CONFIG_ENVIRONMENTS or OCT_CONFIG_ROLLOUTS.
#define OCT_CONFIG_ENVIRONMENTS "actor.count * actor.envs"
#define OCT_CONFIG_ROLLOUTS     "max(4096, rows of rollouts of max(2, actor.count) actors)"
const char *oct_config_default_with(const oct_config_key *key, oct_algo_name algo);
// Those that differ from key->preset, in words: "ppo, a2c: 16; table: 8", "" where there are none.
// quote goes round each value. Returns out.
const char *oct_config_defaults_print(const oct_config_key *key, const char *quote,
                                      char out[OCT_CONFIG_VALUE_MAX]);
// Keys that no layer has set get their default with algo.name; of oct_config_resolve.
void oct_config_defaults_apply(oct_config *config);

// The value of key as YAML; "allowed ..." of key in words. Both return out.
const char *oct_config_value_print(const oct_config *config, const oct_config_key *key,
                                   char out[OCT_CONFIG_VALUE_MAX]);
const char *oct_config_allowed(const oct_config_key *key, char out[OCT_CONFIG_VALUE_MAX]);

#endif // COMMON_OCT_CONFIG_TABLE_H
