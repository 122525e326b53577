#ifndef CLI_CLI_ENV_H
#define CLI_CLI_ENV_H

// `octet env list | check | bench | replay | render | new`: lists environments, checks one against
// the rules, measures its speed, compares it with recorded trajectories, draws it, or writes a new
// plug-in. argv[0] is "env". Returns the exit code: 0 done, 1 failed (a rule is broken, a row
// differs), 2 wrong usage. Threads: main thread, before any other starts (check forks).
int cli_env(int argc, char **argv);

#endif // CLI_CLI_ENV_H
