// octet set: changes the limiter of a live run.

#include "cli/cli_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/remote/cli_remote_run.h"
#include "common/oct_file.h"
#include "config/config.h"

#define CALL_TIMEOUT_MS 2000
#define MEET_TIMEOUT_MS 2500
#define CLOSE_MS        500
#define MESSAGE_BYTES   4096

// Only the limiter can change in a live run; everything else is const after start.
enum { SAMPLES_PER_INSERT, TOLERANCE, LIVE_KEYS };
static const char *const live_keys[LIVE_KEYS] = {
    [SAMPLES_PER_INSERT] = "replay.samples_per_insert",
    [TOLERANCE] = "replay.tolerance",
};
#define ALLOWED "replay.samples_per_insert=VALUE replay.tolerance=VALUE"

typedef struct set_options {
    const char *run_dir; // NULL: the run is named by --learner
    cli_remote_options remote;
    const char *word[LIVE_KEYS + 1];
    size_t words;
    const char *assignment[LIVE_KEYS]; // NULL: the key keeps its value
} set_options;

// Returns the index of the key of an assignment, or LIVE_KEYS if it is none of them.
static size_t
key_of(const char *assignment)
{
    size_t key = 0, length = strcspn(assignment, "=");
    while (key < LIVE_KEYS && (assignment[length] == '\0' || strlen(live_keys[key]) != length ||
                               memcmp(live_keys[key], assignment, length) != 0)) {
        key++;
    }
    return key;
}

static const oct_arg set_rows[] = {
    {OCT_ARG_OPERANDS("words", set_options, word, words)},
    {0},
};

static const oct_args set_args = {
    .rows = set_rows,
    .usage = "RUN_DIR [replay.samples_per_insert=VALUE] [replay.tolerance=VALUE]\n"
             "--learner ADDRESS [replay.samples_per_insert=VALUE] [replay.tolerance=VALUE]",
    .doc = "Changes the limiter of a live run: how often each window is sampled. Other keys keep "
           "their values. The change lasts until the learner or replay, or a shard of it, "
           "is restarted.\v"
           "Example:\n"
           "  octet set runs/pole replay.samples_per_insert=16",
    .shared = {{cli_remote_rows, offsetof(set_options, remote), CLI_REMOTE_GROUP}},
};

// Takes the operands: with --learner every word is a setting, otherwise the first is the folder.
static void
words_take(set_options *options)
{
    size_t first = options->remote.learner == NULL ? 1 : 0;
    options->run_dir = first == 1 && options->words > 0 ? options->word[0] : NULL;
    if (first == 1 && (options->run_dir == NULL || key_of(options->run_dir) != LIVE_KEYS)) {
        cli_usage_error("set", "no RUN_DIR given, and no --learner");
    }
    if (options->words == first) {
        cli_usage_error("set", "no setting given\n  allowed: " ALLOWED);
    }
    for (size_t i = first; i < options->words; i++) {
        const char *word = options->word[i];
        size_t key = key_of(word);
        if (key == LIVE_KEYS) {
            cli_usage_error("set", "'%s' cannot be changed in a live run\n  allowed: " ALLOWED,
                            word);
        }
        if (options->assignment[key] != NULL) {
            cli_usage_error("set", "two values of %s, '%s' and '%s'; give one", live_keys[key],
                            options->assignment[key], word);
        }
        options->assignment[key] = word;
    }
}

// ---- the call

static wire_configure
limiter_of(const set_options *options, const config_experiment *config, uint64_t run_id)
{
    return (wire_configure){
        .run_id = run_id,
        .capacity = config->replay.capacity,
        .sampler = WIRE_SAMPLER_UNIFORM, // with limiter_only, replay ignores the keys of the table
        .samples_per_insert = config->replay.samples_per_insert,
        .tolerance = config->replay.tolerance,
        .limiter_only = true,
        .limiter_parts = config_shards(config),
        .keep_samples_per_insert = options->assignment[SAMPLES_PER_INSERT] == NULL,
        .keep_tolerance = options->assignment[TOLERANCE] == NULL,
    };
}

// Returns 0, or an exit code after a message if a setting is wrong.
static int
settings_apply(const set_options *options, config_experiment *config)
{
    char message[MESSAGE_BYTES] = "";
    for (size_t i = 0; i < LIVE_KEYS; i++) {
        const char *assignment = options->assignment[i];
        if (assignment != NULL &&
            config_assign(config, assignment, message, sizeof(message)) != OCT_OK) {
            (void)fputs(message, stderr);
            return CLI_EXIT_USAGE;
        }
    }
    return 0;
}

static void
end_say(const char *run, const set_options *options, bool done, const char *detail)
{
    if (!done) {
        cli_error("set", "'%s': %s", run, detail);
        return;
    }
    printf("%s:", run);
    for (size_t i = 0; i < LIVE_KEYS; i++) {
        if (options->assignment[i] != NULL) {
            printf(" %s", options->assignment[i]);
        }
    }
    printf(", until the learner or replay is restarted\n");
    (void)fflush(stdout);
}

typedef struct change {
    const set_options *options;
    net_loop *loop;
    cli_remote *link;
    uint32_t asked; // shards that have not answered yet
    int exit_code;  // 0 after success
    bool said;
    char why[512];
    char changed[2048]; // addresses of the shards that have changed
} change;

// A shard that was asked.
struct recipient {
    change *c;
    cli_remote_daemon daemon;
};

static void
configured(void *arg, oct_err err, const char *detail, const wire_configured *answer)
{
    const struct recipient *to = arg;
    change *c = to->c;
    (void)answer;
    if (c->link == NULL) {
        return; // the command is closing
    }
    const char *url = cli_remote_url(c->link, to->daemon);
    if (err != OCT_OK) {
        oct_reason why;
        cli_remote_why(c->link, to->daemon, err, detail, &why);
        (void)snprintf(c->why, sizeof(c->why), "replay=%.200s: %.255s", url, why.text);
    } else {
        size_t length = strlen(c->changed);
        (void)snprintf(c->changed + length, sizeof(c->changed) - length, "%s%s",
                       length > 0 ? ", " : "", url);
    }
    if (--c->asked == 0) {
        c->exit_code = c->why[0] == '\0' ? 0 : CLI_EXIT_FAILED;
        net_loop_stop(c->loop);
    }
}

static void
met(void *arg, oct_err err, const char *why)
{
    change *c = arg;
    if (err != OCT_OK) {
        (void)snprintf(c->why, sizeof(c->why), "%s", why);
        net_loop_stop(c->loop);
        return;
    }
    config_experiment *config = cli_remote_config(c->link);
    int bad = settings_apply(c->options, config);
    if (bad != 0) {
        c->exit_code = bad;
        c->said = true;
        net_loop_stop(c->loop);
        return;
    }
    wire_configure message = limiter_of(c->options, config, cli_remote_run_id(c->link));
    static struct recipient recipients[CONFIG_SHARDS_MAX];
    uint32_t shards = config_shards(config);
    c->asked = shards;
    for (uint32_t i = 0; i < shards; i++) {
        recipients[i] = (struct recipient){.c = c, .daemon = CLI_REMOTE_REPLAY + i};
        err = wire_call_configure(cli_remote_client(c->link, recipients[i].daemon), &message,
                                  CALL_TIMEOUT_MS, configured, &recipients[i]);
        if (err != OCT_OK) {
            configured(&recipients[i], err, oct_strerror(err), NULL);
        }
    }
}

static int
apply(const set_options *options)
{
    const char *learner = options->remote.learner;
    const char *run = options->run_dir != NULL ? options->run_dir : learner;
    change c = {.options = options, .loop = net_loop_create(), .exit_code = CLI_EXIT_FAILED};
    if (cli_remote_secure("set", &options->remote, c.loop, learner, options->remote.replay)) {
        if (cli_remote_open(&c.link, c.loop, &options->remote) != OCT_OK) {
            (void)snprintf(c.why, sizeof(c.why), "cannot connect to it");
        } else if (cli_remote_register(c.link, MEET_TIMEOUT_MS, met, &c) == OCT_OK) {
            net_loop_run(c.loop);
        }
        if (!c.said) {
            bool is_dead =
                options->run_dir != NULL && c.link != NULL && cli_remote_run_id(c.link) == 0;
            char why[sizeof(c.why) + sizeof(c.changed) + 128];
            (void)snprintf(why, sizeof(why), "%s%s%s%s", is_dead ? "the run does not answer: " : "",
                           c.why, c.changed[0] != '\0' ? "; these were changed: " : "", c.changed);
            end_say(run, options, c.exit_code == 0, why);
        }
    }
    net_loop_exit_deadline(c.loop, CLOSE_MS, c.exit_code);
    cli_remote *link = c.link;
    c.link = NULL;
    cli_remote_close(link);
    net_loop_destroy(c.loop);
    return c.exit_code;
}

int
cli_set(int argc, char **argv)
{
    static config_experiment config;
    char message[MESSAGE_BYTES] = "";
    set_options options = {0};
    cli_remote_default(&options.remote);
    cli_args_parse(&set_args, argc, argv, &options);
    cli_remote_check("set", &options.remote);
    words_take(&options);
    if (options.remote.learner != NULL) {
        return apply(&options);
    }
    oct_file_confine(options.run_dir);
    if (chdir(options.run_dir) != 0 || access("config.yaml", R_OK) != 0) {
        return cli_error("set", "'%s' is not a run folder: config.yaml: %s", options.run_dir,
                         oct_file_strerror(errno));
    }
    config_default(&config);
    if (config_load(&config, "config.yaml", message, sizeof(message)) != OCT_OK) {
        (void)fputs(message, stderr);
        return CLI_EXIT_FAILED;
    }
    int bad = settings_apply(&options, &config);
    cli_remote_run_address(&options.remote, &config);
    return bad != 0 ? bad : apply(&options);
}
