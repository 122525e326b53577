// Finds the name that is most like a mistyped word.
#include "envs/env_nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/oct_base.h"

#define WORD_MAX 63
#define FAR      6

// Levenshtein's distance; words are cut at WORD_MAX letters.
static uint32_t
distance(const char *a, const char *b)
{
    uint32_t line[WORD_MAX + 1];
    size_t b_length = OCT_MIN(strlen(b), (size_t)WORD_MAX);
    for (uint32_t j = 0; j <= b_length; j++) {
        line[j] = j;
    }
    for (uint32_t i = 0; i < WORD_MAX && a[i] != '\0'; i++) {
        uint32_t diagonal = line[0];
        line[0] = i + 1;
        for (uint32_t j = 0; j < b_length; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            uint32_t replace = diagonal + (same ? 0 : 1);
            diagonal = line[j + 1];
            line[j + 1] = OCT_MIN(OCT_MIN(line[j] + 1, diagonal + 1), replace);
        }
    }
    return line[b_length];
}

// Names of a family are often given without the family: "cheetah_run" for "dmc:cheetah_run".
static const char *
without_family(const char *name)
{
    const char *end = strpbrk(name, ":/");
    return end != NULL ? end + 1 : name;
}

const char *
env_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    uint32_t best = FAR;
    for (; *names != NULL; names++) {
        uint32_t whole = distance(word, *names), rest = distance(word, without_family(*names));
        uint32_t far = OCT_MIN(whole, rest);
        if (far < best) {
            best = far;
            nearest = *names;
        }
    }
    return nearest;
}
