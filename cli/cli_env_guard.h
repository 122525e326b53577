#ifndef CLI_CLI_ENV_GUARD_H
#define CLI_CLI_ENV_GUARD_H

// Guards this process while it runs an environment's code: if that code calls exit or crashes, one
// line on standard error names the environment before the process ends. After an exit the status is
// always 1. After a crash the process ends by the same signal, with a core dump as usual.
//
// Threads: the main thread, which must be the thread that runs the code. One environment at a time.
// Owns: nothing; signal actions and their stack are restored at the end.

// command is for the message: "eval", "env bench".
void cli_env_guard_begin(const char *command, const char *env_id);
void cli_env_guard_end(void);

#endif // CLI_CLI_ENV_GUARD_H
