#ifndef COMMON_OCT_SUGGEST_H
#define COMMON_OCT_SUGGEST_H

// Returns the word of candidates (NULL-terminated) that a mistyped word probably meant, or NULL:
// the only candidate that begins with word, or the nearest by oct_text_distance if it is near.
// Threads: any.
const char *oct_suggest(const char *word, const char *const *candidates);

#endif // COMMON_OCT_SUGGEST_H
