// Suggests the word that was probably meant by a mistyped one.

#include "cli/cli_suggest.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/oct_text.h"

static const char *
only_with_prefix(const char *word, const char *const *candidates)
{
    const char *found = NULL;
    for (size_t i = 0; candidates[i] != NULL; i++) {
        if (strncmp(word, candidates[i], strlen(word)) == 0) {
            if (found != NULL) {
                return NULL;
            }
            found = candidates[i];
        }
    }
    return found;
}

const char *
cli_suggest(const char *word, const char *const *candidates)
{
    if (word[0] == '\0') {
        return NULL;
    }
    const char *nearest = only_with_prefix(word, candidates);
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
