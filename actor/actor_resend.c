// The time-out of batches that replay has not acknowledged, and how many may be on their way.
#include "actor/actor_resend.h"

#include <math.h>

#include "common/oct_base.h"

#define MEAN_SHARE      0.125 // weight of a new measurement: alpha of RFC 6298
#define DEVIATION_SHARE 0.25  // beta
#define DEVIATIONS      4
#define FIRST_NS_A_BYTE 100        // 80 Mbit/s, while nothing is measured
#define WINDOW_MAX      (1u << 30) // no limit but the actor's ring

void
actor_resend_init(actor_resend *resend)
{
    *resend = (actor_resend){.window = 1, .timeout_ns = ACTOR_RESEND_NS_MIN};
}

void
actor_resend_sent(actor_resend *resend, uint64_t sequence, size_t bytes, uint32_t others,
                  uint64_t now_ns)
{
    // Without a measurement, a large batch needs the time of a narrow line.
    if (resend->mean_ns == 0) {
        uint64_t first_ns = OCT_MIN(FIRST_NS_A_BYTE * (uint64_t)bytes, ACTOR_RESEND_NS_MAX);
        resend->timeout_ns = OCT_MAX(resend->timeout_ns, first_ns);
    }
    if (others == 0) {
        resend->since_ns = now_ns;
    }
    // One batch at a time is timed, and none that may have been sent twice.
    if (resend->timed == 0 && sequence > resend->repeated) {
        resend->timed = sequence;
        resend->timed_ns = now_ns;
    }
    resend->last = OCT_MAX(resend->last, sequence);
}

// RFC 6298, section 2.
static void
measured(actor_resend *resend, double took_ns)
{
    if (resend->mean_ns == 0) {
        resend->mean_ns = took_ns;
        resend->deviation_ns = took_ns / 2;
    } else {
        resend->deviation_ns +=
            DEVIATION_SHARE * (fabs(took_ns - resend->mean_ns) - resend->deviation_ns);
        resend->mean_ns += MEAN_SHARE * (took_ns - resend->mean_ns);
    }
    double timeout_ns = resend->mean_ns + DEVIATIONS * resend->deviation_ns;
    timeout_ns = OCT_MAX(timeout_ns, (double)ACTOR_RESEND_NS_MIN);
    resend->timeout_ns = (uint64_t)OCT_MIN(timeout_ns, (double)ACTOR_RESEND_NS_MAX);
    resend->window = OCT_MIN(2 * resend->window, WINDOW_MAX);
}

void
actor_resend_acked(actor_resend *resend, uint64_t sequence, uint64_t now_ns)
{
    resend->since_ns = now_ns;
    if (resend->timed != 0 && sequence >= resend->timed) {
        measured(resend, (double)(now_ns - resend->timed_ns));
        resend->timed = 0;
    }
}

void
actor_resend_held(actor_resend *resend, uint64_t now_ns)
{
    resend->since_ns = now_ns;
    resend->timed = 0;
}

bool
actor_resend_is_late(actor_resend *resend, uint64_t now_ns)
{
    if (now_ns - resend->since_ns <= resend->timeout_ns) {
        return false;
    }
    resend->since_ns = now_ns;
    resend->timed = 0;
    resend->repeated = resend->last;
    resend->window = 1;
    resend->timeout_ns = OCT_MIN(2 * resend->timeout_ns, ACTOR_RESEND_NS_MAX);
    return true;
}
