#ifndef CLI_REMOTE_CLI_LINK_H
#define CLI_REMOTE_CLI_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net_rpc.h"
#include "proto/wire_rpc.h"

// A tool's line to a daemon: its requests, and what they travel by. Threads: the loop's. Owns: rpc
// and client; all zero: not open.
typedef struct cli_link {
    net_rpc_client *rpc;
    wire_client *client;
} cli_link;

// Starts dialling; url is checked before, roles are whom to believe (net_rpc.h). repeats: a request
// without an answer is sent again, each second; else it is sent once, and is OCT_EIO when its
// connection is lost. Errors: those of net_rpc_client_open; then there is nothing to close.
OCT_CHECKED oct_err cli_link_open(cli_link *link, net_loop *loop, const char *url, unsigned roles,
                                  bool repeats);

// What was asked and not answered is answered with OCT_ECLOSED meanwhile. Closed ones stay so.
void cli_link_close(cli_link *link);

#endif // CLI_REMOTE_CLI_LINK_H
