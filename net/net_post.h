#ifndef NET_NET_POST_H
#define NET_NET_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A listening socket that sends each message to one of its peers: what PUB would send to all of
// them, for all but one to throw away. A peer says who it is whenever it connects; its side is
// net_post_dial (net_pub.h). NNG's PAIR, version 1, with many peers.
//
// Threads: loop thread; the handler too. Full: never blocks; a message for a peer that does not
// read, or has gone, is dropped: send what may be lost.
typedef struct net_post net_post;

// peer is what net_post_send wants: another number each time that a peer connects. role is what the
// peer's certificate says. name is borrowed for the call, at most name_bytes_max long, and as true
// as the peer is. Of a peer that has gone already nothing is told.
typedef void (*net_post_fn)(void *arg, uint32_t peer, oct_role role, const uint8_t *name,
                            size_t length);

// queue_count: messages that may wait for NNG's threads, 1..8192. roles: who may connect from
// beyond this machine.
OCT_CHECKED oct_err net_post_open(net_post **out, net_loop *loop, const char *url, unsigned roles,
                                  uint32_t queue_count, size_t name_bytes_max, net_post_fn on_name,
                                  void *arg);
// Takes msg, always.
void net_post_send(net_post *post, uint32_t peer, net_msg *take);
// Whether the connection of that peer has not ended yet. 0: nobody's.
bool net_post_has(const net_post *post, uint32_t peer);
void net_post_close(net_post *post); // NULL is a no-op

#endif // NET_NET_POST_H
