// Keeps the oldest and the newest lines of a log, in a bounded number of bytes.

#include "cli/run/cli_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define ENDING ".log"

// Up to room bytes from where fd is; the number of them.
static size_t
read_most(int fd, uint8_t *bytes, size_t room)
{
    size_t used = 0;
    ssize_t got;
    while (used < room && (got = read(fd, bytes + used, room - used)) > 0) {
        used += (size_t)got;
    }
    return used;
}

static void
other_name(char out[PATH_MAX], const char *path, const char *which)
{
    (void)snprintf(out, PATH_MAX, "%.*s.%s" ENDING, (int)(strlen(path) - strlen(ENDING)), path,
                   which);
}

// What was written since, up to room bytes of it, behind the copy.
static bool
append_late(const char *other, int fd, uint8_t *bytes, size_t room)
{
    size_t late = read_most(fd, bytes, room);
    int out = late > 0 ? oct_file_open(other, O_WRONLY | O_APPEND, 0, NULL) : -1;
    bool is_there = late == 0 || (out >= 0 && write(out, bytes, late) == (ssize_t)late);
    if (out >= 0) {
        (void)close(out);
    }
    return is_there;
}

// Moves what fd holds, size bytes as it was seen, to another file.
static bool
move_to(const char *other, int fd, off_t size, size_t bytes_max)
{
    size_t room = 2 * bytes_max;
    uint8_t *bytes = oct_alloc(room);
    off_t from = size > (off_t)room ? size - (off_t)bytes_max : 0;
    bool is_moved = lseek(fd, from, SEEK_SET) == from;
    if (is_moved) {
        size_t length = read_most(fd, bytes, room);
        oct_file_clear(other);
        is_moved = oct_file_replace(other, bytes, length) == OCT_OK &&
                   append_late(other, fd, bytes, room) && ftruncate(fd, 0) == 0;
    }
    free(bytes);
    return is_moved;
}

bool
cli_log_bound(const char *path, size_t bytes_max)
{
    char other[PATH_MAX];
    struct stat log;
    if (oct_file_stat(path, &log) != 0 || !S_ISREG(log.st_mode) ||
        log.st_size <= (off_t)bytes_max) {
        return false;
    }
    other_name(other, path, "first");
    if (oct_file_is_there(other)) {
        other_name(other, path, "previous");
    }
    int fd = oct_file_open(path, O_RDWR, 0, NULL);
    bool is_moved = fd >= 0 && move_to(other, fd, log.st_size, bytes_max);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_moved;
}
