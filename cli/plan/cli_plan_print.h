#ifndef CLI_PLAN_CLI_PLAN_PRINT_H
#define CLI_PLAN_CLI_PLAN_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "cli/plan/cli_plan.h"

// Prints a plan: as lines for a person, as one line for octet train, and as JSON. A number that is
// not known is "-", and null in JSON.
//
// Threads: the main thread.

typedef struct cli_plan_shown {
    const cli_plan *plan;
    const cli_plan_input *input;
    const char *env_id;
    const char *preset; // as the user named it; NULL: none
    const char *folder; // on the disk that will hold the run
} cli_plan_shown;

#define CLI_PLAN_SENTENCE_BYTES 512

// Writes the sentence about the limit, with what to change: "the learner is the limit: 1.9 k
// updates/s; …".
void cli_plan_sentence(char *out, size_t size, const cli_plan_shown *shown);
// Writes a range of seconds: "2.1 to 2.9 s", "20 to 30 min", or "-" if it is not known.
void cli_plan_time_text(char *out, size_t size, const cli_plan_range *seconds);

// Prints all lines to standard output.
void cli_plan_print(const cli_plan_shown *shown);
// Writes the line of octet train:
// "plan       1.0 M env steps in 20 to 30 s · limit: learner · memory 60 MiB"
void cli_plan_line(char *out, size_t size, const cli_plan_shown *shown);
// Returns a new reference. tests/cli/test_plan.py names all members, which scripts rely on.
json_t *cli_plan_json(const cli_plan_shown *shown);

#endif // CLI_PLAN_CLI_PLAN_PRINT_H
