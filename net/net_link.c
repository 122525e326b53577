#include "net/net_internal.h"

#define LINK_ADDED      1u
#define LINK_REMOVED    2u
#define LINK_GENERATION 4u

// Runs on a thread of NNG. The dialer makes the next pipe only after the last one is gone, so the
// events of two pipes never mix; ADDED and REMOVED of one pipe may come in either order.
static void
link_event(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    net_link *link = arg;
    (void)pipe;
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

int
net_link_watch(net_link *link, nng_socket socket, net_wakeup *wakeup)
{
    link->wakeup = wakeup;
    link->seen = 0;
    atomic_init(&link->word, 0);
    static const nng_pipe_ev events[] = {NNG_PIPE_EV_ADD_PRE, NNG_PIPE_EV_ADD_POST,
                                         NNG_PIPE_EV_REM_POST};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        int code = nng_pipe_notify(socket, events[i], link_event, link);
        if (code != 0) {
            return code;
        }
    }
    return 0;
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
