#ifndef COMMON_OCT_CLOCK_H
#define COMMON_OCT_CLOCK_H

#include <stdint.h>

// Monotonic nanoseconds, and wall-clock microseconds since 1970. Threads: any.
uint64_t oct_clock_ns(void);
uint64_t oct_clock_wall_us(void);
// CPU nanoseconds used by the calling thread, and by the whole process.
uint64_t oct_clock_thread_cpu_ns(void);
uint64_t oct_clock_process_cpu_ns(void);

#endif // COMMON_OCT_CLOCK_H
