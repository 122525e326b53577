// Plans the daemons of an experiment over several hosts: options, checks, command lines.

#include "cli/cluster/cli_cluster_plan.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_env_file.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_trust.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_text.h"
#include "envs/env.h"
#include "net/net_limits.h"

#define EVALUATOR_WAIT_S "60"    // on a cluster the evaluator may be the last daemon to start
#define GIVE_UP_S        "86400" // without an answer of the learner
#define RELAY_WAIT_S     "30"    // of an actor, for the first relay that the learner knows
#define WORD_BYTES       (CLI_PATH_MAX + 512)
#define PORT_BYTES       32
#define NAME_BYTES       32
#define PORT_MIN         1024
#define PORT_MAX         65535
#define STOPPED          "143" // 128 + SIGTERM: the run has not ended

// ---- options

static_assert(CLI_CLUSTER_NAME_MAX == 40, "the text of --name");

static bool
is_name(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length <= CLI_CLUSTER_NAME_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && text[0] != '-' &&
           text[length - 1] != '-';
}

const oct_arg cli_cluster_rows[] = {
    {OCT_ARG_OPERAND("files", cli_cluster_options, file)},
    {CLI_SETTING("set", "KEY=VALUE", TEXT, ""), OCT_ARG_FIELD(cli_cluster_options, settings, 0),
     .help = "Override one key of the experiment; may be repeated"},
    {OCT_ARG_COUNT("actors", "N", cli_cluster_options, actors, 1, CLI_CLUSTER_ACTORS_MAX),
     .help = "Start N actors, on all hosts together (default: actor.count)"},
    {CLI_SETTING("learners", "N", COUNT, "learner.count"), .min = 1, .max = CLI_LEARNERS_MAX,
     OCT_ARG_FIELD(cli_cluster_options, settings, 0),
     .help = "Start N learners, which share each batch (learner.count)"},
    {OCT_ARG_COUNT("evaluators", "N", cli_cluster_options, evaluators, 1, 64),
     .help = "Start N evaluators (default: 1)"},
    {OCT_ARG_COUNT("port", "PORT", cli_cluster_options, port, PORT_MIN, PORT_MAX),
     .help = "Use the ports from PORT on for the learner, from PORT + 5 on for replay and from "
             "PORT + 10 on for a data set (default: 5555; under Slurm, ports of the job's own)"},
    {OCT_ARG_TEXT("name", "NAME", cli_cluster_options, name), .check = is_name,
     .allowed = "are a-z, 0-9 and, not at an end, '-', at most 40 characters",
     .help = "Name the run (default: run.name, or the environment)"},
    {OCT_ARG_PATH("run-dir", "D", cli_cluster_options, run_dir),
     .help = "Write the run to folder D (default: runs/NAME-DATE-TIME; under Slurm, runs/NAME-JOB; "
             "not with Kubernetes)"},
    {OCT_ARG_PATH("certs", "FOLDER", cli_cluster_options, certs),
     .help = "Use certificates made by octet certs: FOLDER has a folder for each of learner, "
             "replay, actor, evaluator and, with relays, relay (default: new certificates for this "
             "run; with Kubernetes, those that the printed commands make)"},
    {OCT_ARG_FLAG("insecure", cli_cluster_options, insecure),
     .help = "Run without TLS: everyone on the network can read the run and take part in it"},
    {OCT_ARG_FLAG("trust", cli_cluster_options, is_trusted), .help = CLI_TRUST_HELP},
    {0},
};

void
cli_cluster_options_init(cli_cluster_options *options, const char *command)
{
    *options = (cli_cluster_options){.command = command, .evaluators = 1, .port = CLI_CLUSTER_PORT};
}

// ---- the experiment

// Makes a DNS label of run.name, or of the last part of the environment's id.
static void
name_make(char out[CLI_CLUSTER_NAME_MAX + 1], const config_experiment *config)
{
    const char *from = config->run.name[0] != '\0' ? config->run.name : config->env.id;
    const char *slash = strrchr(from, '/');
    size_t used = 0;
    for (from = slash != NULL ? slash + 1 : from; *from != '\0' && used < CLI_CLUSTER_NAME_MAX;
         from++) {
        bool is_plain = isalnum((unsigned char)*from) != 0;
        if (is_plain || (used > 0 && out[used - 1] != '-')) {
            out[used++] = is_plain ? (char)tolower((unsigned char)*from) : '-';
        }
    }
    while (used > 0 && out[used - 1] == '-') {
        used--;
    }
    out[used] = '\0';
    if (used == 0) {
        (void)snprintf(out, CLI_CLUSTER_NAME_MAX + 1, "octet");
    }
}

static void
note_path(const cli_cluster_options *options, const char *key, const char *path, const char *who)
{
    fprintf(stderr, "octet %s: note: %s is %s; %s must find it under the same path\n",
            options->command, key, path, who);
}

static void
note_paths(const cli_cluster_options *options, const config_experiment *config)
{
    config_experiment defaults, split;
    config_default(&defaults);
    if (env_is_plugin(config->env.id)) {
        note_path(options, "env.id", config->env.id, "actors and evaluators");
    }
    if (config->env.mjcf_dir[0] == '/') {
        note_path(options, "env.mjcf_dir", config->env.mjcf_dir, "actors and evaluators");
    } else if (cli_env_file_keys(&split, config->env.id, config->env.options) &&
               split.env.mjcf_dir[0] == '/') {
        note_path(options, "mjcf_dir of env.options", split.env.mjcf_dir, "actors and evaluators");
    }
    if (config->replay.data[0] == '/') {
        note_path(options, "replay.data", config->replay.data, "replay");
    }
    if (config->learner.init_from[0] == '/') {
        note_path(options, "learner.init_from", config->learner.init_from, "the learner");
    }
    if (strcmp(config->net.learner, defaults.net.learner) != 0 ||
        strcmp(config->net.replay, defaults.net.replay) != 0) {
        fprintf(stderr,
                "octet %s: note: the experiment's net.learner and net.replay are not used; --port "
                "and the hosts determine the addresses\n",
                options->command);
    }
}

static void
certs_check(const cli_cluster_options *options)
{
    static const char *const roles[] = {"learner", "replay", "actor", "evaluator", "relay"};
    size_t role_count = OCT_COUNTOF(roles) - (options->relays == 0 ? 1 : 0);
    static const char *const files[] = {"ca.crt", "crl.pem", "node.crt", "node.key"};
    char path[CLI_PATH_MAX + 64];
    if (options->certs != NULL && options->insecure) {
        cli_usage_error(options->command, "--certs and --insecure cannot be used together");
    }
    for (size_t i = 0; options->certs != NULL && i < role_count; i++) {
        for (size_t k = 0; k < OCT_COUNTOF(files); k++) {
            (void)snprintf(path, sizeof(path), "%s/%s/%s", options->certs, roles[i], files[k]);
            if (access(path, R_OK) != 0) {
                exit(cli_error(options->command,
                               "--certs: cannot read %s; octet certs issue %s %s --dir %s makes it",
                               path, roles[i], roles[i], cli_text_word(options->certs).text));
            }
        }
    }
}

// Refuses lock-step, in which actors are numbered: those of a cluster come and go. Also refuses
// relays without actors.
static void
daemons_check(const cli_cluster_plan *plan)
{
    const cli_cluster_options *options = plan->options;
    if (plan->config.run.deterministic) {
        cli_usage_error(options->command,
                        "%s: run.deterministic: a run in lock-step needs numbered actors, but a "
                        "cluster's are not numbered; octet train runs it on one host",
                        options->file);
    }
    if (options->relays > 0 && plan->actors == 0) {
        cli_usage_error(
            options->command,
            "--relays: %s learns from replay.data alone and has no actors for relays to serve",
            options->file);
    }
}

// Raises learner.actors_per_certificate: actors that an array or an autoscaler adds later have the
// same certificate.
static void
connections_raise(cli_cluster_plan *plan)
{
    config_experiment defaults;
    config_default(&defaults);
    uint32_t *places = &plan->config.learner.actors_per_certificate;
    if (!plan->options->insecure && *places == defaults.learner.actors_per_certificate) {
        *places = NET_CERTIFICATE_CONNECTIONS_MAX;
    }
}

void
cli_cluster_plan_actors_check(const cli_cluster_plan *plan, uint32_t actors)
{
    const cli_cluster_options *options = plan->options;
    uint32_t places = plan->config.learner.actors_per_certificate;
    if (options->insecure) {
        return;
    }
    if (actors > NET_CERTIFICATE_CONNECTIONS_MAX) {
        cli_usage_error(options->command,
                        "%u actors would share one certificate, with which at most %d can connect; "
                        "start fewer, or use --insecure",
                        (unsigned)actors, NET_CERTIFICATE_CONNECTIONS_MAX);
    }
    if (places > 0 && actors > places) {
        cli_usage_error(options->command,
                        "learner.actors_per_certificate is %u, but %u actors would share one "
                        "certificate; start fewer, or raise the key",
                        (unsigned)places, (unsigned)actors);
    }
}

cli_cluster_plan *
cli_cluster_plan_make(const cli_cluster_options *options)
{
    cli_cluster_plan *plan = oct_alloc(sizeof(*plan));
    cli_experiment experiment = {.command = options->command,
                                 .file = options->file,
                                 .settings = options->settings.list,
                                 .setting_count = options->settings.count,
                                 .has_hosts = true,
                                 .is_trusted = options->is_trusted};
    if (options->settings.count > CLI_CLUSTER_SETTINGS_MAX) {
        cli_usage_error(options->command, "more than %d settings", CLI_CLUSTER_SETTINGS_MAX);
    }
    certs_check(options);
    plan->options = options;
    // These messages go to standard error, because standard output is the job or the manifests.
    (void)fflush(stdout);
    int out = dup(STDOUT_FILENO);
    bool is_apart = out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    cli_experiment_load(&plan->config, &experiment);
    cli_preflight(&plan->environment, &experiment, &plan->config);
    (void)fflush(stdout);
    if (is_apart) {
        (void)dup2(out, STDOUT_FILENO);
    }
    (void)close(out);
    note_paths(options, &plan->config);
    connections_raise(plan);
    plan->text = config_print(&plan->config);
    if (options->name != NULL) {
        (void)snprintf(plan->name, sizeof(plan->name), "%s", options->name);
    } else {
        name_make(plan->name, &plan->config);
    }
    bool is_offline = config_is_offline(&plan->config);
    uint32_t actors = options->actors > 0 ? options->actors : plan->config.actor.count;
    plan->actors = is_offline ? 0 : actors;
    plan->relays = options->relays;
    plan->learner_cpus = plan->config.learner.count * plan->config.learner.threads + 1;
    daemons_check(plan);
    cli_cluster_plan_actors_check(plan, plan->actors);
    return plan;
}

// ---- command lines

static const char *
keep(cli_cluster_plan *plan, const char *word)
{
    char **words = realloc(plan->words, (plan->word_count + 1) * sizeof(*words));
    char *copy = strdup(word);
    OCT_ASSERT(words != NULL && copy != NULL);
    plan->words = words;
    plan->words[plan->word_count++] = copy;
    return copy;
}

void
cli_cluster_plan_add(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const char *word)
{
    size_t count = 0;
    while (daemon->argv[count] != NULL) {
        count++;
    }
    OCT_ASSERT(count + 1 < CLI_CLUSTER_WORDS_MAX);
    daemon->argv[count] = keep(plan, word);
    daemon->argv[count + 1] = NULL;
}

OCT_PRINTF(3, 4)
static void
add(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const char *format, ...)
{
    char word[WORD_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    OCT_ASSERT(length >= 0 && length < (int)sizeof(word));
    cli_cluster_plan_add(plan, daemon, word);
}

static cli_cluster_daemon *
begin(cli_cluster_plan *plan, const char *name, const char *role, const char *program)
{
    OCT_ASSERT(plan->count < CLI_CLUSTER_DAEMONS_MAX);
    cli_cluster_daemon *daemon = &plan->daemon[plan->count++];
    *daemon = (cli_cluster_daemon){.name = name, .role = role, .count = 1};
    cli_cluster_plan_add(plan, daemon, program);
    return daemon;
}

static void
secure(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const cli_cluster_layout *layout)
{
    if (plan->options->insecure) {
        add(plan, daemon, "--insecure");
    } else {
        add(plan, daemon, "--tls");
        add(plan, daemon, "%s/%s", layout->certs, daemon->role);
    }
}

static const char *
scheme(const cli_cluster_plan *plan)
{
    return plan->options->insecure ? "tcp" : "tls+tcp";
}

// Writes the first port plus offset, as text for an address. Returns out.
static const char *
port_text(char out[PORT_BYTES], const cli_cluster_plan *plan, const cli_cluster_layout *layout,
          uint32_t offset)
{
    (void)snprintf(out, PORT_BYTES, layout->has_late_port ? "@PORT+%u@" : "%u",
                   (unsigned)(layout->has_late_port ? offset : plan->options->port + offset));
    return out;
}

static uint32_t
shard_offset(uint32_t shard)
{
    return shard == 0 ? CLI_CLUSTER_PORT_REPLAY : CLI_CLUSTER_PORT_SHARD + 5 * (shard - 1);
}

uint32_t
cli_cluster_plan_ports(const cli_cluster_plan *plan)
{
    uint32_t last = shard_offset(plan->config.replay.shards - 1);
    return OCT_MAX(last, CLI_CLUSTER_PORT_DATA) + CLI_CLUSTER_PORT_REPLAY_COUNT;
}

static void
port_check(const cli_cluster_plan *plan)
{
    const cli_cluster_options *options = plan->options;
    uint32_t behind = cli_cluster_plan_ports(plan) - 1;
    if (options->port + behind > PORT_MAX) {
        cli_usage_error(options->command,
                        "--port is %u; allowed are numbers up to %u, since %s%u more",
                        (unsigned)options->port, (unsigned)(PORT_MAX - behind),
                        plan->config.replay.shards > 1 ? "with its shards of replay the run uses "
                                                       : "the run uses ",
                        (unsigned)behind);
    }
}

static void
listen_at(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const cli_cluster_layout *layout,
          uint32_t offset)
{
    char port[PORT_BYTES];
    daemon->port = plan->options->port + offset;
    daemon->ports = CLI_CLUSTER_PORT_REPLAY_COUNT;
    add(plan, daemon, "--listen");
    add(plan, daemon, "%s://*:%s", scheme(plan), port_text(port, plan, layout, offset));
}

static void
replay_add(cli_cluster_plan *plan, const cli_cluster_layout *layout, uint32_t shard)
{
    const config_experiment *config = &plan->config;
    char name[NAME_BYTES], file[CONFIG_TEXT_MAX + NAME_BYTES];
    config_shard_name("replay", shard, name, sizeof(name));
    cli_cluster_daemon *replay = begin(plan, keep(plan, name), "replay", "octet-replay");
    listen_at(plan, replay, layout, shard_offset(shard));
    if (layout->replay_dir != NULL && strcmp(config->replay.path, "none") != 0) {
        const char *slash = strrchr(config->replay.path, '/');
        config_shard_name(slash != NULL ? slash + 1 : config->replay.path, shard, file,
                          sizeof(file));
        add(plan, replay, "--path");
        add(plan, replay, "%s/%s", layout->replay_dir, file);
        add(plan, replay, "--sync");
        add(plan, replay, "%s", config_sync_words[config->replay.sync]);
        add(plan, replay, "--sync-interval");
        add(plan, replay, "%g", config->replay.sync_interval_s);
    }
    secure(plan, replay, layout);
}

// Plans the replay of a data set, which runs beside or instead of the actors' replay.
static void
data_add(cli_cluster_plan *plan, const cli_cluster_layout *layout)
{
    bool is_alone = config_is_offline(&plan->config);
    cli_cluster_daemon *data = begin(plan, is_alone ? "replay" : "data", "replay", "octet-replay");
    data->is_data = true;
    listen_at(plan, data, layout, is_alone ? CLI_CLUSTER_PORT_REPLAY : CLI_CLUSTER_PORT_DATA);
    add(plan, data, "--data");
    add(plan, data, "%s", plan->config.replay.data);
    secure(plan, data, layout);
}

// Prints the addresses of all shards, or of the data set.
static void
learner_dials(cli_cluster_plan *plan, cli_cluster_daemon *learner, const cli_cluster_layout *layout)
{
    char list[WORD_BYTES], port[PORT_BYTES];
    uint32_t shards = config_is_offline(&plan->config) ? 1 : plan->config.replay.shards;
    oct_text text;
    oct_text_init(&text, list, sizeof(list));
    for (uint32_t i = 0; i < shards; i++) {
        oct_text_add(&text, "%s%s://%s:%s", i > 0 ? "," : "", scheme(plan), layout->replay_host,
                     port_text(port, plan, layout, shard_offset(i)));
    }
    add(plan, learner, "--set");
    add(plan, learner, "net.replay=%s", list);
    if (config_is_mixed(&plan->config)) {
        add(plan, learner, "--set");
        add(plan, learner, "net.data=%s://%s:%s", scheme(plan), layout->data_host,
            port_text(port, plan, layout, CLI_CLUSTER_PORT_DATA));
    }
}

static void
learner_add(cli_cluster_plan *plan, const cli_cluster_layout *layout)
{
    char threads[48], port[PORT_BYTES];
    cli_cluster_daemon *learner = begin(plan, "learner", "learner", "octet-learner");
    learner->may_finish = true;
    learner->port = plan->options->port;
    learner->ports = CLI_CLUSTER_PORT_LEARNER_COUNT;
    // OpenBLAS starts its threads when it is loaded, and idle ones spin for a while.
    (void)snprintf(threads, sizeof(threads), "OPENBLAS_NUM_THREADS=%u",
                   (unsigned)plan->config.learner.threads);
    learner->env = keep(plan, threads);
    add(plan, learner, "%s", layout->experiment);
    add(plan, learner, "--run-dir");
    add(plan, learner, "%s", layout->run_dir);
    add(plan, learner, "--resume");
    add(plan, learner, "--exit-when-stopped");
    add(plan, learner, STOPPED);
    add(plan, learner, "--await-evaluator");
    add(plan, learner, EVALUATOR_WAIT_S);
    add(plan, learner, "--set");
    add(plan, learner, "net.learner=%s://*:%s", scheme(plan), port_text(port, plan, layout, 0));
    learner_dials(plan, learner, layout);
    secure(plan, learner, layout);
}

static void
learner_dial(cli_cluster_plan *plan, cli_cluster_daemon *daemon, const cli_cluster_layout *layout)
{
    char port[PORT_BYTES];
    add(plan, daemon, "--learner");
    add(plan, daemon, "%s://%s:%s", scheme(plan), layout->learner_host,
        port_text(port, plan, layout, 0));
}

static void
relay_add(cli_cluster_plan *plan, const cli_cluster_layout *layout)
{
    cli_cluster_daemon *relay = begin(plan, "relay", "relay", "octet-relay");
    relay->count = plan->relays;
    learner_dial(plan, relay, layout);
    add(plan, relay, "--listen");
    add(plan, relay, "%s", layout->relay);
    add(plan, relay, "--announce");
    add(plan, relay, "%s",
        layout->relay_announced != NULL ? layout->relay_announced : layout->relay);
    secure(plan, relay, layout);
}

static void
actor_add(cli_cluster_plan *plan, const cli_cluster_layout *layout, bool evaluates)
{
    const char *name = evaluates ? "evaluator" : "actor";
    cli_cluster_daemon *actor = begin(plan, name, name, "octet-actor");
    actor->count = evaluates ? plan->options->evaluators : plan->actors;
    learner_dial(plan, actor, layout);
    add(plan, actor, "--exit-when-stuck");
    add(plan, actor, "auto");
    if (layout->actors_give_up) {
        add(plan, actor, "--give-up-after");
        add(plan, actor, GIVE_UP_S);
    }
    if (evaluates) {
        add(plan, actor, "--evaluate");
    } else if (plan->relays > 0) { // the learner may not know a relay yet when it knows the actor
        bool is_known = layout->relay_announced == NULL;
        add(plan, actor, is_known ? "--relay" : "--await-relay");
        add(plan, actor, "%s", is_known ? layout->relay : RELAY_WAIT_S);
    }
    if (env_is_code(plan->config.env.id)) { // this user chose it, and no other
        add(plan, actor, "--plugins");
        add(plan, actor, "%s", plan->config.env.id);
    }
    secure(plan, actor, layout);
}

void
cli_cluster_plan_lay_out(cli_cluster_plan *plan, const cli_cluster_layout *layout)
{
    OCT_ASSERT(plan->count == 0);
    port_check(plan);
    bool is_offline = config_is_offline(&plan->config);
    for (uint32_t i = 0; i < plan->config.replay.shards && !is_offline; i++) {
        replay_add(plan, layout, i);
    }
    if (config_data_windows(&plan->config) > 0) {
        data_add(plan, layout);
    }
    learner_add(plan, layout);
    actor_add(plan, layout, true);
    if (plan->relays > 0) {
        relay_add(plan, layout);
    }
    if (plan->actors > 0) {
        actor_add(plan, layout, false);
    }
}

cli_cluster_daemon *
cli_cluster_plan_find(cli_cluster_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (strcmp(plan->daemon[i].name, name) == 0) {
            return &plan->daemon[i];
        }
    }
    return NULL;
}

void
cli_cluster_plan_free(cli_cluster_plan *plan)
{
    for (size_t i = 0; i < plan->word_count; i++) {
        free(plan->words[i]);
    }
    free(plan->words);
    free(plan->text);
    free(plan);
}
