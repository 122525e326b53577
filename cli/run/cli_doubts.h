#ifndef CLI_RUN_CLI_DOUBTS_H
#define CLI_RUN_CLI_DOUBTS_H

#include <jansson.h>

// What makes the end of a run questionable, as summary.json says: no full evaluation, episodes of
// the reported return that failed or were truncated, a return of greedy actions that sampled ones
// surpass, and what was done for nothing: a run without an update, steps that failed, batches that
// replay rejected, updates that changed nothing. The end of octet train, octet status, octet dash
// and octet report show all of it.
//
// Threads: any; nothing is kept. Calls fn for each, with a word and a text without control
// characters, both valid during the call.
void cli_doubts(const json_t *summary, void (*fn)(void *arg, const char *label, const char *text),
                void *arg);

#endif // CLI_RUN_CLI_DOUBTS_H
