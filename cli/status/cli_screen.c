// Writes the status of a run: on a terminal as a block that is redrawn in place, elsewhere as plain
// lines. Output never waits for a slow reader, except at the end.

#include "cli/status/cli_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_clock.h"
#include "common/oct_text.h"

#define LINE_PERIOD_S 2.0  // between two plain lines; a quarter if there is a new evaluation
#define END_WAIT_MS   2000 // for a reader of the last output
#define WAIT_STEP_MS  20   // between two tries to write
// of a block with its colours
#define OUT_BYTES_MAX (CLI_VIEW_LINES_MAX * (CLI_TEXT_LINE_BYTES_MAX + 16) + 64)

struct cli_screen {
    cli_block block; // the last block
    bool live;       // a block is redrawn
    cli_view_style style;
    size_t drawn_count; // lines of the block that is on the terminal now
    size_t drawn_cells[CLI_VIEW_LINES_MAX];
    double line_s; // state->wall_s of the last plain line; < 0: none was written
    cli_line line; // the last plain line
    int fd;        // of the terminal, opened here; standard output if that is no terminal
    char out[OUT_BYTES_MAX];
    size_t used, passed; // bytes of out; those that fd has taken
};

static bool
is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

// Returns true if the locale has no UTF-8. Without any of the three variables, UTF-8 is assumed, as
// most terminals use it. A locale without it ("C", "de_DE", "de_DE.ISO-8859-1") decides against it.
// Some systems set LC_CTYPE=UTF-8.
static bool
locale_is_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        if (is_set(names[i])) {
            const char *value = getenv(names[i]), *point = strchr(value, '.');
            const char *set = point != NULL ? point + 1 : value;
            size_t length = strcspn(set, "@");
            return !(length == 5 && strncasecmp(set, "UTF-8", length) == 0) &&
                   !(length == 4 && strncasecmp(set, "UTF8", length) == 0);
        }
    }
    return false;
}

int
cli_screen_reopen(int fd)
{
    struct stat status;
    bool is_pipe = fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
    const char *path = fd == STDOUT_FILENO ? "/proc/self/fd/1" : "/proc/self/fd/2";
    return isatty(fd) || is_pipe ? open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
}

cli_screen *
cli_screen_create(bool live)
{
    cli_screen *screen = oct_alloc(sizeof(*screen));
    const char *terminal = getenv("TERM");
    screen->live = live && isatty(STDOUT_FILENO) && terminal != NULL && terminal[0] != '\0' &&
                   strcmp(terminal, "dumb") != 0;
    screen->style.colour = !is_set("NO_COLOR");
    screen->style.ascii = locale_is_ascii();
    screen->line_s = -1;
    int terminal_fd = isatty(STDOUT_FILENO) ? cli_screen_reopen(STDOUT_FILENO) : -1;
    screen->fd = terminal_fd >= 0 ? terminal_fd : STDOUT_FILENO;
    return screen;
}

bool
cli_screen_is_live(const cli_screen *screen)
{
    return screen->live;
}

static void
put(cli_screen *screen, const char *text)
{
    size_t length = strlen(text);
    if (screen->used + length < sizeof(screen->out)) {
        memcpy(screen->out + screen->used, text, length + 1);
        screen->used += length;
    }
}

bool
cli_screen_has_room(int fd, int wait_ms)
{
    struct pollfd output = {.fd = fd, .events = POLLOUT};
    uint64_t end_ns = oct_clock_ns() + (uint64_t)wait_ms * 1000000;
    int ready;
    // a second Ctrl-C, for example
    while ((ready = poll(&output, 1, wait_ms)) < 0 && errno == EINTR) {
        uint64_t now_ns = oct_clock_ns();
        wait_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) : 0;
    }
    return ready > 0;
}

// Writes what the reader takes at once, and keeps the rest. Returns true if nothing is left. A pipe
// that has room takes PIPE_BUF bytes without waiting.
static bool
put_flush(cli_screen *screen)
{
    while (screen->passed < screen->used && cli_screen_has_room(screen->fd, 0)) {
        size_t count = OCT_MIN(screen->used - screen->passed, (size_t)PIPE_BUF);
        ssize_t taken = write(screen->fd, screen->out + screen->passed, count);
        if (taken < 0 && errno == EAGAIN) {
            return false;
        }
        // A terminal that has ended counts as written to: the run continues without it.
        screen->passed = taken > 0 ? screen->passed + (size_t)taken : screen->used;
    }
    if (screen->passed < screen->used) {
        return false;
    }
    screen->used = 0;
    screen->passed = 0;
    return true;
}

// Writes everything, and waits for the reader up to wait_ms. Returns true if nothing is left.
static bool
put_all(cli_screen *screen, int wait_ms)
{
    while (!put_flush(screen)) {
        if (wait_ms <= 0) {
            return false;
        }
        (void)poll(NULL, 0, WAIT_STEP_MS);
        wait_ms -= WAIT_STEP_MS;
    }
    return true;
}

// Moves to the first line of the block and clears the rest of the terminal. A terminal that was
// made narrower has wrapped lines that no longer fit, so each of them takes several rows.
static void
put_home(cli_screen *screen)
{
    size_t rows = 0;
    for (size_t i = 0; i < screen->drawn_count; i++) {
        size_t cells = OCT_MAX(screen->drawn_cells[i], 1);
        rows += (cells + screen->style.width - 1) / screen->style.width;
    }
    if (rows > 0) {
        char up[32];
        (void)snprintf(up, sizeof(up), "\x1b[%zuA\r\x1b[J", rows);
        put(screen, up);
    }
    screen->drawn_count = 0;
}

// Sets the width for the terminal. Returns its rows.
static size_t
measure(cli_screen *screen)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    screen->style.width = known ? size.ws_col : isatty(STDOUT_FILENO) ? 80 : CLI_VIEW_WIDTH_MAX;
    return known && size.ws_row > 0 ? size.ws_row : 24;
}

size_t
cli_screen_measure(cli_screen *screen, cli_view_style *style)
{
    size_t rows = measure(screen);
    *style = screen->style;
    style->width = OCT_MIN(style->width, (size_t)CLI_VIEW_WIDTH_MAX);
    return rows;
}

// Draws the block. To be redrawn it must fit the terminal, so its last lines are left out, unless
// all is set.
static void
draw(cli_screen *screen, const cli_snapshot *state, bool all)
{
    const cli_block *block = &screen->block;
    if (!put_flush(screen)) { // the reader has not taken the last block
        return;
    }
    size_t rows = OCT_MAX(measure(screen), (size_t)2) - 1;
    put_home(screen);
    cli_view_block(&screen->block, state, &screen->style);
    size_t count = all ? block->count : OCT_MIN(block->count, rows);
    for (size_t i = 0; i < count; i++) {
        put(screen, block->line[i].bytes);
        put(screen, "\n");
        screen->drawn_cells[i] = block->line[i].cells;
    }
    screen->drawn_count = count;
    (void)put_flush(screen);
}

// Writes a plain line, unless it equals the last one.
static void
write_line(cli_screen *screen, const cli_snapshot *state)
{
    cli_line line;
    cli_view_line(&line, state);
    screen->line_s = state->wall_s;
    if (strcmp(line.bytes, screen->line.bytes) == 0) { // nothing has changed since
        return; // the end comes within the tenth of a second of the last line
    }
    if (!put_flush(screen)) {
        return;
    }
    screen->line = line;
    put(screen, line.bytes);
    put(screen, "\n");
    (void)put_flush(screen);
}

void
cli_screen_show(cli_screen *screen, const cli_snapshot *state, bool is_new)
{
    if (screen->live) {
        draw(screen, state, false);
        return;
    }
    double age_s = state->wall_s - screen->line_s;
    if (screen->line_s < 0 || age_s >= LINE_PERIOD_S || (is_new && age_s >= LINE_PERIOD_S / 4)) {
        write_line(screen, state);
    }
}

void
cli_screen_print(cli_screen *screen, const char *format, ...)
{
    char text[CLI_TEXT_LINE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    oct_text_tame_lines(text, strlen(text));
    if (!put_flush(screen)) {
        return;
    }
    if (screen->live) {
        (void)measure(screen);
        put_home(screen);
    }
    put(screen, text);
    put(screen, "\n");
    (void)put_flush(screen);
}

void
cli_screen_block(cli_screen *screen, const cli_snapshot *state)
{
    screen->style.colour = screen->style.colour && isatty(STDOUT_FILENO);
    draw(screen, state, true);
    (void)put_all(screen, INT_MAX);
    screen->drawn_count = 0;
}

void
cli_screen_end(cli_screen *screen, const cli_snapshot *state)
{
    if (!put_all(screen, END_WAIT_MS)) {
        return;
    }
    if (screen->live) {
        draw(screen, state, true);
        screen->drawn_count = 0;
    } else if (state->wall_s > screen->line_s) {
        write_line(screen, state);
    }
    (void)put_all(screen, END_WAIT_MS);
}

void
cli_screen_destroy(cli_screen *screen)
{
    if (screen != NULL && screen->fd != STDOUT_FILENO) {
        (void)close(screen->fd);
    }
    free(screen);
}
