#include "cli/cli_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_poll.h"
#include "common/oct_config.h"

#define CALL_TIMEOUT_MS 2000
#define CLOSE_MS        500
#define MESSAGE_BYTES   4096
#define ASSIGNMENTS_MAX 2

typedef struct set_options {
    const char *run_dir;
    const char *assignment[ASSIGNMENTS_MAX];
    size_t count;
} set_options;

// Only the limiter can change in a live run; everything else is const after start.
static const char *const live_keys[] = {"replay.samples_per_insert", "replay.tolerance"};

static bool
is_live(const char *assignment)
{
    for (size_t i = 0; i < OCT_COUNTOF(live_keys); i++) {
        size_t length = strlen(live_keys[i]);
        if (strncmp(assignment, live_keys[i], length) == 0 && assignment[length] == '=') {
            return true;
        }
    }
    return false;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    set_options *options = state->input;
    if (key != ARGP_KEY_ARG) {
        return ARGP_ERR_UNKNOWN;
    }
    if (options->run_dir == NULL) {
        options->run_dir = arg;
    } else if (!is_live(arg)) {
        cli_usage_error("set", "'%s' cannot change in a live run\n  allowed: %s=VALUE %s=VALUE",
                        arg, live_keys[0], live_keys[1]);
    } else if (options->count < ASSIGNMENTS_MAX) {
        options->assignment[options->count++] = arg;
    } else {
        cli_usage_error("set", "more than %d settings", ASSIGNMENTS_MAX);
    }
    return 0;
}

static const struct argp set_argp = {
    .parser = parse,
    .args_doc = "RUN_DIR replay.samples_per_insert=VALUE [replay.tolerance=VALUE]",
    .doc = "Changes the limiter of a live run: how often each transition is sampled. It holds "
           "until replay is started again.\v"
           "Example: octet set runs/CartPole-v1-20260131-120000 replay.samples_per_insert=16",
};

// ---- the call

typedef struct change {
    net_loop *loop;
    cli_poll *poll;
    cli_status status;
    const oct_config *config;
    bool asked;
    bool done;
    char detail[256];
} change;

static void
configured(void *arg, oct_err err, const char *detail)
{
    change *c = arg;
    c->done = err == OCT_OK;
    (void)snprintf(c->detail, sizeof(c->detail), "replay answered: %s", detail);
    net_loop_stop(c->loop);
}

// The limiter is told per run, so replay has to say first which run it serves.
static void
answered(void *arg)
{
    change *c = arg;
    if (c->asked || cli_poll_replay_answers(c->poll) == 0) {
        return;
    }
    c->asked = true;
    wire_configure message = {
        .run_id = cli_poll_replay_run(c->poll),
        .capacity = c->config->replay.capacity,
        .sampler = WIRE_SAMPLER_UNIFORM, // with limiter_only the table's keys are not looked at
        .min_size = c->config->replay.min_size,
        .samples_per_insert = c->config->replay.samples_per_insert,
        .tolerance = c->config->replay.tolerance,
        .limiter_only = true,
    };
    oct_err err = cli_poll_configure(c->poll, &message, CALL_TIMEOUT_MS, configured, c);
    if (err != OCT_OK) {
        configured(c, err, oct_strerror(err));
    }
}

static void
failed(void *arg)
{
    change *c = arg;
    if (!c->asked && cli_poll_replay_failures(c->poll) > 0) {
        (void)snprintf(c->detail, sizeof(c->detail), "its replay does not answer");
        net_loop_stop(c->loop);
    }
}

static int
apply(const oct_config *config, const char *run_dir)
{
    change *c = oct_alloc(sizeof(*c));
    c->config = config;
    c->loop = net_loop_create();
    cli_status_init(&c->status, run_dir);
    cli_poll_request request = {.learner = config->net.learner,
                                .replay = config->net.replay,
                                .period_ms = 0,
                                .timeout_ms = CALL_TIMEOUT_MS};
    cli_poll_events events = {.on_answer = answered, .on_failure = failed, .arg = c};
    if (cli_poll_open(&c->poll, c->loop, &request, &c->status, &events) == OCT_OK) {
        net_loop_run(c->loop);
    }
    int exit_code = c->done ? 0 : CLI_EXIT_FAILED;
    if (c->done) {
        printf("%s: replay.samples_per_insert=%g replay.tolerance=%g, until replay is started "
               "again\n",
               run_dir, config->replay.samples_per_insert, config->replay.tolerance);
    } else {
        cli_error("set", "'%s': %s", run_dir, c->detail);
    }
    (void)fflush(stdout);
    net_loop_exit_deadline(c->loop, CLOSE_MS, exit_code);
    cli_poll_close(c->poll);
    net_loop_destroy(c->loop);
    free(c);
    return exit_code;
}

int
cli_set(int argc, char **argv)
{
    static oct_config config;
    char message[MESSAGE_BYTES] = "";
    set_options options = {0};
    cli_options_parse(&set_argp, argc, argv, &options);
    if (options.run_dir == NULL || options.count == 0) {
        cli_usage_error("set", "usage: octet set RUN_DIR %s=VALUE", live_keys[0]);
    }
    if (chdir(options.run_dir) != 0 || access("config.yaml", R_OK) != 0) {
        cli_error("set", "'%s' is not a run folder: config.yaml: %s", options.run_dir,
                  strerror(errno));
        return CLI_EXIT_FAILED;
    }
    oct_config_default(&config);
    if (oct_config_load(&config, "config.yaml", message, sizeof(message)) != OCT_OK) {
        (void)fputs(message, stderr);
        return CLI_EXIT_FAILED;
    }
    for (size_t i = 0; i < options.count; i++) {
        if (oct_config_set(&config, options.assignment[i], message, sizeof(message)) != OCT_OK) {
            (void)fputs(message, stderr);
            return CLI_EXIT_USAGE;
        }
    }
    return apply(&config, options.run_dir);
}
