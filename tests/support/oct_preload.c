// openat and openat64, by which the programs open files, of a library that is loaded before libc:
// those that would make a file fail when the library says so.
#undef _FILE_OFFSET_BITS // they are two functions here
#include "tests/support/oct_preload.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

static int
open_by(int folder, const char *path, int flags, va_list args)
{
    PRELOAD_NEXT(int, "openat64", int, const char *, int, ...);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    return (flags & O_CREAT) != 0 && preload_making_fails() ? -1 : next(folder, path, flags, mode);
}

int
openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_by(folder, path, flags, args);
    va_end(args);
    return fd;
}

int
openat64(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = open_by(folder, path, flags, args);
    va_end(args);
    return fd;
}
