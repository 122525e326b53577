#ifndef CLI_STATUS_CLI_SCREEN_H
#define CLI_STATUS_CLI_SCREEN_H

#include <stdbool.h>

#include "cli/status/cli_view.h"
#include "common/oct_base.h"

// Where the status of a run is shown: a block redrawn in place on a terminal, plain lines
// elsewhere. Standard output. Threads: loop thread. Full: a reader that takes nothing (a stopped
// pager, a connection that hangs) is not waited for; what would be shown is left out until it has
// taken what was shown before.
typedef struct cli_screen cli_screen;

// live: a block, if standard output is a terminal that can (TERM not "dumb"). NO_COLOR is obeyed.
cli_screen *cli_screen_create(bool live);
bool cli_screen_is_live(const cli_screen *screen);
// What fits standard output now, for who draws there himself; the rows of the terminal.
size_t cli_screen_measure(cli_screen *screen, cli_view_style *style);
// Draws the block, or writes a plain line if the last is old enough (sooner if there is_new).
void cli_screen_show(cli_screen *screen, const cli_state *state, bool is_new);
// A line that stays, above the block.
void cli_screen_print(cli_screen *screen, const char *format, ...) OCT_PRINTF(2, 3);
// The block once, also where it cannot be redrawn; waits for its reader.
void cli_screen_block(cli_screen *screen, const cli_state *state);
// The last state, for good: a plain line is written whatever the time, unless it says what the last
// one said. Waits for its reader for seconds.
void cli_screen_end(cli_screen *screen, const cli_state *state);
void cli_screen_destroy(cli_screen *screen);

// Whether a line may be written to fd without waiting for its reader, within wait_ms.
bool cli_screen_has_room(int fd, int wait_ms);

#endif // CLI_STATUS_CLI_SCREEN_H
