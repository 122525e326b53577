#ifndef NET_NET_METRICS_H
#define NET_NET_METRICS_H

#include "common/oct_prometheus.h"
#include "net/net_daemon.h"

// The server of --metrics URL of every daemon: GET /metrics (Prometheus text) and GET /healthz. The
// answers of /healthz, each with one line:
//   200  "ok", or "degraded: " and what the gate has mended, or that files of --tls cannot be used
//        (a restart could not use them either)
//   503  what is missing
//   500  the daemon is hung, and only a restart helps
// No answer within seconds means that the loop does not turn.
//
// Besides the daemon's own numbers /metrics has those of the process (octet_build_info, process_*)
// and of the gate (octet_gate_*, octet_tls_*), if there is one.
//
// Threads: the loop thread. Owns: its servers, one for each --metrics.
typedef struct net_metrics net_metrics;

typedef struct net_metrics_source {
    const char *daemon; // "learner" …, static
    // Adds the daemon's own families.
    void (*write)(void *arg, oct_prometheus *text);
    // Returns NULL if all is well, else one line that says what is missing, valid until the next
    // call.
    const char *(*trouble)(void *arg);
    bool (*is_hung)(void *arg); // NULL: never
    void *arg;
} net_metrics_source;

// Opens the servers that the options ask for; call after net_daemon_secure. Without --metrics *out
// is NULL. OCT_EIO, OCT_EINVAL: as net_http_open (logged).
OCT_CHECKED oct_err net_metrics_open(net_metrics **out, const net_daemon *daemon, net_loop *loop,
                                     const net_metrics_source *source);
void net_metrics_close(net_metrics *metrics); // NULL is a no-op

// Checks the addresses of --metrics. If one cannot be served, prints why and exits with
// NET_DAEMON_EXIT_USAGE.
void net_metrics_check(const net_daemon *daemon, const char *program);

#endif // NET_NET_METRICS_H
