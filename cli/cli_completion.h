#ifndef CLI_CLI_COMPLETION_H
#define CLI_CLI_COMPLETION_H

#include "cli/cli_options.h"

// octet completion: prints what makes a shell complete the commands of family, and for that shell
// what can stand at the cursor. Answers the exit code. Threads: main thread.
int cli_completion(const cli_family *family, int argc, char **argv);

#endif // CLI_CLI_COMPLETION_H
