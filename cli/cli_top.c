// octet top: a live table of all actors and evaluators of a run, on all hosts.

#include "cli/cli_commands.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_signals.h"
#include "cli/remote/cli_remote_poll.h"
#include "cli/remote/cli_remote_run.h"
#include "cli/run/cli_folder.h"
#include "cli/status/cli_screen.h"
#include "cli/status/cli_waiting.h"
#include "cli/top/cli_top_screen.h"
#include "common/oct_output.h"

#define PERIOD_MS  1000
#define MISSES_MAX 3 // rounds without an answer of the learner that end the command
#define CLOSE_MS   500
#define HEAD_LINES 3 // lines above the names of the columns
#define KEYS_TEXT  "q quit  <- -> sort  r reverse  up down pgup pgdn home end scroll"

typedef struct top_options {
    cli_remote_run run;
    cli_top_column sort;
    bool reversed;
    bool once;
} top_options;

static const oct_arg top_rows[] = {
    {OCT_ARG_OPERAND("folders", top_options, run.run_dir)},
    {OCT_ARG_WORD("sort", "COLUMN", top_options, sort, cli_top_column_names),
     .help = "Sort by this column: id, role, host, pid, state, lag, steps, infer, env, wait, "
             "resent, unacked, memory, restarts, heard or relay (default: state, the most urgent "
             "problem first)"},
    {OCT_ARG_FLAG("reverse", top_options, reversed), .help = "Sort in reverse order"},
    {OCT_ARG_FLAG("once", top_options, once),
     .help = "Print the complete table once and exit; the default if the output is not a terminal"},
    {0},
};

static const oct_args top_args = {
    .rows = top_rows,
    .usage = "RUN_DIR\n--learner ADDRESS",
    .doc = "Shows all actors and evaluators of a live run as a table, updated once a second. The "
           "left and right arrows choose the column to sort by, r reverses the order, up, down and "
           "the page keys scroll, q or Ctrl-C quits.\v"
           "Examples:\n"
           "  octet top runs/pole --sort wait\n"
           "  octet top --learner tls+tcp://learner.lab:5555 --tls octet-certs/anna",
    .shared = {{cli_remote_rows, offsetof(top_options, run.remote), CLI_REMOTE_GROUP}},
};

typedef struct top {
    const top_options *options;
    net_loop *loop;
    cli_remote_poll *poll;
    cli_screen *look;       // colours and symbols that the terminal supports
    cli_top_screen *screen; // NULL: the table is printed once
    cli_top_table table;
    cli_view_style style;
    size_t seen; // rows that fit on the screen
    unsigned rounds, misses;
    bool quits;
} top;

// ---- what is shown

// Prints the environment, the learner's state, and the means over all actors.
static void
title_line(const cli_snapshot *state, cli_line *line)
{
    cli_view_add(line, "", state->env, "");
    cli_view_add(line, "", state->learner.heard ? state->learner.state : state->learner.why, "");
    if (state->has_peers) {
        char version[CLI_TEXT_NUMBER_MAX];
        (void)snprintf(version, sizeof(version), "%llu", (unsigned long long)state->policy_version);
        cli_view_add(line, "", cli_text_count(state->env_steps_per_s).text, " env steps/s");
        cli_view_add(line, "policy ", version, "");
        cli_view_add(line, "lag ", cli_text_value(state->lag_mean).text, "");
    }
}

// The learner lists at most as many peers as a message holds; if there are more, those with the
// most problems.
static void
counts_line(const cli_snapshot *state, cli_line *line)
{
    double wanted = cli_snapshot_number(state, "learner.actors_wanted");
    if (!state->has_peers) {
        cli_view_add(line, "", state->peers_why, "");
        return;
    }
    cli_line_add(line, "actors %u", (unsigned)state->actors);
    if (!isnan(wanted)) {
        cli_view_add(line, "", cli_text_count(wanted).text, " would keep the learner busy");
    }
    cli_line_add(line, " · evaluators %u · stuck %u · silent %u", (unsigned)state->evaluators,
                 (unsigned)state->stuck, (unsigned)state->silent);
    if (state->relay_count > 0) {
        cli_line_add(line, " · relays %u", (unsigned)cli_snapshot_relays(state));
    }
    size_t all = (size_t)state->actors + state->evaluators + state->silent;
    if (all > state->peer_count) {
        cli_line_add(line, " · the %zu with the most problems of %zu", state->peer_count, all);
    }
}

// Calls put for each line above the table; the last of them has the names of the columns.
static void
head_put(const top *t, void (*put)(const top *t, const cli_line *line))
{
    const cli_snapshot *state = cli_remote_poll_state(t->poll);
    cli_waiting waiting;
    cli_line line;
    cli_line_init(&line, t->style.width);
    title_line(state, &line);
    put(t, &line);
    cli_line_init(&line, t->style.width);
    counts_line(state, &line);
    put(t, &line);
    cli_line_init(&line, t->style.width);
    cli_waiting_judge(&waiting, state);
    cli_line_add(&line, "%s", waiting.text);
    put(t, &line);
    cli_top_table_head(&t->table, &line, &t->style);
    put(t, &line);
}

// Goes to the descriptor, because lines have escape sequences, which stdio would replace
// (oct_output.h).
static void
print_line(const top *t, const cli_line *line)
{
    (void)t;
    oct_output_styled(STDOUT_FILENO, line->bytes);
    oct_output_styled(STDOUT_FILENO, "\n");
}

static void
print(top *t)
{
    const cli_snapshot *state = cli_remote_poll_state(t->poll);
    cli_line line;
    head_put(t, print_line);
    for (size_t i = 0; i < t->table.count; i++) {
        cli_top_table_row(&t->table, &line, &t->style, state, i);
        print_line(t, &line);
    }
}

static void
screen_line(const top *t, const cli_line *line)
{
    cli_top_screen_line(t->screen, line);
}

static void
keys_line(const top *t, cli_line *line)
{
    const cli_top_table *table = &t->table;
    size_t last = OCT_MIN(table->first + t->seen, table->count);
    cli_line_init(line, t->style.width);
    if (t->style.colour) {
        cli_line_style(line, CLI_VIEW_DIM);
    }
    cli_line_add(line, "rows %zu to %zu of %zu   " KEYS_TEXT,
                 table->count > 0 ? table->first + 1 : 0, last, table->count);
    if (t->style.colour) {
        cli_line_style(line, CLI_VIEW_PLAIN);
    }
}

// Draws the whole screen; cli_top_screen sends only what has changed.
static void
draw(top *t)
{
    const cli_snapshot *state = cli_remote_poll_state(t->poll);
    cli_line line;
    size_t height = OCT_MIN(cli_screen_measure(t->look, &t->style), (size_t)CLI_TOP_LINES_MAX);
    t->seen = height > HEAD_LINES + 2 ? height - HEAD_LINES - 2 : 1;
    cli_top_table_fit(&t->table, t->seen);
    cli_top_screen_begin(t->screen);
    head_put(t, screen_line);
    for (size_t i = 0; i < t->seen; i++) {
        if (t->table.first + i < t->table.count) {
            cli_top_table_row(&t->table, &line, &t->style, state, t->table.first + i);
        } else {
            cli_line_init(&line, t->style.width);
        }
        cli_top_screen_line(t->screen, &line);
    }
    keys_line(t, &line);
    cli_top_screen_line(t->screen, &line);
    cli_top_screen_end(t->screen);
}

// ---- events

static void
quit(top *t)
{
    t->quits = true;
    net_loop_stop(t->loop);
}

// Before the first round there is no table to scroll. A key of no meaning redraws, as a resized
// terminal needs it.
static void
key_came(void *arg, cli_top_key key)
{
    top *t = arg;
    if (key == CLI_TOP_KEY_QUIT) {
        quit(t);
    } else if (t->rounds > 0 &&
               (key == CLI_TOP_KEY_NONE || cli_top_table_key(&t->table, key, t->seen))) {
        cli_top_table_take(&t->table, cli_remote_poll_state(t->poll));
        draw(t);
    }
}

static void
stop_wanted(void *arg, int signal_number)
{
    (void)signal_number;
    quit(arg);
}

// If the learner does not answer the first round, the command fails. Later, a round without an
// answer is shown, because that is part of what the user watches.
static void
round_done(void *arg)
{
    top *t = arg;
    cli_snapshot *state = cli_remote_poll_state(t->poll);
    t->misses = state->learner.heard ? 0 : t->misses + 1;
    bool is_lost =
        t->misses > 0 && (t->screen == NULL || t->rounds == 0 || t->misses == MISSES_MAX ||
                          cli_remote_run_is_gone(&t->options->run));
    t->rounds++;
    if (!is_lost) {
        (void)cli_snapshot_update(state, cli_snapshot_number(state, "learner.wall_s"));
        cli_top_table_take(&t->table, state);
        if (t->screen != NULL) {
            draw(t);
        } else {
            print(t);
        }
    }
    if (is_lost || t->screen == NULL) {
        net_loop_stop(t->loop);
    }
}

static void
ask(top *t)
{
    const cli_remote_options *remote = &t->options->run.remote;
    if (!t->options->once && cli_screen_is_live(t->look)) {
        t->screen = cli_top_screen_open(t->loop, key_came, t);
    }
    OCT_ASSERT(cli_signals_watch(t->loop, stop_wanted, t) == OCT_OK);
    const cli_remote_poll_request request = {t->screen != NULL ? PERIOD_MS : 0, WIRE_PEERS_MAX,
                                             round_done, t};
    if (cli_remote_poll_open(&t->poll, t->loop, remote, &request) != OCT_OK) {
        cli_top_screen_close(t->screen);
        exit(cli_error("top", "cannot dial %s", remote->learner));
    }
    net_loop_run(t->loop);
}

static int
watch(const top_options *options)
{
    static top t;
    t = (top){.options = options, .loop = net_loop_create(), .look = cli_screen_create(true)};
    const cli_remote_options *remote = &options->run.remote;
    cli_top_table_init(&t.table, options->sort, options->reversed);
    (void)cli_screen_measure(t.look, &t.style);
    if (!isatty(STDOUT_FILENO)) {
        t.style.colour = false;
    }
    int exit_code = CLI_EXIT_FAILED;
    if (cli_remote_secure("top", remote, t.loop, remote->learner, remote->replay)) {
        ask(&t);
        bool has_ended = t.misses > 0 && !t.quits;
        exit_code = has_ended ? CLI_EXIT_FAILED : 0;
        cli_top_screen_close(t.screen);
        const cli_daemon_state *learner = &cli_remote_poll_state(t.poll)->learner;
        if (has_ended) {
            cli_error("top", "%s: %s", learner->url, learner->why);
        }
    }
    net_loop_exit_deadline(t.loop, CLOSE_MS, exit_code);
    cli_remote_poll_close(t.poll);
    net_loop_destroy(t.loop);
    cli_screen_destroy(t.look);
    return exit_code;
}

int
cli_top(int argc, char **argv)
{
    static config_experiment config;
    top_options options = {.sort = CLI_TOP_STATE};
    cli_remote_default(&options.run.remote);
    cli_args_parse(&top_args, argc, argv, &options);
    cli_remote_run_enter(&options.run, "top", &config);
    if (!cli_remote_run_is_gone(&options.run)) {
        return watch(&options);
    }
    cli_folder_state state = cli_folder_state_of(".");
    if (state == CLI_FOLDER_LIVE) {
        cli_remote_run_unheard(&options.run, "top", CLI_REMOTE_RUN_GONE);
    } else if (state == CLI_FOLDER_UNKNOWN) {
        cli_error("top", "%s: " CLI_FOLDER_UNKNOWN_TEXT, options.run.run_dir);
    } else {
        cli_error("top", "the run in '%s' has ended; octet status shows its result",
                  options.run.run_dir);
    }
    return CLI_EXIT_FAILED;
}
