// A bounded lock-free queue for one producer and one consumer. Either may sleep until the other
// side wakes it.
#include "common/oct_ring.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "common/oct_base.h"

#define CAPACITY_MAX (1u << 20)
#define CACHE_LINE   64

// head and tail count all items ever popped and pushed. They wrap at 2^32, and their difference is
// the number of items in the ring. Each side writes its own counter and keeps a copy of the
// other's, which it refreshes only when the copy says "full" or "empty": the fast path touches one
// shared cache line.
struct oct_ring {
    // written by the producer
    alignas(CACHE_LINE) _Atomic uint32_t tail;
    uint32_t head_seen; // the producer's copy of head
    // written by the consumer
    alignas(CACHE_LINE) _Atomic uint32_t head;
    uint32_t tail_seen; // the consumer's copy of tail
    // read by both, rarely written
    alignas(CACHE_LINE) uint32_t capacity;
    uint32_t mask; // slots - 1; there are a power of two of them, at least capacity
    void **slots;
    atomic_bool closed;
    atomic_bool producer_waits;
    atomic_bool consumer_waits;
    // used only to sleep
    alignas(CACHE_LINE) pthread_mutex_t mutex;
    pthread_cond_t room;
    pthread_cond_t items;
};

oct_ring *
oct_ring_create(uint32_t capacity)
{
    OCT_ASSERT(capacity >= 1 && capacity <= CAPACITY_MAX);
    oct_ring *ring = oct_alloc(sizeof(*ring));
    uint32_t slot_count = 1;
    while (slot_count < capacity) {
        slot_count *= 2;
    }
    ring->slots = oct_alloc(slot_count * sizeof(*ring->slots));
    ring->capacity = capacity;
    ring->mask = slot_count - 1;
    pthread_condattr_t attributes;
    OCT_ASSERT(pthread_condattr_init(&attributes) == 0);
    OCT_ASSERT(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    OCT_ASSERT(pthread_mutex_init(&ring->mutex, NULL) == 0);
    OCT_ASSERT(pthread_cond_init(&ring->room, &attributes) == 0);
    OCT_ASSERT(pthread_cond_init(&ring->items, &attributes) == 0);
    (void)pthread_condattr_destroy(&attributes);
    return ring;
}

void
oct_ring_destroy(oct_ring *ring)
{
    if (ring == NULL) {
        return;
    }
    (void)pthread_cond_destroy(&ring->items);
    (void)pthread_cond_destroy(&ring->room);
    (void)pthread_mutex_destroy(&ring->mutex);
    free(ring->slots);
    free(ring);
}

// Wakes the other side if it sleeps. The sleeper raises its flag and then checks the ring again;
// the other side changes the ring and then reads the flag. Both pairs are sequentially consistent,
// so at least one side sees the other's change, and no wakeup is lost.
static void
ring_wake(oct_ring *ring, atomic_bool *waits, pthread_cond_t *condition)
{
    if (atomic_load(waits)) {
        (void)pthread_mutex_lock(&ring->mutex);
        (void)pthread_cond_signal(condition);
        (void)pthread_mutex_unlock(&ring->mutex);
    }
}

oct_err
oct_ring_push(oct_ring *ring, void *item)
{
    if (atomic_load_explicit(&ring->closed, memory_order_relaxed)) {
        return OCT_ECLOSED;
    }
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - ring->head_seen == ring->capacity) {
        ring->head_seen = atomic_load(&ring->head);
        if (tail - ring->head_seen == ring->capacity) {
            return OCT_EAGAIN;
        }
    }
    ring->slots[tail & ring->mask] = item;
    atomic_store(&ring->tail, tail + 1);
    ring_wake(ring, &ring->consumer_waits, &ring->items);
    return OCT_OK;
}

oct_err
oct_ring_pop(oct_ring *ring, void **out)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head == ring->tail_seen) {
        // closed is read before tail, so that items pushed before the close are still delivered.
        bool closed = atomic_load(&ring->closed);
        ring->tail_seen = atomic_load(&ring->tail);
        if (head == ring->tail_seen) {
            return closed ? OCT_ECLOSED : OCT_EAGAIN;
        }
    }
    *out = ring->slots[head & ring->mask];
    atomic_store(&ring->head, head + 1);
    ring_wake(ring, &ring->producer_waits, &ring->room);
    return OCT_OK;
}

static struct timespec
deadline_after(uint32_t timeout_ms)
{
    struct timespec deadline;
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_sec++;
        deadline.tv_nsec -= 1000000000;
    }
    return deadline;
}

static bool
ring_is_full(oct_ring *ring)
{
    return atomic_load(&ring->tail) - atomic_load(&ring->head) == ring->capacity;
}

static bool
ring_is_empty(oct_ring *ring)
{
    return atomic_load(&ring->tail) == atomic_load(&ring->head);
}

// Sleeps while blocked(ring) holds and the ring is open, at most until the deadline.
static void
ring_sleep(oct_ring *ring, bool (*blocked)(oct_ring *), atomic_bool *waits,
           pthread_cond_t *condition, const struct timespec *deadline)
{
    bool in_time = true;
    (void)pthread_mutex_lock(&ring->mutex);
    atomic_store(waits, true);
    while (in_time && blocked(ring) && !atomic_load(&ring->closed)) {
        in_time = pthread_cond_timedwait(condition, &ring->mutex, deadline) != ETIMEDOUT;
    }
    atomic_store(waits, false);
    (void)pthread_mutex_unlock(&ring->mutex);
}

oct_err
oct_ring_push_wait(oct_ring *ring, void *item, uint32_t timeout_ms)
{
    oct_err err = oct_ring_push(ring, item);
    if (err != OCT_EAGAIN || timeout_ms == 0) {
        return err == OCT_EAGAIN ? OCT_ETIMEDOUT : err;
    }
    struct timespec deadline = deadline_after(timeout_ms);
    ring_sleep(ring, ring_is_full, &ring->producer_waits, &ring->room, &deadline);
    err = oct_ring_push(ring, item);
    return err == OCT_EAGAIN ? OCT_ETIMEDOUT : err;
}

oct_err
oct_ring_pop_wait(oct_ring *ring, void **out, uint32_t timeout_ms)
{
    oct_err err = oct_ring_pop(ring, out);
    if (err != OCT_EAGAIN || timeout_ms == 0) {
        return err == OCT_EAGAIN ? OCT_ETIMEDOUT : err;
    }
    struct timespec deadline = deadline_after(timeout_ms);
    ring_sleep(ring, ring_is_empty, &ring->consumer_waits, &ring->items, &deadline);
    err = oct_ring_pop(ring, out);
    return err == OCT_EAGAIN ? OCT_ETIMEDOUT : err;
}

void
oct_ring_close(oct_ring *ring)
{
    (void)pthread_mutex_lock(&ring->mutex);
    atomic_store(&ring->closed, true);
    (void)pthread_cond_broadcast(&ring->room);
    (void)pthread_cond_broadcast(&ring->items);
    (void)pthread_mutex_unlock(&ring->mutex);
}

uint32_t
oct_ring_count(const oct_ring *ring)
{
    // head is read first, so the difference may exceed the capacity but cannot be negative.
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return OCT_MIN(tail - head, ring->capacity);
}
