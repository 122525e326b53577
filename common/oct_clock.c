// Monotonic, wall-clock and CPU time.
#include "common/oct_clock.h"

#include <time.h>

static uint64_t
clock_read_ns(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
oct_clock_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t
oct_clock_wall_us(void)
{
    return clock_read_ns(CLOCK_REALTIME) / 1000;
}

uint64_t
oct_clock_thread_cpu_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t
oct_clock_process_cpu_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
