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
#include "net/net_gate.h"
#include "net/net_loop.h"

// What the files of net/ share. Private: nobody outside net/ includes this.

// A foreign code becomes one of ours where it enters.
oct_err net_err_from_nng(int code);
oct_err net_err_from_uv(int code);

uv_loop_t *net_loop_uv(net_loop *loop);
// free(block) when the loop is destroyed: for what a late caller may still point to.
void net_loop_keep(net_loop *loop, void *block);
// Destroys the wakeup and calls free(owner) once the loop has let go of it. An owner may thus be
// closed from inside its own handler.
void net_wakeup_destroy_with(net_wakeup *wakeup, void *owner);

// One NNG operation in flight.
// Threads: the callback runs on a thread of NNG and does two things: mark, wake. The loop thread
// does the rest.
// Order: arm (nng_*_aio on op->aio), net_op_take, arm again. While it is armed it is NNG's.
typedef struct net_op {
    nng_aio *aio;
    net_wakeup *wakeup;
    atomic_bool done;
} net_op;

void net_op_init(net_op *op, net_wakeup *wakeup);
// True once per finished operation. After a receive, the message is the caller's to clear from aio.
bool net_op_take(net_op *op);
// Takes the message out of a finished operation; NULL if there is none.
nng_msg *net_op_take_msg(net_op *op);
// After the socket was closed: waits for the callback, frees a message left in it and the aio.
void net_op_fini(net_op *op);

// Keeps a socket dialing until it has a pipe, and lets it have one at a time. A dialer of NNG 1.5.2
// whose peer dies in the middle of the handshake may never dial again, and does not tell. So a
// socket that has had no pipe for some seconds gets a spare dialer, and another one later; when a
// pipe is up, any other is refused and its dialer closed.
// docs/internals/decisions/0010-push-after-disconnect.md has the details.
// Threads: the loop thread; NNG's call fn.
// Order: once to arg are set; start, stop, nng_close. The events come until nng_close is done.
//
// An ipc socket is not dialed before it is there, for which the loop looks every 5 ms, later every
// 50. While a socket of NNG 1.5.2 is not connected yet, its poller is told so without end and takes
// a core (EPOLLHUP needs no asking for), and after a dial that failed the next one is due in up to
// half a second (docs/internals/decisions/0054-dial-when-it-is-there.md).
//
// Beyond this machine the gate dials (net_gate.h), and the socket listens to it: no spare dialers.
typedef struct net_redial {
    bool once;                                // one pipe in the socket's life
    unsigned roles;                           // that the peer may have
    size_t recv_bytes_max;                    // as given to net_socket_limits, header included
    void (*fn)(void *arg, nng_pipe_ev event); // or NULL; hears of pipes that were not refused
    void *arg;
    net_loop *loop;
    nng_socket socket;
    char *url;
    net_timer *timer;  // NULL when stopped, or when the gate dials
    net_gate *gate;    // dials, NULL: NNG does; set before there are events
    net_gate_end *end; // the gate's, until stopped
    unsigned ticks;    // without a pipe, since the last dialer was made; before the first: looks
    unsigned spares;   // made since there was a pipe
    bool is_ipc;       // then only this user and root may listen there; set likewise
    atomic_int pipe;   // number of the pipe there is, 0: none; with once, it is never reset
    // A user that listens there and may not, plus 1; 0: none, or a good one since.
    atomic_uint_fast64_t stranger;
} net_redial;

OCT_CHECKED oct_err net_redial_start(net_redial *redial, net_loop *loop, nng_socket socket,
                                     const char *url);
// Fine for one that did not start, if it was zero before.
void net_redial_stop(net_redial *redial);

// As net_rpc_client_trouble.
bool net_redial_trouble(net_redial *redial, char *out, size_t out_size);

// Tells a loop of the pipes of a dialing socket.
// word: generation of the pipe << 2 | REMOVED | ADDED, written by NNG's threads.
typedef struct net_link {
    net_redial redial;
    net_wakeup *wakeup;
    atomic_uint word;
    unsigned seen; // the word when it was last polled
} net_link;

typedef struct net_link_change {
    bool disconnected; // the pipe that was up went
    bool connected;    // a pipe is up, and it is not the one of the last poll
} net_link_change;

// Dials; ends with net_redial_stop.
OCT_CHECKED oct_err net_link_start(net_link *link, net_loop *loop, nng_socket socket,
                                   const char *url, unsigned roles, size_t recv_bytes_max,
                                   net_wakeup *wakeup);
net_link_change net_link_poll(net_link *link);

// Where a socket listens: at the address itself, or behind the gate, at a local address for each
// role.
typedef struct net_listening {
    net_gate_end *end;      // NULL: NNG itself listens
    net_acceptor *acceptor; // of a local socket of NNG's, else NULL
    bool tagged; // set before net_listen: behind the gate, messages begin with NET_SP_TAG_BYTES
} net_listening;

// Starts to listen with every option set. roles: whom the gate lets in. recv_bytes_max: as given to
// net_socket_limits, header (and tag) included. Failure is logged (NET-LISTEN); net_listening_stop
// is then fine, too.
OCT_CHECKED oct_err net_listen(net_listening *listening, net_loop *loop, nng_socket socket,
                               const char *url, unsigned roles, size_t recv_bytes_max);
// Whose message it is. Threads: any.
oct_role net_listening_role(const net_listening *listening, nng_msg *msg);
// Before nng_close.
void net_listening_stop(net_listening *listening);

// False, and the pipe is refused: it comes from another process. Otherwise the gate is told of it.
// For NNG_PIPE_EV_ADD_PRE.
bool net_pipe_is_ours(net_gate *gate, nng_pipe pipe);
// Whether the process at the other end of an ipc pipe is of this user or of root; *uid is whose it
// is. A socket's mode keeps others from connecting; who listens at a path is whoever came first.
bool net_pipe_is_of_this_user(nng_pipe pipe, uint64_t *uid);
OCT_CHECKED oct_err net_gate_spec_of(net_gate_spec *out, nng_socket socket, const char *url,
                                     unsigned roles, size_t recv_bytes_max);
// The gate of the loop, made when it is first asked for.
net_gate *net_loop_gate(net_loop *loop);
// NULL: nobody has asked for it yet, and there are no certificates.
net_gate *net_loop_gate_peek(net_loop *loop);

// Starts a dialer of NNG's with every option set. Failure is logged (NET-DIAL).
OCT_CHECKED oct_err net_dial(nng_socket socket, const char *url);
// Every socket option that all kinds share. header_bytes: what the protocol puts before the body.
OCT_CHECKED oct_err net_socket_limits(nng_socket socket, size_t recv_bytes_max,
                                      size_t header_bytes);

// nng_close of 1.5.2 never returns if it comes between two reads of one message (the pipe's second
// read is then refused without a word, and the close waits for it). A link that takes no more
// messages lets its pipes come to rest first; that needs a moment, for which this blocks.
void net_socket_close(nng_socket socket);
// For a link that ends while the loop goes on, and whose peer has gone or hangs: calls close(arg),
// which closes its socket, on a thread of its own, for as long as it takes. Then, on the loop, the
// operation, the wakeup and the owner (which both may lie in) are freed. Until then they stay.
void net_abandon(net_loop *loop, void (*close)(void *arg), void *arg, net_op *op,
                 net_wakeup *wakeup, void *owner);
// One more, or one less, that net_loop_destroy has to wait for.
void net_loop_hold(net_loop *loop, int change);

#endif // NET_NET_INTERNAL_H
