// octet-learner: owns an experiment. Samples, trains, quantises, publishes; serves actors.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_blas.h"
#include "common/oct_failure.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_start.h"
#include "common/oct_text.h"
#include "config/config_effects.h"
#include "config/config_text.h"
#include "learner/learner_checkpoints.h"
#include "learner/learner_io.h"
#include "net/net_metrics.h"
#include "net/net_url.h"
#include "nn/group/group_fork.h"
#include "nn/group/group_launch.h"
#include "nn/group/group_mpi.h"

#define EXIT_REFUSED 3
#define SETTINGS_MAX 64

#define EVALUATOR_WAIT_MAX_S 3600
#define LOCK_WAIT_MS         3000 // the time that a learner needs to end after a signal

struct arguments {
    net_daemon daemon;
    const char *file;
    const char *folder;
    const char *environment;
    bool resume;
    double evaluator_wait_s;
    uint32_t exit_stopped; // exit code after a signal; 0: success
    const char *settings[SETTINGS_MAX];
    uint32_t setting_count;
};

// Adds the setting to those of --set, in the order given. The field is the struct arguments.
static oct_err
take_deterministic(const oct_arg_given *given)
{
    struct arguments *arguments = given->field;
    if (arguments->setting_count == SETTINGS_MAX) {
        return oct_refuse(given->why, "more than %d --set", SETTINGS_MAX);
    }
    arguments->settings[arguments->setting_count++] = "run.deterministic=true";
    return OCT_OK;
}

static const oct_arg learner_rows[] = {
    {OCT_ARG_OPERAND("files", struct arguments, file),
     .missing = "no experiment FILE given; an example is presets/cartpole.yaml"},
    {OCT_ARG_PATH("run-dir", "FOLDER", struct arguments, folder),
     .help = "Write checkpoints, policies, metrics and the summary to FOLDER (default octet-run)"},
    {OCT_ARG_FLAG("resume", struct arguments, resume),
     .help = "Resume from the checkpoint in the run folder, if it has one"},
    {OCT_ARG_PATH("environment", "FILE", struct arguments, environment),
     .help = "Read the description of the environment from FILE, the environment.oct that octet "
             "train writes to a run folder (default: take it from the first actor that registers)"},
    {OCT_ARG_NUMBER("await-evaluator", "SECONDS", struct arguments, evaluator_wait_s, 0,
                    EVALUATOR_WAIT_MAX_S),
     .help =
         "Wait this long for an evaluator if none has registered when training ends (default 0)"},
    {.name = "deterministic",
     .kind = OCT_ARG_KIND_FLAG,
     .take = take_deterministic,
     .help =
         "Run in lock-step, so that the same seed produces the same weights (run.deterministic)"},
    {OCT_ARG_TEXTS("set", "KEY=VALUE", struct arguments, settings, setting_count),
     .help =
         "Override one key of the experiment (octet config --all lists the keys); may be repeated"},
    {OCT_ARG_COUNT("exit-when-stopped", "CODE", struct arguments, exit_stopped, 1, 255),
     .help = "Exit with CODE, 1 to 255, if SIGTERM, SIGINT or SIGHUP ends the learner before the "
             "run is finished, so that a supervisor can restart it (default 0)"},
    {0},
};

// Makes the path of an ipc address absolute: a process that reads the address in config.yaml, or
// gets it from the learner, may have another working folder.
static void
address_resolve(char address[CONFIG_TEXT_MAX])
{
    char absolute[NET_URL_MAX];
    if (net_url_absolute(address, absolute) == OCT_OK && strlen(absolute) < CONFIG_TEXT_MAX) {
        (void)snprintf(address, CONFIG_TEXT_MAX, "%.*s", CONFIG_TEXT_MAX - 1, absolute);
    }
}

// Does the same with each address of net.replay.
static void
replays_resolve(config_experiment *config)
{
    char list[CONFIG_LIST_MAX], address[CONFIG_TEXT_MAX];
    oct_text text;
    oct_text_init(&text, list, sizeof(list));
    for (uint32_t i = 0; i < config_shards(config); i++) {
        config_replay_address(config, i, address);
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
    oct_reason why;
    if (net_url_check(url, insecure, &why) != OCT_OK) {
        oct_failure_print("octet-learner", "%s: %s: %s", key, url, why.text);
        return false;
    }
    return true;
}

// Returns false, after an error, if a shard of the experiment has no address.
static bool
shards_check(const config_experiment *config)
{
    char last[CONFIG_TEXT_MAX];
    uint32_t shards = config_shards(config);
    config_replay_address(config, shards - 1, last);
    if (last[0] == '\0') {
        oct_failure_print("octet-learner",
                          "replay.shards: %u, but net.replay has fewer addresses: %s",
                          (unsigned)shards, config->net.replay);
    }
    return last[0] != '\0';
}

// Actors on other hosts get the address of replay from the learner. The default is a relative path,
// which they cannot use, and is refused. An absolute path is taken as the user's word that all
// actors are on this host.
static bool
replay_is_reachable(const config_experiment *config)
{
    char replay[CONFIG_TEXT_MAX];
    if (!net_url_is_tcp(config->net.learner) || net_url_is_loopback(config->net.learner) ||
        config_is_offline(config)) {
        return true;
    }
    for (uint32_t i = 0; i < config_shards(config); i++) {
        config_replay_address(config, i, replay);
        const char *path = net_url_ipc_path(replay);
        if (path != NULL && path[0] != '/') {
            oct_failure_print(
                "octet-learner",
                "net.replay: %s can be reached only on this host, but "
                "net.learner, %s, admits actors on other hosts; give the address at which they "
                "reach replay, tls+tcp://HOST:PORT (or ipc:///PATH, an absolute path, if all "
                "actors and relays are on this host)",
                replay, config->net.learner);
            return false;
        }
    }
    return true;
}

// Prints what is wrong with the experiment: "FILE:LINE: error: …", after warnings if there are any.
static void
message_print(const char *message)
{
    const char *said = strstr(message, "error: ");
    fputs(message, stderr);
    if (said != NULL) {
        oct_failure_write(OCT_FAILURE_ERROR, "-", said + strlen("error: "));
    }
}

static bool
config_read(const struct arguments *arguments, config_experiment *config)
{
    char message[4096], names[4096];
    config_default(config);
    oct_err err = config_load(config, arguments->file, message, sizeof(message));
    for (uint32_t i = 0; err == OCT_OK && i < arguments->setting_count; i++) {
        config_algo_name before = config->algo.name;
        err = config_set(config, arguments->settings[i], message, sizeof(message));
        config_forget_unread(config, before, names, sizeof(names));
    }
    if (err == OCT_OK) {
        err = config_check(config, message, sizeof(message));
    }
    if (err != OCT_OK) {
        message_print(message);
        return false;
    }
    // The addresses are checked as they were given: below, a relative path becomes absolute, and
    // may become too long.
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
    char replay[CONFIG_TEXT_MAX];
    bool is_good = address_check("net.learner", config->net.learner, insecure) &&
                   address_check("net.data", config->net.data, insecure);
    config->replay.shards = config_shards(config);
    for (uint32_t i = 0; is_good && i < config->replay.shards; i++) {
        config_replay_address(config, i, replay);
        is_good = address_check("net.replay", replay, insecure);
    }
    return is_good;
}

// Writes the resolved experiment to the run folder, for octet status, set and eval. octet train has
// written it already. Once the run has a checkpoint, the experiment that it began with stays.
static bool
config_write(const struct arguments *arguments, const config_experiment *config)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", arguments->folder);
    if (oct_file_is_there(path) && learner_checkpoints_any(arguments->folder)) {
        return true;
    }
    char *text = config_print(config);
    bool written = oct_file_write(path, text, strlen(text)) == OCT_OK;
    if (!written) {
        oct_failure_print("octet-learner", "%s: %s", path, oct_file_strerror(errno));
    }
    free(text);
    return written;
}

// Starts the learners of learner.count: forks of this process, or the processes that mpirun or srun
// has started. Called before the first thread starts, because of fork, and before the folder is
// locked, which only rank 0 does.
static bool
group_begin(const struct arguments *arguments, const config_experiment *config, group **out)
{
    oct_reason why;
    bool is_local = true;
    uint32_t count = config->learner.count, launched = group_launch_size();
    oct_err err = OCT_OK;
    *out = NULL;
    if (count > 1 && launched != 1 && config->learner.asynchronous) {
        err = oct_refuse(
            &why, "learners that share their parameters (learner.asynchronous) must run on "
                  "one host; start octet-learner without MPI, or use octet train --learners");
    } else if (count > 1 && launched != 1) {
        err = group_mpi_open(out, count, &is_local, &why);
    } else if (group_fork(out, count) != OCT_OK) {
        err = oct_refuse(&why, "%s", oct_file_strerror(errno));
    }
    if (err != OCT_OK) {
        oct_failure_print("octet-learner", "learner.count: %s", why.text);
        return false;
    }
    if (!is_local && !config->net.insecure && !arguments->daemon.insecure) {
        oct_failure_print("octet-learner",
                          "learner.count: learners on several hosts exchange "
                          "batches and gradients by MPI, which is not encrypted; connect them by a "
                          "network of their own and give --insecure");
        return false;
    }
    group_set_bf16(*out, config->learner.gradients_bf16);
    return true;
}

// Serves as a rank other than the first. Returns the exit code.
static int
rank_serve(const struct arguments *arguments, group *take)
{
    static char name[32];
    (void)snprintf(name, sizeof(name), "learner-%u", (unsigned)group_rank(take));
    oct_log_init(name, arguments->daemon.log_level);
    return learner_group_serve(take);
}

// Explains a folder that is locked, where the other owner may be a process that mpirun or srun
// started together with this one; else "".
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

// Locks the run folder for this learner. Returns false, after an error, if it cannot.
static bool
folder_lock(const struct arguments *arguments, learner_lock **lock)
{
    oct_reason why;
    char hint[160];
    oct_file_confine(arguments->folder);
    if (oct_file_make_folder(arguments->folder) != OCT_OK) {
        oct_failure_print("octet-learner", "--run-dir %s: %s", arguments->folder,
                          oct_file_strerror(errno));
        return false;
    }
    if (learner_lock_take(lock, arguments->folder, LOCK_WAIT_MS, &why) != OCT_OK) {
        launch_hint(hint, sizeof(hint));
        oct_failure_print("octet-learner", "--run-dir %s%s", why.text, hint);
        return false;
    }
    return true;
}

// Returns false, after an error, if a new run would overwrite the run in the folder.
static bool
folder_ready(const struct arguments *arguments)
{
    char path[4096];
    bool has_checkpoint = learner_checkpoints_any(arguments->folder);
    if (!arguments->resume && has_checkpoint) {
        oct_failure_print("octet-learner",
                          "--run-dir %s already contains a run; continue it with "
                          "--resume, or name another folder",
                          arguments->folder);
        return false;
    }
    (void)snprintf(path, sizeof(path), "%s/policy.oct", arguments->folder);
    if (!has_checkpoint && oct_file_is_there(path)) {
        oct_failure_print("octet-learner",
                          "--run-dir %s has a policy.oct, which a new run would "
                          "overwrite, but no checkpoint to resume from; name another folder",
                          arguments->folder);
        return false;
    }
    return true;
}

// Prints each key that differs from the one with which the run began, unless a warning names it.
static void
changes_note(const config_experiment *before, const config_experiment *now, const char *warnings)
{
    config_change change;
    size_t at = 0;
    while (config_next_change(&change, before, now, &at)) {
        char warned[CONFIG_NAME_MAX + 16];
        (void)snprintf(warned, sizeof(warned), "warning: %s:", change.name);
        if (strncmp(change.name, "net.", strlen("net.")) != 0 && strstr(warnings, warned) == NULL) {
            fprintf(stderr, "octet-learner: note: %s: %s, but the run was started with %s\n",
                    change.name, change.now, change.before);
        }
    }
}

// Prints the schedules that jump because the run now has another budget.
static void
schedules_note(const char *folder, const config_experiment *before, const config_experiment *now)
{
    char words[1024], notes[1024] = "";
    learner_checkpoint last;
    uint32_t number;
    bool is_same = before->run.env_steps == now->run.env_steps;
    if ((is_same && before->run.updates == now->run.updates) ||
        learner_checkpoints_read(folder, &last, &number, words, sizeof(words)) != OCT_OK) {
        return; // the learner refuses a checkpoint that cannot be read
    }
    config_note_schedules(before, now, last.env_steps, last.updates, notes, sizeof(notes));
    learner_checkpoint_fini(&last);
    for (char *line = notes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        fprintf(stderr, "octet-learner: note: %.*s\n", (int)(end - line), line);
    }
}

// Returns true if replay has the table of the run: only replay knows where its file is, but the key
// has not changed.
static bool
has_tables(const config_experiment *before, const config_experiment *now)
{
    return strcmp(now->replay.path, "none") != 0 &&
           strcmp(now->replay.path, before->replay.path) == 0;
}

// Returns false, after an error, if the experiment differs from the run's config.yaml in a key that
// a resume cannot change. The checkpoint does not have these keys.
static bool
resume_fits(const struct arguments *arguments, const config_experiment *config)
{
    static config_experiment before;
    char path[4096], message[4096] = "";
    if (!arguments->resume || !learner_checkpoints_any(arguments->folder)) {
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s/config.yaml", arguments->folder);
    config_default(&before);
    if (config_load(&before, path, message, sizeof(message)) != OCT_OK) {
        return true; // the run's experiment is unknown
    }
    oct_err err =
        config_check_resume(&before, config, has_tables(&before, config), message, sizeof(message));
    message_print(message);
    if (err == OCT_OK) {
        changes_note(&before, config, message);
        schedules_note(arguments->folder, &before, config);
    }
    return err == OCT_OK;
}

// For the signal handler: the learner of this process; is_stopped: a signal stopped it.
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
    return is_cut ? (int)arguments->exit_stopped : exit_code;
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
listen_log(const config_experiment *config, const char *folder, const learner_lock *lock,
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
needs_tls(const config_experiment *config)
{
    bool needs = net_url_is_tls(config->net.learner) || net_url_is_tls(config->net.data);
    char replay[CONFIG_TEXT_MAX];
    for (uint32_t i = 0; !needs && i < config_shards(config); i++) {
        config_replay_address(config, i, replay);
        needs = net_url_is_tls(replay);
    }
    return needs;
}

// Replaces this process by a new one of the same command that resumes, as after a kill. Returns if
// exec fails: then the process ends, and its supervisor starts it again.
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
    static const oct_args args = {
        .usage = "FILE",
        .doc = "Trains the experiment in FILE with all the actors that register.",
        .version = "octet-learner " OCTET_VERSION " " WIRE_SPEAKS_TEXT,
        .rows = learner_rows,
        .shared = {{net_daemon_rows, offsetof(struct arguments, daemon), NET_DAEMON_GROUP}},
    };
    net_daemon_parse(&arguments->daemon, &args, argc, argv, arguments);
    net_metrics_check(&arguments->daemon, "octet-learner");
}

// Result as of net_daemon_secure.
static int
secure(const struct arguments *arguments, net_loop *loop, const config_experiment *config)
{
    return net_daemon_secure(&arguments->daemon, loop, OCT_ROLE_LEARNER, needs_tls(config));
}

int
main(int argc, char **argv)
{
    static config_experiment config;
    struct arguments arguments;
    oct_start();
    arguments_read(&arguments, argc, argv);
    if (!config_read(&arguments, &config)) {
        return EXIT_REFUSED;
    }
    if (config.learner.blas_kernels == CONFIG_KERNELS_AUTO) {
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
    oct_reason why;
    oct_err err = learner_io_open(&io, loop, &io_options, &why);
    struct stopping stopping = {.io = io};
    if (err != OCT_OK || net_daemon_on_stop(&arguments.daemon, loop, stop, &stopping) != OCT_OK) {
        oct_log_error("LEARNER-OPEN", "%s", err != OCT_OK ? why.text : "cannot watch signals");
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
