#ifndef CLI_CLI_COMPLETION_H
#define CLI_CLI_COMPLETION_H

#include "cli/cli_options.h"

// Runs octet completion: prints a script with which a shell completes the commands of family, or,
// for that script, the candidates at the cursor. Returns the exit code. Threads: the main thread.
int cli_completion(const cli_family *family, int argc, char **argv);

#endif // CLI_CLI_COMPLETION_H
