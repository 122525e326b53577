#include "cli/cli_suggest.h"

#include <string.h>

#include "common/oct_base.h"

#define WORD_MAX 63

static size_t
min3(size_t a, size_t b, size_t c)
{
    return OCT_MIN(OCT_MIN(a, b), c);
}

size_t
cli_suggest_distance(const char *a, const char *b)
{
    // Optimal string alignment; rows: two before, the one before, this one.
    size_t rows[3][WORD_MAX + 1];
    size_t *before2 = rows[0], *before = rows[1], *here = rows[2];
    size_t a_length = strnlen(a, WORD_MAX), b_length = strnlen(b, WORD_MAX);
    for (size_t j = 0; j <= b_length; j++) {
        before[j] = j;
        before2[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        here[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replace = before[j - 1] + (a[i - 1] != b[j - 1]);
            here[j] = min3(before[j] + 1, here[j - 1] + 1, replace);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                here[j] = OCT_MIN(here[j], before2[j - 2] + 1);
            }
        }
        size_t *oldest = before2;
        before2 = before;
        before = here;
        here = oldest;
    }
    return before[b_length];
}

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
    size_t least = OCT_MAX(1, (strnlen(word, WORD_MAX) + 1) / 3) + 1;
    for (size_t i = 0; candidates[i] != NULL; i++) {
        size_t distance = cli_suggest_distance(word, candidates[i]);
        if (distance < least) {
            least = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
