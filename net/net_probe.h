#ifndef NET_NET_PROBE_H
#define NET_NET_PROBE_H

#include <stddef.h>

// Why nobody answers at a plain address tcp://HOST:PORT: out says in words whether somebody listens
// there, and whether that is one of ours, whose first bytes NNG's protocol fixes (0 S P 0).
//
// Threads: any; it blocks for NET_PROBE_MS at most, so it is for a command that is about to give
// up. Other addresses: out is not written and false is returned.

#define NET_PROBE_MS 1000

#include <stdbool.h>

bool net_probe(const char *url, char *out, size_t out_size);

#endif // NET_NET_PROBE_H
