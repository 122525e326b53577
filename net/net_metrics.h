#ifndef NET_NET_METRICS_H
#define NET_NET_METRICS_H

#include "common/oct_prometheus.h"
#include "net/net_daemon.h"

// What --metrics URL of every daemon serves: GET /metrics (Prometheus text) and GET /healthz (200
// "ok", or "degraded: " and one line of what the gate has mended, or of certificates that it cannot
// use and a restart could not either; or 503 with one line, or 500 with one line if the daemon is
// hung and only a restart helps). No answer at all within seconds: the loop does not turn.
//
// Besides the daemon's own numbers it tells those of the process (octet_build_info, process_*) and
// of the gate (octet_gate_*, octet_tls_*), if there is one.
//
// Threads: the loop thread. Owns: its servers, one for each --metrics.
typedef struct net_metrics net_metrics;

typedef struct net_metrics_source {
    const char *daemon; // "learner" …, static
    // Adds the daemon's own families.
    void (*write)(void *arg, oct_prometheus *text);
    // NULL: well. Else one line that says what is missing, valid until the next call.
    const char *(*trouble)(void *arg);
    bool (*is_hung)(void *arg); // NULL: never
    void *arg;
} net_metrics_source;

// Opens what the options ask for, after net_daemon_secure; none: *out is NULL. OCT_EIO, OCT_EINVAL:
// of net_http_open, logged.
OCT_CHECKED oct_err net_metrics_open(net_metrics **out, const net_daemon *daemon, net_loop *loop,
                                     const net_metrics_source *source);
void net_metrics_close(net_metrics *metrics); // NULL is a no-op

// Options that cannot be served end the process with the exit code of wrong usage, and a message.
void net_metrics_check(const net_daemon *daemon, const char *program);

#endif // NET_NET_METRICS_H
