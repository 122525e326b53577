#ifndef CLI_PLAN_CLI_PLAN_PRINT_H
#define CLI_PLAN_CLI_PLAN_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "cli/plan/cli_plan.h"

// A plan as lines for a person, as one line at the start of a run, and as JSON.
//
// Threads: any. Numbers that are not known are "-", and null in JSON.

typedef struct cli_plan_shown {
    const cli_plan *plan;
    const cli_plan_input *input;
    const char *env_id;
    const char *preset; // as it was named; NULL: none
    const char *folder; // whose disk was looked at
} cli_plan_shown;

#define CLI_PLAN_SENTENCE_BYTES 512

// "the learner is the limit: 1.9 k updates/s; …" with what to change.
void cli_plan_sentence(char *out, size_t size, const cli_plan_shown *shown);
// "2.1 to 2.9 s", "20 to 30 min"; "-": not known.
void cli_plan_time_text(char *out, size_t size, const cli_plan_range *seconds);

void cli_plan_print(const cli_plan_shown *shown);
// "plan       1.0 M steps in 20 to 30 s · the learner is the limit · 60 MiB memory · 3 MiB disk"
void cli_plan_line(char *out, size_t size, const cli_plan_shown *shown);
// A new reference. docs/cli.md names the members.
json_t *cli_plan_json(const cli_plan_shown *shown);

#endif // CLI_PLAN_CLI_PLAN_PRINT_H
