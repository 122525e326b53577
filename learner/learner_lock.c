// The lock of a run folder, and the epochs of its learners.
#include "learner/learner_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

#define PATH_BYTES_MAX 4096
#define TEXT_BYTES_MAX 512
#define RANDOM_BITS    12
#define POLL_MS        20

struct learner_lock {
    int fd;
    bool is_held;
    uint64_t epoch;
    char path[PATH_BYTES_MAX];
};

// The contents of the lock file; epoch 0: it is empty or not readable.
typedef struct holder {
    uint64_t epoch;
    long pid;
    char host[256];
} holder;

static holder
holder_read(int fd)
{
    char text[TEXT_BYTES_MAX];
    holder found = {.host = ""};
    ssize_t length = pread(fd, text, sizeof(text) - 1, 0);
    text[OCT_MAX(length, 0)] = '\0';
    if (sscanf(text, "epoch=%" SCNu64 " pid=%ld host=%255s", &found.epoch, &found.pid,
               found.host) != 3) {
        found = (holder){.host = ""};
    }
    return found;
}

static oct_err
holder_write(int fd, uint64_t epoch)
{
    char text[TEXT_BYTES_MAX], host[256] = "?";
    (void)gethostname(host, sizeof(host) - 1);
    int length = snprintf(text, sizeof(text), "epoch=%" PRIu64 " pid=%ld host=%s\n", epoch,
                          (long)getpid(), host[0] != '\0' ? host : "?");
    bool is_written =
        ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) == length && fsync(fd) == 0;
    return is_written ? OCT_OK : OCT_EIO;
}

static uint64_t
epoch_after(uint64_t before)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        random = (uint64_t)getpid();
    }
    uint64_t low = random & ((UINT64_C(1) << RANDOM_BITS) - 1);
    return OCT_MAX(before + 1, oct_clock_wall_us() << RANDOM_BITS | low);
}

// Takes the lock. OCT_LOCK_TAKEN: another process still has it after wait_ms.
static oct_lock
lock_get(const learner_lock *lock, uint32_t wait_ms)
{
    uint64_t end_ns = oct_clock_ns() + wait_ms * UINT64_C(1000000);
    oct_lock got;
    while ((got = oct_file_lock(lock->fd, false)) == OCT_LOCK_TAKEN && oct_clock_ns() < end_ns) {
        (void)usleep(POLL_MS * 1000);
    }
    return got;
}

oct_err
learner_lock_take(learner_lock **out, const char *folder, uint32_t wait_ms, oct_reason *why)
{
    learner_lock *lock = oct_alloc(sizeof(*lock));
    (void)snprintf(lock->path, sizeof(lock->path), "%s/learner.lock", folder);
    lock->fd = oct_file_lock_open(lock->path);
    if (lock->fd < 0) {
        (void)oct_refuse(why, "%s: %s", lock->path, oct_file_strerror(errno));
        free(lock);
        return OCT_EIO;
    }
    oct_lock got = lock_get(lock, wait_ms);
    if (got == OCT_LOCK_FAILED) {
        (void)oct_refuse(why, "%s cannot be locked: %s", lock->path, oct_file_strerror(errno));
        learner_lock_release(lock);
        return OCT_EIO;
    }
    lock->is_held = got == OCT_LOCK_HELD;
    holder before = holder_read(lock->fd);
    if (got == OCT_LOCK_TAKEN) {
        (void)oct_refuse(why,
                         "%s is in use by octet-learner with pid %ld on %s; stop that learner, or "
                         "name another folder",
                         folder, before.pid, before.epoch != 0 ? before.host : "?");
        learner_lock_release(lock);
        return OCT_EAGAIN;
    }
    lock->epoch = epoch_after(before.epoch);
    if (holder_write(lock->fd, lock->epoch) != OCT_OK) {
        (void)oct_refuse(why, "%s: %s", lock->path, oct_file_strerror(errno));
        learner_lock_release(lock);
        return OCT_EIO;
    }
    *out = lock;
    return OCT_OK;
}

uint64_t
learner_lock_epoch(const learner_lock *lock)
{
    return lock->epoch;
}

bool
learner_lock_is_held(const learner_lock *lock)
{
    return lock->is_held;
}

bool
learner_lock_lost(const learner_lock *lock)
{
    int fd = oct_file_open(lock->path, O_RDONLY, 0, NULL);
    if (fd < 0) {
        return false;
    }
    holder now = holder_read(fd);
    (void)close(fd);
    return now.epoch > lock->epoch;
}

oct_locked
learner_lock_is_taken(const char *folder)
{
    char path[PATH_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "%s/learner.lock", folder);
    return oct_file_locked(path);
}

void
learner_lock_release(learner_lock *lock)
{
    if (lock != NULL) {
        (void)close(lock->fd);
        free(lock);
    }
}
