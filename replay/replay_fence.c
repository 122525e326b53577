// Refuses learners that a newer one has replaced, and learners of another run.
#include "replay/replay_fence.h"

#include <inttypes.h>

#include "common/oct_reason.h"

#define SECOND_NS UINT64_C(1000000000)

oct_err
replay_fence_check(const replay_fence *fence, uint64_t run_id, uint64_t epoch, uint64_t now_ns,
                   oct_reason *why)
{
    if (fence->run_id == run_id && epoch < fence->epoch) {
        return oct_fail(why, OCT_ESTALE,
                        "another learner has taken over run %016" PRIx64 ": epoch %" PRIu64
                        " is here, this is %" PRIu64,
                        run_id, fence->epoch, epoch);
    }
    uint64_t silent_ns = now_ns - fence->heard_ns;
    if (fence->run_id != 0 && fence->run_id != run_id && fence->heard_ns != 0 &&
        silent_ns < REPLAY_LEARNER_SILENT_S * SECOND_NS) {
        return oct_fail(why, OCT_EAGAIN,
                        "this replay serves run %016" PRIx64
                        ", whose learner was heard from %.1f s ago; start another octet-replay "
                        "for run %016" PRIx64 ", or stop that learner",
                        fence->run_id, (double)silent_ns / (double)SECOND_NS, run_id);
    }
    return OCT_OK;
}

bool
replay_fence_is_of(const replay_fence *fence, uint64_t run_id, uint64_t epoch)
{
    return fence->run_id == run_id && fence->epoch == epoch;
}

void
replay_fence_note(replay_fence *fence, uint64_t run_id, uint64_t epoch, uint64_t now_ns)
{
    *fence = (replay_fence){.run_id = run_id, .epoch = epoch, .heard_ns = now_ns};
}

void
replay_fence_release(replay_fence *fence, uint64_t run_id, uint64_t epoch)
{
    if (replay_fence_is_of(fence, run_id, epoch)) {
        fence->heard_ns = 0;
    }
}
