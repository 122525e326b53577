// Message bodies that NNG allocates, so that sending copies nothing. net_msg is nng_msg under a
// name that keeps NNG's header out of other folders.
#include "net/net_msg.h"

#include <stdio.h>
#include <stdlib.h>

#include <nng/nng.h>

net_msg *
net_msg_create(size_t length)
{
    nng_msg *msg = NULL;
    if (nng_msg_alloc(&msg, length) != 0) {
        fprintf(stderr, "out of memory: a message of %zu bytes\n", length);
        abort();
    }
    return (net_msg *)msg;
}

uint8_t *
net_msg_body(net_msg *msg)
{
    return nng_msg_body((nng_msg *)msg);
}

size_t
net_msg_length(const net_msg *msg)
{
    return nng_msg_len((const nng_msg *)msg);
}

void
net_msg_destroy(net_msg *msg)
{
    if (msg != NULL) {
        nng_msg_free((nng_msg *)msg);
    }
}
