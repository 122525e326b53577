#ifndef NET_NET_MSG_H
#define NET_NET_MSG_H

#include <stddef.h>
#include <stdint.h>

// One message body, allocated by NNG so that sending it copies nothing.
// Threads: one at a time. Owns: whoever holds the pointer; a successful send takes it.
typedef struct net_msg net_msg;

net_msg *net_msg_create(size_t length); // aborts without memory
uint8_t *net_msg_body(net_msg *msg);
size_t net_msg_length(const net_msg *msg);
void net_msg_destroy(net_msg *msg); // NULL is a no-op

// Bytes of the frames that went through a socket, without what NNG, TLS and TCP add.
typedef struct net_traffic {
    uint64_t sent_bytes, received_bytes;
} net_traffic;

#endif // NET_NET_MSG_H
