#ifndef CONFIG_CONFIG_SYNONYMS_H
#define CONFIG_CONFIG_SYNONYMS_H

#include "config/config_table.h"

// Names that papers and other libraries use for the algorithms and keys of an experiment.
//
// Threads: any. Owns: static storage.

// An algorithm of the literature that algo.name has under another name, maybe with settings.
typedef struct config_synonym {
    const char *word;      // "c51"
    const char *algorithm; // "dqn"
    const char *settings;  // "algo.distributional=true", separated by blanks, or ""
} config_synonym;

extern const config_synonym config_synonyms[];
extern const size_t config_synonym_count;

// The names that Stable-Baselines3, CleanRL, Acme, RLlib, Tianshou and Spinning Up give to a key,
// without the key's own name. config_key_meant searches them.
typedef struct config_meaning {
    const char *key;   // "algo.discount"; several are separated by " or "
    const char *names; // "gamma", in small letters, separated by blanks
} config_meaning;

extern const config_meaning config_meanings[];
extern const size_t config_meaning_count;

// Returns NULL if word is not a synonym.
const config_synonym *config_synonym_find(const char *word, size_t length);
// Takes the first setting from *settings: returns its key, copies its value, and moves *settings to
// the next one. Returns NULL at the end.
const config_key *config_synonym_next(const char **settings, char value[CONFIG_NAME_MAX]);

#endif // CONFIG_CONFIG_SYNONYMS_H
