#ifndef TESTS_SUPPORT_OCT_FLOCK_H
#define TESTS_SUPPORT_OCT_FLOCK_H

#include <errno.h>
#include <sys/file.h>

// A file system whose locks fail: the linker puts this before flock (-Wl,--wrap=flock).

static int flock_errno; // 0: they are as they are

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int
__wrap_flock(int fd, int operation)
{
    if (flock_errno == 0) {
        return __real_flock(fd, operation);
    }
    errno = flock_errno;
    return -1;
}

// What a file system says that has none.
static const int flock_none[] = {ENOSYS, ENOLCK, EOPNOTSUPP};

#endif // TESTS_SUPPORT_OCT_FLOCK_H
