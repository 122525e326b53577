#ifndef CLI_CLI_OPTIONS_H
#define CLI_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_args.h"
#include "common/oct_base.h"

// Command lines of octet: a command reads its options by a table (oct_args.h); a family is a list
// of commands by name, such as those of octet itself or of `octet env`. Completion runs the same
// functions and stops where a command would read its options.
//
// Threads: the main thread, before any other starts.

#define CLI_EXIT_FAILED 1
#define CLI_EXIT_USAGE  2

// Fills options. argv[0] is the name of the command ("train"); messages and --help call it "octet
// train". Wrong use ends the process with CLI_EXIT_USAGE, --help with 0.
void cli_args_parse(const oct_args *args, int argc, char **argv, void *options);

// Prints "octet COMMAND: error: …" and how to get help to stderr and ends the process with
// CLI_EXIT_USAGE. command is "" for octet itself.
_Noreturn void cli_usage_error(const char *command, const char *format, ...) OCT_PRINTF(2, 3);
// Prints the same line and returns CLI_EXIT_FAILED, for failures that are not wrong use.
int cli_error(const char *command, const char *format, ...) OCT_PRINTF(2, 3);
// Prints "PLACE: error: …" to stderr; place is a line of a file, or an option.
void cli_error_at(const char *place, const char *format, ...) OCT_PRINTF(2, 3);

#define CLI_LEARNERS_MAX 64                // of --learners, as of learner.count
#define CLI_SEED_MAX     9007199254740992u // of --seed, as of run.seed: 2^53, exact in JSON

// The names of policy_precision, beginning with that of POLICY_FP32; NULL-terminated.
extern const char *const cli_precisions[];

typedef struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv); // returns the exit code; argv[0]: "train", "env check"
    const char *help;                  // a few words
} cli_command;

typedef struct cli_family {
    const char *name;  // "env"; "": octet itself
    const char *about; // a sentence
    const cli_command *list;
    size_t count;      // at most CLI_FAMILY_MAX
    const char *start; // a command line to begin with
} cli_family;
#define CLI_FAMILY_MAX 32

// The last word of a command line, which completion completes.
typedef struct cli_slot {
    const char *command;      // "train", "env check"; "": octet itself
    const char *word;         // the part typed so far; of --option=VALUE the part after "="
    const char *whole;        // the whole argument typed so far; word is its end
    const char *const *names; // candidates: commands, or options without "--"; NULL: neither
    bool is_option;           // names are options
    const oct_arg *option;    // where names is NULL: the option that takes the word as its value;
                              // NULL: the word is an operand
} cli_slot;

// Makes cli_family_run and cli_args_parse call offer with the slot, if they can find it, and end
// the process with 0, instead of running a command.
void cli_options_complete(void (*offer)(const cli_slot *slot));

// Runs the command that argv[1] names; argv[0] is the name of the family. "help", "--help" and no
// command print the commands; "help COMMAND" is "COMMAND --help". Returns the exit code.
int cli_family_run(const cli_family *family, int argc, char **argv);

#endif // CLI_CLI_OPTIONS_H
