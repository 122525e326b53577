#ifndef CLI_CLI_INSPECT_H
#define CLI_CLI_INSPECT_H

// octet inspect POLICY...: what a policy file holds and where it came from, on stdout. argv[0] is
// the command's name. Gives the exit code: 0; 1 when a file is missing or not a sound policy (one
// line on stderr says what); 2 for wrong usage.
//
// Threads: one.
int cli_inspect(int argc, char **argv);

#endif // CLI_CLI_INSPECT_H
