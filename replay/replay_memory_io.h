#ifndef REPLAY_REPLAY_MEMORY_IO_H
#define REPLAY_REPLAY_MEMORY_IO_H

#include <stdint.h>

// Bytes that this process may still take without being killed for it: what the kernel says is
// available, or less where a control group's limit is nearer. Threads: any.
uint64_t replay_memory_available(void);

#endif // REPLAY_REPLAY_MEMORY_IO_H
