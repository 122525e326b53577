// Follows the pipe of a socket that dials, and reports to the loop when it comes or ends.
#include "net/net_internal.h"

#define LINK_ADDED      1u
#define LINK_REMOVED    2u
#define LINK_GENERATION 4u

// Runs on a thread of NNG. There is one pipe at a time; its ADDED and REMOVED may come in either
// order, so both bits of a generation mean that it has ended.
static void
link_event(void *arg, nng_pipe_ev event)
{
    net_link *link = arg;
    if (event == NNG_PIPE_EV_ADD_PRE) {
        unsigned word = atomic_load_explicit(&link->word, memory_order_relaxed);
        unsigned next = (word & ~(LINK_ADDED | LINK_REMOVED)) + LINK_GENERATION;
        atomic_store_explicit(&link->word, next, memory_order_release);
        return;
    }
    unsigned bit = event == NNG_PIPE_EV_ADD_POST ? LINK_ADDED : LINK_REMOVED;
    (void)atomic_fetch_or_explicit(&link->word, bit, memory_order_acq_rel);
    net_wakeup_send(link->wakeup);
}

oct_err
net_link_start(net_link *link, net_loop *loop, nng_socket socket, const net_endpoint *at,
               net_wakeup *wakeup)
{
    link->wakeup = wakeup;
    link->seen = 0;
    atomic_init(&link->word, 0);
    link->redial.once = false;
    link->redial.roles = at->roles;
    link->redial.recv_bytes_max = at->recv_bytes_max;
    link->redial.fn = link_event;
    link->redial.arg = link;
    return net_redial_start(&link->redial, loop, socket, at->url);
}

static bool
word_is_up(unsigned word)
{
    return (word & (LINK_ADDED | LINK_REMOVED)) == LINK_ADDED;
}

net_link_change
net_link_poll(net_link *link)
{
    unsigned word = atomic_load_explicit(&link->word, memory_order_acquire);
    bool same = word / LINK_GENERATION == link->seen / LINK_GENERATION;
    net_link_change change = {
        .disconnected = word_is_up(link->seen) && !(same && word_is_up(word)),
        .connected = word_is_up(word) && !(same && word_is_up(link->seen)),
    };
    link->seen = word;
    return change;
}
