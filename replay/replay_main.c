#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_log.h"
#include "net/net_process.h"
#include "net/net_url.h"
#include "replay/replay_io.h"
#include "replay/replay_memory_io.h"

// octet-replay: the daemon that keeps the transitions. The learner configures its table.

#define EXIT_USAGE       2
#define EXIT_DEADLINE_MS 1500

const char *argp_program_version = "octet-replay " REPLAY_VERSION;

struct options {
    const char *listen;
    bool insecure;
    int parent_pid; // 0: nobody is followed
    oct_log_level log_level;
};

static const struct argp_option option_table[] = {
    {"listen", 'l', "URL", 0,
     "Base address (default tcp://127.0.0.1:5560): the service Replay; the next port takes "
     "transitions, the one after it gives acknowledgements. ipc://PATH is followed by .1 and .2",
     0},
    {"insecure", 'i', NULL, 0, "Allow addresses beyond this machine, unencrypted", 0},
    {"follow-parent", 'p', "PID", 0, "Stop when process PID, the parent, has gone", 0},
    {"log-level", 'v', "LEVEL", 0, "error, warn, notice, info (default) or debug", 0},
    {0},
};

static error_t
option_parse(int key, char *text, struct argp_state *state)
{
    static const char *const levels[] = {"error", "warn", "notice", "info", "debug"};
    struct options *options = state->input;
    char *end;
    long number;
    switch (key) {
    case 'l':
        options->listen = text;
        return 0;
    case 'i':
        options->insecure = true;
        return 0;
    case 'p':
        number = strtol(text, &end, 10);
        if (*text == '\0' || *end != '\0' || number < 1 || number > INT32_MAX) {
            argp_error(state, "--follow-parent %s: a process id is wanted", text);
        }
        options->parent_pid = (int)number;
        return 0;
    case 'v':
        for (size_t i = 0; i < OCT_COUNTOF(levels); i++) {
            if (strcmp(text, levels[i]) == 0) {
                options->log_level = (oct_log_level)i;
                return 0;
            }
        }
        argp_error(state, "--log-level %s: error, warn, notice, info or debug is allowed", text);
        return EINVAL;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument: %s", text);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Exits with EXIT_USAGE and a message when something is wrong.
static struct options
options_read(int argc, char **argv)
{
    struct options options = {.listen = "tcp://127.0.0.1:5560", .log_level = OCT_LOG_INFO};
    const struct argp parser = {
        .options = option_table,
        .parser = option_parse,
        .doc = "Keeps the transitions of the actors and samples them for the learner, which "
               "configures it. Stops on SIGTERM or SIGINT.",
    };
    argp_err_exit_status = EXIT_USAGE;
    (void)argp_parse(&parser, argc, argv, 0, NULL, &options);
    char reason[256] = "", last[NET_URL_MAX];
    oct_err err = net_url_check(options.listen, options.insecure, reason, sizeof(reason));
    if (err == OCT_OK && net_url_offset(options.listen, 2, last) != OCT_OK) {
        (void)snprintf(reason, sizeof(reason), "no room for the two addresses after it");
        err = OCT_EINVAL;
    }
    if (err != OCT_OK) {
        fprintf(stderr, "octet-replay: --listen %s: %s\n", options.listen, reason);
        exit(EXIT_USAGE);
    }
    return options;
}

static void
stop_asked(void *arg, int signal_number)
{
    oct_log_notice("REPLAY-SIGNAL", "signal=%d", signal_number);
    net_loop_stop(arg);
}

static oct_err
signals_watch(net_loop *loop, bool is_followed)
{
    if (is_followed) {
        (void)signal(SIGINT, SIG_IGN); // Ctrl-C is the parent's, who tells us
    } else {
        OCT_TRY(net_loop_on_signal(loop, SIGINT, stop_asked, loop));
    }
    return net_loop_on_signal(loop, SIGTERM, stop_asked, loop);
}

int
main(int argc, char **argv)
{
    // Options.
    struct options options = options_read(argc, argv);
    // Log.
    oct_log_init("replay", options.log_level);
    if (options.parent_pid != 0 && !net_process_follow_parent(options.parent_pid)) {
        oct_log_error("REPLAY-ORPHAN", "parent=%d has gone", options.parent_pid);
        return EXIT_FAILURE;
    }
    // Budget and core: the table is the learner's to configure, so its budget is printed then.
    oct_log_notice("REPLAY-START", "version=%s listen=%s memory_available=%" PRIu64, REPLAY_VERSION,
                   options.listen, replay_memory_available());
    // Loop.
    net_loop *loop = net_loop_create();
    if (signals_watch(loop, options.parent_pid != 0) != OCT_OK) {
        oct_log_error("REPLAY-SIGNALS", "signals cannot be watched");
        return EXIT_FAILURE;
    }
    // Links.
    replay_io *io;
    oct_err err = replay_io_open(&io, loop, options.listen);
    if (err != OCT_OK) {
        fprintf(stderr,
                "octet-replay: cannot listen on %s and the two addresses after it (%s; the line "
                "above says why)\n",
                options.listen, oct_strerror(err));
        net_loop_exit_deadline(loop, EXIT_DEADLINE_MS, EXIT_FAILURE);
        net_loop_destroy(loop);
        return EXIT_FAILURE;
    }
    oct_log_notice("REPLAY-READY", "listen=%s", options.listen);
    // Run.
    net_loop_run(loop);
    // Stop, in reverse.
    replay_io_log_totals(io);
    net_loop_exit_deadline(loop, EXIT_DEADLINE_MS, EXIT_SUCCESS);
    replay_io_close(io);
    net_loop_destroy(loop);
    return EXIT_SUCCESS;
}
