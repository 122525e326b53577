#ifndef CLI_CLI_SUGGEST_H
#define CLI_CLI_SUGGEST_H

// The one of some known words (NULL-terminated) that a mistyped one probably meant, or NULL: the
// only one it is the beginning of, or the nearest by oct_text_distance when that is near.
// Threads: any.
const char *cli_suggest(const char *word, const char *const *candidates);

#endif // CLI_CLI_SUGGEST_H
