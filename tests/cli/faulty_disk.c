// A disk that fails at a chosen call: preloaded into a program, it counts the calls that change
// files and does at the N-th what $FAULTY_DISK says, "N:kill", "N:interrupt" or "N:full".
// "*N:full": at all calls from there on. It says on stderr that it did, and lets all other calls
// through. "slow": each write of a MiB or more takes a second.
#undef _FILE_OFFSET_BITS // open and open64 are two functions here
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLOW_BYTES (1u << 20)

static bool
fails(void)
{
    static char said[] = "faulty disk\n";
    const struct iovec line = {said, sizeof(said) - 1};
    static long calls;
    const char *wish = getenv("FAULTY_DISK");
    if (wish == NULL || strcmp(wish, "slow") == 0) {
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

// The function of that name that comes after this library's.
#define NEXT(name, ...)                                                                            \
    int (*next)(__VA_ARGS__);                                                                      \
    *(void **)&next = dlsym(RTLD_NEXT, name)

int
rename(const char *from, const char *to)
{
    NEXT("rename", const char *, const char *);
    return fails() ? -1 : next(from, to);
}

int
unlink(const char *path)
{
    NEXT("unlink", const char *);
    return fails() ? -1 : next(path);
}

int
mkdir(const char *path, mode_t mode)
{
    NEXT("mkdir", const char *, mode_t);
    return fails() ? -1 : next(path, mode);
}

int
fsync(int fd)
{
    NEXT("fsync", int);
    return fails() ? -1 : next(fd);
}

// A full disk takes half of it.
ssize_t
write(int fd, const void *bytes, size_t length)
{
    ssize_t (*next)(int, const void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "write");
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

static int
open_by(const char *name, const char *path, int flags, va_list args)
{
    NEXT(name, const char *, int, ...);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    return (flags & O_CREAT) != 0 && fails() ? -1 : next(path, flags, mode);
}

int
open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_by("open", path, flags, args);
    va_end(args);
    return fd;
}

int
open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_by("open64", path, flags, args);
    va_end(args);
    return fd;
}
