// Candidates for the completion of shells: keys, and settings KEY=VALUE.
#include <stdio.h>
#include <string.h>

#include "config/config_synonyms.h"

#define WORD_BYTES 256

void
config_offer_keys(config_offer offer)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (config_key_begins_section(key)) {
            offer(key->section);
        }
        offer(key->name);
    }
}

// Offers before followed by each word that key takes.
static void
offer_values(const config_key *key, const char *before, config_offer offer)
{
    static const char *const switches[] = {"true", "false", NULL};
    const char *const none[] = {key->none, NULL};
    const char *const *words = key->kind == CONFIG_BOOL   ? switches
                               : key->kind == CONFIG_WORD ? key->words
                                                          : none;
    char candidate[WORD_BYTES];
    for (size_t i = 0; words[i] != NULL; i++) {
        (void)snprintf(candidate, sizeof(candidate), "%s%s", before, words[i]);
        offer(candidate);
    }
    bool has_synonyms = key == &config_keys[CONFIG_KEY_algo_name];
    for (size_t i = 0; has_synonyms && i < config_synonym_count; i++) {
        (void)snprintf(candidate, sizeof(candidate), "%s%s", before, config_synonyms[i].word);
        offer(candidate);
    }
}

void
config_offer_algorithms(config_offer offer)
{
    offer_values(&config_keys[CONFIG_KEY_algo_name], "", offer);
}

void
config_offer_settings(const char *word, config_offer offer)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        char before[CONFIG_NAME_MAX + 1];
        (void)snprintf(before, sizeof(before), "%s=", config_keys[i].name);
        if (strncmp(word, before, strlen(before)) == 0) {
            offer_values(&config_keys[i], before, offer);
        } else {
            offer(before);
        }
    }
}
