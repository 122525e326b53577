// Suggests the nearest key, section or allowed word for one that is unknown.
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_config_synonyms.h"
#include "common/oct_config_text.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

#define WORDS_MAX 64 // of a key, with synonyms

// Whether want is near name, and nearer than *best, which then becomes its distance.
static bool
is_nearer(const char *name, const char *want, uint32_t *best)
{
    if (!oct_text_is_near(name, want)) {
        return false;
    }
    uint32_t distance = oct_text_distance(name, want);
    bool is = distance < *best;
    *best = OCT_MIN(distance, *best);
    return is;
}

// The nearest key whose name is near name, in section (NULL: in any).
static const oct_config_key *
nearest_key(const char *section, const char *name)
{
    const oct_config_key *best = NULL;
    uint32_t best_distance = UINT32_MAX;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        if ((section == NULL || strcmp(section, key->section) == 0) &&
            is_nearer(name, key->name, &best_distance)) {
            best = key;
        }
    }
    return best;
}

// The nearest key to a dotted name such as "learnr.batchsize".
static const oct_config_key *
nearest_dotted(const char *name)
{
    const oct_config_key *best = NULL;
    uint32_t best_distance = UINT32_MAX;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        char full[OCT_CONFIG_NAME_MAX];
        oct_config_key_name(&oct_config_keys[i], full);
        if (is_nearer(name, full, &best_distance)) {
            best = &oct_config_keys[i];
        }
    }
    return best;
}

static const char *
nearest_section(const char *name)
{
    const char *best = NULL;
    uint32_t best_distance = UINT32_MAX;
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const char *section = oct_config_keys[i].section;
        bool is_another = i == 0 || strcmp(section, oct_config_keys[i - 1].section) != 0;
        if (is_another && is_nearer(name, section, &best_distance)) {
            best = section;
        }
    }
    return best;
}

// Keys of section, or all sections.
static void
add_choices(oct_text *text, const char *section)
{
    const char *previous = "";
    oct_text_add(text, "; %s%s ", section != NULL ? section : "sections",
                 section != NULL ? " has" : " are");
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        const char *choice = section != NULL ? key->name : key->section;
        if ((section == NULL || strcmp(section, key->section) == 0) &&
            strcmp(choice, previous) != 0) {
            oct_text_add(text, "%s%s", previous[0] != 0 ? ", " : "", choice);
            previous = choice;
        }
    }
}

const char *
oct_config_suggest(const char *section, const char *name, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    const oct_config_key *key = NULL;
    const char *near = NULL, *dot = strrchr(name, '.');
    const char *meant = oct_config_key_meant(dot != NULL ? dot + 1 : name);
    if (meant != NULL) {
        oct_text_add(&text, "; did you mean %s?", meant);
        return out;
    }
    if (section == NULL && dot != NULL) {
        key = nearest_dotted(name);
    } else if (section == NULL && (near = nearest_section(name)) != NULL) {
        oct_text_add(&text, "; did you mean %s?", near);
        return out;
    } else {
        key = section != NULL ? nearest_key(section, name) : NULL;
        key = key != NULL ? key : nearest_key(NULL, name);
    }
    if (key != NULL) {
        oct_text_add(&text, "; did you mean %s.%s?", key->section, key->name);
    } else {
        add_choices(&text, section);
    }
    return out;
}

static bool
is_algorithm_key(const oct_config_key *key)
{
    return key == oct_config_key_find("algo", "name");
}

// Whether value is one of the words of key, or a synonym of one.
static bool
is_word_of(const oct_config_key *key, const char *value)
{
    size_t length = strlen(value);
    for (const char *at = key->words; at != NULL && *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && strncmp(at, value, length) == 0) {
            return true;
        }
        at += word + strspn(at + word, " ");
    }
    return is_algorithm_key(key) && oct_config_synonym_find(value, length) != NULL;
}

const char *
oct_config_suggest_word(const oct_config_key *key, const char *value, char *out, size_t size)
{
    char words[OCT_CONFIG_VALUE_MAX];
    const char *candidates[WORDS_MAX + 1] = {NULL};
    size_t count = 0;
    (void)snprintf(words, sizeof(words), "%s", key->words);
    for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL; count++) {
        OCT_ASSERT(count < WORDS_MAX);
        candidates[count] = word;
    }
    for (size_t i = 0; is_algorithm_key(key) && i < oct_config_synonym_count; i++) {
        OCT_ASSERT(count < WORDS_MAX);
        candidates[count++] = oct_config_synonyms[i].word;
    }
    const char *near = oct_suggest(value, candidates);
    (void)snprintf(out, size, "%s%s%s", near != NULL ? "; did you mean " : "",
                   near != NULL ? near : "", near != NULL ? "?" : "");
    return out;
}

const char *
oct_config_suggest_algorithm(const char *word, char *out, size_t size)
{
    return oct_config_suggest_word(oct_config_key_find("algo", "name"), word, out, size);
}

bool
oct_config_is_algorithm(const char *word)
{
    return is_word_of(oct_config_key_find("algo", "name"), word);
}

const char *
oct_config_suggest_value(const char *section, const char *value, char *out, size_t size)
{
    oct_text text;
    oct_text_init(&text, out, size);
    for (size_t i = 0; i < oct_config_key_count; i++) {
        const oct_config_key *key = &oct_config_keys[i];
        if (strcmp(section, key->section) == 0 && is_word_of(key, value)) {
            oct_text_add(&text, "; did you mean %s.%s=%s?", section, key->name, value);
            return out;
        }
    }
    add_choices(&text, section);
    return out;
}
