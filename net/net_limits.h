#ifndef NET_NET_LIMITS_H
#define NET_NET_LIMITS_H

#include <stddef.h>

#include "common/oct_err.h"

// Connections of one listening end of tls+tcp:// with one certificate; more are closed at once.
#define NET_CERTIFICATE_CONNECTIONS_MAX 2048

// Whether this process can have the threads and the files that NNG, libuv and the gate need. To be
// known before the first socket: where NNG cannot start a thread of its own, it crashes or waits
// for ever (libnng 1.5.2), and a loop without files ends the process.
//
// As many threads as are needed are started and ended; once in a process, if they can be. As many
// files as a process needs before its first peer are opened and closed.
// OCT_EIO, with one line for a person in reason: a limit on processes, memory or open files does
// not allow them. Threads: any.
OCT_CHECKED oct_err net_limits_check(char *reason, size_t reason_size);

#endif // NET_NET_LIMITS_H
