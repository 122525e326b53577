// Replaces standard output and standard error by streams that let no control characters through.
#include "common/oct_output.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_text.h"

#define CHUNK_BYTES 4096 // cleaned and written at a time
#define WAIT_MS     2000 // for the reader of a descriptor with O_NONBLOCK

// The state of one descriptor. A control character of several bytes may be split between two
// writes, so bytes that may begin one are held until the next write. Bytes held at the end of the
// program are never written: they are no whole character.
typedef struct guard {
    int fd;
    bool is_stuck; // its reader took nothing for WAIT_MS; more is dropped
    size_t held_length;
    char held[OCT_TEXT_CONTROL_MAX];
} guard;

static guard guards[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

// Waits for the reader, until WAIT_MS have passed since it took nothing, however many signals
// interrupt that. Returns false if there is still no room.
static bool
reader_wait(const guard *g, uint64_t since_ns)
{
    struct pollfd reader = {.fd = g->fd, .events = POLLOUT};
    uint64_t waited_ms = (oct_clock_ns() - since_ns) / 1000000;
    int left = (int)(WAIT_MS - OCT_MIN(waited_ms, (uint64_t)WAIT_MS));
    return poll(&reader, 1, left) != 0 && left > 0;
}

// Writes all bytes. False: errno says why not.
static bool
write_all(guard *g, const char *bytes, size_t length)
{
    uint64_t since_ns = 0; // the reader takes nothing since then; 0: it takes
    while (length > 0 && !g->is_stuck) {
        ssize_t written = write(g->fd, bytes, length);
        if (written < 0 && errno == EAGAIN) {
            since_ns = since_ns == 0 ? oct_clock_ns() : since_ns;
            g->is_stuck = !reader_wait(g, since_ns);
        } else if (written < 0 && errno != EINTR) {
            return false;
        }
        since_ns = written > 0 ? 0 : since_ns;
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

// Returns the number of bytes at the end of text that may begin a control character.
static size_t
open_end(const char *text, size_t length)
{
    size_t most = OCT_MIN(length, (size_t)OCT_TEXT_CONTROL_MAX - 1);
    for (size_t open = most; open > 0; open--) {
        if (oct_text_may_be_control(text + length - open, open)) {
            return open;
        }
    }
    return 0;
}

// The stream's write function. Returns 0 on an error, else size, because held bytes count as
// written.
static ssize_t
guard_write(void *cookie, const char *bytes, size_t size)
{
    guard *g = cookie;
    char chunk[CHUNK_BYTES];
    for (size_t taken = 0; taken < size;) {
        size_t count = OCT_MIN(size - taken, sizeof(chunk) - g->held_length);
        memcpy(chunk, g->held, g->held_length);
        memcpy(chunk + g->held_length, bytes + taken, count);
        size_t length = g->held_length + count, open = open_end(chunk, length);
        taken += count;
        oct_text_tame_lines(chunk, length - open);
        memcpy(g->held, chunk + length - open, open);
        g->held_length = open;
        if (!write_all(g, chunk, length - open)) {
            return 0;
        }
    }
    return (ssize_t)size;
}

static FILE *
guard_open(guard *g)
{
    const cookie_io_functions_t functions = {.write = guard_write};
    FILE *stream = fopencookie(g, "w", functions);
    bool is_error = g->fd == STDERR_FILENO;
    int mode = is_error ? _IONBF : isatty(g->fd) ? _IOLBF : _IOFBF;
    if (stream != NULL) {
        (void)setvbuf(stream, NULL, mode, is_error ? 0 : BUFSIZ);
    }
    return stream;
}

void
oct_output_guard(void)
{
    FILE *out = guard_open(&guards[0]), *error = guard_open(&guards[1]);
    stdout = out != NULL ? out : stdout;
    stderr = error != NULL ? error : stderr;
}

void
oct_output_styled(int fd, const char *text)
{
    (void)fflush(fd == STDOUT_FILENO ? stdout : stderr);
    (void)write_all(&guards[fd == STDOUT_FILENO ? 0 : 1], text, strlen(text));
}
