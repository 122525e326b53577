#ifndef CLI_CLI_OPTIONS_H
#define CLI_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/oct_base.h"

// Options by argp, with our own messages: what is wrong, where, what is allowed, what was probably
// meant. Threads: main thread, before any other starts.

#define CLI_EXIT_FAILED 1
#define CLI_EXIT_USAGE  2

// Parses like argp_parse. argv[0] is the name of the command ("train"); messages and help call it
// "octet train". Wrong use ends the process with CLI_EXIT_USAGE, --help with 0.
void cli_options_parse(const struct argp *argp, int argc, char **argv, void *input);

// Prints "octet COMMAND: error: …" and how to get help to stderr and ends the process with
// CLI_EXIT_USAGE. command may be "" for octet itself.
_Noreturn void cli_usage_error(const char *command, const char *format, ...) OCT_PRINTF(2, 3);
// The same line without the exit, for failures that are not wrong use.
void cli_error(const char *command, const char *format, ...) OCT_PRINTF(2, 3);

#define CLI_LEARNERS_MAX 64 // of --learners, as of learner.count
// Of --seed, as of run.seed: what JSON is read as has no larger whole numbers.
#define CLI_SEED_MAX 9007199254740992u

// An option's value as a number in [min, max]; otherwise ends the process as cli_usage_error.
uint64_t cli_option_number(const char *command, const char *option, const char *text, uint64_t min,
                           uint64_t max);
// The same of a number that need not be whole; max may be INFINITY.
double cli_option_real(const char *command, const char *option, const char *text, double min,
                       double max);

// The index of text in words, which NULL ends; otherwise ends the process as cli_usage_error.
// allowed names them for a person.
int cli_option_word(const char *command, const char *option, const char *text,
                    const char *const *words, const char *allowed);

// Commands by name: those of octet, and of `octet env`.
typedef struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv); // answers the exit code; argv[0]: "train", "env check"
    const char *help;                  // a few words
} cli_command;

typedef struct cli_family {
    const char *name;  // "env"; "": octet itself
    const char *about; // a sentence
    const cli_command *list;
    size_t count;      // at most CLI_FAMILY_MAX
    const char *start; // a command to begin with
} cli_family;
#define CLI_FAMILY_MAX 32

// What can stand where the last word of a command line stands.
typedef struct cli_slot {
    const char *command;      // "train", "env check"; "": octet itself
    const char *word;         // as far as it is written; of --option=VALUE what is behind "="
    const char *whole;        // as far as it is written; word is its end
    const char *const *names; // NULL-terminated: commands, or options without "--"; NULL: neither
    bool is_option;
    const char *option; // names is NULL: whose value it is; NULL: an argument of the command
} cli_slot;

// From now on cli_family_run and cli_options_parse do nothing but tell this of the slot, if there
// is one, and end the process with 0.
void cli_options_complete(void (*tell)(const cli_slot *slot));

void cli_family_help(const cli_family *family, FILE *out);
// An unknown name ends the process as cli_usage_error, with the nearest one or all.
const cli_command *cli_family_find(const cli_family *family, const char *name);
// argv[0] is the family's name, argv[1] a command, help or --help. "help COMMAND" is "COMMAND
// --help". Answers the exit code.
int cli_family_run(const cli_family *family, int argc, char **argv);

#endif // CLI_CLI_OPTIONS_H
