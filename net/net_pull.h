#ifndef NET_NET_PULL_H
#define NET_NET_PULL_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_role.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// A listening PULL socket delivered on the loop.
//
// Threads: every function here, and the handler, runs on the loop thread.
// Full: a handler that answers OCT_EAGAIN stalls delivery until net_pull_resume; NNG then stops
// reading and the peers' sends stop: backpressure is not re-arming.
// Order: messages of one peer are handed over in the order it sent them.
typedef struct net_pull net_pull;

// OCT_OK: the handler took msg. OCT_EAGAIN: offer it again after net_pull_resume. Anything else:
// msg is counted as rejected and freed; OCT_ECLOSED: it is forged, and no honest peer brings even
// one such (net_pull_limit_bad).
typedef oct_err (*net_pull_fn)(void *arg, net_msg *msg);

// roles: who may send from beyond this machine (OCT_ROLE_BIT of each). What is longer than
// recv_bytes_max is rejected, and logged: for the gate's connections as NET-GATE-REFUSED, for this
// machine's processes as NET-TOO-LONG. Of these, one that sends more than twice as much is closed
// without a word.
OCT_CHECKED oct_err net_pull_open(net_pull **out, net_loop *loop, const char *url, unsigned roles,
                                  size_t recv_bytes_max, net_pull_fn handler, void *arg);
void net_pull_resume(net_pull *pull);
// In the handler: who sent the message; the same when it is offered again. OCT_ROLE_NONE: behind a
// gate, and it has gone.
oct_role net_pull_role(const net_pull *pull);
// In the handler: whose certificate the sender of the message has shown. OCT_ENOTFOUND: it was
// asked for none (ipc://, tcp://). OCT_ECLOSED: its connection has gone. Cost: a hop to another
// thread and back.
OCT_CHECKED oct_err net_pull_holder(const net_pull *pull, oct_holder *out);
// A connection from beyond this machine that has brought so many rejected messages, or a forged
// one, is closed, and its address held to account. 0: never, which is what it is after open. Of
// connections that are bad at the same time, NET_PULL_PEERS are told apart surely: beyond that one
// may be given more.
#define NET_PULL_PEERS 1024
void net_pull_limit_bad(net_pull *pull, uint32_t messages_max);
uint64_t net_pull_rejected(const net_pull *pull);
uint64_t net_pull_closed(const net_pull *pull); // connections, by that limit
void net_pull_close(net_pull *pull);

#endif // NET_NET_PULL_H
