// Names the peer of a connection, by certificate or by address, and counts its failures.
#include <netinet/in.h>
#include <string.h>

#include "net/net_gate_state.h"

// Failures that an address or certificate may have at once, and how many are forgiven in a second.
// A peer with a mistyped certificate may try forever, and a flood of connections costs next to
// nothing.
#define FAILURES_MAX      256
#define FORGIVEN_A_SECOND 16

void
gate_peers_init(net_gate *gate)
{
    oct_bucket_init(&gate->peers, FAILURES_MAX, FORGIVEN_A_SECOND);
    oct_bucket_init(&gate->holders, FAILURES_MAX, FORGIVEN_A_SECOND);
}

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
gate_peers_name(gate_conn *conn, const struct sockaddr *peer)
{
    struct sockaddr_storage plain;
    address_plain(peer, &plain);
    address_of((const struct sockaddr *)&plain, conn->address);
    (void)uv_ip_name((const struct sockaddr *)&plain, conn->from, sizeof(conn->from));
}

bool
gate_peers_same(const gate_conn *a, const gate_conn *b)
{
    if (a->is_known != b->is_known) {
        return false;
    }
    return a->is_known ? memcmp(a->peer.holder.id, b->peer.holder.id, OCT_HOLDER_ID_BYTES) == 0
                       : memcmp(a->address, b->address, sizeof(a->address)) == 0;
}
