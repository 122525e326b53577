// Takes over the whole terminal: single keys, the alternate screen buffer; and restores both at the
// end.

#include "cli/top/cli_top_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/oct_base.h"

// of all lines with their colours
#define OUT_BYTES_MAX (CLI_TOP_LINES_MAX * (CLI_TEXT_LINE_BYTES_MAX + 16) + 64)
#define WRITE_MS      1000 // a terminal that takes no bytes for so long misses the rest

#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l" // alternate buffer, no cursor, no wrapping
#define LEAVE "\x1b[?7h\x1b[?25h\x1b[?1049l"

struct cli_top_screen {
    net_input *input;
    int fd; // /dev/tty, opened here, so that O_NONBLOCK affects no other process
    cli_top_key_fn on_key;
    void *arg;
    char out[OUT_BYTES_MAX];
    size_t used;
};

// State for the end of the process, which any code may cause by exit.
static struct {
    bool is_taken, will_be_given_back; // the terminal is taken; give_back is registered with atexit
    int fd;
    struct termios before;
} terminal;

static void
write_all(int fd, const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t count = write(fd, bytes + done, length - done);
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (count > 0) {
            done += (size_t)count;
        } else if (count == 0 || (errno != EINTR && errno != EAGAIN) ||
                   (errno == EAGAIN && poll(&room, 1, WRITE_MS) <= 0)) {
            return; // the terminal has ended, or does not take more
        }
    }
}

static void
give_back(void)
{
    if (terminal.is_taken) {
        terminal.is_taken = false;
        write_all(STDOUT_FILENO, LEAVE, strlen(LEAVE));
        (void)tcsetattr(terminal.fd, TCSANOW, &terminal.before);
    }
}

// Lets keys arrive one by one, without echo. Ctrl-C stays a signal. Ctrl-Z is disabled, because it
// would leave the shell in the alternate buffer.
static bool
take(int fd)
{
    struct termios raw;
    if (tcgetattr(fd, &terminal.before) != 0) {
        return false;
    }
    raw = terminal.before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    if (tcsetattr(fd, TCSANOW, &raw) != 0) {
        return false;
    }
    terminal.fd = fd;
    terminal.is_taken = true;
    if (!terminal.will_be_given_back) {
        terminal.will_be_given_back = atexit(give_back) == 0;
    }
    write_all(STDOUT_FILENO, ENTER, strlen(ENTER));
    return true;
}

// Decodes keys one by one. The end of the terminal counts as quitting.
static void
keys_came(void *arg)
{
    cli_top_screen *screen = arg;
    char bytes[256];
    ssize_t count = read(screen->fd, bytes, sizeof(bytes));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) { // the terminal has ended
        screen->on_key(screen->arg, CLI_TOP_KEY_QUIT);
        return;
    }
    size_t used = 0;
    for (size_t at = 0; at < (size_t)count; at += used) {
        cli_top_key key = cli_top_key_decode(bytes + at, (size_t)count - at, &used);
        if (key != CLI_TOP_KEY_NONE) {
            screen->on_key(screen->arg, key);
        }
    }
}

// A change of the size calls back with no key, so that the table is drawn again.
static void
size_changed(void *arg, int signal_number)
{
    cli_top_screen *screen = arg;
    (void)signal_number;
    screen->on_key(screen->arg, CLI_TOP_KEY_NONE);
}

cli_top_screen *
cli_top_screen_open(net_loop *loop, cli_top_key_fn on_key, void *arg)
{
    int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    cli_top_screen *screen = oct_alloc(sizeof(*screen));
    *screen = (cli_top_screen){.fd = fd, .on_key = on_key, .arg = arg};
    if (net_input_start(&screen->input, loop, fd, keys_came, screen) != OCT_OK ||
        net_loop_on_signal(loop, SIGWINCH, size_changed, screen) != OCT_OK || !take(fd)) {
        cli_top_screen_close(screen);
        return NULL;
    }
    return screen;
}

void
cli_top_screen_close(cli_top_screen *screen)
{
    if (screen != NULL) {
        give_back();
        net_input_stop(screen->input);
        (void)close(screen->fd);
        free(screen);
    }
}

static void
put(cli_top_screen *screen, const char *text)
{
    size_t length = strlen(text);
    if (screen->used + length <= sizeof(screen->out)) {
        memcpy(screen->out + screen->used, text, length);
        screen->used += length;
    }
}

void
cli_top_screen_begin(cli_top_screen *screen)
{
    screen->used = 0;
    put(screen, "\x1b[H");
}

// Each line clears the rest of its row afterwards, not the whole screen before, so nothing
// flickers.
void
cli_top_screen_line(cli_top_screen *screen, const cli_line *line)
{
    if (screen->used > strlen("\x1b[H")) {
        put(screen, "\r\n");
    }
    put(screen, line->bytes);
    put(screen, "\x1b[K");
}

// Writes the frame with one call, so that the terminal never shows half a table.
void
cli_top_screen_end(cli_top_screen *screen)
{
    put(screen, "\x1b[J");
    write_all(STDOUT_FILENO, screen->out, screen->used);
}
