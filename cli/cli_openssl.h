#ifndef CLI_CLI_OPENSSL_H
#define CLI_CLI_OPENSSL_H

#include <stddef.h>

#include "common/oct_err.h"

// The program `openssl`, found in $PATH, run as a child without a shell. Threads: main thread.

// SIGINT, SIGTERM and SIGHUP no longer end this process but the child that is at work, if any: what
// was begun can be undone. A second signal of the same kind ends this process.
void cli_openssl_guard(void);
// The signal that came since, or 0.
int cli_openssl_signal(void);

// Runs words (NULL-terminated, words[0] is "openssl") and waits. What it printed goes to out, cut
// to out_size and 0-terminated (NULL, 0: nowhere). Standard input is empty; a pass phrase is asked
// for on the terminal, by openssl itself. Secrets have no place in words: other users see them.
// Errors: one message for a person, with what openssl said, is printed here. OCT_ENOTFOUND: there
// is no such program; OCT_ECLOSED: a signal came, before or meanwhile; OCT_EIO: anything else.
OCT_CHECKED oct_err cli_openssl_run(char *out, size_t out_size, const char *const *words);

#endif // CLI_CLI_OPENSSL_H
