// One asynchronous operation of NNG that wakes the loop when it ends.
#include <stdlib.h>

#include "common/oct_base.h"
#include "net/net_internal.h"

// Runs on a thread of NNG.
static void
op_done(void *arg)
{
    net_op *op = arg;
    atomic_store_explicit(&op->done, true, memory_order_release);
    net_wakeup_send(op->wakeup);
}

void
net_op_init(net_op *op, net_wakeup *wakeup)
{
    op->wakeup = wakeup;
    atomic_init(&op->done, false);
    if (nng_aio_alloc(&op->aio, op_done, op) != 0) {
        abort();
    }
    nng_aio_set_timeout(op->aio, NNG_DURATION_INFINITE);
}

bool
net_op_take(net_op *op)
{
    if (!atomic_load_explicit(&op->done, memory_order_acquire)) {
        return false;
    }
    atomic_store_explicit(&op->done, false, memory_order_relaxed);
    return true;
}

nng_msg *
net_op_take_msg(net_op *op)
{
    nng_msg *msg = nng_aio_get_msg(op->aio);
    nng_aio_set_msg(op->aio, NULL);
    return msg;
}

void
net_op_fini(net_op *op)
{
    nng_aio_stop(op->aio);
    // After a failed send, and after a receive that was not taken, the message is still in the aio.
    nng_msg *msg = nng_aio_get_msg(op->aio);
    if (msg != NULL) {
        nng_msg_free(msg);
    }
    nng_aio_free(op->aio);
}
