#ifndef NET_NET_PROBE_H
#define NET_NET_PROBE_H

#include <stdbool.h>
#include <stddef.h>

struct addrinfo;

// Why nobody answers at a plain address tcp://HOST:PORT: out says in words whether somebody listens
// there, and whether that is one of ours, whose first bytes NNG's protocol fixes (0 S P 0). Of
// ipc://PATH it says that a process of this user has the socket and does not answer.
//
// Threads: any; it blocks for as long as HOST takes to be resolved (an address: not at all; a name
// that no server answers for: some 10 s by glibc's defaults) and then for NET_PROBE_MS at most, so
// it is for a command that is about to give up. Other addresses, and a socket that nobody or
// another user has: out is not written, and false is returned.

#define NET_PROBE_MS 1000

bool net_probe(const char *url, char *out, size_t out_size);
// The same of the addresses of a name, at least one: the best of what they show is told (ours,
// another service, closed). Blocks for NET_PROBE_MS at most, for all of them.
void net_probe_addresses(const struct addrinfo *addresses, char *out, size_t out_size);

// Whether a process holds the socket of a path, at most 107 bytes long: one that was killed leaves
// the file, and each try of NNG 1.5.2 to dial it leaves a descriptor. Does not block, and the
// process does not notice (a peer that comes and goes could end NNG's listener, net_acceptor.h).
bool net_probe_local(const char *path);

#endif // NET_NET_PROBE_H
