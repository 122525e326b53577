// octet-learner: owns an experiment. Samples, trains, quantises, publishes; serves actors.

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_blas.h"
#include "common/oct_config_effects.h"
#include "common/oct_config_text.h"
#include "common/oct_file.h"
#include "common/oct_start.h"
#include "common/oct_text.h"
#include "group/group_fork.h"
#include "group/group_launch.h"
#include "group/group_mpi.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_io.h"
#include "net/net_metrics.h"
#include "net/net_url.h"

#define EXIT_REFUSED 3
#define SETTINGS_MAX 64

#define EVALUATOR_WAIT_MAX_S 3600
#define LOCK_WAIT_MS         3000 // as long as a learner that is told to stop may take

const char *argp_program_version = "octet-learner " OCTET_VERSION " " WIRE_SPEAKS_TEXT;

struct arguments {
    net_daemon daemon;
    const char *file;
    const char *folder;
    const char *environment;
    bool resume;
    double evaluator_wait_s;
    int exit_stopped;
    const char *settings[SETTINGS_MAX];
    int setting_count;
};

enum {
    KEY_RUN_DIR = 256,
    KEY_RESUME,
    KEY_ENVIRONMENT,
    KEY_AWAIT_EVALUATOR,
    KEY_DETERMINISTIC,
    KEY_SET,
    KEY_EXIT_WHEN_STOPPED,
};

static const struct argp_option options[] = {
    {"run-dir", KEY_RUN_DIR, "FOLDER", 0,
     "Write checkpoints, policies, metrics and the summary to FOLDER (default octet-run)", 1},
    {"resume", KEY_RESUME, NULL, 0, "Resume from the checkpoint in the run folder, if it has one",
     1},
    {"environment", KEY_ENVIRONMENT, "FILE", 0,
     "Read the description of the environment from FILE, the environment.oct that octet train "
     "writes to a run folder (default: take it from the first actor that registers)",
     1},
    {"await-evaluator", KEY_AWAIT_EVALUATOR, "SECONDS", 0,
     "Wait this long for an evaluator if none has registered when training ends (default 0)", 1},
    {"deterministic", KEY_DETERMINISTIC, NULL, 0,
     "Run in lock-step, so that the same seed produces the same weights (run.deterministic)", 1},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "Override one key of the experiment (octet config lists all keys); may be repeated", 1},
    {"exit-when-stopped", KEY_EXIT_WHEN_STOPPED, "CODE", 0,
     "Exit with CODE, 1 to 255, if SIGTERM, SIGINT or SIGHUP ends the learner before the run is "
     "finished, so that a supervisor can restart it (default 0)",
     1},
    {0},
};

static double
seconds_parse(const char *text, struct argp_state *state)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= EVALUATOR_WAIT_MAX_S)) {
        argp_error(state, "--await-evaluator is '%s'; allowed are seconds from 0 to %d", text,
                   EVALUATOR_WAIT_MAX_S);
    }
    return seconds;
}

static int
exit_code_parse(const char *text, struct argp_state *state)
{
    char *end;
    long code = strtol(text, &end, 10);
    if (end == text || *end != '\0' || code < 1 || code > 255) {
        argp_error(state, "--exit-when-stopped is '%s'; allowed are exit codes from 1 to 255",
                   text);
    }
    return (int)code;
}

static void
setting_add(struct arguments *arguments, const char *setting, struct argp_state *state)
{
    if (arguments->setting_count == SETTINGS_MAX) {
        argp_error(state, "more than %d --set", SETTINGS_MAX);
    }
    arguments->settings[arguments->setting_count++] = setting;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->daemon;
        return 0;
    case KEY_RUN_DIR:
        arguments->folder = arg;
        return 0;
    case KEY_RESUME:
        arguments->resume = true;
        return 0;
    case KEY_ENVIRONMENT:
        arguments->environment = arg;
        return 0;
    case KEY_AWAIT_EVALUATOR:
        arguments->evaluator_wait_s = seconds_parse(arg, state);
        return 0;
    case KEY_DETERMINISTIC:
        setting_add(arguments, "run.deterministic=true", state);
        return 0;
    case KEY_SET:
        setting_add(arguments, arg, state);
        return 0;
    case KEY_EXIT_WHEN_STOPPED:
        arguments->exit_stopped = exit_code_parse(arg, state);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->file != NULL) {
            argp_error(state, "unexpected argument '%s'; one experiment file is allowed", arg);
        }
        arguments->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no experiment FILE given; an example is presets/cartpole.yaml");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Whoever reads it in config.yaml or is told it may have another working folder than this process.
static void
address_resolve(char address[OCT_CONFIG_TEXT_MAX])
{
    char absolute[NET_URL_MAX];
    if (net_url_absolute(address, absolute) == OCT_OK && strlen(absolute) < OCT_CONFIG_TEXT_MAX) {
        (void)snprintf(address, OCT_CONFIG_TEXT_MAX, "%.*s", OCT_CONFIG_TEXT_MAX - 1, absolute);
    }
}

// The same, of a list.
static void
replays_resolve(oct_config *config)
{
    char list[OCT_CONFIG_LIST_MAX], address[OCT_CONFIG_TEXT_MAX];
    oct_text text;
    oct_text_init(&text, list, sizeof(list));
    for (uint32_t i = 0; i < oct_config_shards(config); i++) {
        oct_config_replay_address(config, i, address);
        address_resolve(address);
        oct_text_add(&text, "%s%s", i > 0 ? "," : "", address);
    }
    if (!text.truncated) {
        memcpy(config->net.replay, list, sizeof(list));
    }
}

static bool
address_check(const char *key, const char *url, bool insecure)
{
    char reason[256];
    if (net_url_check(url, insecure, reason, sizeof(reason)) != OCT_OK) {
        fprintf(stderr, "octet-learner: error: %s: %s: %s\n", key, url, reason);
        return false;
    }
    return true;
}

// Every shard of the experiment has an address.
static bool
shards_check(const oct_config *config)
{
    char last[OCT_CONFIG_TEXT_MAX];
    uint32_t shards = oct_config_shards(config);
    oct_config_replay_address(config, shards - 1, last);
    if (last[0] == '\0') {
        fprintf(stderr,
                "octet-learner: error: replay.shards: %u, but net.replay has fewer addresses: %s\n",
                (unsigned)shards, config->net.replay);
    }
    return last[0] != '\0';
}

// Actors of other hosts are handed the address of replay. A relative path is the default, and one
// that nobody on another host can use; who has all actors on this host says so by an absolute one.
static bool
replay_is_reachable(const oct_config *config)
{
    char replay[OCT_CONFIG_TEXT_MAX];
    if (!net_url_is_tcp(config->net.learner) || net_url_is_loopback(config->net.learner) ||
        oct_config_is_offline(config)) {
        return true;
    }
    for (uint32_t i = 0; i < oct_config_shards(config); i++) {
        oct_config_replay_address(config, i, replay);
        const char *path = net_url_ipc_path(replay);
        if (path != NULL && path[0] != '/') {
            fprintf(stderr,
                    "octet-learner: error: net.replay: %s can be reached only on this host, but "
                    "net.learner, %s, admits actors on other hosts; give the address at which they "
                    "reach replay, tls+tcp://HOST:PORT (or ipc:///PATH, an absolute path, if all "
                    "actors and relays are on this host)\n",
                    replay, config->net.learner);
            return false;
        }
    }
    return true;
}

static bool
config_read(const struct arguments *arguments, oct_config *config)
{
    char message[4096], names[4096];
    oct_config_default(config);
    oct_err err = oct_config_load(config, arguments->file, message, sizeof(message));
    for (int i = 0; err == OCT_OK && i < arguments->setting_count; i++) {
        oct_algo_name before = config->algo.name;
        err = oct_config_set(config, arguments->settings[i], message, sizeof(message));
        oct_config_forget_unread(config, before, names, sizeof(names));
    }
    if (err == OCT_OK) {
        err = oct_config_check(config, message, sizeof(message));
    }
    if (err != OCT_OK) {
        fputs(message, stderr);
        return false;
    }
    // As they were given: a relative path may become too long, and is none any more, below.
    bool insecure = config->net.insecure || arguments->daemon.insecure;
    if (!shards_check(config) || !address_check("net.learner", config->net.learner, insecure) ||
        !replay_is_reachable(config)) {
        return false;
    }
    if (strcmp(arguments->folder, ".") != 0) {
        address_resolve(config->net.learner);
        replays_resolve(config);
        address_resolve(config->net.data);
    }
    char replay[OCT_CONFIG_TEXT_MAX];
    bool is_good = address_check("net.learner", config->net.learner, insecure) &&
                   address_check("net.data", config->net.data, insecure);
    config->replay.shards = oct_config_shards(config);
    for (uint32_t i = 0; is_good && i < config->replay.shards; i++) {
        oct_config_replay_address(config, i, replay);
        is_good = address_check("net.replay", replay, insecure);
    }
    return is_good;
}

// By hand nobody has written the resolved experiment yet; octet status, set and eval read it. What
// a run was begun with stays, once it has a checkpoint.
static bool
config_write(const struct arguments *arguments, const oct_config *config)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", arguments->folder);
    if (oct_file_is_there(path) && learner_checkpoints_any(arguments->folder)) {
        return true;
    }
    char *text = oct_config_print(config);
    bool written = oct_file_write(path, text, strlen(text)) == OCT_OK;
    if (!written) {
        fprintf(stderr, "octet-learner: error: %s: %s\n", path, oct_file_strerror(errno));
    }
    free(text);
    return written;
}

// The learners of learner.count: copies of this process, or those that mpirun or srun has started.
// Comes before the first thread, and before the folder's lock, which is rank 0's alone.
static bool
group_begin(const struct arguments *arguments, const oct_config *config, group **out)
{
    char reason[256];
    bool is_local = true;
    uint32_t count = config->learner.count, launched = group_launch_size();
    oct_err err = OCT_OK;
    *out = NULL;
    if (count > 1 && launched != 1 && config->learner.asynchronous) {
        err =
            oct_refuse(reason, sizeof(reason),
                       "learners that share their parameters (learner.asynchronous) must run on "
                       "one host; start octet-learner without MPI, or use octet train --learners");
    } else if (count > 1 && launched != 1) {
        err = group_mpi_open(out, count, &is_local, reason, sizeof(reason));
    } else if (group_fork(out, count) != OCT_OK) {
        err = oct_refuse(reason, sizeof(reason), "%s", oct_file_strerror(errno));
    }
    if (err != OCT_OK) {
        fprintf(stderr, "octet-learner: error: learner.count: %s\n", reason);
        return false;
    }
    if (!is_local && !config->net.insecure && !arguments->daemon.insecure) {
        fprintf(stderr, "octet-learner: error: learner.count: learners on several hosts exchange "
                        "batches and gradients by MPI, which is not encrypted; connect them by a "
                        "network of their own and give --insecure\n");
        return false;
    }
    group_set_bf16(*out, config->learner.gradients_bf16);
    return true;
}

// All ranks but the first.
static int
rank_serve(const struct arguments *arguments, group *take)
{
    static char name[32];
    (void)snprintf(name, sizeof(name), "learner-%u", (unsigned)group_rank(take));
    oct_log_init(name, arguments->daemon.log_level);
    return learner_group_serve(take);
}

// For one that finds its folder taken by another of those that were started with it.
static void
launch_hint(char *out, size_t size)
{
    uint32_t launched = group_launch_size();
    out[0] = '\0';
    if (launched > 1) {
        (void)snprintf(out, size,
                       "; mpirun or srun has started %u processes: --set learner.count=%u makes "
                       "them the learners of one run",
                       (unsigned)launched, (unsigned)launched);
    }
}

// The folder is this learner's alone from here on.
static bool
folder_lock(const struct arguments *arguments, learner_lock **lock)
{
    char reason[4096 + 512], hint[160];
    oct_file_confine(arguments->folder);
    if (oct_file_make_folder(arguments->folder) != OCT_OK) {
        fprintf(stderr, "octet-learner: error: --run-dir %s: %s\n", arguments->folder,
                oct_file_strerror(errno));
        return false;
    }
    if (learner_lock_take(lock, arguments->folder, LOCK_WAIT_MS, reason, sizeof(reason)) !=
        OCT_OK) {
        launch_hint(hint, sizeof(hint));
        fprintf(stderr, "octet-learner: error: --run-dir %s%s\n", reason, hint);
        return false;
    }
    return true;
}

// A run is never overwritten by a new one.
static bool
folder_ready(const struct arguments *arguments)
{
    char path[4096];
    bool has_checkpoint = learner_checkpoints_any(arguments->folder);
    if (!arguments->resume && has_checkpoint) {
        fprintf(stderr,
                "octet-learner: error: --run-dir %s already contains a run; continue it with "
                "--resume, or name another folder\n",
                arguments->folder);
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/policy.oct", arguments->folder);
    if (!has_checkpoint && oct_file_is_there(path)) {
        fprintf(stderr,
                "octet-learner: error: --run-dir %s has a policy.oct, which a new run would "
                "overwrite, but no checkpoint to resume from; name another folder\n",
                arguments->folder);
        return false;
    }
    return true;
}

// Every key that differs from what the run was begun with, and that no warning names.
static void
changes_note(const oct_config *before, const oct_config *now, const char *warnings)
{
    oct_config_change change;
    size_t at = 0;
    while (oct_config_next_change(&change, before, now, &at)) {
        char warned[OCT_CONFIG_NAME_MAX + 16];
        (void)snprintf(warned, sizeof(warned), "warning: %s:", change.name);
        if (strncmp(change.name, "net.", strlen("net.")) != 0 && strstr(warnings, warned) == NULL) {
            fprintf(stderr, "octet-learner: note: %s: %s, but the run was started with %s\n",
                    change.name, change.now, change.before);
        }
    }
}

// The schedules that jump because the run has another budget now.
static void
schedules_note(const char *folder, const oct_config *before, const oct_config *now)
{
    char words[1024], notes[1024] = "";
    learner_checkpoint last;
    uint32_t number;
    bool is_same = before->run.env_steps == now->run.env_steps;
    if ((is_same && before->run.updates == now->run.updates) ||
        learner_checkpoints_read(folder, &last, &number, words, sizeof(words)) != OCT_OK) {
        return; // the learner refuses a checkpoint that cannot be read
    }
    oct_config_note_schedules(before, now, last.env_steps, last.updates, notes, sizeof(notes));
    learner_checkpoint_fini(&last);
    for (char *line = notes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        fprintf(stderr, "octet-learner: note: %.*s\n", (int)(end - line), line);
    }
}

// Where replay keeps its file only replay knows: the key says whether it is the one it was.
static bool
has_tables(const oct_config *before, const oct_config *now)
{
    return strcmp(now->replay.path, "none") != 0 &&
           strcmp(now->replay.path, before->replay.path) == 0;
}

// The checkpoint does not know what the run has learned from; its config.yaml does.
static bool
resume_fits(const struct arguments *arguments, const oct_config *config)
{
    static oct_config before;
    char path[4096], message[4096] = "";
    if (!arguments->resume || !learner_checkpoints_any(arguments->folder)) {
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s/config.yaml", arguments->folder);
    oct_config_default(&before);
    if (oct_config_load(&before, path, message, sizeof(message)) != OCT_OK) {
        return true; // nobody knows
    }
    oct_err err = oct_config_check_resume(&before, config, has_tables(&before, config), message,
                                          sizeof(message));
    fputs(message, stderr);
    if (err == OCT_OK) {
        changes_note(&before, config, message);
        schedules_note(arguments->folder, &before, config);
    }
    return err == OCT_OK;
}

// The learner of this process, and whether a signal has ended it.
struct stopping {
    learner_io *io;
    bool is_stopped;
};

static void
stop(void *arg, int signal_number)
{
    struct stopping *stopping = arg;
    (void)signal_number;
    stopping->is_stopped = true;
    learner_io_stop(stopping->io, "interrupted");
}

static int
exit_code_of(const struct arguments *arguments, const struct stopping *stopping)
{
    int exit_code = learner_io_exit_code(stopping->io);
    bool is_cut = stopping->is_stopped && exit_code == EXIT_SUCCESS;
    return is_cut ? arguments->exit_stopped : exit_code;
}

static oct_err
metrics_open(net_metrics **out, const net_daemon *daemon, net_loop *loop, learner_io *io)
{
    const net_metrics_source source = {
        .daemon = "learner",
        .write = learner_io_prometheus,
        .trouble = learner_io_trouble,
        .arg = io,
    };
    return net_metrics_open(out, daemon, loop, &source);
}

static void
listen_log(const oct_config *config, const char *folder, const learner_lock *lock,
           bool knows_environment)
{
    oct_log_notice("LEARNER-LISTEN", "learner=%s replay=%s folder=%s", config->net.learner,
                   config->net.replay, folder);
    if (!knows_environment && net_url_is_tcp(config->net.learner)) {
        oct_log_notice("LEARNER-NO-ENVIRONMENT",
                       "the first actor that registers decides the environment's observations and "
                       "actions; --environment FILE (environment.oct of another run) fixes them");
    }
    if (!learner_lock_is_held(lock)) {
        oct_log_warn(
            "LEARNER-NO-LOCKS",
            "%s: this file system has no locks; make sure that no other learner uses the folder",
            folder);
    }
}

static bool
needs_tls(const oct_config *config)
{
    bool needs = net_url_is_tls(config->net.learner) || net_url_is_tls(config->net.data);
    char replay[OCT_CONFIG_TEXT_MAX];
    for (uint32_t i = 0; !needs && i < oct_config_shards(config); i++) {
        oct_config_replay_address(config, i, replay);
        needs = net_url_is_tls(replay);
    }
    return needs;
}

// Itself anew, as after a kill. Where that cannot be it ends: whoever watches it does the same.
static void
start_over(int argc, char **argv, bool is_resumed)
{
    static char again[] = "--resume";
    char **arguments = oct_alloc(((size_t)argc + 2) * sizeof(*arguments));
    memcpy(arguments, argv, (size_t)argc * sizeof(*arguments));
    arguments[argc] = is_resumed ? NULL : again;
    (void)execv("/proc/self/exe", arguments);
}

static void
arguments_read(struct arguments *arguments, int argc, char **argv)
{
    *arguments = (struct arguments){.folder = "octet-run"};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE",
        .doc = "Trains the experiment in FILE with all the actors that register.",
    };
    net_daemon_parse(&arguments->daemon, &argp, argc, argv, arguments);
    net_metrics_check(&arguments->daemon, "octet-learner");
}

// As net_daemon_secure.
static int
secure(const struct arguments *arguments, net_loop *loop, const oct_config *config)
{
    return net_daemon_secure(&arguments->daemon, loop, OCT_ROLE_LEARNER, needs_tls(config));
}

int
main(int argc, char **argv)
{
    static oct_config config;
    struct arguments arguments;
    oct_start();
    arguments_read(&arguments, argc, argv);
    if (!config_read(&arguments, &config)) {
        return EXIT_REFUSED;
    }
    if (config.learner.blas_kernels == OCT_KERNELS_AUTO) {
        oct_blas_restart(argv);
    }
    group *members;
    if (!group_begin(&arguments, &config, &members)) {
        return EXIT_REFUSED;
    }
    if (group_rank(members) > 0) {
        return rank_serve(&arguments, members);
    }
    learner_lock *lock;
    if (!folder_lock(&arguments, &lock) || !folder_ready(&arguments) ||
        !resume_fits(&arguments, &config) || !config_write(&arguments, &config)) {
        return EXIT_REFUSED;
    }
    if (!net_daemon_begin(&arguments.daemon, "learner")) {
        return EXIT_FAILURE;
    }
    net_loop *loop = net_loop_create();
    int unsecured = secure(&arguments, loop, &config);
    if (unsecured != 0) {
        net_loop_destroy(loop);
        return unsecured;
    }
    learner_group *lg = learner_group_create(members, config.learner.asynchronous);
    learner_io_options io_options = {
        .config = &config,
        .lg = lg,
        .folder = arguments.folder,
        .resume = arguments.resume,
        .environment = arguments.environment,
        .lock = lock,
        .evaluator_wait_s = arguments.evaluator_wait_s,
    };
    learner_io *io;
    char reason[512];
    oct_err err = learner_io_open(&io, loop, &io_options, reason, sizeof(reason));
    struct stopping stopping = {.io = io};
    if (err != OCT_OK || net_daemon_on_stop(&arguments.daemon, loop, stop, &stopping) != OCT_OK) {
        oct_log_error("LEARNER-OPEN", "%s", err != OCT_OK ? reason : "cannot watch signals");
        return err == OCT_OK || err == OCT_EAGAIN ? EXIT_FAILURE : EXIT_REFUSED;
    }
    net_metrics *metrics;
    if (metrics_open(&metrics, &arguments.daemon, loop, io) != OCT_OK) {
        return EXIT_FAILURE;
    }
    listen_log(&config, arguments.folder, lock, arguments.environment != NULL || arguments.resume);
    net_loop_run(loop);
    bool starts_over = learner_io_starts_over(io);
    int exit_code = starts_over ? EXIT_FAILURE : exit_code_of(&arguments, &stopping);
    net_loop_exit_deadline(loop, NET_DAEMON_EXIT_MS, exit_code);
    oct_log_notice("LEARNER-EXIT", "exit=%d", exit_code);
    net_metrics_close(metrics);
    learner_io_close(io);
    learner_group_destroy(lg);
    net_loop_destroy(loop);
    learner_lock_release(lock);
    if (starts_over && (members == NULL || group_launch_size() == 1)) { // MPI begins once
        start_over(argc, argv, arguments.resume);
    }
    return exit_code;
}
