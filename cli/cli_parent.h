#ifndef CLI_CLI_PARENT_H
#define CLI_CLI_PARENT_H

#include <stdint.h>

// The hidden option --follow-parent PID of commands that other programs start. Threads: main
// thread, before any other starts.

#define CLI_PARENT_MAX 4194304 // highest PID of Linux

// From now on this process gets SIGTERM when the thread that started it ends. pid: that of the
// process that started this one; any other ends the process with a message. 0 does nothing.
void cli_parent_follow(const char *command, uint32_t pid);

#endif // CLI_CLI_PARENT_H
