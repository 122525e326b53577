#ifndef CLI_CLI_SUGGEST_H
#define CLI_CLI_SUGGEST_H

#include <stddef.h>

// Which of some known words a mistyped one was meant to be. Threads: any. O(words * length^2).

// The nearest of candidates (NULL-terminated) to word, or NULL when none is near enough to be worth
// naming: at most a third of its letters differ, or word is the beginning of exactly one candidate.
const char *cli_suggest(const char *word, const char *const *candidates);

// Letters to add, drop, replace or swap with their neighbour to make b of a. Words longer than 63
// letters are compared up to there.
size_t cli_suggest_distance(const char *a, const char *b);

#endif // CLI_CLI_SUGGEST_H
