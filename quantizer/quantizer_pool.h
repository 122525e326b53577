#ifndef QUANTIZER_QUANTIZER_POOL_H
#define QUANTIZER_QUANTIZER_POOL_H

#include "quantizer/quantizer_stage.h"

// Publications and their buffers, used again and again: the loop thread's last release of one sends
// it back to the stage's thread.
//
// Threads: make and discard on the stage's thread (or while there is none), taken and close on the
// loop thread, which is also the one that releases. Owns: publications that are not taken.
typedef struct quantizer_pool quantizer_pool;

quantizer_pool *quantizer_pool_create(size_t params);
// A publication with one reference, all else as it was: params has room for all parameters.
quantizer_publication *quantizer_pool_make(quantizer_pool *pool);
// Room for the complete bytes; what was there is lost.
void quantizer_pool_fit(quantizer_publication *publication, size_t length);
// Copies the bytes of a delta into the publication.
void quantizer_pool_set_delta(quantizer_publication *publication, const uint8_t *bytes,
                              size_t length);
// Made, but not to be published.
void quantizer_pool_discard(quantizer_publication *publication);
// The loop thread has it now.
void quantizer_pool_taken(quantizer_pool *pool);
// The stage's thread has ended; publications that are still referenced free themselves later.
void quantizer_pool_close(quantizer_pool *pool);

#endif // QUANTIZER_QUANTIZER_POOL_H
