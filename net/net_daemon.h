#ifndef NET_NET_DAEMON_H
#define NET_NET_DAEMON_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/oct_log.h"
#include "net/net_loop.h"

// What every daemon's main does the same way: the shared options (an argp child parser), the log,
// following the supervisor, stopping on SIGTERM, SIGINT and SIGHUP.
//
// Threads: the main thread.
#define NET_DAEMON_METRICS_MAX 2 // one for the machine itself, one for the network, say
#define NET_DAEMON_TLS         "--tls FOLDER (or OCTET_TLS)"
#define NET_DAEMON_EXIT_USAGE  2      // exit code: the options are wrong
#define NET_DAEMON_EXIT_MS     1500   // from the end of the loop to that of the process, at most
#define NET_DAEMON_ORPHAN_MS   300000 // from the end of the parent to that of the process, at most

typedef struct net_daemon {
    bool insecure;     // --insecure
    const char *tls;   // --tls FOLDER, else OCTET_TLS; NULL: none
    int follow_parent; // --follow-parent PID: stop when that process dies; 0: nobody
    int pulse;         // --pulse FD: show there that this process goes on; 0: nobody looks
    oct_log_level log_level;
    const char *metrics[NET_DAEMON_METRICS_MAX]; // --metrics URL: net/net_metrics.h; not checked
    unsigned metrics_count;
} net_daemon;

// Reads the command line: the shared options into daemon, those of the daemon's own argp as that
// does; on ARGP_KEY_INIT its parser sets child_inputs[0] to daemon. Exits when it is wrong.
void net_daemon_parse(net_daemon *daemon, const struct argp *own, int argc, char **argv,
                      void *input);

// Log name, log bounded (oct_log_bound.h), SIGPIPE ignored, as many descriptors as the hard limit
// allows, the supervisor followed and shown that this process goes on. False: the parent has gone;
// exit.
bool net_daemon_begin(const net_daemon *daemon, const char *name);
// Gives the loop the certificates of --tls, if there is one. Returns 0, or the code with which the
// daemon is to exit; the reason is logged:
//   NET_DAEMON_EXIT_USAGE  they cannot be used, or, where an address of the daemon needs them
//                          (is_needed, or one of --metrics), are not of its role
//   EXIT_FAILURE           they are not valid by the clock of this machine: time or a new
//                          certificate heals it, so that a supervisor should try again
int net_daemon_secure(const net_daemon *daemon, net_loop *loop, oct_role role, bool is_needed);
// Says on standard error what is wrong with the address of an option; false: something. after: how
// many addresses behind it are used as well (net_url_offset); length_max: of its text, in bytes.
bool net_daemon_url(const char *program, const char *option, const char *url, bool insecure,
                    unsigned after, size_t length_max);
// SIGTERM calls stop on the loop; SIGINT and SIGHUP too, unless the daemon follows a supervisor
// (which tells it when to stop: those of a terminal reach the whole group). A SIGHUP that is
// ignored, as by nohup, stays so.
OCT_CHECKED oct_err net_daemon_on_stop(const net_daemon *daemon, net_loop *loop, net_signal_fn stop,
                                       void *arg);

#endif // NET_NET_DAEMON_H
