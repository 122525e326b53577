#ifndef NET_NET_THREADS_H
#define NET_NET_THREADS_H

#include <stddef.h>

#include "common/oct_err.h"

// Whether this process can start the threads that NNG, libuv and the gate need. To be known before
// the first socket: where NNG cannot start one of its own, it crashes or waits for ever
// (libnng 1.5.2).
//
// As many threads as are needed are started and ended; once in a process, if they can be.
// OCT_EIO, with one line for a person in reason: a limit on processes or memory does not allow
// them. Threads: any.
OCT_CHECKED oct_err net_threads_check(char *reason, size_t reason_size);

#endif // NET_NET_THREADS_H
