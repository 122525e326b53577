// Counts failed connections by address or certificate, so that one with too many of them is turned
// away.
#include <netinet/in.h>
#include <string.h>

#include "common/oct_base.h"
#include "net/net_gate_state.h"

// How many failures an address may have at once, and how many of them are forgiven in a second: a
// mistyped certificate is tried for ever, a flood costs next to nothing.
#define FAILURES_MAX  256.0
#define FORGIVEN_A_MS (16.0 / 1000)

void
gate_address(const struct sockaddr *from, uint8_t out[16])
{
    memset(out, 0, 16);
    if (from->sa_family == AF_INET) {
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(in6)) {
            memcpy(out + 12, in6->s6_addr + 12, 4);
        } else { // a host has a /64 of its own to take addresses from
            memcpy(out, in6, 8);
        }
    }
}

static gate_peer *
peer_find(gate_peers *peers, const uint8_t address[16], uint64_t now_ms)
{
    for (size_t i = 0; i < GATE_PEERS; i++) {
        gate_peer *peer = &peers->peers[i];
        if (peer->used && memcmp(peer->address, address, 16) == 0) {
            double forgiven = (double)(now_ms - peer->seen_ms) * FORGIVEN_A_MS;
            peer->failures = peer->failures > forgiven ? peer->failures - forgiven : 0;
            peer->seen_ms = now_ms;
            return peer;
        }
    }
    return NULL;
}

bool
gate_peers_may(gate_peers *peers, const uint8_t address[16], uint64_t now_ms)
{
    const gate_peer *peer = peer_find(peers, address, now_ms);
    return peer == NULL || peer->failures < FAILURES_MAX;
}

void
gate_peers_failed(gate_peers *peers, const uint8_t address[16], uint64_t now_ms)
{
    gate_peer *peer = peer_find(peers, address, now_ms);
    if (peer == NULL) {
        peer = &peers->peers[0];
        for (size_t i = 0; i < GATE_PEERS && peer->used; i++) {
            gate_peer *other = &peers->peers[i];
            if (!other->used || other->seen_ms < peer->seen_ms) {
                peer = other; // the longest unheard of makes room
            }
        }
        *peer = (gate_peer){.used = true, .seen_ms = now_ms};
        memcpy(peer->address, address, 16);
    }
    peer->failures += 1;
}
