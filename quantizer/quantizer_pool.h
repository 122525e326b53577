#ifndef QUANTIZER_QUANTIZER_POOL_H
#define QUANTIZER_QUANTIZER_POOL_H

#include "quantizer/quantizer_stage.h"

// A pool that reuses publications and their buffers. When the loop thread releases the last
// reference to a publication, the publication returns to the stage's thread.
//
// Threads: make, fit, set_delta and discard on the stage's thread, or on another thread while there
// is no stage thread; taken, close and quantizer_publication_release on the loop thread. Owns:
// publications that were returned and not made again. Full: when 8 returned publications wait,
// another one is freed.
typedef struct quantizer_pool quantizer_pool;

// params: the count of floats in the params of each publication.
quantizer_pool *quantizer_pool_create(size_t params);
// Returns a publication with one reference and without a delta. Its other fields keep the values of
// their last use; params has room for all parameters.
quantizer_publication *quantizer_pool_make(quantizer_pool *pool);
// Sets length and makes room for that many bytes; the content of bytes is then undefined.
void quantizer_pool_fit(quantizer_publication *publication, size_t length);
// Copies the bytes of a delta into the publication.
void quantizer_pool_set_delta(quantizer_publication *publication, const uint8_t *bytes,
                              size_t length);
// Frees a publication that the loop thread did not take.
void quantizer_pool_discard(quantizer_publication *publication);
// Counts a publication that the loop thread has taken, until the thread releases it.
void quantizer_pool_taken(quantizer_pool *pool);
// Closes the pool after the stage's thread has ended. Publications that the loop thread still holds
// are freed at their last release, and the last one frees the pool.
void quantizer_pool_close(quantizer_pool *pool);

#endif // QUANTIZER_QUANTIZER_POOL_H
