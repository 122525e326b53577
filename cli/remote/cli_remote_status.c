// octet status --learner: shows each round.

#include "cli/remote/cli_remote_status.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/remote/cli_remote_poll.h"
#include "cli/remote/cli_remote_view.h"

#define WATCH_PERIOD_MS 1000
#define MISSES_MAX      3 // rounds without the learner that end a watch
#define CLOSE_MS        500
#define PIPE_WIDTH      480 // cells: nothing is cut
#define TEXT_BYTES_MAX  (CLI_REMOTE_VIEW_LINES * 512)

typedef struct hosts {
    const cli_remote_status_options *options;
    net_loop *loop;
    cli_remote_poll *poll;
    bool redraw; // standard output is a terminal that can
    size_t drawn;
    unsigned rounds, misses;
} hosts;

static void
show(hosts *h)
{
    static char text[TEXT_BYTES_MAX];
    const cli_remote_state *state = cli_remote_poll_facts(h->poll);
    if (h->options->json) {
        char *line = cli_remote_json(state);
        printf("%s\n", line);
        free(line);
    } else {
        size_t width = isatty(STDOUT_FILENO) ? CLI_REMOTE_VIEW_WIDTH : PIPE_WIDTH;
        size_t count = cli_remote_text(state, width, text, sizeof(text));
        if (h->redraw && h->drawn > 0) {
            printf("\x1b[%zuA\x1b[J", h->drawn);
        } else if (h->rounds > 0) {
            printf("\n");
        }
        h->drawn = count;
        (void)fputs(text, stdout);
    }
    (void)fflush(stdout);
}

static void
round_done(void *arg)
{
    hosts *h = arg;
    const cli_remote_state *state = cli_remote_poll_facts(h->poll);
    h->misses = state->learner.heard ? 0 : h->misses + 1;
    // The first failure is an error like any other; later ones belong to what is watched.
    bool is_lost = h->misses > 0 && (!h->options->watch || h->rounds == 0);
    if (!is_lost) {
        show(h);
    }
    h->rounds++;
    if (!h->options->watch || is_lost || h->misses == MISSES_MAX) {
        net_loop_stop(h->loop);
    }
}

static void
stop_wanted(void *arg, int signal_number)
{
    hosts *h = arg;
    (void)signal_number;
    net_loop_stop(h->loop);
}

static bool
ask(hosts *h)
{
    if (net_loop_on_signal(h->loop, SIGINT, stop_wanted, h) != OCT_OK ||
        net_loop_on_signal(h->loop, SIGTERM, stop_wanted, h) != OCT_OK ||
        cli_remote_poll_open(&h->poll, h->loop, &h->options->remote,
                             h->options->watch ? WATCH_PERIOD_MS : 0, round_done, h) != OCT_OK) {
        cli_error("status", "cannot dial %s", h->options->remote.learner);
        return false;
    }
    net_loop_run(h->loop);
    const cli_remote_state *state = cli_remote_poll_facts(h->poll);
    if (h->misses > 0) {
        cli_error("status", "%s: %s", state->learner.url, state->learner.why);
    }
    return h->misses == 0;
}

int
cli_remote_status(const cli_remote_status_options *options)
{
    const char *terminal = getenv("TERM");
    hosts h = {.options = options, .loop = net_loop_create()};
    h.redraw = isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    int exit_code = CLI_EXIT_FAILED;
    if (cli_remote_secure("status", &options->remote, h.loop, options->remote.learner,
                          options->remote.replay)) {
        exit_code = ask(&h) ? 0 : CLI_EXIT_FAILED;
    }
    (void)fflush(stdout);
    net_loop_exit_deadline(h.loop, CLOSE_MS, exit_code);
    cli_remote_poll_close(h.poll);
    net_loop_destroy(h.loop);
    return exit_code;
}
