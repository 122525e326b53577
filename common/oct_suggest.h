#ifndef COMMON_OCT_SUGGEST_H
#define COMMON_OCT_SUGGEST_H

// Returns the word of candidates (NULL-terminated) that a mistyped word probably meant, or NULL. It
// is the shortest candidate that begins with word, if it is the only one or word has at least half
// of its characters; otherwise the nearest candidate by oct_text_distance that oct_text_is_near
// accepts. Threads: any.
const char *oct_suggest(const char *word, const char *const *candidates);

#endif // COMMON_OCT_SUGGEST_H
