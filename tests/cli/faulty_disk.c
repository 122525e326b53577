// A disk that fails at a chosen call: preloaded into a program, it counts the calls that change
// files and does at the N-th what $FAULTY_DISK says, "N:kill", "N:interrupt" or "N:full".
// "*N:full": at all calls from there on. It says on stderr that it did, and lets all other calls
// through. "time S": it is S seconds after 1970. "slow": each write of a MiB or more takes a
// second. "no locks": flock is not there. "no sockets": local sockets cannot be made, as on exFAT.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/oct_preload.h"

#define SLOW_BYTES (1u << 20)

time_t
time(time_t *out)
{
    const char *wish = getenv("FAULTY_DISK");
    struct timespec now;
    bool is_told = wish != NULL && strncmp(wish, "time ", 5) == 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    time_t seconds = is_told ? (time_t)strtoll(wish + 5, NULL, 10) : now.tv_sec;
    if (out != NULL) {
        *out = seconds;
    }
    return seconds;
}

static bool
fails(void)
{
    static char said[] = "faulty disk\n";
    const struct iovec line = {said, sizeof(said) - 1};
    static long calls;
    const char *wish = getenv("FAULTY_DISK");
    if (wish == NULL || strncmp(wish, "time ", 5) == 0 || strcmp(wish, "slow") == 0 ||
        strncmp(wish, "no ", 3) == 0) {
        return false;
    }
    char *what;
    bool is_lasting = wish[0] == '*';
    long at = strtol(wish + is_lasting, &what, 10);
    calls++;
    if (calls < at || (calls > at && !is_lasting)) {
        return false;
    }
    if (calls == at && writev(STDERR_FILENO, &line, 1) < 0) {
        abort();
    }
    if (strcmp(what, ":kill") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(what, ":interrupt") == 0) {
        (void)raise(SIGINT);
        (void)raise(SIGTERM);
    }
    errno = ENOSPC;
    return strcmp(what, ":full") == 0;
}

bool
preload_making_fails(void)
{
    return fails();
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    PRELOAD_NEXT(int, "renameat", int, const char *, int, const char *);
    return fails() ? -1 : next(from_folder, from, to_folder, to);
}

int
unlinkat(int folder, const char *path, int flags)
{
    PRELOAD_NEXT(int, "unlinkat", int, const char *, int);
    return fails() ? -1 : next(folder, path, flags);
}

int
flock(int fd, int operation)
{
    PRELOAD_NEXT(int, "flock", int, int);
    const char *wish = getenv("FAULTY_DISK");
    if (wish != NULL && strcmp(wish, "no locks") == 0) {
        errno = ENOSYS;
        return -1;
    }
    return next(fd, operation);
}

int
bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size) // as glibc declares it
{
    PRELOAD_NEXT(int, "bind", int, __CONST_SOCKADDR_ARG, socklen_t);
    const char *wish = getenv("FAULTY_DISK");
    if (wish != NULL && strcmp(wish, "no sockets") == 0 &&
        address.__sockaddr__->sa_family == AF_UNIX) {
        errno = EPERM;
        return -1;
    }
    return next(fd, address, size);
}

int
mkdirat(int folder, const char *path, mode_t mode)
{
    PRELOAD_NEXT(int, "mkdirat", int, const char *, mode_t);
    return fails() ? -1 : next(folder, path, mode);
}

int
fsync(int fd)
{
    PRELOAD_NEXT(int, "fsync", int);
    return fails() ? -1 : next(fd);
}

// A full disk takes half of it.
ssize_t
write(int fd, const void *bytes, size_t length)
{
    PRELOAD_NEXT(ssize_t, "write", int, const void *, size_t);
    const char *wish = getenv("FAULTY_DISK");
    if (length >= SLOW_BYTES && wish != NULL && strcmp(wish, "slow") == 0) {
        (void)sleep(1);
        return next(fd, bytes, length);
    }
    if (fd > STDERR_FILENO && fails()) {
        (void)next(fd, bytes, length / 2);
        errno = ENOSPC;
        return -1;
    }
    return next(fd, bytes, length);
}
