#ifndef CLI_CLI_PARENT_H
#define CLI_CLI_PARENT_H

// The hidden option --follow-parent PID of commands that other programs start. Threads: main
// thread, before any other starts.

#define CLI_PARENT_HELP "Stop when process PID, which started this one, ends"

// From now on this process gets SIGTERM when the thread that started it ends. A pid that is no
// number, or not of the process that started this one, ends the process with a message.
void cli_parent_follow(const char *command, const char *pid);

#endif // CLI_CLI_PARENT_H
