#ifndef CLI_STATUS_CLI_SCREEN_H
#define CLI_STATUS_CLI_SCREEN_H

#include <stdbool.h>

#include "cli/status/cli_view.h"
#include "common/oct_base.h"

// Shows the status of a run on standard output: on a terminal as a block that is redrawn in place,
// elsewhere as plain lines. Threads: loop thread. Full: a reader that takes nothing (a stopped
// pager, a hanging connection) is not waited for; new output is left out until the reader has taken
// the old.
typedef struct cli_screen cli_screen;

// live: draws a block, if standard output is a capable terminal (TERM is not "dumb"). NO_COLOR is
// obeyed.
cli_screen *cli_screen_create(bool live);
bool cli_screen_is_live(const cli_screen *screen);
// Measures the terminal for a caller that draws on it. Returns its rows.
size_t cli_screen_measure(cli_screen *screen, cli_view_style *style);
// Draws the block, or writes a plain line if the last one is old enough; with is_new (a new
// evaluation) earlier.
void cli_screen_show(cli_screen *screen, const cli_snapshot *state, bool is_new);
// Prints a line that stays, above the block.
void cli_screen_print(cli_screen *screen, const char *format, ...) OCT_PRINTF(2, 3);
// Draws the block once, also where it cannot be redrawn, and waits for the reader.
void cli_screen_block(cli_screen *screen, const cli_snapshot *state);
// Shows the last state, which stays. A plain line is written unless it equals the last one. Waits
// for the reader for up to four seconds.
void cli_screen_end(cli_screen *screen, const cli_snapshot *state);
void cli_screen_destroy(cli_screen *screen);

// Returns true if a line can be written to fd without waiting, at the latest after wait_ms.
bool cli_screen_has_room(int fd, int wait_ms);
// Opens the terminal or pipe of descriptor 1 or 2 again for writes that do not wait; O_NONBLOCK on
// fd itself would also affect other processes that share it. Returns the new descriptor; -1: fd is
// something else, or cannot be opened.
int cli_screen_reopen(int fd);

#endif // CLI_STATUS_CLI_SCREEN_H
