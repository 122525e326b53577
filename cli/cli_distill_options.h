#ifndef CLI_CLI_DISTILL_OPTIONS_H
#define CLI_CLI_DISTILL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/distill/distill_student.h"
#include "config/config.h"

// The options of octet distill. Strings are borrowed from argv.
//
// Threads: main thread.

#define CLI_DISTILL "distill" // the command's name, for messages

typedef struct cli_distill_options {
    const char *given; // the teacher: a policy file or a run folder
    // Widths of the student's hidden layers.
    config_ints hidden;
    policy_activation activation; // POLICY_LINEAR: that of the teacher's last hidden layer
    policy_precision precision;
    quantizer_method method;
    uint32_t loss;           // 1 + a distill_kind; 0: it follows from the teacher's head
    double temperature;      // 0: it follows from the teacher's head
    const char *lines;       // --observations-from, a file of observations; NULL: none
    const char *replay;      // run folder, replay file or data set; NULL: none
    const char *environment; // the environment.oct of replay; NULL: the file beside it
    bool is_trusted;         // --trust
    const char *env_id;      // NULL: the teacher's
    const char *options;
    bool student_acts;     // from the second round on the student acts, not the teacher
    uint32_t observations; // fresh ones, from the environment; 0: none
    uint32_t rounds;
    uint64_t updates;
    uint32_t batch;
    double learning_rate;
    double aware; // fraction of the updates, at the end, that are made with rounding
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
    const char *out; // folder; NULL: a new one beside the teacher
} cli_distill_options;

// Sets defaults, then reads argv. Ends the process with a message on wrong usage.
void cli_distill_options_parse(cli_distill_options *options, int argc, char **argv);

#endif // CLI_CLI_DISTILL_OPTIONS_H
