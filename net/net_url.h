#ifndef NET_NET_URL_H
#define NET_NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"

// Addresses: tls+tcp://HOST:PORT, tcp://HOST:PORT, ipc://PATH (relative to the working folder, or
// absolute), inproc://NAME (tests). To listen, HOST may be "*" or empty: every address of this
// machine, of IPv4 and of IPv6 where there is that; 0.0.0.0 is every one of IPv4. Threads: any.
// Errors: OCT_EINVAL, with one line for a person in reason.

#define NET_URL_MAX 512

// Refuses what Octet must not use: unknown scheme, missing or bad port, too long ipc path, and
// (contract 10) any tcp:// host unless insecure: beyond this machine anyone on the network could
// take part, and on loopback any user of it.
OCT_CHECKED oct_err net_url_check(const char *url, bool insecure, char *reason, size_t reason_size);
bool net_url_is_tls(const char *url);
bool net_url_is_ipc(const char *url);
// The path of an ipc:// address, within url. NULL: another kind of address.
const char *net_url_ipc_path(const char *url);
bool net_url_is_tcp(const char *url);      // tcp:// or tls+tcp://: the gate accepts and dials
bool net_url_is_loopback(const char *url); // these, with a host that only this machine reaches
bool net_url_is_wildcard(const char *url); // these, with a host that means every interface
// Host (without brackets; empty in tcp://:PORT) and port of a tcp:// or tls+tcp:// address.
OCT_CHECKED oct_err net_url_host(const char *url, char host[NET_URL_MAX], unsigned *port);
// The address of the offset-th socket of a daemon: tcp port + offset; ipc and inproc get ".offset"
// appended (offset 0: unchanged).
OCT_CHECKED oct_err net_url_offset(const char *url, unsigned offset, char out[NET_URL_MAX]);
// Where a relay at that base address stands for the line-th replay, from 0, as if it were that
// replay's base address: batches go to the first offset of it, acks come from the second.
OCT_CHECKED oct_err net_url_line(const char *relay, unsigned line, char out[NET_URL_MAX]);
// Refuses what a relay may not say of itself to actors of the learner at that address: what is no
// address, one of another kind than the learner's (a local socket may be beside any), and one
// without room for so many lines.
OCT_CHECKED oct_err net_url_check_relay(const char *relay, const char *learner, unsigned lines,
                                        char *reason, size_t reason_size);
// A relative ipc path as an absolute one, for processes with another working folder, with room for
// what net_url_offset appends. Unchanged: any other address, and one that would get too long.
#define NET_URL_OFFSET_BYTES 2
OCT_CHECKED oct_err net_url_absolute(const char *url, char out[NET_URL_MAX]);
// url with its host replaced by that of reached, when both are tcp or tls+tcp and the host of url
// is a wildcard or loopback: how an actor on another host reaches what the learner names.
OCT_CHECKED oct_err net_url_as_seen_from(const char *url, const char *reached,
                                         char out[NET_URL_MAX]);

#endif // NET_NET_URL_H
