// Notices a session that counts as replaced and keeps sending.
#include "replay/replay_stale.h"

#define SECOND_NS UINT64_C(1000000000)

bool
replay_stale_came(replay_stale *stale, uint64_t session, uint64_t now_ns)
{
    if (stale->session != session) {
        *stale = (replay_stale){.session = session, .since_ns = now_ns};
    }
    stale->count++;
    if (stale->is_reported || stale->count < REPLAY_STALE_BATCHES ||
        now_ns - stale->since_ns < REPLAY_STALE_S * SECOND_NS) {
        return false;
    }
    stale->is_reported = true;
    return true;
}

void
replay_stale_end(replay_stale *stale)
{
    stale->session = 0; // no session has number 0
}
