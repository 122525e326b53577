#ifndef CLI_REMOTE_CLI_LINK_H
#define CLI_REMOTE_CLI_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

// A tool's connection to a daemon: the client of its calls, and the transport below. Threads: the
// loop thread. Owns: rpc and client. All zero: not open.
typedef struct cli_link {
    net_rpc_client *rpc;
    wire_client *client;
} cli_link;

// Starts dialling. The caller has checked url; roles are those that the daemon's certificate may
// have (net_rpc.h). repeats: an unanswered request is sent again every second. Otherwise it is sent
// once, and fails with OCT_EIO if its connection is lost. Errors are those of net_rpc_client_open;
// there is nothing to close then.
OCT_CHECKED oct_err cli_link_open(cli_link *link, net_loop *loop, const char *url, unsigned roles,
                                  bool repeats);

// Closes the connection. Calls in flight end with OCT_ECLOSED within this function. Closing a
// closed link is a no-op.
void cli_link_close(cli_link *link);

#endif // CLI_REMOTE_CLI_LINK_H
