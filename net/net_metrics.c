#include "net/net_metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_http.h"

struct net_metrics {
    net_metrics_source source;
    net_http *http[NET_DAEMON_METRICS_MAX];
};

static void
answer_copy(net_http_answer *out, int status, const char *type, const char *text, size_t length)
{
    out->status = status;
    out->content_type = type;
    out->body = oct_alloc(length + 1);
    memcpy(out->body, text, length);
    out->length = length;
}

static void
metrics_answer(net_metrics *metrics, net_http_answer *out)
{
    size_t length;
    oct_prometheus *text = oct_prometheus_create();
    oct_prometheus_process(text, metrics->source.daemon);
    metrics->source.write(metrics->source.arg, text);
    const char *bytes = oct_prometheus_text(text, &length);
    answer_copy(out, 200, OCT_PROMETHEUS_TYPE, bytes, length);
    oct_prometheus_destroy(text);
}

static void
health_answer(net_metrics *metrics, net_http_answer *out)
{
    char line[512];
    const char *trouble = metrics->source.trouble(metrics->source.arg);
    int length = snprintf(line, sizeof(line), "%s\n", trouble != NULL ? trouble : "ok");
    answer_copy(out, trouble != NULL ? 503 : 200, "text/plain; charset=utf-8", line,
                OCT_MIN((size_t)length, sizeof(line) - 1));
}

static void
asked(void *arg, const char *path, net_http_answer *out)
{
    if (strcmp(path, "/metrics") == 0) {
        metrics_answer(arg, out);
    } else if (strcmp(path, "/healthz") == 0) {
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
net_metrics_check(const net_daemon *daemon, const char *program, int exit_code)
{
    char reason[256];
    for (unsigned i = 0; i < daemon->metrics_count; i++) {
        if (net_http_check(daemon->metrics[i], daemon->insecure, reason, sizeof(reason)) !=
            OCT_OK) {
            fprintf(stderr, "%s: error: --metrics %s: %s\n", program, daemon->metrics[i], reason);
            exit(exit_code);
        }
    }
}
