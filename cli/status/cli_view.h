#ifndef CLI_STATUS_CLI_VIEW_H
#define CLI_STATUS_CLI_VIEW_H

#include "cli/cli_text.h"
#include "cli/status/cli_snapshot.h"

// Prints a run for a person (as a block for a terminal, or as one plain line) and for a machine (as
// JSON). Pure functions. Threads: any.

typedef struct cli_view_style {
    size_t width; // of the terminal, in cells
    bool colour;
    bool ascii; // the block has only ASCII characters
} cli_view_style;

#define CLI_VIEW_LINES_MAX 64
#define CLI_VIEW_WIDTH_MAX 480 // cells; a wider terminal is not used
#define CLI_VIEW_TEXT_MAX  79  // cells of a line of a paragraph
#define CLI_VIEW_PEERS_MAX 12  // rows of the table of peers

// About 130 KB: allocate it.
typedef struct cli_block {
    size_t count;
    cli_line line[CLI_VIEW_LINES_MAX + 1]; // the last takes lines for which there is no room
} cli_block;

void cli_view_block(cli_block *out, const cli_snapshot *state, const cli_view_style *style);
// Prints "t=12.3s steps=45000/100000 steps/s=61000 …"; unknown numbers are "-".
void cli_view_line(cli_line *out, const cli_snapshot *state);
// Returns the seconds until the step budget is used; NaN: not known, or training is over.
double cli_view_eta_s(const cli_snapshot *state);
// Returns one object on one line, without a newline; the caller frees it.
char *cli_snapshot_json(const cli_snapshot *state);

// ---- for the parts of the view

#define CLI_VIEW_LABEL_CELLS 11
#define CLI_VIEW_HOST_CELLS  16

typedef struct cli_view {
    const cli_snapshot *state;
    const cli_view_style *style;
    cli_block *out;
} cli_view;

// Begins a line, with a label or "".
cli_line *cli_view_begin(cli_view *view, const char *label);
// Sequences that switch to a style.
#define CLI_VIEW_BOLD  "\x1b[1m"
#define CLI_VIEW_DIM   "\x1b[2m"
#define CLI_VIEW_RED   "\x1b[31m"
#define CLI_VIEW_GREEN "\x1b[32m"
#define CLI_VIEW_CYAN  "\x1b[36m"
#define CLI_VIEW_PLAIN "\x1b[0m"
// Adds " · before value after", without the dot at the beginning of a line. An addition that does
// not fit is left out as a whole; only the first of a line is cut.
void cli_view_add(cli_line *line, const char *before, const char *value, const char *after);
// The same, and nothing if the value is not known.
void cli_view_add_known(cli_line *line, const char *before, const char *value, const char *after);
// Adds text over as many lines as it needs, broken between words.
void cli_view_paragraph(cli_view *view, const char *label, const char *text);

// The daemons and the registered peers (cli_view_daemons.c, cli_view_relays.c).
void cli_view_learner(cli_view *view);
void cli_view_replay(cli_view *view);
void cli_view_data(cli_view *view);
void cli_view_actors(cli_view *view);
void cli_view_relays(cli_view *view);
void cli_view_peers(cli_view *view);

#endif // CLI_STATUS_CLI_VIEW_H
