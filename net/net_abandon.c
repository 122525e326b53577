// Closes the sockets of abandoned links on threads of their own, so that a hanging close does not
// stop the loop.
#include <pthread.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_internal.h"

typedef struct left_link {
    net_loop *loop;
    void (*close)(void *owner);
    net_op *op;
    net_wakeup *wakeup;
    void *owner;
    net_wakeup *closed;
} left_link;

static void
left_closed(void *arg)
{
    left_link *left = arg;
    net_op_fini(left->op);
    net_wakeup_destroy_with(left->wakeup, left->owner);
    net_loop_hold(left->loop, -1);
    net_wakeup_destroy_with(left->closed, left);
}

static void *
left_close_thread(void *arg)
{
    left_link *left = arg;
    left->close(left->owner);
    net_wakeup_send(left->closed);
    return NULL;
}

void
net_abandon(net_loop *loop, void (*close)(void *owner), net_op *op, net_wakeup *wakeup, void *owner)
{
    pthread_t thread;
    left_link *left = oct_alloc(sizeof(*left));
    *left = (left_link){loop, close, op, wakeup, owner, NULL};
    left->closed = net_wakeup_create(loop, left_closed, left);
    net_loop_hold(loop, 1);
    int code = pthread_create(&thread, NULL, left_close_thread, left);
    if (code != 0) {
        oct_log_warn("NET-ABANDON", "closing on the loop: call=pthread_create code=%d", code);
        (void)left_close_thread(left);
        return;
    }
    (void)pthread_setname_np(thread, "link-close");
    (void)pthread_detach(thread);
}
