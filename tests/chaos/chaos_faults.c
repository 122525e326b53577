// Preloaded into a daemon: calls that change files fail, are cut short or end the process, and the
// wall clock jumps, as the file $CHAOS_FAULTS says at that moment (chaos_faults.h). Without it all
// calls pass. Pipes, sockets and the log are left alone.
#undef _FILE_OFFSET_BITS // pwrite and pwrite64 are two functions here
#include "tests/chaos/chaos_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/oct_preload.h"

#define SECOND_NS    1000000000
#define WALL_LEAST_S (30L * 365 * 86400) // the wall clock shows a later year than 2000

static chaos_faults *faults;

__attribute__((constructor)) static void
faults_open(void)
{
    const char *path = getenv("CHAOS_FAULTS");
    PRELOAD_NEXT(int, "open", const char *, int, ...);
    int fd = path != NULL ? next(path, O_RDWR | O_CLOEXEC) : -1;
    void *there = fd >= 0 ? mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                          : MAP_FAILED;
    faults = there != MAP_FAILED ? there : NULL;
    if (fd >= 0) {
        (void)close(fd);
    }
}

// What happens to this call; CHAOS_KILL does not return.
static enum chaos_fault
fault_of(uint32_t kind, const char *name)
{
    if (faults == NULL || (faults->kinds & kind) == 0) {
        return CHAOS_NONE;
    }
    uint64_t call = ++faults->calls;
    if (faults->at == 0 || call < faults->at || call > faults->until) {
        return CHAOS_NONE;
    }
    faults->hits++;
    (void)snprintf(faults->where, sizeof(faults->where), "%s", name);
    if (faults->what == CHAOS_KILL) {
        (void)raise(SIGKILL);
    }
    return (enum chaos_fault)faults->what;
}

// A call that writes nothing fails or does not.
static bool
fails(uint32_t kind, const char *name)
{
    enum chaos_fault fault = fault_of(kind, name);
    if (fault == CHAOS_KILL_HALF) {
        (void)raise(SIGKILL);
    }
    errno = fault == CHAOS_EIO ? EIO : ENOSPC;
    return fault == CHAOS_EIO || fault == CHAOS_ENOSPC;
}

bool
preload_making_fails(void)
{
    return fails(CHAOS_NAME, "open");
}

static bool
is_file(int fd)
{
    struct stat found;
    return fd > STDERR_FILENO && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

// How much of length is written; -1: nothing, errno says why.
static ssize_t
write_by(ssize_t (*put)(int, const void *, size_t, off64_t), const char *name, int fd,
         const void *bytes, size_t length, off64_t at)
{
    enum chaos_fault fault = is_file(fd) ? fault_of(CHAOS_WRITE, name) : CHAOS_NONE;
    if (fault == CHAOS_NONE || length < 2) {
        return put(fd, bytes, length, at);
    }
    if (fault == CHAOS_EIO) {
        errno = EIO;
        return -1;
    }
    ssize_t half = put(fd, bytes, length / 2, at); // as a disk does that becomes full
    if (fault == CHAOS_KILL_HALF) {
        (void)raise(SIGKILL);
    }
    if (fault == CHAOS_ENOSPC) {
        errno = ENOSPC;
        return -1;
    }
    return half;
}

static ssize_t
put_write(int fd, const void *bytes, size_t length, off64_t at)
{
    PRELOAD_NEXT(ssize_t, "write", int, const void *, size_t);
    (void)at;
    return next(fd, bytes, length);
}

static ssize_t
put_pwrite(int fd, const void *bytes, size_t length, off64_t at)
{
    PRELOAD_NEXT(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    return next(fd, bytes, length, at);
}

ssize_t
write(int fd, const void *bytes, size_t length)
{
    return write_by(put_write, "write", fd, bytes, length, 0);
}

ssize_t
pwrite(int fd, const void *bytes, size_t length, off_t at)
{
    return write_by(put_pwrite, "pwrite", fd, bytes, length, at);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t length, off64_t at)
{
    return write_by(put_pwrite, "pwrite", fd, bytes, length, at);
}

int
fflush(FILE *file)
{
    PRELOAD_NEXT(int, "fflush", FILE *);
    return file != NULL && is_file(fileno(file)) && fails(CHAOS_WRITE, "fflush") ? EOF : next(file);
}

int
fsync(int fd)
{
    PRELOAD_NEXT(int, "fsync", int);
    return fails(CHAOS_SYNC, "fsync") ? -1 : next(fd);
}

int
fdatasync(int fd)
{
    PRELOAD_NEXT(int, "fdatasync", int);
    return fails(CHAOS_SYNC, "fdatasync") ? -1 : next(fd);
}

int
msync(void *memory, size_t length, int flags)
{
    PRELOAD_NEXT(int, "msync", void *, size_t, int);
    return fails(CHAOS_SYNC, "msync") ? -1 : next(memory, length, flags);
}

int
ftruncate(int fd, off_t length)
{
    PRELOAD_NEXT(int, "ftruncate64", int, off64_t);
    return is_file(fd) && fails(CHAOS_SIZE, "ftruncate") ? -1 : next(fd, length);
}

int
ftruncate64(int fd, off64_t length)
{
    PRELOAD_NEXT(int, "ftruncate64", int, off64_t);
    return is_file(fd) && fails(CHAOS_SIZE, "ftruncate") ? -1 : next(fd, length);
}

int
posix_fallocate(int fd, off_t at, off_t length)
{
    PRELOAD_NEXT(int, "posix_fallocate64", int, off64_t, off64_t);
    return fails(CHAOS_SIZE, "posix_fallocate") ? errno : next(fd, at, length);
}

int
posix_fallocate64(int fd, off64_t at, off64_t length)
{
    PRELOAD_NEXT(int, "posix_fallocate64", int, off64_t, off64_t);
    return fails(CHAOS_SIZE, "posix_fallocate") ? errno : next(fd, at, length);
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    PRELOAD_NEXT(int, "renameat", int, const char *, int, const char *);
    return fails(CHAOS_NAME, "rename") ? -1 : next(from_folder, from, to_folder, to);
}

int
unlinkat(int folder, const char *path, int flags)
{
    PRELOAD_NEXT(int, "unlinkat", int, const char *, int);
    return fails(CHAOS_NAME, "unlink") ? -1 : next(folder, path, flags);
}

int
mkdirat(int folder, const char *path, mode_t mode)
{
    PRELOAD_NEXT(int, "mkdirat", int, const char *, mode_t);
    return fails(CHAOS_NAME, "mkdir") ? -1 : next(folder, path, mode);
}

// ---- the wall clock

static void
skew(struct timespec *time)
{
    int64_t ns = faults != NULL ? faults->wall_skew_ns : 0;
    if (ns == 0) {
        return;
    }
    faults->shifted++;
    int64_t sum = time->tv_nsec + ns % SECOND_NS;
    time->tv_sec += ns / SECOND_NS + (sum >= SECOND_NS) - (sum < 0);
    time->tv_nsec = sum + (sum < 0 ? SECOND_NS : sum >= SECOND_NS ? -SECOND_NS : 0);
}

int
clock_gettime(clockid_t clock, struct timespec *out)
{
    PRELOAD_NEXT(int, "clock_gettime", clockid_t, struct timespec *);
    int code = next(clock, out);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        skew(out);
    }
    return code;
}

int
gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t
time(time_t *out)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

// A deadline of the skewed wall clock, which NNG's timers use, for the kernel's: it would come at
// once or in years. One of the monotonic clock counts from the machine's start and stays.
int
pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                       const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (next == NULL) {
        // dlsym may give the oldest version, for other condition variables.
        void *newest = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
        *(void **)&next = newest != NULL ? newest : dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    }
    struct timespec real = *until;
    if (faults != NULL && real.tv_sec > WALL_LEAST_S) {
        real.tv_sec -= faults->wall_skew_ns / SECOND_NS;
    }
    return next(condition, mutex, &real);
}
