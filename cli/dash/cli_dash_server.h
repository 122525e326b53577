#ifndef CLI_DASH_CLI_DASH_SERVER_H
#define CLI_DASH_CLI_DASH_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "net/net_loop.h"

// Serves the page of octet dash, and what it asks for, to browsers: GET of the paths of
// cli_dash_page.h and cli_dash_json.h. A Content-Security-Policy lets the page run only its own
// scripts and connect only to this server.
//
// http:// serves only this machine, and only requests that name it as such (net_http_is_local).
// https:// serves operators with certificates, as --metrics does.
//
// Threads: the loop thread. Order: close before the loop is destroyed.
typedef struct cli_dash_server cli_dash_server;

#define CLI_DASH_PORT 8260

// Opens a socket that listens at an http:// address of this machine, for cli_dash_open_fd. A port
// that is taken is so found before anything else is done. reason gets one line:
//   OCT_EINVAL  the address is not one of this machine
//   OCT_EIO  the port cannot be bound
OCT_CHECKED oct_err cli_dash_listen(int *fd, const char *url, oct_reason *why);
// Serves at url, on the socket take_fd, which this function owns, also on failure. folders is
// borrowed. OCT_EIO: it was logged.
OCT_CHECKED oct_err cli_dash_open_fd(cli_dash_server **out, net_loop *loop, const char *url,
                                     int take_fd, char *const *folders, uint32_t count);
// Listens and serves at any address. OCT_EINVAL, OCT_EIO: reason gets one line for a person.
OCT_CHECKED oct_err cli_dash_open(cli_dash_server **out, net_loop *loop, const char *url,
                                  char *const *folders, uint32_t count, oct_reason *why);
uint32_t cli_dash_run_count(const cli_dash_server *dash);
void cli_dash_close(cli_dash_server *dash); // NULL is a no-op

#endif // CLI_DASH_CLI_DASH_SERVER_H
