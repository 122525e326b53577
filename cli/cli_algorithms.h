#ifndef CLI_CLI_ALGORITHMS_H
#define CLI_CLI_ALGORITHMS_H

#include <stdbool.h>
#include <stdio.h>

// `octet config --algorithms`: a row for each word of algo.name with what it learns from, its
// action spaces, observations and networks, and the ways of training that it allows. Nothing of
// that is written down here: each cell is found by trying configurations with oct_config_check and
// algo_make_spec, which accept or refuse an experiment.
//
// Threads: main thread.
void cli_algorithms_print(FILE *out, bool markdown);

#endif // CLI_CLI_ALGORITHMS_H
