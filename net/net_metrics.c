// Serves /metrics and /healthz of a daemon, with the numbers of its process and of the TLS gate.
#include "net/net_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_failure.h"
#include "common/oct_log.h"
#include "common/oct_process.h"
#include "common/oct_reason.h"
#include "net/net_acceptor.h"
#include "net/net_http.h"
#include "net/net_internal.h"
#include "net/net_numbers.h"

struct net_metrics {
    net_metrics_source source;
    net_loop *loop;
    net_http *http[NET_DAEMON_METRICS_MAX];
};

// Writes the gate's numbers; gate is NULL if no address leads beyond this machine.
static void
gate_write(net_gate *gate, oct_prometheus *text)
{
    if (gate == NULL) {
        return;
    }
    net_gate_counts n = net_gate_read_counts(gate);
    int64_t end_s = net_gate_tls_ends_s(gate);
    const net_measurements now = {
        .certificate_end_s = end_s != 0 ? (double)end_s : NAN,
        .connections = (double)n.connections,
        .accepted = (double)n.accepted,
        .opened = (double)n.opened,
        .refused = (double)n.refused,
        .overflowed = (double)n.overflowed,
        .expired = (double)n.expired,
        .malformed = (double)n.malformed,
        .dead = (double)n.dead,
        .revoked = (double)n.revoked,
        .relistened = (double)n.relistened,
        .bytes_in = (double)n.bytes_in,
        .bytes_out = (double)n.bytes_out,
    };
    oct_numbers *numbers = oct_numbers_create("gate.");
    net_numbers_add(numbers, &now);
    oct_numbers_prometheus(numbers, text);
    oct_numbers_destroy(numbers);
}

static void
metrics_answer(net_metrics *metrics, net_http_answer *out)
{
    size_t length;
    oct_prometheus *text = oct_prometheus_create();
    oct_process_prometheus(text, metrics->source.daemon);
    gate_write(net_loop_gate_peek(metrics->loop), text);
    metrics->source.write(metrics->source.arg, text);
    const char *bytes = oct_prometheus_text(text, &length);
    net_http_answer_copy(out, 200, OCT_PROMETHEUS_TYPE, bytes, length);
    oct_prometheus_destroy(text);
}

static void
health_answer(net_metrics *metrics, net_http_answer *out)
{
    char line[NET_GATE_TROUBLE_BYTES + 16], gate_line[NET_GATE_TROUBLE_BYTES] = "";
    net_gate *gate = net_loop_gate_peek(metrics->loop);
    const char *trouble = metrics->source.trouble(metrics->source.arg);
    if (gate != NULL && net_gate_trouble(gate, gate_line) && trouble == NULL) {
        trouble = gate_line;
    }
    if (trouble == NULL && net_acceptor_trouble(gate_line, sizeof(gate_line))) {
        trouble = gate_line;
    }
    bool is_degraded = trouble == NULL && gate_line[0] != '\0';
    int length = snprintf(line, sizeof(line), "%s%s\n", is_degraded ? "degraded: " : "",
                          trouble != NULL ? trouble
                          : is_degraded   ? gate_line
                                          : "ok");
    bool is_hung = metrics->source.is_hung != NULL && metrics->source.is_hung(metrics->source.arg);
    net_http_answer_copy(out,
                         is_hung           ? 500
                         : trouble != NULL ? 503
                                           : 200,
                         "text/plain; charset=utf-8", line,
                         OCT_MIN((size_t)length, sizeof(line) - 1));
}

static void
asked(void *arg, const net_http_request *request, net_http_answer *out)
{
    if (strcmp(request->path, "/metrics") == 0) {
        metrics_answer(arg, out);
    } else if (strcmp(request->path, "/healthz") == 0) {
        health_answer(arg, out);
    }
}

oct_err
net_metrics_open(net_metrics **out, const net_daemon *daemon, net_loop *loop,
                 const net_metrics_source *source)
{
    *out = NULL;
    if (daemon->metrics_count == 0) {
        return OCT_OK;
    }
    net_metrics *metrics = oct_alloc(sizeof(*metrics));
    metrics->source = *source;
    metrics->loop = loop;
    for (unsigned i = 0; i < daemon->metrics_count; i++) {
        oct_err err = net_http_open(&metrics->http[i], loop, daemon->metrics[i], asked, metrics);
        if (err != OCT_OK) {
            net_metrics_close(metrics);
            return err;
        }
        oct_log_notice("NET-METRICS", "url=%s serves /metrics and /healthz", daemon->metrics[i]);
    }
    *out = metrics;
    return OCT_OK;
}

void
net_metrics_close(net_metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    for (unsigned i = 0; i < NET_DAEMON_METRICS_MAX; i++) {
        net_http_close(metrics->http[i]);
    }
    free(metrics);
}

void
net_metrics_check(const net_daemon *daemon, const char *program)
{
    oct_reason why;
    const net_http_terms terms = {daemon->insecure, daemon->tls != NULL, "--insecure",
                                  NET_DAEMON_TLS};
    for (unsigned i = 0; i < daemon->metrics_count; i++) {
        if (net_http_check(daemon->metrics[i], &terms, &why) != OCT_OK) {
            oct_failure_print(program, "--metrics %s: %s", daemon->metrics[i], why.text);
            exit(NET_DAEMON_EXIT_USAGE);
        }
    }
}
