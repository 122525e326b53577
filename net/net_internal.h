#ifndef NET_NET_INTERNAL_H
#define NET_NET_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nng/nng.h>
#include <uv.h>

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

// Follows the pipes of a socket with one dialer, that is with one pipe at a time.
// word: generation of the pipe << 2 | REMOVED | ADDED, written by NNG's threads.
typedef struct net_link {
    net_wakeup *wakeup;
    atomic_uint word;
    unsigned seen; // the word when it was last polled
} net_link;

typedef struct net_link_change {
    bool disconnected; // the pipe that was up went
    bool connected;    // a pipe is up, and it is not the one of the last poll
} net_link_change;

int net_link_watch(net_link *link, nng_socket socket, net_wakeup *wakeup);
net_link_change net_link_poll(net_link *link);

// Starts a listener or a dialer with every option set. Failure is logged (NET-LISTEN, NET-DIAL).
OCT_CHECKED oct_err net_listen(nng_socket socket, const char *url);
OCT_CHECKED oct_err net_dial(nng_socket socket, const char *url);
// Every socket option that all kinds share. header_bytes: what the protocol puts before the body.
OCT_CHECKED oct_err net_socket_limits(nng_socket socket, size_t recv_bytes_max,
                                      size_t header_bytes);

// nng_close of 1.5.2 never returns if it comes between two reads of one message (the pipe's second
// read is then refused without a word, and the close waits for it). A link that takes no more
// messages lets its pipes come to rest first; that needs a moment, for which this blocks.
void net_socket_close(nng_socket socket);

#endif // NET_NET_INTERNAL_H
