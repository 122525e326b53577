#ifndef CLI_CLI_QUANTIZE_OPTIONS_H
#define CLI_CLI_QUANTIZE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"

// The options of octet quantize. Strings are borrowed from argv.
//
// Threads: main thread.

#define CLI_QUANTIZE "quantize" // the command's name, for messages
#define CLI_QUANTIZE_INPUT                                                                         \
    "policy.fp32.oct" // fp32 policy that the learner writes to the run folder

typedef struct cli_quantize_options {
    const char *given; // policy file or run folder
    bool all;          // print the table of returns, write no file; precision has no meaning
    policy_precision precision;
    double percentile; // --percentile; 0: not given
    quantizer_method method;
    bool calibrate;
    bool scale_observations;
    const char *out;    // NULL: beside the input
    bool is_trusted;    // --trust
    const char *env_id; // NULL: the policy's own
    const char *options;
    bool evaluate;
    uint32_t episodes;
    uint32_t envs;
    uint64_t seed;
} cli_quantize_options;

// Sets defaults, then reads argv. Ends the process with a message on wrong usage.
void cli_quantize_options_parse(cli_quantize_options *options, int argc, char **argv);

#endif // CLI_CLI_QUANTIZE_OPTIONS_H
