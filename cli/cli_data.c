// octet data: describes recorded steps, makes data sets of them, exchanges these with others.

#include "cli/cli_data.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor/actor_spec.h"
#include "cli/cli_commands.h"
#include "cli/cli_env_guard.h"
#include "cli/cli_options.h"
#include "cli/cli_python.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "common/oct_config.h"
#include "common/oct_file.h"
#include "common/oct_text.h"
#include "data/data_numbers.h"
#include "data/data_writer.h"
#include "envs/env.h"

#define REASON_BYTES (2 * CLI_PATH_MAX)
#define PYTHON       "octet_data.py"
#define MADE_BY      "octet " OCTET_VERSION

enum {
    KEY_OUT = 256,
    KEY_MINARI,
    KEY_NPZ,
    KEY_EPISODES,
    KEY_LAST,
    KEY_ENVIRONMENT,
    KEY_ENV,
    KEY_OPTIONS,
    KEY_CLIP_ACTIONS,
    KEY_JSON
};

typedef struct data_options {
    const char *command; // "data export"
    const char *file;
    const char *out;
    const char *minari;
    const char *npz;
    const char *environment; // a file
    const char *env_id, *env_options;
    bool complete_only;
    bool json;
    bool clips_actions;
    uint64_t last; // episodes; 0: all
} data_options;

#define OPTION_ENVIRONMENT                                                                         \
    {                                                                                              \
        "environment", KEY_ENVIRONMENT, "FILE", 0,                                                 \
            "Read the description of a replay file's environment from FILE (default: "             \
            "environment.oct beside it)",                                                          \
            0                                                                                      \
    }

static const struct argp_option info_options[] = {
    {"json", KEY_JSON, NULL, 0, "Print the numbers as one line of JSON", 0},
    OPTION_ENVIRONMENT,
    {0},
};

static const struct argp_option export_options[] = {
    {"out", KEY_OUT, "FILE", 0, "Write an Octet data set", 0},
    {"minari", KEY_MINARI, "NAME|FOLDER", 0,
     "Write a Minari data set, by name (such as octet/cartpole-v0) or to a new folder", 0},
    {"npz", KEY_NPZ, "FILE.npz", 0, "Write arrays of steps for NumPy", 0},
    {"episodes", KEY_EPISODES, "all|complete", 0,
     "Write all episodes, or only complete ones, which have a beginning and an end; --minari and "
     "--npz always write only complete ones (default: all)",
     0},
    {"last", KEY_LAST, "N", 0,
     "Write only the last N episodes that ended, among those that --episodes selects", 0},
    OPTION_ENVIRONMENT,
    {0},
};

static const struct argp_option import_options[] = {
    {"minari", KEY_MINARI, "NAME|FOLDER", 0, "Read this Minari data set", 0},
    {"out", KEY_OUT, "FILE", 0, "Write this Octet data set", 0},
    {"env", KEY_ENV, "ID", 0,
     "Treat the steps as steps of this environment (default: the environment that the data set "
     "names)",
     0},
    {"options", KEY_OPTIONS, "K=V,...", 0, "Set options of the environment", 0},
    {"clip-actions", KEY_CLIP_ACTIONS, NULL, 0,
     "Clip box actions to their bounds (default: refuse actions outside)", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    data_options *options = state->input;
    switch (key) {
    case KEY_OUT:
        options->out = arg;
        return 0;
    case KEY_MINARI:
        options->minari = arg;
        return 0;
    case KEY_NPZ:
        options->npz = arg;
        return 0;
    case KEY_ENVIRONMENT:
        options->environment = arg;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_ENV:
        options->env_id = arg;
        return 0;
    case KEY_OPTIONS:
        options->env_options = arg;
        return 0;
    case KEY_CLIP_ACTIONS:
        options->clips_actions = true;
        return 0;
    case KEY_EPISODES:
        options->complete_only = strcmp(arg, "complete") == 0;
        if (!options->complete_only && strcmp(arg, "all") != 0) {
            cli_usage_error(options->command, "--episodes is '%s'; allowed is all, complete", arg);
        }
        return 0;
    case KEY_LAST:
        options->last = cli_option_number(options->command, "--last", arg, 1, UINT32_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            cli_usage_error(options->command, "two files, '%s' and '%s'", options->file, arg);
        }
        options->file = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp info_argp = {
    .options = info_options,
    .parser = parse,
    .args_doc = "FILE|RUN_FOLDER",
    .doc = "Describes recorded steps: a data set, the replay.oct of a run, or that of a run folder "
           "with all its shards. The whole file is read and checked. A replay.oct that a run is "
           "using is refused.\v"
           "Example:\n"
           "  octet data info runs/pole",
};

static const struct argp export_argp = {
    .options = export_options,
    .parser = parse,
    .args_doc = "FILE|RUN_FOLDER",
    .doc = "Makes a data set from the steps that a run recorded, or another kind of file from a "
           "data set. FILE is a data set or the replay.oct of a run that has ended.\v"
           "Example:\n"
           "  octet data export runs/pole --out pole.data",
};

static const struct argp import_argp = {
    .options = import_options,
    .parser = parse,
    .args_doc = "",
    .doc = "Makes an Octet data set from a Minari data set.\v"
           "Example:\n"
           "  octet data import --minari mujoco/hopper/medium-v0 --out hopper.data",
};

static void
options_read(data_options *options, const struct argp *argp, int argc, char **argv)
{
    *options = (data_options){.command = argv[0]};
    cli_options_parse(argp, argc, argv, options);
}

static int
failure(const data_options *options, const char *reason)
{
    if (reason[0] != '\0') {
        cli_error(options->command, "%s", reason);
    }
    return CLI_EXIT_FAILED;
}

static oct_err
source_find(data_source_place *out, const data_options *options, char *reason, size_t reason_size)
{
    if (options->file == NULL) {
        cli_usage_error(options->command,
                        "no file given: a data set, a replay.oct or a run folder");
    }
    return data_source_find(out, options->file, reason, reason_size);
}

static oct_err
source_open(data_source **out, const data_options *options, char *reason, size_t reason_size)
{
    data_source_place place;
    OCT_TRY(source_find(&place, options, reason, reason_size));
    OCT_TRY(data_source_open_place(out, &place, options->environment, reason, reason_size));
    data_source_loss loss = data_source_lost(*out);
    if (loss.blocks > 0) {
        fprintf(stderr,
                "octet %s: note: '%s' is damaged: %" PRIu64
                " of its blocks (up to %u rows each) are left out\n",
                options->command, options->file, loss.blocks, data_source_header(*out)->block_rows);
    }
    if (loss.rows > 0) {
        fprintf(stderr,
                "octet %s: note: '%s': %" PRIu64
                " rows are left out: they were not synced, or the last sync's record is damaged\n",
                options->command, options->file, loss.rows);
    }
    return OCT_OK;
}

// ---- info

static int
info(int argc, char **argv)
{
    data_options options;
    char reason[REASON_BYTES] = "";
    data_source *source;
    options_read(&options, &info_argp, argc, argv);
    if (source_open(&source, &options, reason, sizeof(reason)) != OCT_OK) {
        return failure(&options, reason);
    }
    if (options.json) {
        cli_data_print_json(options.file, source);
    } else {
        cli_data_print(options.file, source);
    }
    data_source_close(source);
    return 0;
}

// ---- export

static oct_err
data_set_write(const char *path, const data_options *options, bool is_told, char *reason,
               size_t reason_size)
{
    data_source *source;
    OCT_TRY(source_open(&source, options, reason, reason_size));
    data_episodes episodes;
    data_written written;
    data_episodes_find(&episodes, source);
    uint64_t found = episodes.count;
    data_episodes_choose(&episodes, options->complete_only, options->last);
    if (episodes.count == 0) {
        (void)snprintf(reason, reason_size, "'%s' has no %s", options->file,
                       options->complete_only ? "complete episode"
                       : options->last > 0    ? "episode that has ended"
                                              : "episode");
    }
    oct_err err = episodes.count == 0
                      ? OCT_EINVAL
                      : data_write(&written, path, source, &episodes, MADE_BY, reason, reason_size);
    if (err == OCT_OK && is_told) {
        printf("%s: %" PRIu64 " of %" PRIu64 " episodes, %" PRIu64 " steps, %s\n", path,
               episodes.count, found, written.steps, cli_text_bytes((double)written.bytes).text);
    }
    data_episodes_free(&episodes);
    data_source_close(source);
    return err;
}

static char passing[2][OCT_FILE_PATH_MAX]; // a file that is removed at the end, and its draft
static char passing_folder[CLI_PATH_MAX];  // that was made for it; "": none

// A signal may come while oct_file_remove holds its lock: these calls take none.
static void
passing_remove(int number)
{
    (void)unlink(passing[0]);
    (void)unlink(passing[1]);
    (void)rmdir(passing_folder);
    (void)raise(number);
}

// The draft of path goes, too, if this process is interrupted, and path where it is no more than a
// step on the way.
static oct_err
passing_begin(const char *path, bool is_step, char *reason, size_t reason_size)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = passing_remove, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    (void)snprintf(passing[0], sizeof(passing[0]), "%s", is_step ? path : "");
    if (oct_file_draft_name(path, passing[1]) != OCT_OK) {
        (void)snprintf(reason, reason_size, "'%s' cannot be written: %s", path,
                       errno == ENOTSUP ? "it is a device, a pipe or the output of this command"
                                        : oct_file_strerror(errno));
        return OCT_EIO;
    }
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
    return OCT_OK;
}

// A data set of octet.
static oct_err
own_write(const data_options *options, char *reason, size_t reason_size)
{
    OCT_TRY(passing_begin(options->out, false, reason, reason_size));
    return data_set_write(options->out, options, true, reason, reason_size);
}

// The chosen episodes at path, which a program then makes into what was asked for.
static oct_err
step_write(const data_options *options, const char *path, char *reason, size_t reason_size)
{
    data_options chosen = *options;
    chosen.complete_only = true;
    OCT_TRY(passing_begin(path, true, reason, reason_size));
    OCT_TRY(data_set_write(path, &chosen, false, reason, reason_size));
    if (options->npz != NULL) {
        oct_file_clear(options->npz);
    }
    const char *const minari[] = {"export", path, "--minari", options->minari, NULL};
    const char *const npz[] = {"export", path, "--npz", options->npz, NULL};
    return cli_python_run(PYTHON, options->minari != NULL ? minari : npz, reason, reason_size);
}

// Writes a temporary data set for a program that reads it, in a folder that only this user can
// enter. In TMPDIR other users could take a name that they can guess.
static oct_err
other_write(const data_options *options, char *reason, size_t reason_size)
{
    const char *temporary = getenv("TMPDIR");
    char path[CLI_PATH_MAX + 8];
    (void)snprintf(passing_folder, sizeof(passing_folder), "%s/octet-data-XXXXXX",
                   temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(passing_folder) == NULL) {
        (void)oct_refuse(reason, reason_size, "cannot make the folder '%s': %s", passing_folder,
                         strerror(errno));
        return OCT_EIO;
    }
    (void)snprintf(path, sizeof(path), "%s/data", passing_folder);
    oct_err err = step_write(options, path, reason, reason_size);
    oct_file_remove_tree(passing_folder, false);
    return err;
}

// A file is not replaced by what is read of it.
static oct_err
target_check(const data_options *options, const char *target, char *reason, size_t reason_size)
{
    data_source_place place;
    char name[DATA_SOURCE_PATH_BYTES];
    OCT_TRY(source_find(&place, options, reason, reason_size));
    for (uint32_t i = 0; i < place.shards; i++) {
        oct_config_shard_name(place.path, i, name, sizeof(name));
        if (oct_file_is_same(name, target)) {
            (void)snprintf(reason, reason_size, "'%s' is the file to export; name another file",
                           target);
            return OCT_EINVAL;
        }
    }
    return OCT_OK;
}

static int export(int argc, char **argv)
{
    data_options options;
    char reason[REASON_BYTES] = "";
    options_read(&options, &export_argp, argc, argv);
    int outs = (options.out != NULL) + (options.minari != NULL) + (options.npz != NULL);
    if (outs != 1) {
        cli_usage_error(options.command, "%s output given; name one with --out, --minari or --npz",
                        outs == 0 ? "no" : "more than one");
    }
    const char *target = options.out != NULL ? options.out : options.npz;
    oct_err err = target != NULL ? target_check(&options, target, reason, sizeof(reason)) : OCT_OK;
    if (err == OCT_OK) {
        err = options.out != NULL ? own_write(&options, reason, sizeof(reason))
                                  : other_write(&options, reason, sizeof(reason));
    }
    return err == OCT_OK ? 0 : failure(&options, reason);
}

// ---- import

// What the environment that --env names is, where that can be opened here; the caller frees it.
// NULL after a note.
static octet_env_spec *
import_env(const data_options *options)
{
    char why[ENV_REASON_BYTES] = "";
    const env_request request = {
        .id = options->env_id,
        .options = options->env_options != NULL ? options->env_options : "",
        .count = 1,
        .seed = 1,
    };
    env *e = NULL;
    cli_env_guard_begin(options->command, options->env_id);
    oct_err err = env_open(&e, &request, why, sizeof(why));
    if (err == OCT_OK) {
        err = actor_spec_trains(env_spec(e), why, sizeof(why));
    }
    octet_env_spec *own = err == OCT_OK ? actor_spec_copy(env_spec(e)) : NULL;
    env_close(e);
    cli_env_guard_end();
    if (own == NULL) {
        fprintf(stderr,
                "octet %s: note: cannot check whether the steps come from environment '%s': %s\n",
                options->command, options->env_id, why);
    }
    return own;
}

// That the steps are of it.
static oct_err
import_check_env(const data_options *options, const replay_data_env *recorded,
                 const octet_env_spec *its, char *reason, size_t reason_size)
{
    static actor_spec own;
    char why[ENV_REASON_BYTES] = "";
    if (actor_spec_init(&own, its, why, sizeof(why)) == OCT_OK &&
        cli_data_check_env(recorded, &own.wire, why, sizeof(why)) == OCT_OK) {
        return OCT_OK;
    }
    return oct_refuse(reason, reason_size,
                      "--env is '%s', but the steps come from another environment: %s",
                      options->env_id, why);
}

// What the program wrote takes the place of out once it was found whole and of the environment own,
// unless that is NULL.
static oct_err
import_finish(const data_options *options, const char *draft, const octet_env_spec *own,
              char *reason, size_t reason_size)
{
    data_source *source;
    data_episodes episodes;
    data_numbers n;
    OCT_TRY(data_source_open(&source, draft, NULL, reason, reason_size));
    const replay_data_header *header = data_source_header(source);
    data_episodes_find(&episodes, source);
    data_numbers_find(&n, source, &episodes);
    oct_err err =
        own == NULL ? OCT_OK : import_check_env(options, &header->env, own, reason, reason_size);
    if (err == OCT_OK && (err = oct_file_adopt(draft, options->out)) != OCT_OK) {
        (void)snprintf(reason, reason_size, "cannot write '%s': %s", options->out,
                       oct_file_strerror(errno));
    }
    if (err == OCT_OK) {
        printf("%s: %" PRIu64 " episode%s, %" PRIu64 " step%s of %s, %s\n", options->out,
               n.episodes, oct_text_plural(n.episodes), n.steps, oct_text_plural(n.steps),
               cli_text_plain(header->env.id, SIZE_MAX).text,
               cli_text_bytes((double)header->file_bytes).text);
    }
    data_numbers_free(&n);
    data_episodes_free(&episodes);
    data_source_close(source);
    return err;
}

static int
import(int argc, char **argv)
{
    data_options options;
    char reason[REASON_BYTES] = "";
    options_read(&options, &import_argp, argc, argv);
    if (options.minari == NULL || options.out == NULL || options.file != NULL) {
        cli_usage_error(options.command,
                        "--minari FOLDER, the input, and --out FILE, the output, are required");
    }
    if (options.env_options != NULL && options.env_id == NULL) {
        cli_usage_error(options.command,
                        "--options needs --env, the environment that the options belong to");
    }
    // Before there is a draft, which an environment that ends the process would leave.
    octet_env_spec *own = options.env_id != NULL ? import_env(&options) : NULL;
    oct_file_clear(options.out);
    if (passing_begin(options.out, false, reason, sizeof(reason)) != OCT_OK) {
        free(own);
        return failure(&options, reason);
    }
    const char *draft = passing[1];
    const char *arguments[9] = {"import", "--minari", options.minari, "--out", draft};
    size_t count = 5;
    if (options.env_id != NULL) {
        arguments[count++] = "--env";
        arguments[count++] = options.env_id;
    }
    if (options.clips_actions) {
        arguments[count++] = "--clip-actions";
    }
    oct_err err = cli_python_run(PYTHON, arguments, reason, sizeof(reason));
    if (err == OCT_OK) {
        err = import_finish(&options, draft, own, reason, sizeof(reason));
    }
    (void)oct_file_remove(draft); // unless it has taken its place
    free(own);
    return err == OCT_OK ? 0 : failure(&options, reason);
}

int
cli_data(int argc, char **argv)
{
    static const cli_command list[] = {
        {"info", info, "describe recorded steps"},
        {"export", export,
         "make a data set from a run's steps, or convert one for Minari or NumPy"},
        {"import", import, "make a data set from a Minari data set"},
        {"drop", cli_data_drop, "remove the rows of one session from a run"},
    };
    static const cli_family family = {
        .name = "data",
        .about = "Inspects and converts recorded steps, from which octet train --data can learn.",
        .list = list,
        .count = OCT_COUNTOF(list),
        .start = "octet data info runs/pole"};
    return cli_family_run(&family, argc, argv);
}
