#ifndef NET_NET_PULL_H
#define NET_NET_PULL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_endpoint.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A listening PULL socket, whose messages a handler takes on the loop.
//
// Threads: every function here, and the handler, runs on the loop thread.
// Full: a handler that returns OCT_EAGAIN stops delivery until net_pull_resume. NNG then stops
// reading, and the peers' sends stop.
// Order: the messages of one peer come in the order in which it sent them.
typedef struct net_pull net_pull;

// Takes msg and returns OCT_OK. Otherwise msg stays with the link:
//   OCT_EAGAIN  offer it again after net_pull_resume
//   OCT_ECLOSED  msg is forged, and one is enough to close the peer (net_pull_limit_bad); count and
//                free it
//   other errors  count it as rejected and free it
typedef oct_err (*net_pull_fn)(void *arg, net_msg *msg);

// Messages longer than at->recv_bytes_max are rejected and logged: as NET-GATE-REFUSED for
// connections of the gate, as NET-TOO-LONG for processes of this machine. A process of this machine
// that sends more than twice as much is disconnected without a log line.
OCT_CHECKED oct_err net_pull_open(net_pull **out, net_loop *loop, const net_endpoint *at,
                                  net_pull_fn handler, void *arg);
// Offers messages again, after the handler returned OCT_EAGAIN; from the handler, too.
void net_pull_resume(net_pull *pull);
// Returns the role of the sender of the message that the handler has; the same when that is offered
// again. OCT_ROLE_NONE: behind the gate, and the sender has disconnected.
oct_role net_pull_role(const net_pull *pull);
// Reads whose certificate the sender of the handler's message has shown. Cost: a hop to another
// thread and back.
//   OCT_ENOTFOUND  the connection shows no certificate (ipc://, tcp://)
//   OCT_ECLOSED  the connection has closed
OCT_CHECKED oct_err net_pull_holder(const net_pull *pull, oct_holder *out);
// Closes a connection from beyond this machine when messages_max of its messages were rejected, or
// one was forged; its certificate (tcp://: its address) is charged with a failure. 0, the default,
// never closes. The counts of NET_PULL_PEERS connections that are bad at the same time are
// separate; with more, a connection may get away with more bad messages.
#define NET_PULL_PEERS 1024
void net_pull_limit_bad(net_pull *pull, uint32_t messages_max);
uint64_t net_pull_rejected(const net_pull *pull);
uint64_t net_pull_closed(const net_pull *pull); // count of connections closed by that limit
void net_pull_close(net_pull *pull);

#endif // NET_NET_PULL_H
