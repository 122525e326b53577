// Builds the experiment of `octet train` in layers: defaults, file and settings, and for a resumed
// run its folder.

#include "cli/run/cli_experiment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_presets.h"
#include "cli/run/cli_check.h"
#include "cli/run/cli_env_file.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_run.h"
#include "cli/run/cli_trust.h"
#include "common/oct_failure.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config_effects.h"
#include "config/config_text.h"
#include "envs/env.h"
#include "learner/learner_checkpoints.h"
#include "net/net_url.h"

#define MESSAGE_BYTES 4096
#define ERROR         "error: "

// Ends the process with a message of one or more lines.
_Noreturn static void
refuse(const char *message)
{
    (void)fflush(stdout);
    size_t length = strlen(message);
    const char *said = strstr(message, ERROR); // in a line that begins with the error's position
    while (said != NULL && said > message && said[-1] != '\n') {
        said--;
    }
    oct_failure_write(OCT_FAILURE_ERROR, "-", said != NULL ? said : message);
    fprintf(stderr, "%s%s", message, length == 0 || message[length - 1] != '\n' ? "\n" : "");
    exit(CLI_EXIT_USAGE);
}

static const char *
command_of(const cli_experiment *experiment)
{
    return experiment->command != NULL ? experiment->command : "train";
}

// Returns the last setting of key, or NULL.
static const char *
setting_of(const cli_experiment *experiment, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = experiment->setting_count; i-- > 0;) {
        const char *setting = experiment->settings[i];
        if (strncmp(setting, key, length) == 0 && setting[length] == '=') {
            return setting;
        }
    }
    return NULL;
}

// Returns where a user wrote a key, for messages: "--set KEY=VALUE", or "FILE:LINE"; only FILE if
// the key has its default.
static const char *
origin_write(const cli_experiment *experiment, const char *key, char *out, size_t size)
{
    const char *setting = setting_of(experiment, key);
    if (setting != NULL) {
        (void)snprintf(out, size, "--set %s", setting);
        return out;
    }
    const char *file = experiment->file != NULL ? experiment->file : experiment->path;
    size_t line = config_line(experiment->path, key);
    (void)snprintf(out, size, line > 0 ? "%s:%zu" : "%s", file, line);
    return out;
}

// Returns the key that a message is about. If the message names several keys, the result is the key
// that the user wrote, because the user can change it.
static bool
key_find(const cli_experiment *experiment, const char *text, char out[CONFIG_NAME_MAX])
{
    char key[CONFIG_NAME_MAX];
    bool is_found = config_key_in(out, text);
    for (const char *at = text; config_key_in(key, at);) {
        if (setting_of(experiment, key) != NULL || config_line(experiment->path, key) > 0) {
            memcpy(out, key, sizeof(key));
            return true;
        }
        at = strstr(at, key) + strlen(key);
    }
    return is_found;
}

// Returns true if a reason is about the file of a table: it begins with the file's name.
static bool
is_of_table(const config_experiment *config, const char *reason)
{
    char name[CONFIG_TEXT_MAX + 32];
    bool is_found = false;
    for (uint32_t i = 0; i < config_shards(config); i++) {
        config_shard_name(config->replay.path, i, name, sizeof(name));
        is_found = is_found || strncmp(reason, name, strlen(name)) == 0;
    }
    return is_found;
}

// Returns the key that a reason is about without naming it, or "".
static const char *
key_meant(const config_experiment *config, const char *reason)
{
    bool is_option = config->env.options[0] != '\0' && strstr(reason, " option") != NULL;
    return is_of_table(config, reason)              ? "replay.path"
           : strstr(reason, config->env.id) == NULL ? ""
           : is_option                              ? "env.options"
                                                    : "env.id";
}

// False: no key can be named, and nothing was printed.
bool
cli_experiment_print_error(const cli_experiment *experiment, const config_experiment *config,
                           const char *reason, const char *hint)
{
    char key[CONFIG_NAME_MAX] = "", place[CLI_PATH_MAX + 32];
    if (!key_find(experiment, reason, key)) {
        (void)snprintf(key, sizeof(key), "%s", key_meant(config, reason));
    }
    if (key[0] == '\0') {
        return false;
    }
    bool has_key = strncmp(reason, key, strlen(key)) == 0;
    bool is_place = is_of_table(config, reason) && strstr(reason, "cannot be opened") != NULL;
    cli_error_at(origin_write(experiment, key, place, sizeof(place)), "%s%s%s%s%s",
                 has_key ? "" : key, has_key ? "" : ": ", reason,
                 is_place ? "; " CLI_EXPERIMENT_TABLES : "", hint);
    return true;
}

void
cli_experiment_print_lines(const cli_experiment *experiment, const char *message)
{
    char place[CLI_PATH_MAX + 32], key[CONFIG_NAME_MAX], line[MESSAGE_BYTES];
    (void)fflush(stdout);
    while (*message != '\0') {
        size_t length = strcspn(message, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)length, message);
        bool has_key = key_find(experiment, line, key);
        (void)origin_write(experiment, has_key ? key : "", place, sizeof(place));
        if (strncmp(line, ERROR, strlen(ERROR)) == 0) {
            cli_error_at(place, "%s", line + strlen(ERROR));
        } else {
            fprintf(stderr, "%s: %s\n", place, line);
        }
        message += length + (message[length] == '\n');
    }
}

// Ends the process with the lines of a check.
_Noreturn static void
refuse_lines(const cli_experiment *experiment, const char *message)
{
    cli_experiment_print_lines(experiment, message);
    exit(CLI_EXIT_USAGE);
}

// ---- paths and addresses

bool
cli_experiment_is_path(const char *key, const char *value)
{
    if (strcmp(key, "env.id") == 0) {
        return env_is_plugin(value);
    }
    if (strcmp(key, "env.mjcf_dir") == 0) {
        return value[0] != '\0' && strcmp(value, "auto") != 0;
    }
    bool is_file = strcmp(key, "replay.data") == 0 || strcmp(key, "learner.init_from") == 0;
    return is_file && strcmp(value, "none") != 0;
}

// Prints why the value of a key cannot be used, after the position of the key. Returns false.
OCT_PRINTF(3, 4)
static bool
refuse_value(const cli_experiment *experiment, const char *key, const char *format, ...)
{
    char place[CLI_PATH_MAX + 32], reason[2 * CLI_PATH_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    cli_error_at(origin_write(experiment, key, place, sizeof(place)), "%s%s", key, reason);
    return false;
}

// Makes a path absolute, in its key.
static bool
resolve_path(const cli_experiment *experiment, const char *key, char value[CONFIG_TEXT_MAX])
{
    char absolute[CLI_PATH_MAX], shown[CLI_PATH_MAX];
    if (realpath(value, absolute) == NULL) {
        return refuse_value(experiment, key, " is '%s': %s", value, oct_file_strerror(errno));
    }
    if (strlen(absolute) >= CONFIG_TEXT_MAX) {
        return refuse_value(experiment, key, ": the path '%s' is longer than %d bytes", absolute,
                            CONFIG_TEXT_MAX - 1);
    }
    (void)oct_text_quote(shown, sizeof(shown), absolute, strlen(absolute));
    if (strcmp(shown, absolute) != 0) {
        return refuse_value(experiment, key,
                            ": the path '%s' has control characters, or is not UTF-8", shown);
    }
    memcpy(value, absolute, strlen(absolute) + 1);
    return true;
}

// The daemons run in the run folder, where relative paths would mean other files.
bool
cli_experiment_resolve(const cli_experiment *experiment, config_experiment *config)
{
    const struct {
        const char *key;
        char *value;
    } values[] = {
        {"env.id", config->env.id},
        {"env.mjcf_dir", config->env.mjcf_dir},
        {"replay.data", config->replay.data},
        {"learner.init_from", config->learner.init_from},
    };
    for (size_t i = 0; i < OCT_COUNTOF(values); i++) {
        const char *key = values[i].key;
        char *value = values[i].value;
        // A resumed run has already taken its first weights: their file may be deleted.
        bool may_be_gone = experiment->resume && value == config->learner.init_from;
        if (cli_experiment_is_path(key, value) && (!may_be_gone || oct_file_is_there(value)) &&
            !resolve_path(experiment, key, value)) {
            return false;
        }
    }
    return cli_env_file_resolve(config->env.options, sizeof(config->env.options)) ||
           refuse_value(experiment, "env.options",
                        ": with the absolute path of mjcf_dir they are longer than %d bytes; set "
                        "env.mjcf_dir instead",
                        CONFIG_TEXT_MAX - 1);
}

static void
resolve_paths(const cli_experiment *experiment, config_experiment *config)
{
    if (!cli_experiment_resolve(experiment, config)) {
        exit(CLI_EXIT_USAGE);
    }
}

// On one machine the daemons meet at sockets in the run folder. The paths are relative to it,
// because a socket's path is limited to about 100 bytes, and because runs must not meet each other.
static void
resolve_addresses(config_experiment *config)
{
    config_experiment defaults;
    config_default(&defaults);
    if (!net_url_is_ipc(config->net.learner) &&
        strcmp(config->net.learner, defaults.net.learner) != 0) {
        fprintf(stderr,
                "octet train: note: net.learner '%s' is only for daemons started by hand; this run "
                "uses %s in its folder\n",
                config->net.learner, CLI_RUN_LEARNER);
    }
    (void)snprintf(config->net.learner, sizeof(config->net.learner), "%s", CLI_RUN_LEARNER);
    oct_text text;
    oct_text_init(&text, config->net.replay, sizeof(config->net.replay));
    for (uint32_t i = 0; i < config->replay.shards; i++) {
        char address[CONFIG_TEXT_MAX];
        config_shard_name(CLI_RUN_REPLAY, i, address, sizeof(address));
        oct_text_add(&text, "%s%s", i > 0 ? "," : "", address);
    }
    (void)snprintf(config->net.data, sizeof(config->net.data), "%s", CLI_RUN_DATA);
}

// ---- a resumed run

// Reads the checkpoint to resume from, or ends the process. A learner without a checkpoint starts
// from the beginning. That is right where the run was cut off before its first checkpoint, and
// wrong where it would overwrite a policy that was learned. In the first case out stays empty.
static void
check_checkpoint(const char *folder, learner_checkpoint *out)
{
    oct_reason words;
    uint32_t number;
    if (!oct_file_is_there(folder)) {
        exit(cli_error("train", "no run folder '%s': %s", folder, oct_file_strerror(errno)));
    }
    if (cli_folder_check_free(folder, &words) != OCT_OK) {
        exit(cli_error("train", "%s", words.text));
    }
    oct_err err = learner_checkpoints_read(folder, out, &number, words.text, sizeof(words.text));
    if (err == OCT_OK) {
        fprintf(stderr, "octet train: note: resuming from %s\n", words.text);
        return;
    }
    if (err != OCT_ENOTFOUND) {
        cli_error("train", "%s", words.text);
    } else if (cli_folder_has(folder, "policy.oct")) {
        cli_error("train",
                  "'%s' has no checkpoint to resume from, and a new run there would overwrite its "
                  "policy.oct; name another folder with --run-dir, without --resume",
                  folder);
    } else if (cli_folder_has(folder, "config.yaml")) {
        // The learner writes its first checkpoint before its first version, so before any step.
        fprintf(
            stderr,
            "octet train: note: '%s' has no checkpoint yet; the run starts from the beginning\n",
            folder);
        return;
    } else {
        cli_error("train",
                  "'%s' has no checkpoint to resume from, since nothing was learned there; start "
                  "it without --resume",
                  folder);
    }
    exit(CLI_EXIT_FAILED);
}

// Keys that every run on one machine sets again, so that a change does not need to be reported.
static bool
is_address(const char *key)
{
    return strcmp(key, "net.learner") == 0 || strcmp(key, "net.replay") == 0 ||
           strcmp(key, "net.data") == 0;
}

// Compares FILE with the run. Where they differ, the run's values stay: the run may have been
// started with --set, and taking the file's values would lose that. Keys that FILE gives count as
// given for the run.
static void
note_file(const cli_experiment *experiment, config_experiment *run)
{
    char message[MESSAGE_BYTES] = "";
    config_experiment file = *run;
    config_change change;
    size_t at = 0;
    if (config_load(&file, experiment->file, message, sizeof(message)) != OCT_OK) {
        refuse(message);
    }
    resolve_paths(experiment, &file);
    if (!oct_file_is_there(file.learner.init_from)) { // it was deleted, so it cannot be compared
        memcpy(file.learner.init_from, run->learner.init_from, sizeof(file.learner.init_from));
    }
    // Other keys of FILE are not taken, so only these are checked.
    if (config_check_resume(run, &file, false, message, sizeof(message)) != OCT_OK) {
        size_t used = strcspn(message, "\n");
        (void)snprintf(message + used, sizeof(message) - used,
                       ", or leave FILE out to continue that run\n");
        refuse_lines(experiment, message);
    }
    while (config_next_change(&change, run, &file, &at)) {
        if (!is_address(change.name) && strcmp(change.name, "env.id") != 0) {
            fprintf(stderr,
                    "octet train: note: %s:%zu: %s: %s is ignored, the run has %s; --set %s=… "
                    "changes it\n",
                    experiment->file, config_line(experiment->path, change.name), change.name,
                    change.now, change.before, change.name);
        }
    }
    memcpy(run->is_given, file.is_given, sizeof(run->is_given));
}

// Returns true if replay will find a table where it is to keep one.
static bool
has_tables(const cli_experiment *experiment, const config_experiment *before,
           const config_experiment *now)
{
    char name[CONFIG_TEXT_MAX + 32], path[CLI_PATH_MAX + sizeof(name)];
    bool is_found = false;
    for (uint32_t i = 0; strcmp(now->replay.path, "none") != 0 && i < before->replay.shards; i++) {
        config_shard_name(now->replay.path, i, name, sizeof(name));
        (void)snprintf(path, sizeof(path), "%s/%s", experiment->run_dir, name);
        is_found = is_found || oct_file_is_there(name[0] == '/' ? name : path);
    }
    return is_found;
}

// Notes the schedules that jump because the run now has another budget.
static void
note_schedules(const config_experiment *before, const config_experiment *now,
               const learner_checkpoint *checkpoint)
{
    char notes[MESSAGE_BYTES];
    config_note_schedules(before, now, checkpoint->env_steps, checkpoint->updates, notes,
                          sizeof(notes));
    for (char *line = notes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        fprintf(stderr, "octet train: note: %.*s\n", (int)(end - line), line);
    }
}

// Refuses changes that a resumed run cannot make, and notes the others.
static void
note_changes(const cli_experiment *experiment, const config_experiment *before,
             const config_experiment *now)
{
    char message[MESSAGE_BYTES] = "", warned[CONFIG_NAME_MAX + 16];
    config_change change;
    size_t at = 0;
    if (config_check_resume(before, now, has_tables(experiment, before, now), message,
                            sizeof(message)) != OCT_OK) {
        refuse_lines(experiment, message);
    }
    fputs(message, stderr);
    while (config_next_change(&change, before, now, &at)) {
        (void)snprintf(warned, sizeof(warned), "warning: %s:", change.name);
        if (!is_address(change.name) && strstr(message, warned) == NULL) {
            fprintf(stderr, "octet train: note: %s: %s, but the run had %s so far\n", change.name,
                    change.now, change.before);
        }
    }
}

// Prints what is missing in replay's files before anything starts, because lost rows cannot be
// recovered.
static void
check_tables(const cli_experiment *experiment, const config_experiment *config,
             const learner_checkpoint *checkpoint)
{
    static cli_check check;
    cli_check_tables(&check, experiment->run_dir, config, checkpoint, false);
    for (uint32_t i = 0; i < check.count; i++) {
        const cli_check_item *item = &check.item[i];
        if (item->level == CLI_CHECK_ERROR) {
            cli_error("train", "%s", item->text);
        } else if (item->level != CLI_CHECK_OK) {
            fprintf(stderr, "octet train: %s: %s\n", cli_check_words[item->level], item->text);
        }
    }
    if (cli_check_worst(&check) == CLI_CHECK_ERROR) {
        exit(CLI_EXIT_FAILED);
    }
}

// Code that another user names runs only if this user names it as well, by --trust or by env.id.
static void
check_trust(const cli_experiment *experiment, const config_experiment *config, const char *path,
            uid_t owner)
{
    bool has_settings = strcmp(command_of(experiment), "doctor") != 0;
    char ways[CONFIG_TEXT_MAX + 64];
    (void)snprintf(ways, sizeof(ways), "--trust%s%s", has_settings ? ", or --set env.id=" : "",
                   has_settings ? config->env.id : "");
    if (setting_of(experiment, "env.id") == NULL) {
        cli_trust_require(command_of(experiment), path, owner, config->env.id,
                          experiment->is_trusted, ways);
    }
}

// Loads the configuration of the run in the folder. False: it cannot be read, and FILE replaces it.
static bool
load_run(config_experiment *out, cli_experiment *experiment)
{
    char own[CLI_PATH_MAX + 16], message[MESSAGE_BYTES] = "";
    uid_t owner = 0;
    (void)snprintf(own, sizeof(own), "%s/config.yaml", experiment->run_dir);
    config_default(out);
    if (config_load_owner(out, own, &owner, message, sizeof(message)) == OCT_OK) {
        // with FILE, its word counts: note_file refuses another environment
        if (experiment->file == NULL) {
            check_trust(experiment, out, own, owner);
        }
        if (experiment->file == NULL && realpath(own, experiment->path) == NULL) {
            experiment->path[0] = '\0';
        }
        config_experiment
            defaults; // the addresses follow from replay.shards, which may have changed
        config_default(&defaults);
        memcpy(out->net.replay, defaults.net.replay, sizeof(out->net.replay));
        config_unset_defaults(out);
        return true;
    }
    if (experiment->file == NULL) {
        refuse(message);
    }
    fprintf(stderr,
            "octet train: note: the settings with which the run was trained are unknown\n"
            "%s",
            message);
    config_default(out);
    return false;
}

// ---- layers

// An external learner replaces the file's algorithm `before`; notes the algorithm's options, which
// are now ignored.
static void
forget_algorithm(config_experiment *config, const cli_experiment *experiment,
                 config_algo_name before)
{
    char names[MESSAGE_BYTES];
    config_forget_unread(config, before, names, sizeof(names));
    if (names[0] != '\0') {
        fprintf(stderr,
                "octet %s: note: algo.name: external replaces %s, whose options are ignored: %s\n",
                command_of(experiment), config_algo_word(before), names);
    }
}

// Warns of keys that have no effect, among those that the user wrote for this run: the settings,
// and the file unless it is a preset. A resumed run was warned of the others when it began.
static void
warn_idle(const config_experiment *config, const cli_experiment *experiment)
{
    static config_experiment settings;
    char message[MESSAGE_BYTES] = "";
    bool is_own = !experiment->resume && !cli_preset_is(experiment->path);
    config_default(&settings);
    for (size_t i = 0; i < experiment->setting_count; i++) {
        oct_err err = config_set(&settings, experiment->settings[i], message, sizeof(message));
        OCT_ASSERT(err == OCT_OK); // apply_settings has accepted them
    }
    config_warn_idle(config, is_own ? config : &settings, message, sizeof(message));
    fputs(message, stderr);
}

// Applies the settings, checks the result, and makes its paths absolute.
static void
apply_settings(config_experiment *config, const cli_experiment *experiment)
{
    char message[MESSAGE_BYTES] = "";
    for (size_t i = 0; i < experiment->setting_count; i++) {
        config_algo_name before = config->algo.name;
        if (config_set(config, experiment->settings[i], message, sizeof(message)) != OCT_OK) {
            refuse(message);
        }
        forget_algorithm(config, experiment, before);
    }
    if (config_check(config, message, sizeof(message)) != OCT_OK) {
        refuse_lines(experiment, message);
    }
    warn_idle(config, experiment);
    resolve_paths(experiment, config);
    if (!experiment->has_hosts) {
        resolve_addresses(config);
    }
}

// Loads a new run: the defaults, FILE and the settings.
static void
load_new(config_experiment *out, cli_experiment *experiment)
{
    char message[MESSAGE_BYTES] = "";
    if (experiment->file == NULL) {
        cli_usage_error(command_of(experiment),
                        "no experiment FILE or preset given; try: octet %s cartpole (octet presets "
                        "lists the presets)",
                        command_of(experiment));
    }
    config_default(out);
    if (config_load(out, experiment->file, message, sizeof(message)) != OCT_OK) {
        refuse(message);
    }
    struct stat file;
    if (experiment->preset[0] == '\0' && stat(experiment->path, &file) == 0 &&
        S_ISREG(file.st_mode)) {
        check_trust(experiment, out, experiment->path, file.st_uid);
    }
    apply_settings(out, experiment);
}

// Loads a resumed run: its own configuration, then the settings.
static void
load_resumed(config_experiment *out, cli_experiment *experiment)
{
    learner_checkpoint checkpoint = {.shards = 0};
    check_checkpoint(experiment->run_dir, &checkpoint);
    if (load_run(out, experiment)) {
        if (experiment->file != NULL) {
            note_file(experiment, out);
        }
        config_experiment before = *out;
        apply_settings(out, experiment);
        note_changes(experiment, &before, out);
        note_schedules(&before, out, &checkpoint);
    } else {
        load_new(out, experiment);
    }
    if (!experiment->has_hosts) {
        check_tables(experiment, out, &checkpoint);
    }
    learner_checkpoint_fini(&checkpoint);
}

// Ends the process on any error, before a folder is made.
void
cli_experiment_load(config_experiment *out, cli_experiment *experiment)
{
    if (experiment->file != NULL) {
        cli_experiment_find(experiment);
    }
    if (experiment->resume) {
        load_resumed(out, experiment);
    } else {
        load_new(out, experiment);
    }
}
