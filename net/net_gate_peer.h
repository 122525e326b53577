#ifndef NET_NET_GATE_PEER_H
#define NET_NET_GATE_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/oct_bucket.h"
#include "net/net_tls.h"

// The peer of a connection of the gate: a certificate, or an address where there is none. And the
// failures of peers: a connection whose address or certificate has too many is closed at once.
// Private to the gate (net_gate.h).
//
// Threads: the gate's. Owns: nothing; plain values. Full: as in oct_bucket.h.

typedef struct gate_peer {
    uint8_t address[16]; // IPv4 in the last 4 bytes, IPv6 the /64 prefix: key of allowances
    char from[64];       // the address for logs
    bool is_known;       // the certificate is good; failures then count for it, not for the address
    net_tls_peer certificate; // valid if is_known; otherwise the role is OCT_ROLE_LOCAL
} gate_peer;

// Sets the address, and no certificate.
void gate_peer_init(gate_peer *peer, const struct sockaddr *address);
// Returns true for the same certificate, or the same address if neither has a certificate.
bool gate_peer_same(const gate_peer *a, const gate_peer *b);

typedef struct gate_failures {
    oct_bucket addresses, certificates;
} gate_failures;

void gate_failures_init(gate_failures *failures);
// Counts a failure of the peer's certificate, or of its address while the certificate is unknown.
void gate_failures_add(gate_failures *failures, const gate_peer *peer, uint64_t now_ms);
// Counts a failure of the address, although the certificate is known.
void gate_failures_add_address(gate_failures *failures, const gate_peer *peer, uint64_t now_ms);
// Returns true if the certificate, or the address while the certificate is unknown, may connect.
bool gate_failures_allow(gate_failures *failures, const gate_peer *peer, uint64_t now_ms);

#endif // NET_NET_GATE_PEER_H
