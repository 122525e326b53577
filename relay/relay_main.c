// octet-relay: forwards policies to the actors of a host or a rack, and their batches to replay.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_failure.h"
#include "common/oct_start.h"
#include "net/net_metrics.h"
#include "net/net_url.h"
#include "proto/wire.h"
#include "proto/wire_speaks.h"
#include "relay/relay_io.h"

struct arguments {
    net_daemon daemon;
    relay_io_options io;
    bool only_relays;
};

static const oct_arg relay_rows[] = {
    {OCT_ARG_TEXT("learner", "URL", struct arguments, io.learner),
     .help = "Connect to the learner at this base address (default ipc://learner.ipc)"},
    {OCT_ARG_TEXT("listen", "URL", struct arguments, io.listen),
     .help = "Listen on this base address (default ipc://relay.ipc): this port publishes policies, "
             "the next one receives batches, and the one after it sends acknowledgements. With "
             "several replays, the next two ports serve the second replay in the same way, and so "
             "on. With ipc://PATH, these are PATH, PATH.1 and PATH.2, then PATH.2.1 and PATH.2.2"},
    {OCT_ARG_TEXT("announce", "URL", struct arguments, io.announce),
     .help = "Give actors this base address (default: that of --listen, with the name of this host "
             "in place of 0.0.0.0 or *)"},
    {OCT_ARG_FLAG("only-relays", struct arguments, only_relays),
     .help = "Serve only relays that name this one with --relay; no actor is given its address"},
    {OCT_ARG_TEXT("relay", "URL", struct arguments, io.relay),
     .help = "Connect to another relay at this base address, instead of to the learner's policies "
             "and replay"},
    {0},
};

static const oct_args relay_args = {
    .doc = "Forwards policies to actors and other relays, and their batches to replay. Actors get "
           "a relay's address from the learner, or from octet-actor --relay.",
    .version = "octet-relay " OCTET_VERSION " " WIRE_SPEAKS_TEXT,
    .rows = relay_rows,
    .shared = {{net_daemon_rows, offsetof(struct arguments, daemon), NET_DAEMON_GROUP}},
};

// Returns the address at which other processes reach listen.
static const char *
seen(const char *listen, char out[NET_URL_MAX])
{
    char host[256] = "", reached[NET_URL_MAX];
    if (!net_url_is_tcp(listen)) {
        return net_url_absolute(listen, out) == OCT_OK ? out : listen;
    }
    if (gethostname(host, sizeof(host) - 1) != 0) {
        return listen;
    }
    (void)snprintf(reached, sizeof(reached), "%s://%s:1",
                   net_url_is_tls(listen) ? "tls+tcp" : "tcp", host);
    // A loopback address stays, because a replacement would not reach it.
    return net_url_is_wildcard(listen) && net_url_as_seen_from(listen, reached, out) == OCT_OK
               ? out
               : listen;
}

// Returns the address for actors: that of --announce, else the one where the relay listens; "":
// none.
static const char *
announced(const struct arguments *arguments, char out[NET_URL_MAX])
{
    if (arguments->only_relays) {
        return "";
    }
    return arguments->io.announce != NULL ? arguments->io.announce
                                          : seen(arguments->io.listen, out);
}

static bool
is_same(const char *a, const char *b)
{
    char a_seen[NET_URL_MAX], b_seen[NET_URL_MAX];
    return strcmp(seen(a, a_seen), seen(b, b_seen)) == 0;
}

// Returns true if --relay names this relay. Another spelling of the address is not noticed here;
// the learner refuses it.
static bool
is_above_itself(const relay_io_options *io)
{
    return io->relay != NULL && (is_same(io->relay, io->listen) ||
                                 (io->announce != NULL && is_same(io->relay, io->announce)));
}

// Checks an address; NULL and "" are good.
static bool
url_is_good(const char *option, const char *url, bool insecure, unsigned after)
{
    return url == NULL || url[0] == '\0' ||
           net_daemon_url("octet-relay", option, url, insecure, after, WIRE_NAME_MAX - 1);
}

static oct_err
metrics_open(net_metrics **out, const struct arguments *arguments, net_loop *loop, relay_io *io)
{
    const net_metrics_source source = {
        .daemon = "relay",
        .write = relay_io_prometheus,
        .trouble = relay_io_trouble,
        .arg = io,
    };
    return net_metrics_open(out, &arguments->daemon, loop, &source);
}

static void
stop(void *arg, int signal_number)
{
    oct_log_notice("RELAY-SIGNAL", "signal=%d", signal_number);
    net_loop_stop(arg);
}

static void
arguments_read(struct arguments *arguments, int argc, char **argv)
{
    *arguments =
        (struct arguments){.io = {.learner = "ipc://learner.ipc", .listen = "ipc://relay.ipc"}};
    net_daemon_parse(&arguments->daemon, &relay_args, argc, argv, arguments);
    bool insecure = arguments->io.insecure = arguments->daemon.insecure;
    if (!url_is_good("--learner", arguments->io.learner, insecure, 0) ||
        !url_is_good("--listen", arguments->io.listen, insecure, 2) ||
        !url_is_good("--relay", arguments->io.relay, insecure, 2) ||
        !url_is_good("--announce", arguments->io.announce, insecure, 2)) {
        exit(NET_DAEMON_EXIT_USAGE);
    }
    if (is_above_itself(&arguments->io)) {
        oct_failure_print("octet-relay", "--relay %s: this is the address of this relay itself",
                          arguments->io.relay);
        exit(NET_DAEMON_EXIT_USAGE);
    }
    net_metrics_check(&arguments->daemon, "octet-relay");
}

int
main(int argc, char **argv)
{
    struct arguments arguments;
    char announce[NET_URL_MAX];
    oct_start();
    arguments_read(&arguments, argc, argv);
    arguments.io.announce = announced(&arguments, announce);
    if (!net_daemon_begin(&arguments.daemon, "relay")) {
        return EXIT_FAILURE;
    }
    net_loop *loop = net_loop_create();
    int unsecured = net_daemon_secure(
        &arguments.daemon, loop, OCT_ROLE_RELAY,
        net_url_is_tls(arguments.io.learner) || net_url_is_tls(arguments.io.listen) ||
            (arguments.io.relay != NULL && net_url_is_tls(arguments.io.relay)));
    if (unsecured != 0) {
        net_loop_destroy(loop);
        return unsecured;
    }
    relay_io *io;
    if (relay_io_open(&io, loop, &arguments.io) != OCT_OK ||
        net_daemon_on_stop(&arguments.daemon, loop, stop, loop) != OCT_OK) {
        oct_log_error("RELAY-OPEN", "cannot listen on %s and the two addresses after it",
                      arguments.io.listen);
        return EXIT_FAILURE;
    }
    net_metrics *metrics;
    if (metrics_open(&metrics, &arguments, loop, io) != OCT_OK) {
        return EXIT_FAILURE;
    }
    oct_log_notice("RELAY-READY", "listen=%s learner=%s relay=%s", arguments.io.listen,
                   arguments.io.learner, arguments.io.relay != NULL ? arguments.io.relay : "none");
    net_loop_run(loop);
    int exit_code = relay_io_exit_code(io);
    net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, exit_code);
    relay_io_log_totals(io);
    net_metrics_close(metrics);
    relay_io_close(io);
    net_loop_destroy(loop);
    return exit_code;
}
