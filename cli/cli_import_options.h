#ifndef CLI_CLI_IMPORT_OPTIONS_H
#define CLI_CLI_IMPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/import/import_policy.h"

// The options of octet import. The strings belong to argv.
//
// Threads: main thread.

#define CLI_IMPORT "import" // the command's name, for messages

typedef struct cli_import_options {
    const char *model;
    const char *env_id; // NULL: not named
    const char *env_options;
    const char *observations; // NULL: not named
    const char *activation;   // of a state dict; NULL: not named
    const char *normalizer;   // a file that replaces the model's own normaliser; NULL: not named
    const char *out;
    policy_precision precision;
    uint64_t seed;
    bool json;
    bool has_bounds, has_shape; // --bounds, --obs-shape were given
    import_request request;     // what the options say about the model
} cli_import_options;

// Sets the defaults and parses argv. Wrong usage ends the process with a message.
void cli_import_options_parse(cli_import_options *options, int argc, char **argv);
// Sets an option, named without "--", to a value that the model's file implies, unless the user
// gave the option or it follows from --env. value is borrowed. Unknown names are ignored.
void cli_import_options_imply(cli_import_options *options, const char *name, const char *value);

#endif // CLI_CLI_IMPORT_OPTIONS_H
