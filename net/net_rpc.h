#ifndef NET_NET_RPC_H
#define NET_NET_RPC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_call.h"
#include "common/oct_role.h"
#include "net/net_endpoint.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// Request/reply over contexts of NNG's REQ/REP: many requests in flight, each with a deadline. The
// frames are opaque (proto/wire_rpc.h gives them meaning).
//
// Threads: the loop thread. Full: net_rpc_call returns OCT_EAGAIN with queue_count calls in
// flight; a server whose contexts are all busy leaves further requests with NNG.
typedef struct net_rpc_client net_rpc_client;
typedef struct net_rpc_server net_rpc_server;

// Dials in the background and forever. REQ repeats a request every resend_ms (idempotent methods
// only), and at once when the link that carried it is lost; with 0 it never repeats, and a lost
// link is OCT_EIO.
// at->queue_count: calls in flight, 1..1024.
OCT_CHECKED oct_err net_rpc_client_open(net_rpc_client **out, net_loop *loop,
                                        const net_endpoint *at, uint32_t resend_ms);
// Sends a request; an oct_call_fn whose client is a net_rpc_client. done runs on the loop thread,
// once, if this returns OCT_OK. Errors: OCT_ECLOSED, OCT_EAGAIN (queue_count calls are in flight).
OCT_CHECKED oct_err net_rpc_call(void *client, const uint8_t *frame, size_t length,
                                 uint32_t timeout_ms, oct_reply_fn done, void *done_arg);
// Returns true if there is no connection now, and writes why, in one line for a person ("" before
// the first failure).
bool net_rpc_client_trouble(net_rpc_client *client, char *out, size_t out_size);
// Returns the bytes that have passed so far: of requests that NNG accepted and of answers that came
// in time. A request that REQ repeats counts once.
net_traffic net_rpc_client_traffic(const net_rpc_client *client);
// Closes the client; first answers each call in flight with OCT_ECLOSED.
void net_rpc_client_close(net_rpc_client *client);

// Handles one request. frame is borrowed for the call of the handler; call is for net_rpc_responder
// and valid until answered; role is the caller's. Requests of callers that have disconnected
// already are dropped. Every call must be answered; answers after net_rpc_server_close are dropped,
// and may come until the loop is destroyed.
typedef void (*net_rpc_fn)(void *arg, void *call, oct_role role, const uint8_t *frame,
                           size_t length);
// at->queue_count: requests that are handled at the same time, 1..1024.
OCT_CHECKED oct_err net_rpc_server_open(net_rpc_server **out, net_loop *loop,
                                        const net_endpoint *at, net_rpc_fn handler, void *arg);
// Reads whose certificate the caller has shown, while the call is open, or within the handler that
// has answered it. Cost: a hop to another thread and back.
//   OCT_ENOTFOUND  the connection shows no certificate (ipc://, tcp://)
//   OCT_ECLOSED  its connection, or the server, has closed
OCT_CHECKED oct_err net_rpc_caller(void *call, oct_holder *out);
// Returns true if the caller may get another large answer. False: the peers with its certificate
// (without TLS: from its address) have not read NET_RPC_UNREAD_HOLDER bytes of answers, or all
// peers together NET_RPC_UNREAD_ALL; answer with OCT_EAGAIN then. Always true on ipc://, and for a
// caller that has disconnected. Threads and cost: as net_rpc_caller.
#define NET_RPC_UNREAD_HOLDER (64u << 20)
#define NET_RPC_UNREAD_ALL    (256u << 20)
bool net_rpc_may_answer(void *call);
// Returns the bytes of requests that were handled, and of answers whose caller was still connected.
net_traffic net_rpc_server_traffic(const net_rpc_server *server);
void net_rpc_server_close(net_rpc_server *server);
extern const oct_responder net_rpc_responder;

#endif // NET_NET_RPC_H
