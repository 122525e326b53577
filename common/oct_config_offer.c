// What a key, or a setting KEY=VALUE that is not written to its end, can become: for the completion
// of shells.

#include <stdio.h>
#include <string.h>

#include "common/oct_config_synonyms.h"

#define WORD_BYTES 256

void
oct_config_offer_keys(oct_config_offer offer)
{
    const char *section = "";
    for (size_t i = 0; i < oct_config_key_count; i++) {
        char name[OCT_CONFIG_NAME_MAX];
        const oct_config_key *key = &oct_config_keys[i];
        if (strcmp(section, key->section) != 0) {
            section = key->section;
            offer(section);
        }
        oct_config_key_name(key, name);
        offer(name);
    }
}

// The words that key takes, separated by spaces; "": it takes numbers or any text.
static const char *
words_of(const oct_config_key *key)
{
    switch (key->kind) {
    case OCT_CONFIG_BOOL:
        return "true false";
    case OCT_CONFIG_WORD:
        return key->words;
    default:
        return key->none != NULL ? key->none : "";
    }
}

static void
offer_values(const oct_config_key *key, const char *before, oct_config_offer offer)
{
    const char *words = words_of(key);
    while (words[0] != '\0') {
        char candidate[WORD_BYTES];
        size_t length = strcspn(words, " ");
        (void)snprintf(candidate, sizeof(candidate), "%s%.*s", before, (int)length, words);
        offer(candidate);
        words += length + strspn(words + length, " ");
    }
    for (size_t i = 0; key == oct_config_key_find("algo", "name") && i < oct_config_synonym_count;
         i++) {
        char candidate[WORD_BYTES];
        (void)snprintf(candidate, sizeof(candidate), "%s%s", before, oct_config_synonyms[i].word);
        offer(candidate);
    }
}

void
oct_config_offer_algorithms(oct_config_offer offer)
{
    offer_values(oct_config_key_find("algo", "name"), "", offer);
}

void
oct_config_offer_settings(const char *word, oct_config_offer offer)
{
    for (size_t i = 0; i < oct_config_key_count; i++) {
        char name[OCT_CONFIG_NAME_MAX], before[OCT_CONFIG_NAME_MAX + 1];
        oct_config_key_name(&oct_config_keys[i], name);
        (void)snprintf(before, sizeof(before), "%s=", name);
        if (strncmp(word, before, strlen(before)) == 0) {
            offer_values(&oct_config_keys[i], before, offer);
        } else {
            offer(before);
        }
    }
}
