// One RPC connection to a daemon.

#include "cli/remote/cli_link.h"

#define INFLIGHT_MAX    8          // calls at once on a connection
#define RESEND_MS       1000       // until an unanswered request is sent again
#define REPLY_BYTES_MAX (2u << 20) // of one reply

oct_err
cli_link_open(cli_link *link, net_loop *loop, const char *url, unsigned roles, bool repeats)
{
    *link = (cli_link){0};
    OCT_TRY(net_rpc_client_open(&link->rpc, loop,
                                &(net_endpoint){url, roles, REPLY_BYTES_MAX, INFLIGHT_MAX},
                                repeats ? RESEND_MS : 0));
    link->client = wire_client_create(net_rpc_call, link->rpc, REPLY_BYTES_MAX);
    return OCT_OK;
}

void
cli_link_close(cli_link *link)
{
    if (link->rpc != NULL) {
        net_rpc_client_close(link->rpc);
        wire_client_destroy(link->client);
    }
    *link = (cli_link){0};
}
