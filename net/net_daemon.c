// What the main functions of all daemons share: options, log, limits, certificates, stopping.
#include "net/net_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/oct_argp.h"
#include "common/oct_log_bound.h"
#include "common/oct_pulse.h"
#include "net/net_process.h"
#include "net/net_url.h"

enum { KEY_INSECURE = 0x1001, KEY_TLS, KEY_FOLLOW, KEY_PULSE, KEY_LOG_LEVEL, KEY_METRICS };

static const struct argp_option options[] = {
    {"tls", KEY_TLS, "FOLDER", 0,
     "Read the certificates for tls+tcp:// addresses from FOLDER: ca.crt, node.crt, node.key and "
     "optionally crl.pem (octet certs issue makes the folder; default $OCTET_TLS)",
     90},
    {"insecure", KEY_INSECURE, NULL, 0,
     "Listen on or connect to tcp:// addresses, which have no TLS: anyone who can reach them, on "
     "127.0.0.1 every user of this machine, can read and change the training",
     90},
    {"follow-parent", KEY_FOLLOW, "PID", 0, "Stop when process PID (the parent) dies", 91},
    {"pulse", KEY_PULSE, "FD", 0,
     "Report progress to the parent on descriptor FD (octet train passes it)", 91},
    {"log-level", KEY_LOG_LEVEL, "LEVEL", 0,
     "Log messages of this level and above: error, warn, notice, info (default) or debug", 92},
    {"metrics", KEY_METRICS, "URL", 0,
     "Serve /metrics (Prometheus) and /healthz at http://127.0.0.1:PORT or https://HOST:PORT; may "
     "be given twice",
     93},
    {0},
};

static int
number_parse(const char *text, long min, long max, const char *option,
             const struct argp_state *state)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || number < min || number > max) {
        argp_error(state, "--%s=%s: allowed are numbers from %ld to %ld", option, text, min, max);
    }
    return (int)number;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    static const char *const levels[] = {"error", "warn", "notice", "info", "debug"};
    net_daemon *daemon = state->input;
    switch (key) {
    case KEY_TLS:
        daemon->tls = arg;
        return 0;
    case KEY_INSECURE:
        daemon->insecure = true;
        return 0;
    case KEY_FOLLOW:
        daemon->follow_parent = number_parse(arg, 1, 1 << 22, "follow-parent", state);
        return 0;
    case KEY_PULSE:
        daemon->pulse = number_parse(arg, NET_PROCESS_FD, 1 << 20, "pulse", state);
        return 0;
    case KEY_LOG_LEVEL:
        for (size_t i = 0; i < OCT_COUNTOF(levels); i++) {
            if (strcmp(arg, levels[i]) == 0) {
                daemon->log_level = (oct_log_level)i;
                return 0;
            }
        }
        argp_error(state, "--log-level=%s: allowed are error, warn, notice, info, debug", arg);
        return 0;
    case KEY_METRICS:
        if (daemon->metrics_count == NET_DAEMON_METRICS_MAX) {
            argp_error(state, "more than %d --metrics", NET_DAEMON_METRICS_MAX);
        }
        for (unsigned i = 0; i < daemon->metrics_count; i++) {
            if (strcmp(arg, daemon->metrics[i]) == 0) {
                argp_error(state, "--metrics=%s: given twice", arg);
            }
        }
        daemon->metrics[daemon->metrics_count++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void
net_daemon_parse(net_daemon *daemon, const struct argp *own, int argc, char **argv, void *input)
{
    const struct argp shared = {.options = options, .parser = parse};
    const struct argp_child children[] = {{&shared, 0, NULL, 0}, {0}};
    struct argp all = *own;
    all.children = children;
    *daemon = (net_daemon){
        .log_level = OCT_LOG_INFO,
        .tls = net_loop_tls_default(),
    };
    char reason[OCT_ARGP_REASON_BYTES];
    const char *slash = strrchr(argv[0], '/'), *program = slash != NULL ? slash + 1 : argv[0];
    argp_err_exit_status = NET_DAEMON_EXIT_USAGE;
    if (oct_argp_parse(&all, program, argc, argv, input, reason, sizeof(reason)) != OCT_OK) {
        fprintf(stderr, "%s: error: %s\n  help: %s --help\n", program, reason, program);
        exit(NET_DAEMON_EXIT_USAGE);
    }
    if (daemon->follow_parent != 0) {
        // The parent's end also ends what comes before net_daemon_begin, such as waiting for a
        // lock. If the parent has ended already, net_daemon_begin reports that.
        (void)net_process_follow_parent(daemon->follow_parent);
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
    if (daemon->pulse != 0 && oct_pulse_join(daemon->pulse) != OCT_OK) {
        oct_log_warn("NET-PULSE", "--pulse=%d is not a supervisor's page", daemon->pulse);
    }
    oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
    if (daemon->follow_parent == 0) {
        return true;
    }
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    if (!net_process_follow_parent(daemon->follow_parent)) {
        return false;
    }
    net_process_outlive_parent(daemon->follow_parent, NET_DAEMON_ORPHAN_MS);
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
    char reason[1024];
    oct_err err =
        daemon->tls != NULL ? net_loop_use_tls(loop, daemon->tls, reason, sizeof(reason)) : OCT_OK;
    if (err != OCT_OK) {
        oct_log_error("NET-TLS", "%s", reason);
        return err == OCT_EAGAIN ? EXIT_FAILURE : NET_DAEMON_EXIT_USAGE;
    }
    if (daemon->tls != NULL && (is_needed || serves_https(daemon)) &&
        net_loop_check_role(loop, role, reason, sizeof(reason)) != OCT_OK) {
        oct_log_error("NET-TLS", "--tls %s: %s", daemon->tls, reason);
        return NET_DAEMON_EXIT_USAGE;
    }
    return 0;
}

bool
net_daemon_url(const char *program, const char *option, const char *url, bool insecure,
               unsigned after, size_t length_max)
{
    char last[NET_URL_MAX], reason[256] = "";
    if (strlen(url) > length_max) {
        (void)snprintf(reason, sizeof(reason), "allowed are at most %zu bytes", length_max);
    } else if (net_url_check(url, insecure, reason, sizeof(reason)) == OCT_OK) {
        if (net_url_offset(url, after, last) == OCT_OK) {
            return true;
        }
        (void)snprintf(reason, sizeof(reason), "it leaves no room for the %u addresses after it",
                       after);
    }
    fprintf(stderr, "%s: error: %s %s: %s\n", program, option, url, reason);
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
