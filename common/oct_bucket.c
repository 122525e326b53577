// Leaky buckets: each peer may do something `most` times at once, and gets the uses back over time.
#include "common/oct_bucket.h"

#include <stddef.h>
#include <string.h>

void
oct_bucket_init(oct_bucket *allowance, double most, double a_second)
{
    *allowance = (oct_bucket){.most = most, .a_ms = a_second / 1000};
}

// Finds a peer's bucket and lets it leak until now. NULL: the peer has no bucket, so it has used
// nothing.
static oct_bucket_peer *
peer_find(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms)
{
    for (size_t i = 0; i < OCT_BUCKET_PEERS; i++) {
        oct_bucket_peer *peer = &allowance->peers[i];
        if (peer->is_there && memcmp(peer->id, id, OCT_BUCKET_ID_BYTES) == 0) {
            double back = (double)(now_ms - peer->seen_ms) * allowance->a_ms;
            peer->used = peer->used > back ? peer->used - back : 0;
            peer->seen_ms = now_ms;
            return peer;
        }
    }
    return NULL;
}

// Finds a peer's bucket, or makes one: in a free slot, else in the slot of the peer that was seen
// longest ago, which starts again with a full allowance.
static oct_bucket_peer *
peer_make(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms)
{
    oct_bucket_peer *peer = peer_find(allowance, id, now_ms);
    if (peer == NULL) {
        peer = &allowance->peers[0];
        for (size_t i = 0; i < OCT_BUCKET_PEERS && peer->is_there; i++) {
            oct_bucket_peer *other = &allowance->peers[i];
            if (!other->is_there || other->seen_ms < peer->seen_ms) {
                peer = other;
            }
        }
        *peer = (oct_bucket_peer){.is_there = true, .seen_ms = now_ms};
        memcpy(peer->id, id, OCT_BUCKET_ID_BYTES);
    }
    return peer;
}

bool
oct_bucket_is_left(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms)
{
    const oct_bucket_peer *peer = peer_find(allowance, id, now_ms);
    return peer == NULL || peer->used + 1 <= allowance->most;
}

void
oct_bucket_use(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms)
{
    peer_make(allowance, id, now_ms)->used += 1;
}

void
oct_bucket_give(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms)
{
    oct_bucket_peer *peer = peer_find(allowance, id, now_ms);
    if (peer != NULL) {
        peer->used = peer->used > 1 ? peer->used - 1 : 0;
    }
}

bool
oct_bucket_take(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms,
                uint64_t *refused)
{
    oct_bucket_peer *peer = peer_make(allowance, id, now_ms);
    if (peer->used + 1 > allowance->most) {
        peer->refused++;
        return false;
    }
    peer->used += 1;
    *refused = peer->refused;
    peer->refused = 0;
    return true;
}
