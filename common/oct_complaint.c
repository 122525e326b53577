// Bad messages of a kind, which come again and again: when the log is to tell of them.
#include "common/oct_complaint.h"

#include "common/oct_clock.h"

#define COMPLAIN_NS UINT64_C(10000000000)

bool
oct_complaint_is_due(oct_complaint *complaint)
{
    uint64_t now_ns = oct_clock_ns();
    if (complaint->count++ > 0 && now_ns - complaint->logged_ns < COMPLAIN_NS) {
        return false;
    }
    complaint->logged_ns = now_ns;
    return true;
}
