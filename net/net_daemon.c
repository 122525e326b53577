// What the main functions of all daemons share: options, log, limits, certificates, stopping.
#include "net/net_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/oct_failure.h"
#include "common/oct_log_bound.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "net/net_process.h"
#include "net/net_url.h"

#define PID_MAX        (1u << 22) // of Linux
#define DESCRIPTOR_MAX (1u << 20)

static const char *const levels[] = {"error", "warn",  "notice",
                                     "info",  "debug", NULL}; // oct_log_level

const oct_arg net_daemon_rows[] = {
    {OCT_ARG_PATH("tls", "FOLDER", net_daemon, tls),
     .help =
         "Read the certificates for tls+tcp:// addresses from FOLDER: ca.crt, node.crt, node.key "
         "and optionally crl.pem (octet certs issue makes the folder; default $OCTET_TLS)"},
    {OCT_ARG_FLAG("insecure", net_daemon, insecure),
     .help = "Listen on or connect to tcp:// addresses, which have no TLS: anyone who can reach "
             "them, on 127.0.0.1 every user of this machine, can read and change the training"},
    {OCT_ARG_COUNT("follow-parent", "PID", net_daemon, follow_parent, 1, PID_MAX),
     .help = "Stop when process PID (the parent) dies"},
    {OCT_ARG_COUNT("pulse", "FD", net_daemon, pulse, NET_PROCESS_FD, DESCRIPTOR_MAX),
     .help = "Report progress to the parent on descriptor FD (octet train passes it)"},
    {OCT_ARG_WORD("log-level", "LEVEL", net_daemon, log_level, levels),
     .help = "Log messages of this level and above: error, warn, notice, info (default) or debug"},
    {OCT_ARG_TEXTS("metrics", "URL", net_daemon, metrics, metrics_count),
     .help = "Serve /metrics (Prometheus) and /healthz at http://127.0.0.1:PORT or "
             "https://HOST:PORT; may be given twice"},
    {0},
};

_Noreturn static void
usage_error(const char *program, const char *reason)
{
    oct_failure_print(program, "%s", reason);
    fprintf(stderr, "  help: %s --help\n", program);
    exit(NET_DAEMON_EXIT_USAGE);
}

void
net_daemon_parse(net_daemon *daemon, const oct_args *args, int argc, char **argv, void *options)
{
    oct_reason why;
    const char *slash = strrchr(argv[0], '/'), *program = slash != NULL ? slash + 1 : argv[0];
    *daemon = (net_daemon){
        .log_level = OCT_LOG_INFO,
        .tls = net_loop_tls_default(),
    };
    if (oct_args_parse(args, program, argc, argv, options, &why) != OCT_OK) {
        usage_error(program, why.text);
    }
    if (daemon->metrics_count == 2 && strcmp(daemon->metrics[0], daemon->metrics[1]) == 0) {
        oct_reason_set(&why, "--metrics=%s: given twice", daemon->metrics[0]);
        usage_error(program, why.text);
    }
    if (daemon->follow_parent != 0) {
        // The parent's end also ends what comes before net_daemon_begin, such as waiting for a
        // lock. If the parent has ended already, net_daemon_begin reports that.
        (void)net_process_follow_parent((int)daemon->follow_parent);
    }
}

// Raises the soft limit of descriptors to the hard one: a peer takes several, shells start with
// 1024, and the hard limit is the operator's decision.
static void
descriptors_allow(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

bool
net_daemon_begin(const net_daemon *daemon, const char *name)
{
    oct_log_init(name, daemon->log_level);
    oct_log_own_begin(OCT_LOG_BYTES_MAX);
    (void)signal(SIGPIPE, SIG_IGN);
    descriptors_allow();
    if (daemon->pulse != 0 && oct_pulse_join((int)daemon->pulse) != OCT_OK) {
        oct_log_warn("NET-PULSE", "--pulse=%u is not a supervisor's page", (unsigned)daemon->pulse);
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    if (daemon->follow_parent == 0) {
        return true;
    }
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (!net_process_follow_parent((int)daemon->follow_parent)) {
        return false;
    }
    net_process_outlive_parent((int)daemon->follow_parent, NET_DAEMON_ORPHAN_MS);
    return true;
}

static bool
serves_https(const net_daemon *daemon)
{
    bool does = false;
    for (unsigned i = 0; i < daemon->metrics_count; i++) {
        does = does || strncmp(daemon->metrics[i], "https://", strlen("https://")) == 0;
    }
    return does;
}

int
net_daemon_secure(const net_daemon *daemon, net_loop *loop, oct_role role, bool is_needed)
{
    oct_reason why;
    oct_err err = daemon->tls != NULL ? net_loop_use_tls(loop, daemon->tls, &why) : OCT_OK;
    if (err != OCT_OK) {
        oct_log_error("NET-TLS", "%s", why.text);
        return err == OCT_EAGAIN ? EXIT_FAILURE : NET_DAEMON_EXIT_USAGE;
    }
    if (daemon->tls != NULL && (is_needed || serves_https(daemon)) &&
        net_loop_check_role(loop, role, &why) != OCT_OK) {
        oct_log_error("NET-TLS", "--tls %s: %s", daemon->tls, why.text);
        return NET_DAEMON_EXIT_USAGE;
    }
    return 0;
}

bool
net_daemon_url(const char *program, const char *option, const char *url, bool insecure,
               unsigned after, size_t length_max)
{
    char last[NET_URL_MAX];
    oct_reason why = {""};
    if (strlen(url) > length_max) {
        oct_reason_set(&why, "allowed are at most %zu bytes", length_max);
    } else if (net_url_check(url, insecure, &why) == OCT_OK) {
        if (net_url_offset(url, after, last) == OCT_OK) {
            return true;
        }
        oct_reason_set(&why, "it leaves no room for the %u addresses after it", after);
    }
    oct_failure_print(program, "%s %s: %s", option, url, why.text);
    return false;
}

oct_err
net_daemon_on_stop(const net_daemon *daemon, net_loop *loop, net_signal_fn stop, void *arg)
{
    OCT_TRY(net_loop_on_signal(loop, SIGTERM, stop, arg));
    if (daemon->follow_parent != 0) {
        return OCT_OK;
    }
    OCT_TRY(net_loop_on_signal(loop, SIGINT, stop, arg));
    return net_process_hangs_up() ? net_loop_on_signal(loop, SIGHUP, stop, arg) : OCT_OK;
}
