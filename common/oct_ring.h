#ifndef COMMON_OCT_RING_H
#define COMMON_OCT_RING_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"

// A bounded queue of pointers from one thread to one other.
//
// Threads: one producer calls push, one consumer calls pop; neither blocks unless it asks to.
// Owns: the slots, not what the pointers point to.
// Full: push answers OCT_EAGAIN. Empty: pop answers OCT_EAGAIN (OCT_ETIMEDOUT after a wait).
// Order: first in, first out.
typedef struct oct_ring oct_ring;

// capacity: 1..2^20 items.
oct_ring *oct_ring_create(uint32_t capacity);
void oct_ring_destroy(oct_ring *ring);
OCT_CHECKED oct_err oct_ring_push(oct_ring *ring, void *item);
OCT_CHECKED oct_err oct_ring_pop(oct_ring *ring, void **out);
// Wait at most timeout_ms for an item (the consumer) or for room (the producer). The other side
// wakes them, and so does oct_ring_close; after that both return OCT_ECLOSED, pop only once the
// ring is empty.
OCT_CHECKED oct_err oct_ring_push_wait(oct_ring *ring, void *item, uint32_t timeout_ms);
OCT_CHECKED oct_err oct_ring_pop_wait(oct_ring *ring, void **out, uint32_t timeout_ms);
void oct_ring_close(oct_ring *ring);
uint32_t oct_ring_count(const oct_ring *ring);

#endif // COMMON_OCT_RING_H
