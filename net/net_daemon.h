#ifndef NET_NET_DAEMON_H
#define NET_NET_DAEMON_H

#include <stdbool.h>
#include <stddef.h>

#include "common/oct_args.h"
#include "common/oct_log.h"
#include "net/net_loop.h"

// What the main functions of all daemons share: options, the log,
// following the supervisor, certificates, and stopping on SIGTERM, SIGINT and SIGHUP.
//
// Threads: the main thread.
#define NET_DAEMON_METRICS_MAX 2 // for example one for this machine and one for the network
#define NET_DAEMON_TLS         "--tls FOLDER (or OCTET_TLS)"
#define NET_DAEMON_EXIT_USAGE  2    // exit code: the options are wrong
#define NET_DAEMON_EXIT_MS     1500 // from the end of the loop to the end of the process, at most
// Time from the end of the parent to the end of the process, at most.
#define NET_DAEMON_ORPHAN_MS 300000

typedef struct net_daemon {
    bool insecure;          // --insecure
    const char *tls;        // --tls FOLDER, else OCTET_TLS; NULL: no certificates
    uint32_t follow_parent; // --follow-parent PID: stop when that process ends; 0: no parent
    uint32_t pulse;         // --pulse FD: the supervisor's page for signs of progress; 0: none
    oct_log_level log_level;
    const char *metrics[NET_DAEMON_METRICS_MAX]; // --metrics URL (net_metrics.h); not checked yet
    uint32_t metrics_count;
} net_daemon;

// Options of all daemons, which a daemon's oct_args shares; their struct is its net_daemon.
extern const oct_arg net_daemon_rows[];
#define NET_DAEMON_GROUP 1 // of these options in --help

// Sets daemon, which is part of options, to the defaults and fills options from the command line.
// On wrong usage it prints a message and exits with NET_DAEMON_EXIT_USAGE.
void net_daemon_parse(net_daemon *daemon, const oct_args *args, int argc, char **argv,
                      void *options);

// Sets up the log with its name and bound (oct_log_bound.h), ignores SIGPIPE, raises the limit of
// descriptors to the hard limit, follows the supervisor and shows it a first sign of progress.
// Returns false if the parent has ended already; exit then.
bool net_daemon_begin(const net_daemon *daemon, const char *name);
// Gives the loop the certificates of --tls, if there are any. Returns 0, or the code with which the
// daemon must exit after the reason was logged:
//   NET_DAEMON_EXIT_USAGE  they cannot be used, or, where an address of the daemon needs them
//                          (is_needed, or one of --metrics), are not of its role
//   EXIT_FAILURE           they are not valid by the clock of this machine: time or a new
//                          certificate heals it, so that a supervisor should try again
int net_daemon_secure(const net_daemon *daemon, net_loop *loop, oct_role role, bool is_needed);
// Checks the address of an option and prints to standard error what is wrong with it. Returns false
// if something is. after: count of the addresses after this one that the daemon also uses
// (net_url_offset). length_max: bytes of url.
bool net_daemon_url(const char *program, const char *option, const char *url, bool insecure,
                    unsigned after, size_t length_max);
// Makes SIGTERM call stop on the loop. Without a supervisor SIGINT and SIGHUP do the same; a
// supervisor sends SIGTERM itself, and a terminal's signals reach the whole group. A SIGHUP that
// was ignored at the start, as by nohup, stays ignored.
OCT_CHECKED oct_err net_daemon_on_stop(const net_daemon *daemon, net_loop *loop, net_signal_fn stop,
                                       void *arg);

#endif // NET_NET_DAEMON_H
