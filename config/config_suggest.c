// Suggests the nearest key, section or word for a name or value that does not exist.
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"
#include "config/config_synonyms.h"

#define WORDS_MAX 64 // words of one key, with synonyms

// What a mistyped name is compared with.
typedef const char *text_of(const config_key *key);

static const char *
name_of(const config_key *key)
{
    return key->name;
}

static const char *
section_of(const config_key *key)
{
    return key->section;
}

static const char *
leaf_of(const config_key *key)
{
    return key->leaf;
}

// Returns the key whose text a mistyped name probably meant, or NULL. section: only keys of this
// section; NULL: all.
static const config_key *
nearest(const char *name, text_of *text, const char *section)
{
    const char *candidates[CONFIG_KEYS + 1];
    const config_key *keys[CONFIG_KEYS];
    size_t count = 0;
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        bool is_repeated = text == section_of && !config_key_begins_section(key);
        if (!is_repeated && (section == NULL || strcmp(section, key->section) == 0)) {
            keys[count] = key;
            candidates[count++] = text(key);
        }
    }
    candidates[count] = NULL;
    const char *best = oct_suggest(name, candidates);
    for (size_t i = 0; best != NULL && i < count; i++) {
        if (candidates[i] == best) {
            return keys[i];
        }
    }
    return NULL;
}

// Adds the keys of section, or all sections.
static void
add_choices(oct_text *text, const char *section)
{
    const char *between = "";
    oct_text_add(text, "; %s ", section != NULL ? section : "sections");
    oct_text_add(text, section != NULL ? "has " : "are ");
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        bool is_choice =
            section != NULL ? strcmp(section, key->section) == 0 : config_key_begins_section(key);
        if (is_choice) {
            oct_text_add(text, "%s%s", between, section != NULL ? key->leaf : key->section);
            between = ", ";
        }
    }
}

const char *
config_suggest(const char *section, const char *name, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    const char *dot = strrchr(name, '.');
    const char *meant = config_key_meant(dot != NULL ? dot + 1 : name);
    const config_key *key = NULL;
    if (meant == NULL && section == NULL && dot != NULL) {
        key = nearest(name, name_of, NULL);
        meant = key != NULL ? key->name : NULL;
    } else if (meant == NULL && section == NULL &&
               (key = nearest(name, section_of, NULL)) != NULL) {
        meant = key->section;
    } else if (meant == NULL) {
        key = section != NULL ? nearest(name, leaf_of, section) : NULL;
        key = key != NULL ? key : nearest(name, leaf_of, NULL);
        meant = key != NULL ? key->name : NULL;
    }
    if (meant != NULL) {
        oct_text_add(&text, "; did you mean %s?", meant);
    } else {
        add_choices(&text, section);
    }
    return out;
}

const char *
config_suggest_key(const char *name, char *out, size_t size)
{
    char section[CONFIG_NAME_MAX];
    size_t length = strcspn(name, ".");
    (void)snprintf(section, sizeof(section), "%.*s", (int)length, name);
    bool is_known = name[length] == '.' && config_section_exists(section);
    return config_suggest(is_known ? section : NULL, is_known ? name + length + 1 : name, out,
                          size);
}

static bool
is_algorithm_key(const config_key *key)
{
    return key == &config_keys[CONFIG_KEY_algo_name];
}

// Returns true if value is a word of key, or a synonym of one.
static bool
is_word_of(const config_key *key, const char *value)
{
    for (size_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        if (strcmp(key->words[i], value) == 0) {
            return true;
        }
    }
    return is_algorithm_key(key) && config_synonym_find(value, strlen(value)) != NULL;
}

const char *
config_suggest_word(const config_key *key, const char *value, char *out, size_t size)
{
    const char *candidates[WORDS_MAX + 1] = {NULL};
    size_t count = 0;
    for (; key->words[count] != NULL; count++) {
        OCT_ASSERT(count < WORDS_MAX);
        candidates[count] = key->words[count];
    }
    for (size_t i = 0; is_algorithm_key(key) && i < config_synonym_count; i++) {
        OCT_ASSERT(count < WORDS_MAX);
        candidates[count++] = config_synonyms[i].word;
    }
    const char *near = oct_suggest(value, candidates);
    (void)snprintf(out, size, "%s%s%s", near != NULL ? "; did you mean " : "",
                   near != NULL ? near : "", near != NULL ? "?" : "");
    return out;
}

const char *
config_suggest_algorithm(const char *word, char *out, size_t size)
{
    return config_suggest_word(&config_keys[CONFIG_KEY_algo_name], word, out, size);
}

bool
config_is_algorithm(const char *word)
{
    return is_word_of(&config_keys[CONFIG_KEY_algo_name], word);
}

const char *
config_suggest_value(const char *section, const char *value, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const config_key *key = &config_keys[i];
        if (strcmp(section, key->section) == 0 && is_word_of(key, value)) {
            oct_text_add(&text, "; did you mean %s=%s?", key->name, value);
            return out;
        }
    }
    add_choices(&text, section);
    return out;
}
