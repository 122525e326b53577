#ifndef CLI_CLI_ENV_GUARD_H
#define CLI_CLI_ENV_GUARD_H

// While an environment's code runs in this process: where it calls exit, or crashes, one line on
// standard error names it before the process ends. Its exit is one of status 1, whatever it said;
// a crash stays the signal that it is, core and all.
//
// Threads: main thread, which is the one that runs that code. One environment at a time. Owns:
// nothing; signal actions and the stack of their handlers are put back.

// command: "eval", "env bench".
void cli_env_guard_begin(const char *command, const char *env_id);
void cli_env_guard_end(void);

#endif // CLI_CLI_ENV_GUARD_H
