#ifndef CLI_RUN_CLI_DOUBTS_H
#define CLI_RUN_CLI_DOUBTS_H

#include <jansson.h>

// Lists what makes the result of a run questionable, by its summary.json: no full evaluation,
// episodes of the reported return that failed or were truncated, sampled actions that reach a
// higher return than greedy ones, and work without effect (a run without an update, steps that
// failed, batches that replay rejected, updates that changed nothing). octet train at its end,
// octet status, octet dash and octet report show the list.
//
// Threads: any; nothing is kept. Calls fn for each item with a label and a text without control
// characters, both valid during the call.
void cli_doubts(const json_t *summary, void (*fn)(void *arg, const char *label, const char *text),
                void *arg);

#endif // CLI_RUN_CLI_DOUBTS_H
