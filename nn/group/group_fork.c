// A group of forked processes.
//
// Each pair of ranks has two rings of bytes in shared memory, one per direction, with one writer
// and one reader. An exchange moves what fits, in both directions with all ranks, until all parts
// have been sent and received; so parts may be larger than a ring, and two ranks that send to each
// other cannot block each other.
//
// Waiting. A rank that moved bytes rings the other rank's bell, a counter. A rank that could move
// nothing spins for a while on its own counter and then sleeps on it (futex). It reads the counter
// before it tries to move bytes, so it cannot miss a ring in between.
//
// Death. A copy asks the kernel to kill it when rank 0 dies. Rank 0 checks with waitpid whenever it
// has slept for LOOK_NS without a ring. A copy that ended with code 0 has closed the group after
// its last call; any other end makes rank 0 log GROUP-LOST and exit, and the kernel then kills the
// rest.
#include "nn/group/group_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "nn/group/group_state.h"

#define LINE       64 // bytes in a cache line
#define PAGE       4096
#define RING_BYTES (1u << 18) // half of a near cache
#define SPINS      500u       // about 20 microseconds, before a waiting rank sleeps
#define LOOK_NS    20000000   // a sleeping rank checks for dead ranks this often

// A ring with one writer and one reader. written and read count all bytes ever, so that written -
// read is what the ring holds; each is on its own cache line.
typedef struct ring {
    _Alignas(LINE) atomic_uint_fast64_t written;
    _Alignas(LINE) atomic_uint_fast64_t read;
    _Alignas(LINE) uint8_t bytes[RING_BYTES];
} ring;

// The bell of a rank. Other ranks ring it when they have written or read, and wake the rank if it
// sleeps.
typedef struct bell {
    _Alignas(LINE) atomic_uint rung; // rings so far
    atomic_uint sleeps;              // 1: the rank sleeps on rung
} bell;

typedef struct forked {
    uint32_t rank, size;
    ring *rings;                 // [size][size], index sender * size + receiver
    bell *bells;                 // [size], in the same memory, after the rings
    size_t mapped;               // bytes of that memory
    int memory;                  // a descriptor that all ranks have, for forked_share
    size_t shared_bytes;         // bytes of that memory in use
    pid_t child[GROUP_SIZE_MAX]; // rank 0 only; 0: the rank has ended
} forked;

// Writes as much of `count` bytes as there is room for, up to the end of the ring's array; returns
// how much.
static size_t
ring_write(ring *to, const uint8_t *from, size_t count)
{
    uint64_t written = atomic_load_explicit(&to->written, memory_order_relaxed);
    uint64_t read = atomic_load_explicit(&to->read, memory_order_acquire);
    size_t at = written % RING_BYTES;
    size_t take = OCT_MIN(OCT_MIN(count, RING_BYTES - (size_t)(written - read)), RING_BYTES - at);
    memcpy(to->bytes + at, from, take);
    atomic_store_explicit(&to->written, written + take, memory_order_release);
    return take;
}

// Reads likewise.
static size_t
ring_read(ring *from, uint8_t *to, size_t count)
{
    uint64_t read = atomic_load_explicit(&from->read, memory_order_relaxed);
    uint64_t written = atomic_load_explicit(&from->written, memory_order_acquire);
    size_t at = read % RING_BYTES;
    size_t take = OCT_MIN(OCT_MIN(count, (size_t)(written - read)), RING_BYTES - at);
    memcpy(to, from->bytes + at, take);
    atomic_store_explicit(&from->read, read + take, memory_order_release);
    return take;
}

static void
forked_free(forked *f)
{
    (void)munmap(f->rings, f->mapped);
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
        (void)snprintf(how, sizeof(how), "exited with code %d", WEXITSTATUS(status));
    }
    oct_log_error("GROUP-LOST",
                  "learner %u of %u (process %d) %s: this update cannot be finished, and the "
                  "learners end",
                  (unsigned)rank, (unsigned)f->size, (int)f->child[rank], how);
    _exit(EXIT_FAILURE);
}

// Exits if a rank has died. A rank that ended with code 0 has closed the group and sent all that it
// had to send.
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
bell_ring(bell *b)
{
    (void)atomic_fetch_add(&b->rung, 1);
    if (atomic_load(&b->sleeps) != 0) {
        (void)syscall(SYS_futex, &b->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

// Waits until the bell has been rung since `heard` was read, or LOOK_NS have passed without a ring;
// then it checks for dead ranks. A waiting rank sleeps, so that it leaves its core to others,
// perhaps to the rank that it waits for.
static void
bell_wait(forked *f, uint32_t heard)
{
    bell *own = &f->bells[f->rank];
    for (uint32_t spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&own->rung, memory_order_acquire) != heard) {
            return;
        }
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    const struct timespec time = {.tv_nsec = LOOK_NS};
    atomic_store(&own->sleeps, 1);
    long result = syscall(SYS_futex, &own->rung, FUTEX_WAIT, heard, &time, NULL, 0);
    bool is_late = result != 0 && errno == ETIMEDOUT;
    atomic_store(&own->sleeps, 0);
    if (is_late) {
        forked_look(f);
    }
}

// Moves as much as possible now of the parts to and from rank r; returns true if bytes were moved.
static bool
parts_move(forked *f, uint32_t r, group_part *out, group_part *in)
{
    size_t sent = 0, got = 0;
    if (out->bytes > 0) {
        sent = ring_write(f->rings + f->rank * f->size + r, out->data, out->bytes);
        *out = (group_part){(uint8_t *)out->data + sent, out->bytes - sent};
    }
    if (in->bytes > 0) {
        got = ring_read(f->rings + r * f->size + f->rank, in->data, in->bytes);
        *in = (group_part){(uint8_t *)in->data + got, in->bytes - got};
    }
    if (sent + got > 0) {
        bell_ring(&f->bells[r]);
    }
    return sent + got > 0;
}

static void
forked_exchange(void *arg, const group_part *out, const group_part *in)
{
    forked *f = arg;
    group_part to[GROUP_SIZE_MAX], from[GROUP_SIZE_MAX];
    memcpy(to, out, f->size * sizeof(*to));
    memcpy(from, in, f->size * sizeof(*from));
    to[f->rank] = from[f->rank] = (group_part){0};
    for (;;) {
        uint32_t heard = atomic_load(&f->bells[f->rank].rung);
        bool is_done = true, has_moved = false;
        for (uint32_t r = 0; r < f->size; r++) {
            has_moved |= parts_move(f, r, &to[r], &from[r]);
            is_done &= to[r].bytes + from[r].bytes == 0;
        }
        if (is_done) {
            return;
        }
        if (!has_moved) {
            bell_wait(f, heard);
        }
    }
}

// Maps the next part of the file. Every rank extends the file itself and none shrinks it, so that
// the memory exists no matter which rank comes first.
static void *
forked_share(void *arg, size_t bytes)
{
    forked *f = arg;
    size_t at = f->shared_bytes, whole = (bytes + PAGE - 1) / PAGE * PAGE;
    errno = posix_fallocate(f->memory, (off_t)at, (off_t)whole);
    if (errno != 0) {
        return NULL;
    }
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->memory, (off_t)at);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    f->shared_bytes += whole;
    return shared;
}

// Rank 0 waits for the copies to end: they have left their last call, or are about to.
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

// Sets a copy up as a rank that does not outlive rank 0.
static void
copy_begin(forked *f, uint32_t rank, pid_t parent)
{
    f->rank = rank;
    group_follow();
    // First ask for the signal, then check the parent: one of the two notices a parent that dies in
    // between.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
}

// Ends the copies that were made before a fork failed.
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
    size_t bytes = (size_t)size * (size * sizeof(ring) + sizeof(bell));
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
    f->bells = (bell *)(void *)(f->rings + (size_t)size * size);
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
