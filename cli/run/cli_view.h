#ifndef CLI_RUN_CLI_VIEW_H
#define CLI_RUN_CLI_VIEW_H

#include "cli/cli_text.h"
#include "cli/run/cli_run_status.h"

// A run's status as text: the block of a terminal, or one plain line. Pure functions.
// Threads: any.

typedef struct cli_view_style {
    size_t width; // of the terminal, in cells
    bool colour;
    bool ascii; // no block characters
} cli_view_style;

#define CLI_VIEW_LINES_MAX 9
#define CLI_VIEW_WIDTH_MAX 240 // wider terminals gain nothing

typedef struct cli_block {
    size_t count;
    cli_line line[CLI_VIEW_LINES_MAX];
} cli_block;

void cli_view_block(cli_block *out, const cli_run_status *status, const cli_view_style *style);
// "t=12.3s steps=45000/100000 steps/s=61000 …"; unknown numbers are "-".
void cli_view_line(cli_line *out, const cli_run_status *status);
// Seconds to the end of the step budget; NaN when not known.
double cli_view_eta_s(const cli_run_status *status);

#endif // CLI_RUN_CLI_VIEW_H
