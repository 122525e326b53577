#ifndef CLI_REMOTE_CLI_REMOTE_VIEW_H
#define CLI_REMOTE_CLI_REMOTE_VIEW_H

#include "cli/remote/cli_remote_state.h"

// A run on other hosts as text for a person, and as JSON for a machine. Pure. Threads: any.

#define CLI_REMOTE_VIEW_WIDTH 79 // cells of a terminal's line
#define CLI_REMOTE_VIEW_LINES 40 // at most
#define CLI_REMOTE_VIEW_PEERS 12 // that are shown

// Lines that end with '\n', without colours. Gives how many; the text is cut to out_size.
// width: cells of a line, CLI_REMOTE_VIEW_WIDTH on a terminal.
size_t cli_remote_text(const cli_remote_state *state, size_t width, char *out, size_t out_size);
// One object on one line, without an end of line; the caller frees it.
char *cli_remote_json(const cli_remote_state *state);

#endif // CLI_REMOTE_CLI_REMOTE_VIEW_H
