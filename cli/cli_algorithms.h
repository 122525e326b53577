#ifndef CLI_CLI_ALGORITHMS_H
#define CLI_CLI_ALGORITHMS_H

#include <stdbool.h>
#include <stdio.h>

// `octet config --algorithms`: prints a row for each word of algo.name: what the algorithm learns
// from, its action spaces, observations and networks, and the ways of training that it allows. No
// cell is written by hand: each is found by trying configurations with config_check and
// algo_make_spec, which accept or refuse an experiment.
//
// Threads: main thread.
void cli_algorithms_print(FILE *out, bool markdown);

#endif // CLI_CLI_ALGORITHMS_H
