#ifndef CLI_STATUS_CLI_VIEW_H
#define CLI_STATUS_CLI_VIEW_H

#include "cli/cli_text.h"
#include "cli/status/cli_state.h"

// A run as text for a person (the block of a terminal, or one plain line) and as JSON for a
// machine. Pure functions. Threads: any.

typedef struct cli_view_style {
    size_t width; // of the terminal, in cells
    bool colour;
    bool ascii; // a line of the block has no other characters
} cli_view_style;

#define CLI_VIEW_LINES_MAX 64
#define CLI_VIEW_WIDTH_MAX 480 // wider terminals gain nothing
#define CLI_VIEW_TEXT_MAX  79  // of a paragraph
#define CLI_VIEW_PEERS_MAX 12  // that are shown

// About 130 KB.
typedef struct cli_block {
    size_t count;
    cli_line line[CLI_VIEW_LINES_MAX + 1]; // the last is scrap: what has no room
} cli_block;

void cli_view_block(cli_block *out, const cli_state *state, const cli_view_style *style);
// "t=12.3s steps=45000/100000 steps/s=61000 …"; unknown numbers are "-".
void cli_view_line(cli_line *out, const cli_state *state);
// Seconds to the end of the step budget; NaN when not known, and when training is over.
double cli_view_eta_s(const cli_state *state);
// One object on one line, without an end of line; the caller frees it.
char *cli_state_json(const cli_state *state);

// ---- for the parts of the view

#define CLI_VIEW_LABEL_CELLS 11
#define CLI_VIEW_HOST_CELLS  16

typedef struct cli_view {
    const cli_state *state;
    const cli_view_style *style;
    cli_block *out;
} cli_view;

// A new line, with a label or "".
cli_line *cli_view_begin(cli_view *view, const char *label);
// A style from here on, where colours are wanted.
#define CLI_VIEW_BOLD  "\x1b[1m"
#define CLI_VIEW_DIM   "\x1b[2m"
#define CLI_VIEW_RED   "\x1b[31m"
#define CLI_VIEW_GREEN "\x1b[32m"
#define CLI_VIEW_CYAN  "\x1b[36m"
#define CLI_VIEW_PLAIN "\x1b[0m"
void cli_view_style_on(const cli_view *view, cli_line *line, const char *sequence);
// Adds " · before value after", without the dot at the beginning of a line. What does not fit into
// the line is left out; only the first of a line is cut.
void cli_view_add(cli_line *line, const char *before, const char *value, const char *after);
// The same, and nothing if the value is not known.
void cli_view_add_known(cli_line *line, const char *before, const char *value, const char *after);
// Text over as many lines as it needs, broken between words.
void cli_view_paragraph(cli_view *view, const char *label, const char *text);

// The daemons, and who has registered with them (cli_view_daemons.c).
void cli_view_learner(cli_view *view);
void cli_view_replay(cli_view *view);
void cli_view_data(cli_view *view);
void cli_view_actors(cli_view *view);
void cli_view_relays(cli_view *view);
void cli_view_peers(cli_view *view);

#endif // CLI_STATUS_CLI_VIEW_H
