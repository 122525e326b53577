#ifndef NET_NET_PROBE_H
#define NET_NET_PROBE_H

#include <stdbool.h>
#include <stddef.h>

struct addrinfo;

// Finds out why a plain address tcp://HOST:PORT does not answer: writes to out whether a process
// listens there, and whether it is one of ours, whose first bytes are fixed by NNG's protocol (0 S
// P 0). For ipc://PATH it writes that a process of this user holds the socket and does not answer.
//
// Returns false and leaves out unchanged for other addresses, and for a socket that no process or
// another user holds.
// Threads: any. It blocks while HOST is resolved (an address: not at all; a name whose server does
// not answer: some 10 s by glibc's defaults) and then for NET_PROBE_MS at most, so it is for a
// command that is about to give up.

#define NET_PROBE_MS 1000

bool net_probe(const char *url, char *out, size_t out_size);
// Does the same for the addresses of a name, at least one, and reports the best finding (ours,
// another service, closed, no answer). Blocks for NET_PROBE_MS at most, for all of them.
void net_probe_addresses(const struct addrinfo *addresses, char *out, size_t out_size);

// Returns true if a process holds the socket at path, of at most 107 bytes: a process that was
// killed leaves the file, and each attempt of NNG 1.5.2 to dial it leaks a descriptor. Does not
// block, and the process does not notice (a peer that connects and closes could end NNG's listener,
// net_acceptor.h).
bool net_probe_local(const char *path);

#endif // NET_NET_PROBE_H
