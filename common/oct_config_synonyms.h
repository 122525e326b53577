#ifndef COMMON_OCT_CONFIG_SYNONYMS_H
#define COMMON_OCT_CONFIG_SYNONYMS_H

#include "common/oct_config_table.h"

// Names that papers and other libraries use for the algorithms and keys of an experiment.
//
// Threads: any. Owns: static storage.

// An algorithm of the literature that algo.name has under another name, maybe with other keys.
typedef struct oct_config_synonym {
    const char *word;      // "c51"
    const char *algorithm; // "dqn"
    const char *settings;  // "algo.distributional=true", separated by blanks; "": none
} oct_config_synonym;

extern const oct_config_synonym oct_config_synonyms[];
extern const size_t oct_config_synonym_count;

// What Stable-Baselines3, CleanRL, Acme, RLlib, Tianshou and Spinning Up call a key. A name that is
// the key's own is not listed. oct_config_key_meant looks names up.
typedef struct oct_config_meaning {
    const char *key;   // "algo.discount"; several are separated by " or "
    const char *names; // "gamma", in small letters, separated by blanks
} oct_config_meaning;

extern const oct_config_meaning oct_config_meanings[];
extern const size_t oct_config_meaning_count;

// Returns NULL if word is not a synonym.
const oct_config_synonym *oct_config_synonym_find(const char *word, size_t length);
// Splits the first setting off *settings, which moves behind it: its key and, in value, its value.
// Returns NULL at the end.
const oct_config_key *oct_config_synonym_next(const char **settings,
                                              char value[OCT_CONFIG_NAME_MAX]);

#endif // COMMON_OCT_CONFIG_SYNONYMS_H
