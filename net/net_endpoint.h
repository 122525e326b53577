#ifndef NET_NET_ENDPOINT_H
#define NET_NET_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"

// Where a link listens or dials, and which peers and messages may pass there.
typedef struct net_endpoint {
    const char *url;       // borrowed until the link is open
    unsigned roles;        // roles that a peer beyond this machine may have (OCT_ROLE_BIT of each)
    size_t recv_bytes_max; // of a message, at least 1; longer ones are rejected
    // Messages that may wait, or requests that may be in flight, at the same time. PULL has none.
    uint32_t queue_count;
} net_endpoint;

#endif // NET_NET_ENDPOINT_H
