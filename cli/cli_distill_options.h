#ifndef CLI_CLI_DISTILL_OPTIONS_H
#define CLI_CLI_DISTILL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_config.h"
#include "distill/distill_student.h"

// The options of octet distill. The strings belong to argv.
//
// Threads: main thread.

#define CLI_DISTILL "distill" // the command's name, for messages

typedef struct cli_distill_options {
    const char *given; // policy file or run folder
    oct_config_ints hidden;
    bool has_activation;
    policy_activation activation; // else the teacher's
    policy_precision precision;
    quantizer_method method;
    bool has_loss;
    distill_kind kind; // else by the teacher's head
    bool has_temperature;
    double temperature;      // else by the teacher's head
    const char *lines;       // file of observations; NULL: none
    const char *replay;      // run folder, replay file or data set; NULL: none
    const char *environment; // environment.oct of replay; NULL: the one beside it
    bool is_trusted;         // --trust
    const char *env_id;      // NULL: that of the teacher
    const char *options;
    bool student_acts;     // in all rounds but the first
    bool has_observations; // is said
    uint32_t observations; // of the environment
    uint32_t rounds;
    uint64_t updates;
    uint32_t batch;
    double learning_rate;
    double aware; // share of the updates
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
    const char *out; // folder; NULL: beside the teacher
} cli_distill_options;

// The defaults, then what argv says. Ends the process with a message on wrong usage.
void cli_distill_options_parse(cli_distill_options *options, int argc, char **argv);

#endif // CLI_CLI_DISTILL_OPTIONS_H
