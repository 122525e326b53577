// A group of forked processes: from each rank to each other one ring of bytes in shared memory.
#include "group/group_fork.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"

#define LINE       64
#define RING_BYTES (1u << 18) // half of a near cache

// One writer, one reader. Counts of bytes ever written and ever read.
typedef struct ring {
    _Alignas(LINE) atomic_uint_fast64_t written;
    _Alignas(LINE) atomic_uint_fast64_t read;
    _Alignas(LINE) uint8_t bytes[RING_BYTES];
} ring;

typedef struct forked {
    uint32_t rank, size;
    ring *rings; // [size][size], from and to
    size_t mapped;
    int memory; // of forked_share: a descriptor that all have
    void *shared;
    size_t shared_bytes;
    pid_t child[GROUP_SIZE_MAX]; // rank 0 only; 0: it has ended
} forked;

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// As much as there is room for; gives how much.
static size_t
ring_write(ring *to, const uint8_t *from, size_t count)
{
    uint64_t written = atomic_load_explicit(&to->written, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&to->read, memory_order_acquire);
    size_t at = written % RING_BYTES;
    size_t take = least(least(count, RING_BYTES - (size_t)(written - read)), RING_BYTES - at);
    memcpy(to->bytes + at, from, take);
    atomic_store_explicit(&to->written, written + take, memory_order_release);
    return take;
}

static size_t
ring_read(ring *from, uint8_t *to, size_t count)
{
    uint64_t read = atomic_load_explicit(&from->read, memory_order_relaxed);
    uint64_t written = atomic_load_explicit(&from->written, memory_order_acquire);
    size_t at = read % RING_BYTES;
    size_t take = least(least(count, (size_t)(written - read)), RING_BYTES - at);
    memcpy(to, from->bytes + at, take);
    atomic_store_explicit(&from->read, read + take, memory_order_release);
    return take;
}

static void
forked_free(forked *f)
{
    (void)munmap(f->rings, f->mapped);
    if (f->shared != NULL) {
        (void)munmap(f->shared, f->shared_bytes);
    }
    (void)close(f->memory);
    free(f);
}

_Noreturn static void
lost(const forked *f, uint32_t rank, int status)
{
    char how[64];
    if (WIFSIGNALED(status)) {
        (void)snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(status));
    } else {
        (void)snprintf(how, sizeof(how), "ended with code %d", WEXITSTATUS(status));
    }
    oct_log_error("GROUP-LOST",
                  "learner %u of %u (process %d) %s: this update cannot be finished, and the "
                  "learners end",
                  (unsigned)rank, (unsigned)f->size, (int)f->child[rank], how);
    _exit(EXIT_FAILURE);
}

// One that ended with code 0 has closed the group, and sent what it had to send.
static void
forked_look(void *arg)
{
    forked *f = arg;
    int status;
    for (uint32_t r = 1; f->rank == 0 && r < f->size; r++) {
        if (f->child[r] == 0 || waitpid(f->child[r], &status, WNOHANG) != f->child[r]) {
            continue;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            lost(f, r, status);
        }
        f->child[r] = 0;
    }
}

static void
forked_exchange(void *arg, const group_part *out, const group_part *in)
{
    forked *f = arg;
    size_t sent[GROUP_SIZE_MAX] = {0}, got[GROUP_SIZE_MAX] = {0};
    for (uint32_t round = 0;; round++) {
        bool is_done = true, has_moved = false;
        for (uint32_t r = 0; r < f->size; r++) {
            if (r == f->rank) {
                continue;
            }
            if (sent[r] < out[r].bytes) {
                size_t moved =
                    ring_write(f->rings + f->rank * f->size + r,
                               (const uint8_t *)out[r].data + sent[r], out[r].bytes - sent[r]);
                sent[r] += moved;
                has_moved |= moved > 0;
                is_done &= sent[r] == out[r].bytes;
            }
            if (got[r] < in[r].bytes) {
                size_t moved = ring_read(f->rings + r * f->size + f->rank,
                                         (uint8_t *)in[r].data + got[r], in[r].bytes - got[r]);
                got[r] += moved;
                has_moved |= moved > 0;
                is_done &= got[r] == in[r].bytes;
            }
        }
        if (is_done) {
            return;
        }
        round = has_moved ? 0 : round;
        group_wait(round);
        if (round % GROUP_LOOK_EVERY == GROUP_LOOK_EVERY - 1) {
            forked_look(f);
        }
    }
}

// Each rank gives the file its size, which is the same: it is there for whoever comes first.
static void *
forked_share(void *arg, size_t bytes)
{
    forked *f = arg;
    OCT_ASSERT(f->shared == NULL);
    if (ftruncate(f->memory, (off_t)bytes) != 0) {
        return NULL;
    }
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->memory, 0);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    f->shared = shared;
    f->shared_bytes = bytes;
    return shared;
}

// The others have left their last call, or are about to.
static void
forked_close(void *arg)
{
    forked *f = arg;
    for (uint32_t r = 1; f->rank == 0 && r < f->size; r++) {
        while (f->child[r] != 0 && waitpid(f->child[r], NULL, 0) < 0 && errno == EINTR) {
        }
    }
    forked_free(f);
}

// In a copy: what is for rank 0 is not for it, and it does not outlive rank 0.
static void
copy_begin(forked *f, uint32_t rank, pid_t parent)
{
    f->rank = rank;
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    // Ask first, look second: a parent that dies between the two is noticed by one of them.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
}

static void
copies_kill(const forked *f, uint32_t made)
{
    for (uint32_t r = 1; r < made; r++) {
        (void)kill(f->child[r], SIGKILL);
        (void)waitpid(f->child[r], NULL, 0);
    }
}

oct_err
group_fork(group **out, uint32_t size)
{
    OCT_ASSERT(size >= 1 && size <= GROUP_SIZE_MAX);
    *out = NULL;
    if (size == 1) {
        return OCT_OK;
    }
    size_t bytes = (size_t)size * size * sizeof(ring);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return OCT_EIO;
    }
    int file = memfd_create("octet-learners", MFD_CLOEXEC);
    if (file < 0) {
        (void)munmap(memory, bytes);
        return OCT_EIO;
    }
    forked *f = oct_alloc(sizeof(*f));
    *f = (forked){.size = size, .rings = memory, .mapped = bytes, .memory = file};
    pid_t parent = getpid();
    for (uint32_t r = 1; r < size; r++) {
        f->child[r] = fork();
        if (f->child[r] < 0) {
            copies_kill(f, r);
            forked_free(f);
            return OCT_EIO;
        }
        if (f->child[r] == 0) {
            copy_begin(f, r, parent);
            break;
        }
    }
    const group_link link = {.exchange = forked_exchange,
                             .share = forked_share,
                             .look = forked_look,
                             .close = forked_close,
                             .arg = f};
    *out = group_create(&link, f->rank, size);
    return OCT_OK;
}
