#ifndef NET_NET_PUB_H
#define NET_NET_PUB_H

#include <stddef.h>
#include <stdint.h>

#include "net/net_endpoint.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// PUB (listens) and SUB (dials). Threads: the loop thread; handlers too.
// Full: PUB never blocks; for a slow peer it keeps queue_count messages and drops the oldest. SUB
// keeps queue_count messages (1..8192) and drops the oldest; with 1 the handler always gets the
// newest.
typedef struct net_pub net_pub;
typedef struct net_sub net_sub;

// roles: peers that may subscribe from beyond this machine (OCT_ROLE_BIT of each).
OCT_CHECKED oct_err net_pub_open(net_pub **out, net_loop *loop, const char *url, unsigned roles,
                                 uint32_t queue_count);
// Publishes msg, and takes it in any case.
void net_pub_send(net_pub *pub, net_msg *take);
// Returns the bytes of all messages, each counted once for any number of subscribers.
uint64_t net_pub_sent_bytes(const net_pub *pub);
void net_pub_close(net_pub *pub);

// Handles one message, which is borrowed for the call. Messages that wait together are handled in
// one turn of the loop (64 at most), in the order in which they were sent.
typedef void (*net_sub_fn)(void *arg, net_msg *msg);

#define NET_POST_NAME_MAX 64
// What a link asks for when it connects, and who hears.
typedef struct net_sub_options {
    // net_sub_open subscribes to the messages that begin with topic. net_post_dial sends topic as
    // its name, of 1 to NET_POST_NAME_MAX bytes, whenever it connects. Borrowed for the call.
    const uint8_t *topic;
    size_t topic_length;
    net_sub_fn handler;
    net_fn on_connected; // NULL: not needed
    void *arg;
} net_sub_options;

// Dials in the background and forever.
OCT_CHECKED oct_err net_sub_open(net_sub **out, net_loop *loop, const net_endpoint *at,
                                 const net_sub_options *options);
// Opens the dialing side of a net_post: gets what the post sends to it alone. Otherwise as
// net_sub_open, except that a full queue makes the post drop the newest message.
OCT_CHECKED oct_err net_post_dial(net_sub **out, net_loop *loop, const net_endpoint *at,
                                  const net_sub_options *options);
// Subscribes a link of net_sub_open to topic instead of old. Messages received before may still be
// handled.
OCT_CHECKED oct_err net_sub_change(net_sub *sub, const uint8_t *old, size_t old_length,
                                   const uint8_t *topic, size_t topic_length);
void net_sub_close(net_sub *sub);
// Closes a link whose peer has ended or hangs, while the loop runs on. Closing a socket of NNG
// 1.5.2 can then take forever, so a thread of its own does it. NULL is a no-op.
void net_sub_abandon(net_sub *sub);

#endif // NET_NET_PUB_H
