#ifndef CLI_DASH_CLI_DASH_SERVER_H
#define CLI_DASH_CLI_DASH_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "net/net_loop.h"

// Serves the page of octet dash, and what it asks for, to browsers: GET of the paths of
// cli_dash_page.h and cli_dash_json.h, with a Content-Security-Policy that lets it run its own
// scripts only and speak to nobody else.
//
// http:// serves this machine alone, and only who asks for it under a name of this machine
// (net_http_is_local). https:// serves operators with certificates, as --metrics does.
//
// Threads: the loop thread. Order: close before the loop is destroyed.
typedef struct cli_dash_server cli_dash_server;

#define CLI_DASH_PORT 8260

// A socket that listens at an http:// address of this machine, for cli_dash_open_fd: so a port that
// is taken is known before anything else is done. OCT_EINVAL, OCT_EIO: one line in reason.
OCT_CHECKED oct_err cli_dash_listen(int *fd, const char *url, char *reason, size_t reason_size);
// Serves at url, on that socket. Owns: take_fd, on failure too. folders: borrowed. OCT_EIO: logged.
OCT_CHECKED oct_err cli_dash_open_fd(cli_dash_server **out, net_loop *loop, const char *url,
                                     int take_fd, char *const *folders, uint32_t count);
// The same for any address. OCT_EINVAL, OCT_EIO: one line for a person in reason.
OCT_CHECKED oct_err cli_dash_open(cli_dash_server **out, net_loop *loop, const char *url,
                                  char *const *folders, uint32_t count, char *reason,
                                  size_t reason_size);
uint32_t cli_dash_run_count(const cli_dash_server *dash);
void cli_dash_close(cli_dash_server *dash); // NULL is a no-op

#endif // CLI_DASH_CLI_DASH_SERVER_H
