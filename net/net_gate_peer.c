// Names the peer of a connection, by certificate or by address, and counts its failures.
#include "net/net_gate_peer.h"

#include <netinet/in.h>
#include <string.h>

#include <uv.h>

// Failures that an address or certificate may have at once, and how many are forgiven in a second.
// A peer with a mistyped certificate may try forever, and a flood of connections costs next to
// nothing.
#define FAILURES_MAX      256
#define FORGIVEN_A_SECOND 16

// Turns an IPv4 peer of a socket for both families, which comes as ::ffff:a.b.c.d, into IPv4. Other
// families than these two become AF_UNSPEC.
static void
address_plain(const struct sockaddr *from, struct sockaddr_storage *out)
{
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)from;
    *out = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
    if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = in6->sin6_port};
        memcpy(&in.sin_addr, in6->sin6_addr.s6_addr + 12, sizeof(in.sin_addr));
        memcpy(out, &in, sizeof(in));
    } else if (from->sa_family == AF_INET6) {
        memcpy(out, in6, sizeof(*in6));
    } else if (from->sa_family == AF_INET) {
        memcpy(out, from, sizeof(struct sockaddr_in));
    }
}

// Writes the key of allowances: IPv4 in the last four bytes, of IPv6 the first eight.
static void
address_of(const struct sockaddr *from, uint8_t out[16])
{
    memset(out, 0, 16);
    if (from->sa_family == AF_INET) {
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
        memcpy(out, in6, 8); // a host can choose any address of its /64
    }
}

void
gate_peer_init(gate_peer *peer, const struct sockaddr *address)
{
    struct sockaddr_storage plain;
    *peer = (gate_peer){.certificate.role = OCT_ROLE_LOCAL};
    address_plain(address, &plain);
    address_of((const struct sockaddr *)&plain, peer->address);
    (void)uv_ip_name((const struct sockaddr *)&plain, peer->from, sizeof(peer->from));
}

bool
gate_peer_same(const gate_peer *a, const gate_peer *b)
{
    if (a->is_known != b->is_known) {
        return false;
    }
    return a->is_known ? memcmp(a->certificate.holder.id, b->certificate.holder.id,
                                OCT_HOLDER_ID_BYTES) == 0
                       : memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

void
gate_failures_init(gate_failures *failures)
{
    oct_bucket_init(&failures->addresses, FAILURES_MAX, FORGIVEN_A_SECOND);
    oct_bucket_init(&failures->certificates, FAILURES_MAX, FORGIVEN_A_SECOND);
}

void
gate_failures_add(gate_failures *failures, const gate_peer *peer, uint64_t now_ms)
{
    if (peer->is_known) {
        oct_bucket_use(&failures->certificates, peer->certificate.holder.id, now_ms);
    } else {
        gate_failures_add_address(failures, peer, now_ms);
    }
}

void
gate_failures_add_address(gate_failures *failures, const gate_peer *peer, uint64_t now_ms)
{
    oct_bucket_use(&failures->addresses, peer->address, now_ms);
}

bool
gate_failures_allow(gate_failures *failures, const gate_peer *peer, uint64_t now_ms)
{
    return peer->is_known
               ? oct_bucket_is_left(&failures->certificates, peer->certificate.holder.id, now_ms)
               : oct_bucket_is_left(&failures->addresses, peer->address, now_ms);
}
