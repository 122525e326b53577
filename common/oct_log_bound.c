// Keeps the oldest and the newest lines of a log within a bounded number of bytes.
#include "common/oct_log_bound.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"

#define ENDING   ".log"
#define COPY_NS  UINT64_C(1000000000)  // between two copies
#define RETRY_NS UINT64_C(60000000000) // after a copy that failed

// The log of this process (oct_log_own_*).
static struct own_log {
    size_t bytes_max; // 0: the log is not bounded
    uint64_t next_ns; // earliest time of the next copy, as oct_clock_ns
    bool is_moved;    // the last copy succeeded
    uint64_t dropped; // bytes since the start
} own;

// Writes NAME.which.log. False: the name is too long.
static bool
other_name(char out[OCT_FILE_PATH_MAX], const char *path, const char *which)
{
    size_t length = strlen(path), ending = strlen(ENDING);
    bool has_ending = length > ending && strcmp(path + length - ending, ENDING) == 0;
    int used =
        snprintf(out, OCT_FILE_PATH_MAX, "%.*s.%s%s", (int)(length - (has_ending ? ending : 0)),
                 path, which, has_ending ? ENDING : "");
    return used < OCT_FILE_PATH_MAX;
}

// Copies what fd holds to another file and empties fd. log: its status before. What other processes
// append in between is dropped and counted.
static bool
move_to(const char *other, int fd, const struct stat *log, size_t bytes_max, uint64_t *dropped)
{
    char draft[OCT_FILE_PATH_MAX];
    size_t room = 2 * bytes_max;
    // A log that has outgrown the copy keeps its newest bytes.
    off_t from = log->st_size > (off_t)room ? log->st_size - (off_t)bytes_max : 0;
    oct_file_clear(other);
    int out = oct_file_draft_open(other, log->st_mode & 0777, draft);
    if (out < 0) {
        return false;
    }
    struct stat now;
    bool is_moved = lseek(fd, from, SEEK_SET) == from && oct_file_copy(fd, out, room) == OCT_OK;
    is_moved = close(out) == 0 && is_moved && oct_file_rename(draft, other) == 0;
    off_t until = lseek(fd, 0, SEEK_CUR);
    is_moved = is_moved && fstat(fd, &now) == 0 && ftruncate(fd, 0) == 0;
    if (is_moved) {
        *dropped += (uint64_t)(from + OCT_MAX(now.st_size - until, 0));
    } else {
        (void)oct_file_remove(draft);
    }
    return is_moved;
}

// Moves a log, unless another process is moving it or has just done so.
static bool
log_move(const char *path, size_t bytes_max, uint64_t *dropped)
{
    char other[OCT_FILE_PATH_MAX];
    struct stat log;
    int fd = oct_file_open(path, O_RDWR, 0, NULL);
    bool is_ours = fd >= 0 && oct_file_lock(fd, false) != OCT_LOCK_TAKEN && fstat(fd, &log) == 0 &&
                   log.st_size > (off_t)bytes_max;
    bool is_named = is_ours && other_name(other, path, "first");
    if (is_named && oct_file_is_there(other)) {
        is_named = other_name(other, path, "previous");
    }
    bool is_moved = is_named && move_to(other, fd, &log, bytes_max, dropped);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_moved;
}

bool
oct_log_bound(const char *path, size_t bytes_max)
{
    struct stat log;
    uint64_t dropped = 0;
    return oct_file_stat(path, &log) == 0 && log.st_size > (off_t)bytes_max &&
           log_move(path, bytes_max, &dropped);
}

void
oct_log_own_begin(size_t bytes_max)
{
    struct stat log;
    // Without O_APPEND the next write would leave a hole at the emptied beginning.
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    bool is_file = flags >= 0 && (flags & O_APPEND) != 0 && fstat(STDERR_FILENO, &log) == 0 &&
                   S_ISREG(log.st_mode);
    own = (struct own_log){.bytes_max = is_file ? bytes_max : 0};
}

bool
oct_log_own_is_bounded(void)
{
    return own.bytes_max > 0;
}

// Moves the log under its present name, which another process may have changed. True: the log is
// empty now.
static bool
own_move(void)
{
    char path[OCT_FILE_PATH_MAX];
    ssize_t length = readlink("/proc/self/fd/2", path, sizeof(path));
    if (length <= 0 || (size_t)length >= sizeof(path)) {
        return false;
    }
    path[length] = '\0';
    return oct_file_is_open(path, STDERR_FILENO) && log_move(path, own.bytes_max, &own.dropped);
}

uint64_t
oct_log_own_look(uint64_t now_ns)
{
    struct stat log;
    uint64_t dropped = own.dropped;
    bool is_large = fstat(STDERR_FILENO, &log) == 0 && log.st_size > (off_t)own.bytes_max;
    if (is_large && now_ns >= own.next_ns) {
        own.is_moved = own_move();
        own.next_ns = now_ns + (own.is_moved ? COPY_NS : RETRY_NS);
        // the copy exists, but the log fills faster than once a second
    } else if (is_large && own.is_moved && ftruncate(STDERR_FILENO, 0) == 0) {
        own.dropped += (uint64_t)log.st_size;
    }
    return own.dropped > dropped ? own.dropped : 0;
}
