#ifndef NET_NET_URL_H
#define NET_NET_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// Addresses: tls+tcp://HOST:PORT, tcp://HOST:PORT, ipc://PATH (relative to the working folder, or
// absolute), inproc://NAME (tests). To listen, HOST may be "*" or empty, which means every address
// of this machine, of IPv4 and IPv6 as far as the machine has them; 0.0.0.0 means every IPv4
// address.
// Threads: any. Errors: OCT_EINVAL, with one line for a person in reason where there is one.

// Bytes of an address, with the final zero.
#define NET_URL_MAX 512

// Refuses addresses that Octet must not use: an unknown scheme, a missing or bad port, an ipc path
// that is too long, and any tcp:// host unless insecure (contract 10), because anyone on the
// network, or on loopback any user of this machine, could take part.
OCT_CHECKED oct_err net_url_check(const char *url, bool insecure, oct_reason *why);
bool net_url_is_tls(const char *url);
bool net_url_is_ipc(const char *url);
// Returns the path of an ipc:// address, within url; NULL: another kind of address.
const char *net_url_ipc_path(const char *url);
bool net_url_is_tcp(const char *url); // tcp:// or tls+tcp://: the gate accepts and dials
// tcp:// or tls+tcp:// with a host that only this machine reaches.
bool net_url_is_loopback(const char *url);
// tcp:// or tls+tcp:// with a host that means every interface.
bool net_url_is_wildcard(const char *url);
// Reads host (without brackets; empty in tcp://:PORT) and port of a tcp:// or tls+tcp:// address.
OCT_CHECKED oct_err net_url_host(const char *url, char host[NET_URL_MAX], unsigned *port);
// Makes the address of a daemon's socket number offset: tcp gets port + offset; ipc and inproc get
// ".offset" appended (offset 0: unchanged).
OCT_CHECKED oct_err net_url_offset(const char *url, unsigned offset, char out[NET_URL_MAX]);
// Makes the address at which a relay with that base address serves replay number line, from 0, as
// if it were that replay's base address: batches go to its first offset, acks come from its second.
OCT_CHECKED oct_err net_url_line(const char *relay, unsigned line, char out[NET_URL_MAX]);
// Checks the address that a relay gives to actors of the learner at learner. Refuses a malformed
// address, a scheme other than the learner's (ipc:// is always allowed), and an address without
// room for that number of lines.
OCT_CHECKED oct_err net_url_check_relay(const char *relay, const char *learner, unsigned lines,
                                        oct_reason *why);
// Makes a relative ipc path absolute, for processes with another working folder; leaves room for
// what net_url_offset appends. Copies any other address, and a path that would get too long,
// unchanged.
#define NET_URL_OFFSET_BYTES 2
OCT_CHECKED oct_err net_url_absolute(const char *url, char out[NET_URL_MAX]);
// Replaces the host of url by that of reached, if both are tcp or tls+tcp and url's host is a
// wildcard or loopback, so that an actor on another host can reach an address that the learner
// names. Otherwise copies url.
OCT_CHECKED oct_err net_url_as_seen_from(const char *url, const char *reached,
                                         char out[NET_URL_MAX]);

#endif // NET_NET_URL_H
