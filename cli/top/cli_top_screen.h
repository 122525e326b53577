#ifndef CLI_TOP_CLI_TOP_SCREEN_H
#define CLI_TOP_CLI_TOP_SCREEN_H

#include "cli/top/cli_top_table.h"
#include "net/net_loop.h"

// The terminal of octet top. It is taken over while this object exists, and restored when the
// process ends in any way except by SIGKILL. Keys and changes of the size call back.
//
// Threads: loop thread; one at a time in a process. Order: close before the loop is destroyed.
typedef struct cli_top_screen cli_top_screen;

#define CLI_TOP_LINES_MAX 512 // rows of the terminal that are used

typedef void (*cli_top_key_fn)(void *arg, cli_top_key key); // NONE: the size has changed

// NULL: standard output is not a capable terminal, or the process has none to read keys from.
cli_top_screen *cli_top_screen_open(net_loop *loop, cli_top_key_fn on_key, void *arg);
void cli_top_screen_close(cli_top_screen *screen); // NULL is a no-op

// Draws a frame: begin, lines from the top, each cut by the caller to the width, end. Rows below
// the last line are cleared.
void cli_top_screen_begin(cli_top_screen *screen);
void cli_top_screen_line(cli_top_screen *screen, const cli_line *line);
void cli_top_screen_end(cli_top_screen *screen);

#endif // CLI_TOP_CLI_TOP_SCREEN_H
