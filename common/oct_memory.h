#ifndef COMMON_OCT_MEMORY_H
#define COMMON_OCT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// Measures the memory that this process may still use. Code asks before it allocates a large part
// of the memory: Linux grants memory that it does not have, and kills processes that write to it.
//
// Threads: any.

// The fraction of the available memory that one allocation may take. The rest is for everything
// else on the machine.
#define OCT_MEMORY_SHARE 0.9

// Returns the bytes that this process could have if no other process used any: the memory of the
// machine, or a lower limit of a control group or of the process (RLIMIT_AS, RLIMIT_DATA).
uint64_t oct_memory_limit(void);
// Returns the bytes that this process can still allocate and use without being refused or killed:
// what the kernel reports as available, or less if one of those limits is nearer.
uint64_t oct_memory_available(void);
// Returns true if `needed` bytes are within that fraction of the available ones.
bool oct_memory_suffices(uint64_t available, uint64_t needed);

#endif // COMMON_OCT_MEMORY_H
