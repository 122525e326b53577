#ifndef NET_NET_INTERNAL_H
#define NET_NET_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nng/nng.h>
#include <uv.h>

#include "common/oct_role.h"
#include "net/net_acceptor.h"
#include "net/net_endpoint.h"
#include "net/net_gate.h"
#include "net/net_loop.h"

// What the files of net/ share. Private: no file outside net/ includes this.

// Translate a foreign code to one of ours.
oct_err net_err_from_nng(int code);
oct_err net_err_from_uv(int code);

uv_loop_t *net_loop_uv(net_loop *loop);
// Frees block when the loop is destroyed. For memory that a late caller may still point to.
void net_loop_keep(net_loop *loop, void *block);
// Destroys the wakeup and calls free(owner) after libuv has closed its handle, so that a handler
// may close its own owner.
void net_wakeup_destroy_with(net_wakeup *wakeup, void *owner);

// One NNG operation in flight.
// Threads: the callback runs on a thread of NNG; it sets done and wakes the loop. The loop thread
// does the rest.
// Order: arm (nng_*_aio on op->aio), net_op_take, arm again. While the operation is armed, aio
// belongs to NNG.
typedef struct net_op {
    nng_aio *aio;
    net_wakeup *wakeup;
    atomic_bool done;
} net_op;

void net_op_init(net_op *op, net_wakeup *wakeup);
// Returns true once per finished operation. After a receive the caller must take the message out of
// aio (net_op_take_msg).
bool net_op_take(net_op *op);
// Takes the message out of a finished operation; NULL: there is none.
nng_msg *net_op_take_msg(net_op *op);
// Waits for the callback, then frees a message that is left in aio, and aio. Call after the socket
// was closed.
void net_op_fini(net_op *op);

// Keeps a socket dialing until it has a pipe, and lets it have one pipe at a time; net_redial.c
// begins with how and why. docs/internals/decisions/0010-push-after-disconnect.md and
// 0054-dial-when-it-is-there.md have the details.
//
// Beyond this machine the gate dials (net_gate.h), and the socket listens to the gate.
//
// Threads: the loop thread; threads of NNG call fn.
// Order: set the fields from once to arg; start, stop, nng_close. Events may come until nng_close
// has returned.
typedef struct net_redial {
    bool once;             // the socket may have one pipe in its lifetime
    unsigned roles;        // roles that the peer may have (OCT_ROLE_BIT)
    size_t recv_bytes_max; // as given to net_socket_limits, with the header
    // Gets events of pipes that were not refused; NULL: not needed.
    void (*fn)(void *arg, nng_pipe_ev event);
    void *arg;
    net_loop *loop;
    nng_socket socket;
    char *url;
    net_timer *timer;  // NULL when stopped, or when the gate dials
    net_gate *gate;    // NULL: NNG dials. Set before events can come
    net_gate_end *end; // NULL: none, or stopped
    // Ticks without a pipe since the last dialer was started; before the first dialer: checks for
    // the file.
    unsigned ticks;
    unsigned spares; // spare dialers since there was a pipe
    bool is_ipc;     // then only this user and root may listen there. Set before events can come
    atomic_int pipe; // number of the present pipe, 0: none; with once never reset
    // User id plus 1 of a foreign user's process that listens there; 0: none seen since the last
    // good pipe.
    atomic_uint_fast64_t foreign_uid;
} net_redial;

OCT_CHECKED oct_err net_redial_start(net_redial *redial, net_loop *loop, nng_socket socket,
                                     const char *url);
// Stops dialing. Harmless if it never started, provided that *redial was zero before.
void net_redial_stop(net_redial *redial);

// Does what net_rpc_client_trouble does.
bool net_redial_trouble(net_redial *redial, char *out, size_t out_size);

// Reports to a loop that the pipe of a dialing socket has come or ended.
// word is generation of the pipe << 2 | REMOVED | ADDED; threads of NNG write it.
typedef struct net_link {
    net_redial redial;
    net_wakeup *wakeup;
    atomic_uint word;
    unsigned seen; // word at the last poll
} net_link;

typedef struct net_link_change {
    bool disconnected; // the pipe that was up at the last poll has ended
    bool connected;    // a pipe is up that was not up at the last poll
} net_link_change;

// Starts to dial; ends with net_redial_stop(&link->redial).
OCT_CHECKED oct_err net_link_start(net_link *link, net_loop *loop, nng_socket socket,
                                   const net_endpoint *at, net_wakeup *wakeup);
net_link_change net_link_poll(net_link *link);

// How a socket listens: at the address itself, or behind the gate at one local address for each
// role.
typedef struct net_listening {
    net_gate_end *end;      // NULL: NNG itself listens
    net_acceptor *acceptor; // of an ipc address at which NNG itself listens; otherwise NULL
    bool tagged; // set before net_listen: behind the gate messages begin with NET_SP_TAG_BYTES
} net_listening;

// Starts to listen with all options set. at->recv_bytes_max: as given to net_socket_limits, with
// header and tag. A failure is logged (NET-LISTEN);
// net_listening_stop may then still be called.
OCT_CHECKED oct_err net_listen(net_listening *listening, net_loop *loop, nng_socket socket,
                               const net_endpoint *at);
// Returns the role of the peer that sent msg; OCT_ROLE_NONE: behind the gate, and its pipe has
// ended. Threads: any.
oct_role net_listening_role(const net_listening *listening, nng_msg *msg);
// Stops listening. Call before nng_close.
void net_listening_stop(net_listening *listening);

// For NNG_PIPE_EV_ADD_PRE of a socket behind the gate: counts a pipe from this process for the gate
// and returns true; refuses a pipe from another process and returns false.
bool net_pipe_is_ours(net_gate *gate, nng_pipe pipe);
// Returns true if the process at the other end of an ipc pipe belongs to this user or to root; *uid
// is its user. The mode of a socket keeps others from connecting, but any process could have been
// the first to listen at a path.
bool net_pipe_is_of_this_user(nng_pipe pipe, uint64_t *uid);
// Fills in what the gate needs to serve that socket.
OCT_CHECKED oct_err net_gate_spec_of(net_gate_spec *out, nng_socket socket, const net_endpoint *at);
// Returns the gate of the loop; the first call creates it.
net_gate *net_loop_gate(net_loop *loop);
// Returns the gate, or NULL if no call has needed it and there are no certificates.
net_gate *net_loop_gate_peek(net_loop *loop);

// Starts a dialer of NNG with all options set. A failure is logged (NET-DIAL).
OCT_CHECKED oct_err net_dial(nng_socket socket, const char *url);
// Sets the options that sockets of all kinds share. header_bytes: what the protocol puts before the
// body. OCT_EINVAL: recv_bytes_max is 0.
OCT_CHECKED oct_err net_socket_limits(nng_socket socket, size_t recv_bytes_max,
                                      size_t header_bytes);

// Closes a socket after a rest of 10 ms, for which it blocks. nng_close of 1.5.2 never returns if
// it comes between two reads of one message: NNG then refuses the pipe's second read without an
// error, and the close waits for it. A caller that has stopped new messages lets its pipes come to
// rest by this.
void net_socket_close(nng_socket socket);
// Closes a link whose peer has ended or hangs, while the loop runs on. close(owner) closes its
// socket on a thread of its own, for as long as that takes. Then the loop frees the operation, the
// wakeup and the owner, which may contain the operation; until then all three must stay.
void net_abandon(net_loop *loop, void (*close)(void *owner), net_op *op, net_wakeup *wakeup,
                 void *owner);
// Changes by change, 1 or -1, the count of links for which net_loop_destroy waits.
void net_loop_hold(net_loop *loop, int change);

#endif // NET_NET_INTERNAL_H
