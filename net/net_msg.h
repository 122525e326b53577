#ifndef NET_NET_MSG_H
#define NET_NET_MSG_H

#include <stddef.h>
#include <stdint.h>

// One message body, which NNG allocates so that sending copies nothing.
// Threads: one at a time. Owns: the caller; a successful send takes the message.
typedef struct net_msg net_msg;

net_msg *net_msg_create(size_t length); // aborts without memory
uint8_t *net_msg_body(net_msg *msg);
size_t net_msg_length(const net_msg *msg);
void net_msg_destroy(net_msg *msg); // NULL is a no-op

// Bytes of the frames that passed through a socket, without what NNG, TLS and TCP add.
typedef struct net_traffic {
    uint64_t sent_bytes, received_bytes;
} net_traffic;

#endif // NET_NET_MSG_H
