#ifndef CLI_CLI_FACTS_VIEW_H
#define CLI_CLI_FACTS_VIEW_H

#include "cli/cli_facts.h"

// A run on other hosts as text for a person, and as JSON for a machine. Pure. Threads: any.

#define CLI_FACTS_VIEW_WIDTH 79 // cells of a terminal's line
#define CLI_FACTS_VIEW_LINES 40 // at most
#define CLI_FACTS_VIEW_PEERS 12 // that are shown

// Lines that end with '\n', without colours. Gives how many; the text is cut to out_size.
// width: cells of a line, CLI_FACTS_VIEW_WIDTH on a terminal.
size_t cli_facts_text(const cli_facts *facts, size_t width, char *out, size_t out_size);
// One object on one line, without an end of line; the caller frees it.
char *cli_facts_json(const cli_facts *facts);

#endif // CLI_CLI_FACTS_VIEW_H
