// octet-replay: the daemon that stores the steps of all actors. The learner configures its table.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_log.h"
#include "common/oct_memory.h"
#include "common/oct_reason.h"
#include "common/oct_start.h"
#include "net/net_metrics.h"
#include "net/net_url.h"
#include "replay/replay_io.h"

#define EXIT_REFUSED 3 // starting again would not help

struct options {
    net_daemon daemon;
    const char *listen;
    replay_disk_options disk;
    const char *data;
};

static const char *const syncs[] = {"none", "interval", "always", NULL}; // config_sync_name

static const oct_arg replay_rows[] = {
    {OCT_ARG_TEXT("listen", "URL", struct options, listen),
     .help = "Listen on this base address (default ipc://replay.ipc): this port serves calls, the "
             "next one receives batches, and the one after it sends acknowledgements. With "
             "ipc://PATH, these are PATH, PATH.1 and PATH.2"},
    {OCT_ARG_PATH("path", "FILE", struct options, disk.path),
     .help = "Keep the table in FILE, so that nothing that was acknowledged is lost if this "
             "process is killed; the file is created when a learner configures the table (default: "
             "keep it in memory only)"},
    {OCT_ARG_WORD("sync", "none|interval|always", struct options, disk.mode, syncs),
     .help =
         "Choose what survives a power failure: nothing for certain (none), everything older than "
         "--sync-interval (interval, default), or everything that was acknowledged (always)"},
    {OCT_ARG_NUMBER("sync-interval", "SECONDS", struct options, disk.interval_s, 0.01, 3600),
     .help = "Set the time between two syncs of FILE to disk, from 0.01 to 3600 (default 1)"},
    {OCT_ARG_PATH("data", "FILE", struct options, data),
     .help = "Serve the whole data set in FILE (octet data), as often as the learner asks, instead "
             "of the steps that actors send"},
    {0},
};

static const oct_args replay_args = {
    .doc = "Stores the steps of the actors and samples windows of them for the learner, which "
           "configures it. Stops on SIGTERM, SIGINT or SIGHUP.",
    .version = "octet-replay " OCTET_VERSION " " WIRE_SPEAKS_TEXT,
    .rows = replay_rows,
    .shared = {{net_daemon_rows, offsetof(struct options, daemon), NET_DAEMON_GROUP}},
};

// Exits with NET_DAEMON_EXIT_USAGE and a message if an option is wrong.
static struct options
options_read(int argc, char **argv)
{
    struct options options = {
        .listen = "ipc://replay.ipc",
        .disk = {.mode = CONFIG_SYNC_INTERVAL, .interval_s = 1},
    };
    net_daemon_parse(&options.daemon, &replay_args, argc, argv, &options);
    if (options.disk.path != NULL && options.disk.path[0] == 0) {
        options.disk.path = NULL;
    }
    if (!net_daemon_url("octet-replay", "--listen", options.listen, options.daemon.insecure, 2,
                        NET_URL_MAX - 1)) {
        exit(NET_DAEMON_EXIT_USAGE);
    }
    if (options.data && options.disk.path) {
        fprintf(stderr, "octet-replay: --data and --path cannot be used together: a data set is "
                        "not written to\n");
        exit(NET_DAEMON_EXIT_USAGE);
    }
    net_metrics_check(&options.daemon, "octet-replay");
    return options;
}

// On an error the process ends at once, because it has acknowledged nothing yet.
static net_metrics *
metrics_open(const net_daemon *daemon, net_loop *loop, replay_io *io)
{
    const net_metrics_source source = {
        .daemon = "replay",
        .write = replay_prometheus_write,
        .trouble = replay_prometheus_trouble,
        .arg = io,
    };
    net_metrics *metrics;
    if (net_metrics_open(&metrics, daemon, loop, &source) != OCT_OK) {
        _exit(EXIT_FAILURE);
    }
    return metrics;
}

static void
stop_asked(void *arg, int signal_number)
{
    oct_log_notice("REPLAY-SIGNAL", "signal=%d", signal_number);
    net_loop_stop(arg);
}

int
main(int argc, char **argv)
{
    oct_start();
    struct options options = options_read(argc, argv);
    if (!net_daemon_begin(&options.daemon, "replay")) {
        oct_log_error("REPLAY-ORPHAN", "parent=%u has ended",
                      (unsigned)options.daemon.follow_parent);
        return EXIT_FAILURE;
    }
    // The learner configures the table, so the table's budget is logged then.
    oct_log_notice("REPLAY-START", "version=%s listen=%s memory_available=%" PRIu64, OCTET_VERSION,
                   options.listen, oct_memory_available());
    net_loop *loop = net_loop_create();
    int unsecured =
        net_daemon_secure(&options.daemon, loop, OCT_ROLE_REPLAY, net_url_is_tls(options.listen));
    if (unsecured != 0) {
        net_loop_destroy(loop);
        return unsecured;
    }
    if (net_daemon_on_stop(&options.daemon, loop, stop_asked, loop) != OCT_OK) {
        oct_log_error("REPLAY-SIGNALS", "cannot watch signals");
        return EXIT_FAILURE;
    }
    replay_io *io;
    oct_reason why;
    oct_err err = replay_io_open(&io, loop, options.listen, &options.disk, options.data, &why);
    if (err != OCT_OK && why.text[0] != 0) {
        oct_log_error("REPLAY-FILE-REFUSED", "%s", why.text);
        int exit_code = err == OCT_EINVAL ? EXIT_REFUSED : EXIT_FAILURE;
        net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, exit_code);
        net_loop_destroy(loop);
        return exit_code;
    }
    if (err != OCT_OK) {
        oct_log_error("REPLAY-OPEN", "cannot listen on %s and the two addresses after it",
                      options.listen);
        net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, EXIT_FAILURE);
        net_loop_destroy(loop);
        return EXIT_FAILURE;
    }
    net_metrics *metrics = metrics_open(&options.daemon, loop, io);
    oct_log_notice("REPLAY-READY", "listen=%s", options.listen);
    net_loop_run(loop);
    // Stops in reverse order.
    replay_io_log_totals(io);
    net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, EXIT_SUCCESS);
    net_metrics_close(metrics);
    replay_io_close(io);
    net_loop_destroy(loop);
    return EXIT_SUCCESS;
}
