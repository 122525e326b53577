#ifndef NET_NET_LIMITS_H
#define NET_NET_LIMITS_H

#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Connections with one certificate at one listening end of tls+tcp://; more are closed at once.
#define NET_CERTIFICATE_CONNECTIONS_MAX 2048

// Checks that this process can have the threads and descriptors that NNG, libuv and the gate need.
// Call before the first socket: where NNG cannot start a thread, it crashes or waits forever
// (libnng 1.5.2), and a loop without descriptors ends the process.
//
// Starts and ends as many threads as are needed, until that has worked once in the process. Opens
// and closes as many descriptors as a process needs before its first peer.
// OCT_EIO, with one line for a person in reason: a limit on processes, memory or open files does
// not allow them. Threads: any.
OCT_CHECKED oct_err net_limits_check(oct_reason *why);

#endif // NET_NET_LIMITS_H
