// octet status: how a run is doing, or how it ended.

#include "cli/cli_commands.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/remote/cli_remote_status.h"
#include "cli/run/cli_poll.h"
#include "cli/run/cli_report.h"
#include "cli/run/cli_screen.h"
#include "common/oct_clock.h"
#include "common/oct_config.h"
#include "common/oct_file.h"

#define ONCE_TIMEOUT_MS   1000
#define WATCH_PERIOD_MS   500
#define CLOSE_MS          500
#define METRICS_BYTES_MAX (1u << 28)

enum { KEY_WATCH = 256, KEY_JSON };

typedef struct status_options {
    const char *run_dir;
    cli_remote_status_options hosts;
} status_options;

static const struct argp_option option_table[] = {
    {"watch", KEY_WATCH, NULL, 0, "Goes on until Ctrl-C or the end of the run", 0},
    {"json", KEY_JSON, NULL, 0, "All that the daemons report, as one line of JSON each time", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    status_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->hosts.remote;
        return 0;
    case KEY_WATCH:
        options->hosts.watch = true;
        return 0;
    case KEY_JSON:
        options->hosts.json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->run_dir != NULL) {
            cli_usage_error("status", "two folders, '%s' and '%s'; name one", options->run_dir,
                            arg);
        }
        options->run_dir = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_remote_argp, 0, NULL, 0}, {0}};

static const struct argp status_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "RUN_DIR\n--learner ADDRESS",
    .doc = "Shows how a run is doing; of a run that has ended, its summary. With --learner it asks "
           "the daemons of a run on other hosts: each one, its peers, and who waits for whom.\v"
           "Examples: octet status runs/CartPole-v1-20260131-120000 --watch\n"
           "octet status --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .children = children,
};

// ---- a run that does not answer

static bool
has_supervisor(void)
{
    int fd = open(".lock", O_RDWR | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return held;
}

static int
show_dead(const char *run_dir, const oct_config *config)
{
    uint8_t *text = NULL;
    size_t length = 0;
    printf("%s: %s\n", run_dir,
           has_supervisor() ? "its daemons do not answer" : "the run has ended");
    if (cli_report_print_ended(stdout, run_dir, config)) {
        // that is all
    } else if (oct_file_read("metrics.csv", METRICS_BYTES_MAX, &text, &length) == OCT_OK) {
        char *rows = (char *)text;
        char *names_end = strchrnul(rows, '\n');
        while (length > 0 && rows[length - 1] == '\n') {
            rows[--length] = '\0';
        }
        char *last = strrchr(rows, '\n');
        printf("no summary.json; last line of metrics.csv:\n%.*s\n%s\n", (int)(names_end - rows),
               rows, last != NULL ? last + 1 : "");
        free(text);
    } else {
        printf("neither summary.json nor metrics.csv were written\n");
    }
    return has_supervisor() ? CLI_EXIT_FAILED : 0;
}

// ---- a live one

typedef struct show {
    net_loop *loop;
    cli_poll *poll;
    cli_screen *screen;
    cli_run_status status;
    bool watch;
    bool heard;
    uint32_t calls_done; // answers and failures
    uint32_t failures_in_row;
    double began_s; // seconds since 1970
} show;

// Since the supervisor wrote config.yaml, which is the first thing it does.
static double
run_age_s(const show *s)
{
    return 1e-6 * (double)oct_clock_wall_us() - s->began_s;
}

static void
answered(void *arg)
{
    show *s = arg;
    s->heard = true;
    s->failures_in_row = 0;
    s->calls_done++;
    (void)cli_run_status_update(&s->status, run_age_s(s));
    if (s->watch) {
        cli_screen_show(s->screen, &s->status, false);
    } else if (s->calls_done == 2) {
        net_loop_stop(s->loop);
    }
}

static void
failed(void *arg)
{
    show *s = arg;
    s->calls_done++;
    s->failures_in_row++;
    if (s->watch ? s->failures_in_row >= 4 : s->calls_done == 2) {
        net_loop_stop(s->loop);
    }
}

static void
stop_wanted(void *arg, int signal_number)
{
    show *s = arg;
    (void)signal_number;
    net_loop_stop(s->loop);
}

static bool
ask(show *s, const oct_config *config)
{
    cli_poll_request request = {.learner = config->net.learner,
                                .replay = config->net.replay,
                                .period_ms = s->watch ? WATCH_PERIOD_MS : 0,
                                .timeout_ms = ONCE_TIMEOUT_MS};
    cli_poll_events events = {.on_answer = answered, .on_failure = failed, .arg = s};
    if (net_loop_on_signal(s->loop, SIGINT, stop_wanted, s) != OCT_OK ||
        net_loop_on_signal(s->loop, SIGTERM, stop_wanted, s) != OCT_OK ||
        cli_poll_open(&s->poll, s->loop, &request, &s->status, &events) != OCT_OK) {
        return false;
    }
    net_loop_run(s->loop);
    return s->heard;
}

static void
enter(oct_config *config, const char *run_dir)
{
    char message[1024] = "";
    if (chdir(run_dir) != 0) {
        cli_error("status", "cannot enter '%s': %s", run_dir, strerror(errno));
        exit(CLI_EXIT_FAILED);
    }
    if (access("config.yaml", R_OK) != 0) {
        cli_error("status", "'%s' is not a run folder: it has no config.yaml", run_dir);
        exit(CLI_EXIT_FAILED);
    }
    oct_config_default(config);
    if (oct_config_load(config, "config.yaml", message, sizeof(message)) != OCT_OK) {
        (void)fputs(message, stderr);
        exit(CLI_EXIT_FAILED);
    }
}

int
cli_status(int argc, char **argv)
{
    static oct_config config;
    status_options options = {0};
    cli_remote_default(&options.hosts.remote);
    cli_options_parse(&status_argp, argc, argv, &options);
    cli_remote_check("status", &options.hosts.remote);
    if (options.hosts.remote.learner != NULL && options.run_dir != NULL) {
        cli_usage_error("status", "RUN_DIR or --learner, not both");
    }
    if (options.hosts.remote.learner != NULL) {
        return cli_remote_status(&options.hosts);
    }
    if (options.run_dir == NULL) {
        cli_usage_error("status", "no RUN_DIR given, and no --learner");
    }
    enter(&config, options.run_dir);
    if (options.hosts.json) {
        options.hosts.remote.learner = config.net.learner;
        options.hosts.remote.replay = config.net.replay;
        return cli_remote_status(&options.hosts);
    }
    struct stat file;
    show *s = oct_alloc(sizeof(*s));
    s->began_s = stat("config.yaml", &file) == 0 ? (double)file.st_mtime : 0;
    s->watch = options.hosts.watch;
    s->loop = net_loop_create();
    bool secure = cli_remote_secure("status", &options.hosts.remote, s->loop, config.net.learner,
                                    config.net.replay);
    s->screen = cli_screen_create(true);
    cli_run_status_init(&s->status, options.run_dir);
    s->status.goal = config.run.stop_at_return;
    s->status.quiet_max_s = OCT_MAX(s->status.quiet_max_s, 3 * config.actor.report_s);
    int exit_code = secure ? 0 : CLI_EXIT_FAILED;
    bool heard = secure && ask(s, &config);
    if (!secure) {
        // said
    } else if (!heard || (s->watch && s->failures_in_row > 0)) {
        exit_code = show_dead(options.run_dir, &config);
    } else if (!s->watch) {
        cli_screen_block(s->screen, &s->status);
    }
    (void)fflush(stdout);
    net_loop_exit_deadline(s->loop, CLOSE_MS, exit_code);
    cli_poll_close(s->poll);
    net_loop_destroy(s->loop);
    cli_screen_destroy(s->screen);
    free(s);
    return exit_code;
}
