// A library before libc that syncs nothing: what a test of power failures must notice.
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

int
fsync(int fd)
{
    (void)fd;
    return 0;
}

int
fdatasync(int fd)
{
    (void)fd;
    return 0;
}

int
msync(void *address, size_t length, int flags)
{
    (void)address;
    (void)length;
    (void)flags;
    return 0;
}

int
sync_file_range(int fd, off64_t offset, off64_t count, unsigned int flags)
{
    (void)fd;
    (void)offset;
    (void)count;
    (void)flags;
    return 0;
}
