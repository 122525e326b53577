#ifndef CLI_CLI_ENV_H
#define CLI_CLI_ENV_H

// `octet env list | check | bench | replay | render`: what environments there are, whether one
// keeps the rules, how fast it is, whether it repeats recorded trajectories, how it looks. argv[0]
// is "env". Answers the exit code: 0 done, 1 failed (a rule broken, a row that differs), 2 wrong
// use. Threads: main thread, before any other starts (check forks).
int cli_env(int argc, char **argv);

#endif // CLI_CLI_ENV_H
