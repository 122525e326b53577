#ifndef NET_NET_RPC_H
#define NET_NET_RPC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_call.h"
#include "common/oct_role.h"
#include "net/net_loop.h"
#include "net/net_msg.h"

// Request/reply over NNG REQ/REP contexts: many in flight, each with a deadline. The frames are
// opaque (proto/wire_rpc.h gives them meaning).
//
// Threads: loop thread. Full: net_rpc_call answers OCT_EAGAIN with inflight_max calls out; a server
// with all contexts busy leaves requests with NNG.
typedef struct net_rpc_client net_rpc_client;
typedef struct net_rpc_server net_rpc_server;

// Dials in the background and for ever. REQ repeats a request every resend_ms (idempotent methods
// only) and at once when the link it went out on is lost; 0: never, a lost link is OCT_EIO.
// inflight_max: 1..1024. roles: what a server beyond this machine must be.
OCT_CHECKED oct_err net_rpc_client_open(net_rpc_client **out, net_loop *loop, const char *url,
                                        unsigned roles, uint32_t inflight_max, uint32_t resend_ms,
                                        size_t recv_bytes_max);
// An oct_call_fn (client is a net_rpc_client).
OCT_CHECKED oct_err net_rpc_call(void *client, const uint8_t *frame, size_t length,
                                 uint32_t timeout_ms, oct_reply_fn done, void *done_arg);
// Whether there is no connection now; why, in a line for a person, goes into out ("" when nothing
// has failed yet).
bool net_rpc_client_trouble(net_rpc_client *client, char *out, size_t out_size);
// What went through it so far: requests that NNG took, answers that came in time. A request that
// REQ repeats counts once.
net_traffic net_rpc_client_traffic(const net_rpc_client *client);
// Answers every call in flight with OCT_ECLOSED first.
void net_rpc_client_close(net_rpc_client *client);

// frame is borrowed for the call of the handler; call is what net_rpc_responder takes, valid until
// answered; role is who calls. Requests of callers who have gone already are dropped. Every call
// must be answered; answers to those still open at close are dropped, and may come until the loop
// is destroyed. contexts: 1..1024. roles: who may call from beyond this machine.
typedef void (*net_rpc_fn)(void *arg, void *call, oct_role role, const uint8_t *frame,
                           size_t length);
OCT_CHECKED oct_err net_rpc_server_open(net_rpc_server **out, net_loop *loop, const char *url,
                                        unsigned roles, uint32_t contexts, size_t recv_bytes_max,
                                        net_rpc_fn handler, void *arg);
// Whose certificate the caller has shown, as long as the call is open, or the handler that has
// answered it has not returned. OCT_ENOTFOUND: it was asked for none (ipc://, tcp://). OCT_ECLOSED:
// its connection, or the server, has gone. Cost: a hop to another thread and back.
OCT_CHECKED oct_err net_rpc_caller(void *call, oct_holder *out);
// Whether the caller may have another large answer. False: the peers with its certificate (without
// TLS: from its address) have NET_RPC_UNREAD_HOLDER bytes of answers that they have not read, or
// all peers together NET_RPC_UNREAD_ALL; answer with OCT_EAGAIN then. Always true on ipc://.
// Threads and cost: as of net_rpc_caller.
#define NET_RPC_UNREAD_HOLDER (64u << 20)
#define NET_RPC_UNREAD_ALL    (256u << 20)
bool net_rpc_may_answer(void *call);
// Requests that were handled, answers whose sender was still there.
net_traffic net_rpc_server_traffic(const net_rpc_server *server);
void net_rpc_server_close(net_rpc_server *server);
extern const oct_responder net_rpc_responder;

#endif // NET_NET_RPC_H
