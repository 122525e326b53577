// Counts what each of many has done lately, so that one who does too much of it is refused.
#include "common/oct_allowance.h"

#include <stddef.h>
#include <string.h>

void
oct_allowance_init(oct_allowance *allowance, double most, double a_second)
{
    *allowance = (oct_allowance){.most = most, .a_ms = a_second / 1000};
}

static oct_allowance_peer *
peer_find(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES], uint64_t now_ms)
{
    for (size_t i = 0; i < OCT_ALLOWANCE_PEERS; i++) {
        oct_allowance_peer *peer = &allowance->peers[i];
        if (peer->is_there && memcmp(peer->id, id, OCT_ALLOWANCE_ID_BYTES) == 0) {
            double back = (double)(now_ms - peer->seen_ms) * allowance->a_ms;
            peer->used = peer->used > back ? peer->used - back : 0;
            peer->seen_ms = now_ms;
            return peer;
        }
    }
    return NULL;
}

// It, else the place that it gets.
static oct_allowance_peer *
peer_make(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES], uint64_t now_ms)
{
    oct_allowance_peer *peer = peer_find(allowance, id, now_ms);
    if (peer == NULL) {
        peer = &allowance->peers[0];
        for (size_t i = 0; i < OCT_ALLOWANCE_PEERS && peer->is_there; i++) {
            oct_allowance_peer *other = &allowance->peers[i];
            if (!other->is_there || other->seen_ms < peer->seen_ms) {
                peer = other;
            }
        }
        *peer = (oct_allowance_peer){.is_there = true, .seen_ms = now_ms};
        memcpy(peer->id, id, OCT_ALLOWANCE_ID_BYTES);
    }
    return peer;
}

bool
oct_allowance_is_left(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                      uint64_t now_ms)
{
    const oct_allowance_peer *peer = peer_find(allowance, id, now_ms);
    return peer == NULL || peer->used + 1 <= allowance->most;
}

void
oct_allowance_use(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                  uint64_t now_ms)
{
    peer_make(allowance, id, now_ms)->used += 1;
}

void
oct_allowance_give(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                   uint64_t now_ms)
{
    oct_allowance_peer *peer = peer_find(allowance, id, now_ms);
    if (peer != NULL) {
        peer->used = peer->used > 1 ? peer->used - 1 : 0;
    }
}

bool
oct_allowance_take(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                   uint64_t now_ms, uint64_t *refused)
{
    oct_allowance_peer *peer = peer_make(allowance, id, now_ms);
    if (peer->used + 1 > allowance->most) {
        peer->refused++;
        return false;
    }
    peer->used += 1;
    *refused = peer->refused;
    peer->refused = 0;
    return true;
}
