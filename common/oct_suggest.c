// Suggests the word that a mistyped one probably meant.

#include "common/oct_suggest.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/oct_text.h"

// Returns the shortest candidate that begins with word. If several do, word must be at least half
// as long as that candidate, or too little was typed to guess.
static const char *
with_prefix(const char *word, const char *const *candidates)
{
    const char *found = NULL;
    size_t length = strlen(word), count = 0;
    for (size_t i = 0; candidates[i] != NULL; i++) {
        if (strncmp(word, candidates[i], length) == 0) {
            count++;
            found = found == NULL || strlen(candidates[i]) < strlen(found) ? candidates[i] : found;
        }
    }
    return count > 1 && 2 * length < strlen(found) ? NULL : found;
}

const char *
oct_suggest(const char *word, const char *const *candidates)
{
    if (word[0] == '\0') {
        return NULL;
    }
    const char *nearest = with_prefix(word, candidates);
    if (nearest != NULL) {
        return nearest;
    }
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; candidates[i] != NULL; i++) {
        uint32_t distance = oct_text_distance(word, candidates[i]);
        if (distance < least && oct_text_is_near(word, candidates[i])) {
            least = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
