// Limits the log lines about one kind of bad message, which a peer may send at any rate.
#include "common/oct_log_limit.h"

#include "common/oct_clock.h"

#define COMPLAIN_NS UINT64_C(10000000000) // between two log lines

bool
oct_log_limit_is_due(oct_log_limit *complaint)
{
    uint64_t now_ns = oct_clock_ns();
    if (complaint->count++ > 0 && now_ns - complaint->logged_ns < COMPLAIN_NS) {
        return false;
    }
    complaint->logged_ns = now_ns;
    return true;
}
