#ifndef NET_NET_POST_H
#define NET_NET_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_endpoint.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A listening socket that sends each message to one of its peers. PUB would send each message to
// all of them, and all but one would discard it. A peer sends its name whenever it connects; its
// side is net_post_dial (net_pub.h). Uses NNG's PAIR, version 1, with many peers.
//
// Threads: the loop thread; the handler too. Full: never blocks. A message for a peer that does not
// read or has disconnected is dropped, so send only what may be lost.
typedef struct net_post net_post;

// Called when a peer has sent its name. peer is the number for net_post_send, a new one for each
// connection. role is from the peer's certificate. name is borrowed for the call, has at most
// recv_bytes_max bytes, and is not verified. Names of peers that have disconnected already are not
// reported.
typedef void (*net_post_fn)(void *arg, uint32_t peer, oct_role role, const uint8_t *name,
                            size_t length);

// at->queue_count: messages that may wait for NNG's threads, 1..8192.
OCT_CHECKED oct_err net_post_open(net_post **out, net_loop *loop, const net_endpoint *at,
                                  net_post_fn on_name, void *arg);
// Sends msg to peer, and takes it in any case.
void net_post_send(net_post *post, uint32_t peer, net_msg *take);
// Returns true while the connection of that peer is open. 0 is no peer.
bool net_post_has(const net_post *post, uint32_t peer);
void net_post_close(net_post *post); // NULL is a no-op

#endif // NET_NET_POST_H
