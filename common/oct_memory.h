#ifndef COMMON_OCT_MEMORY_H
#define COMMON_OCT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// Memory that this process may still take. Who reserves a large part of it at once asks first:
// Linux gives pages out before it has them, and kills processes when they are written to.
//
// Threads: any.

// Of what is available, so much may be reserved at once.
#define OCT_MEMORY_SHARE 0.9

// Bytes that this process may have in all when nothing else takes any: the machine's, or less where
// a control group or the process itself (RLIMIT_AS, RLIMIT_DATA) has a limit.
uint64_t oct_memory_limit(void);
// Bytes that this process may still take without being killed for it or refused them: what the
// kernel says is available, or less where one of those limits is nearer.
uint64_t oct_memory_available(void);
// Whether so many bytes may be reserved of available ones.
bool oct_memory_suffices(uint64_t available, uint64_t needed);

#endif // COMMON_OCT_MEMORY_H
