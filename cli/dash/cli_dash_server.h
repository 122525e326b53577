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

// The address of the page, and what it shows. The folders are borrowed until cli_dash_close.
typedef struct cli_dash_site {
    const char *url;
    char *const *folders; // [count], of runs
    uint32_t count;
} cli_dash_site;

// Opens a socket that listens at an http:// address of this machine, for cli_dash_open_fd. A port
// that is taken is so found before anything else is done. reason gets one line:
//   OCT_EINVAL  the address is not one of this machine
//   OCT_EIO  the port cannot be bound
OCT_CHECKED oct_err cli_dash_listen(int *fd, const char *url, oct_reason *why);
// Serves at the site's address, on the socket take_fd, which this function owns, also on failure.
// OCT_EIO: it was logged.
OCT_CHECKED oct_err cli_dash_open_fd(cli_dash_server **out, net_loop *loop,
                                     const cli_dash_site *site, int take_fd);
// Listens and serves at any address. OCT_EINVAL, OCT_EIO: reason gets one line for a person.
OCT_CHECKED oct_err cli_dash_open(cli_dash_server **out, net_loop *loop, const cli_dash_site *site,
                                  oct_reason *why);
uint32_t cli_dash_run_count(const cli_dash_server *dash);
void cli_dash_close(cli_dash_server *dash); // NULL is a no-op

#endif // CLI_DASH_CLI_DASH_SERVER_H
