#ifndef NET_NET_PUSH_H
#define NET_NET_PUSH_H

#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A dialing PUSH socket, one message in flight.
//
// Threads: loop thread. Owns: a message from a successful send until it is out.
// Full: send answers OCT_EAGAIN while one is in flight; on_ready says when it went out (or was
// lost: PUSH loses what the kernel holds when the puller dies; the caller re-sends what is not
// acknowledged).
// Order: on_disconnected before the next on_connected; a pipe that came and went unseen between two
// turns of the loop is reported by neither.
typedef struct net_push net_push;

typedef struct net_push_events {
    net_fn on_ready;        // the next send will be taken
    net_fn on_connected;    // a pipe is up (again)
    net_fn on_disconnected; // the last pipe went
    void *arg;
} net_push_events;

// Dials in the background and for ever: the peer may start later. Re-dials within 20 to 500 ms;
// after a lost pipe with a new socket (docs/internals/decisions/0010-push-after-disconnect.md).
// roles: what a puller beyond this machine must be.
OCT_CHECKED oct_err net_push_open(net_push **out, net_loop *loop, const char *url, unsigned roles,
                                  const net_push_events *events);
OCT_CHECKED oct_err net_push_send(net_push *push, net_msg *take);
void net_push_close(net_push *push);
// As net_sub_abandon (net_pub.h). What was in flight is lost.
void net_push_abandon(net_push *push);

#endif // NET_NET_PUSH_H
