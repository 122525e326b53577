#ifndef CLI_CLI_INSPECT_H
#define CLI_CLI_INSPECT_H

// octet inspect POLICY...: prints what a policy file contains and where it comes from. argv[0] is
// the command's name. Returns the exit code: 0; 1 if a file is missing or not a valid policy (one
// line on standard error says why); 2 for wrong usage.
//
// Threads: one.
int cli_inspect(int argc, char **argv);

#endif // CLI_CLI_INSPECT_H
