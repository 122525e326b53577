// The page of shared memory on which a process shows its supervisor that its threads make progress.
#include "common/oct_pulse.h"

#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"

static oct_pulse_page own_page;
static oct_pulse_page *shown = &own_page; // own_page until oct_pulse_join
// time of each thread's last beat, by oct_clock_ns, or later
static _Atomic uint64_t beat_ns[OCT_PULSE_THREADS];
static _Thread_local int own_thread = -1; // index of this thread's beat; -1: this thread never beat

void
oct_pulse_beat(oct_pulse_thread thread, oct_pulse_doing doing)
{
    // Only this thread writes its beat, so no atomic addition is needed. The time is stored before
    // the beat: a reader that sees the beat sees this time or a later one.
    _Atomic uint64_t *place = &shown->beat[thread];
    own_thread = (int)thread;
    atomic_store_explicit(&beat_ns[thread], oct_clock_ns(), memory_order_relaxed);
    uint64_t beats = atomic_load_explicit(place, memory_order_relaxed) / 4 + 1;
    atomic_store_explicit(place, 4 * beats + (uint64_t)doing, memory_order_release);
}

void
oct_pulse_beat_again(void)
{
    if (own_thread >= 0) {
        oct_pulse_thread thread = (oct_pulse_thread)own_thread;
        oct_pulse_beat(thread, oct_pulse_doing_of(oct_pulse_last_beat(thread)));
    }
}

uint64_t
oct_pulse_last_beat(oct_pulse_thread thread)
{
    return atomic_load_explicit(&shown->beat[thread], memory_order_acquire);
}

double
oct_pulse_doing_s(oct_pulse_thread thread, oct_pulse_doing doing)
{
    if (oct_pulse_doing_of(oct_pulse_last_beat(thread)) != doing) {
        return 0;
    }
    uint64_t at_ns = atomic_load_explicit(&beat_ns[thread], memory_order_relaxed);
    uint64_t now_ns = oct_clock_ns();
    return now_ns > at_ns ? 1e-9 * (double)(now_ns - at_ns) : 0;
}

void
oct_pulse_write_begin(void)
{
    atomic_fetch_add_explicit(&shown->writing, 1, memory_order_relaxed);
}

void
oct_pulse_write_end(void)
{
    atomic_fetch_sub_explicit(&shown->writing, 1, memory_order_relaxed);
}

void
oct_pulse_moved(size_t bytes)
{
    atomic_fetch_add_explicit(&shown->bytes, bytes, memory_order_relaxed);
}

static oct_err
page_map(oct_pulse_page **out, int fd)
{
    void *page = mmap(NULL, sizeof(oct_pulse_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        return OCT_EIO;
    }
    *out = page;
    return OCT_OK;
}

oct_err
oct_pulse_join(int fd)
{
    if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(oct_pulse_page)) {
        return OCT_EINVAL;
    }
    return page_map(&shown, fd);
}

bool
oct_pulse_is_joined(void)
{
    return shown != &own_page;
}

uint64_t
oct_pulse_restarts(void)
{
    return atomic_load_explicit(&shown->restarts, memory_order_relaxed);
}

uint64_t
oct_pulse_hangs(void)
{
    return atomic_load_explicit(&shown->hangs, memory_order_relaxed);
}

oct_err
oct_pulse_open(oct_pulse_page **out, int *fd)
{
    *fd = memfd_create("octet-pulse", MFD_CLOEXEC);
    if (*fd < 0) {
        return OCT_EIO;
    }
    if (ftruncate(*fd, sizeof(oct_pulse_page)) != 0 || page_map(out, *fd) != OCT_OK) {
        (void)close(*fd);
        return OCT_EIO;
    }
    return OCT_OK;
}

void
oct_pulse_clear(oct_pulse_page *page)
{
    for (int i = 0; i < OCT_PULSE_THREADS; i++) {
        atomic_store_explicit(&page->beat[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&page->writing, 0, memory_order_relaxed);
    atomic_store_explicit(&page->bytes, 0, memory_order_relaxed);
}

void
oct_pulse_tell(oct_pulse_page *page, uint64_t restarts, uint64_t hangs)
{
    atomic_store_explicit(&page->restarts, restarts, memory_order_relaxed);
    atomic_store_explicit(&page->hangs, hangs, memory_order_relaxed);
}

void
oct_pulse_close(oct_pulse_page *page, int fd)
{
    if (page != NULL) {
        (void)munmap(page, sizeof(*page));
        (void)close(fd);
    }
}
