// Recycles publications and their buffers between the loop thread and the stage's thread.
#include "quantizer/quantizer_pool.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_ring.h"

// Returned publications beyond this count are freed, so that the memory of a burst is not kept.
#define RESTING_MAX 8

struct quantizer_pool {
    size_t params;      // floats in each publication's params
    oct_ring *returned; // publications: loop -> stage
    uint32_t taken;     // publications that the loop thread holds; loop thread only
    bool closed;        // loop thread only
};

// A publication with its buffers. The publication is the first member, so a pointer to it is a
// pointer to the whole.
struct pooled {
    quantizer_publication publication;
    quantizer_pool *pool; // NULL: made by quantizer_publication_create
    size_t bytes_room;    // bytes allocated for publication.bytes
    uint8_t *delta;       // publication.delta points here, or is NULL
    size_t delta_room;    // bytes allocated for delta
};

static struct pooled *
pooled_of(quantizer_publication *publication)
{
    return (struct pooled *)publication;
}

static void
pooled_free(struct pooled *pooled)
{
    free(pooled->publication.bytes);
    free(pooled->publication.params);
    free(pooled->delta);
    free(pooled);
}

quantizer_pool *
quantizer_pool_create(size_t params)
{
    quantizer_pool *pool = oct_alloc(sizeof(*pool));
    pool->params = params;
    pool->returned = oct_ring_create(RESTING_MAX);
    return pool;
}

quantizer_publication *
quantizer_pool_make(quantizer_pool *pool)
{
    void *item;
    if (oct_ring_pop(pool->returned, &item) != OCT_OK) {
        struct pooled *pooled = oct_alloc(sizeof(*pooled));
        pooled->pool = pool;
        pooled->publication.params = oct_alloc(pool->params * sizeof(float));
        item = pooled;
    }
    quantizer_publication *publication = item;
    publication->references = 1;
    publication->delta = NULL;
    publication->delta_length = 0;
    publication->base_version = 0;
    return publication;
}

void
quantizer_pool_fit(quantizer_publication *publication, size_t length)
{
    struct pooled *pooled = pooled_of(publication);
    if (length > pooled->bytes_room) {
        free(publication->bytes);
        publication->bytes = oct_alloc(length);
        pooled->bytes_room = length;
    }
    publication->length = length;
}

void
quantizer_pool_set_delta(quantizer_publication *publication, const uint8_t *bytes, size_t length)
{
    struct pooled *pooled = pooled_of(publication);
    if (length > pooled->delta_room) {
        free(pooled->delta);
        pooled->delta_room = length + length / 4; // the next deltas have a similar length
        pooled->delta = oct_alloc(pooled->delta_room);
    }
    memcpy(pooled->delta, bytes, length);
    publication->delta = pooled->delta;
    publication->delta_length = length;
}

void
quantizer_pool_discard(quantizer_publication *publication)
{
    pooled_free(pooled_of(publication));
}

void
quantizer_pool_taken(quantizer_pool *pool)
{
    pool->taken++;
}

// Frees the pool once it is closed and the loop thread holds no publication.
static void
pool_end(quantizer_pool *pool)
{
    if (pool->closed && pool->taken == 0) {
        oct_ring_destroy(pool->returned);
        free(pool);
    }
}

void
quantizer_pool_close(quantizer_pool *pool)
{
    void *item;
    while (oct_ring_pop(pool->returned, &item) == OCT_OK) {
        pooled_free(item);
    }
    pool->closed = true;
    pool_end(pool);
}

quantizer_publication *
quantizer_publication_create(void)
{
    struct pooled *pooled = oct_alloc(sizeof(*pooled));
    pooled->publication.references = 1;
    return &pooled->publication;
}

quantizer_publication *
quantizer_publication_retain(quantizer_publication *publication)
{
    publication->references++;
    return publication;
}

void
quantizer_publication_release(quantizer_publication *publication)
{
    if (publication == NULL || --publication->references > 0) {
        return;
    }
    struct pooled *pooled = pooled_of(publication);
    quantizer_pool *pool = pooled->pool;
    if (pool == NULL) {
        pooled_free(pooled);
        return;
    }
    pool->taken--;
    if (pool->closed || oct_ring_push(pool->returned, publication) != OCT_OK) {
        pooled_free(pooled);
    }
    pool_end(pool);
}
