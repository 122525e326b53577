#ifndef NET_NET_PUSH_H
#define NET_NET_PUSH_H

#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A dialing PUSH socket, one message in flight.
//
// Threads: the loop thread. Owns: a message from a successful send until it is out.
// Full: send returns OCT_EAGAIN while a message is in flight. on_ready says that it went out or was
// lost: PUSH loses what the kernel holds when the puller dies, so the caller sends again what was
// not acknowledged.
// Order: on_disconnected comes before the next on_connected. A pipe that came and ended between two
// turns of the loop is reported by neither.
typedef struct net_push net_push;

typedef struct net_push_events {
    net_fn on_ready;        // the next send will be accepted
    net_fn on_connected;    // a pipe is up (again)
    net_fn on_disconnected; // the last pipe has ended
    void *arg;
} net_push_events;

// Dials in the background and forever, so the peer may start later. Dials again within 20 to 500
// ms; after a lost pipe with a new socket (docs/internals/decisions/0010-push-after-disconnect.md).
// roles: roles that a puller beyond this machine may have.
OCT_CHECKED oct_err net_push_open(net_push **out, net_loop *loop, const char *url, unsigned roles,
                                  const net_push_events *events);
// Sends one message, and takes it on success. OCT_EAGAIN: one is in flight.
OCT_CHECKED oct_err net_push_send(net_push *push, net_msg *take);
void net_push_close(net_push *push);
// Does what net_sub_abandon does (net_pub.h). The message in flight is lost.
void net_push_abandon(net_push *push);

#endif // NET_NET_PUSH_H
