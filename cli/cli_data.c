// octet data: describes recorded steps, writes data sets, and exchanges them with other libraries.
// Octet's own format is read and written here; for Minari and NumPy's .npz it starts octet_data.py,
// and a data set of Octet in a temporary file goes from one to the other.

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
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "envs/env.h"
#include "replay/data/data_numbers.h"
#include "replay/data/data_writer.h"

#define PYTHON  "octet_data.py"
#define MADE_BY "octet " OCTET_VERSION

typedef struct data_options {
    const char *command; // "data export"
    const char *file;
    const char *out;
    const char *minari;
    const char *npz;
    const char *environment; // an environment.oct; NULL: the one beside FILE
    const char *env_id, *env_options;
    bool complete_only;
    bool json;
    bool clips_actions;
    uint64_t last; // number of episodes; 0: all
} data_options;

#define ENVIRONMENT_HELP                                                                           \
    "Read the description of a replay file's environment from FILE (default: environment.oct "     \
    "beside it)"
static const char *const which[] = {"all", "complete", NULL};

static const oct_arg info_rows[] = {
    {OCT_ARG_OPERAND("files", data_options, file),
     .missing = "no file given: a data set, a replay.oct or a run folder"},
    {OCT_ARG_FLAG("json", data_options, json), .help = "Print the numbers as one line of JSON"},
    {OCT_ARG_PATH("environment", "FILE", data_options, environment), .help = ENVIRONMENT_HELP},
    {0},
};

static const oct_arg export_rows[] = {
    {OCT_ARG_OPERAND("files", data_options, file),
     .missing = "no file given: a data set, a replay.oct or a run folder"},
    {OCT_ARG_PATH("out", "FILE", data_options, out), .help = "Write an Octet data set"},
    {OCT_ARG_PATH("minari", "NAME|FOLDER", data_options, minari),
     .help = "Write a Minari data set, by name (such as octet/cartpole-v0) or to a new folder"},
    {OCT_ARG_PATH("npz", "FILE.npz", data_options, npz), .help = "Write arrays of steps for NumPy"},
    {OCT_ARG_WORD("episodes", "all|complete", data_options, complete_only, which),
     .help = "Write all episodes, or only complete ones, which have a beginning and an end; "
             "--minari and --npz always write only complete ones (default: all)"},
    {OCT_ARG_COUNT("last", "N", data_options, last, 1, UINT32_MAX),
     .help = "Write only the last N episodes that ended, among those that --episodes selects"},
    {OCT_ARG_PATH("environment", "FILE", data_options, environment), .help = ENVIRONMENT_HELP},
    {0},
};

static const oct_arg import_rows[] = {
    {OCT_ARG_PATH("minari", "NAME|FOLDER", data_options, minari),
     .help = "Read this Minari data set"},
    {OCT_ARG_PATH("out", "FILE", data_options, out), .help = "Write this Octet data set"},
    {OCT_ARG_PATH("env", "ID", data_options, env_id),
     .help = "Treat the steps as steps of this environment (default: the environment that the data "
             "set names)"},
    {OCT_ARG_TEXT("options", "K=V,...", data_options, env_options),
     .help = "Set options of the environment"},
    {OCT_ARG_FLAG("clip-actions", data_options, clips_actions),
     .help = "Clip box actions to their bounds (default: refuse actions outside)"},
    {0},
};

static const oct_args info_args = {
    .rows = info_rows,
    .usage = "FILE|RUN_FOLDER",
    .doc = "Describes recorded steps: a data set, the replay.oct of a run, or that of a run folder "
           "with all its shards. The whole file is read and checked. A replay.oct that a run is "
           "using is refused.\v"
           "Example:\n"
           "  octet data info runs/pole",
};

static const oct_args export_args = {
    .rows = export_rows,
    .usage = "FILE|RUN_FOLDER",
    .doc = "Makes a data set from the steps that a run recorded, or another kind of file from a "
           "data set. FILE is a data set or the replay.oct of a run that has ended.\v"
           "Example:\n"
           "  octet data export runs/pole --out pole.data",
};

static const oct_args import_args = {
    .rows = import_rows,
    .doc = "Makes an Octet data set from a Minari data set.\v"
           "Example:\n"
           "  octet data import --minari mujoco/hopper/medium-v0 --out hopper.data",
};

// Prints the reason, unless octet_data.py has printed one itself. Returns the exit code.
static int
failure(const data_options *options, const char *reason)
{
    if (reason[0] != '\0') {
        cli_error(options->command, "%s", reason);
    }
    return CLI_EXIT_FAILED;
}

// Notes rows that are lost. They do not fail the command, because all others are usable.
static oct_err
source_open(data_source **out, const data_options *options, oct_reason *why)
{
    data_source_place place;
    OCT_TRY(data_source_find(&place, options->file, why));
    OCT_TRY(data_source_open_place(out, &place, options->environment, why));
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
    data_options options = {.command = argv[0]};
    oct_reason why = {""};
    data_source *source;
    cli_args_parse(&info_args, argc, argv, &options);
    if (source_open(&source, &options, &why) != OCT_OK) {
        return failure(&options, why.text);
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

// prints: prints what was written.
static oct_err
data_set_write(const char *path, const data_options *options, bool prints, oct_reason *why)
{
    data_source *source;
    OCT_TRY(source_open(&source, options, why));
    data_episodes episodes;
    data_written written;
    data_episodes_find(&episodes, source);
    uint64_t found = episodes.count;
    data_episodes_choose(&episodes, options->complete_only, options->last);
    if (episodes.count == 0) {
        oct_reason_set(why, "'%s' has no %s", options->file,
                       options->complete_only ? "complete episode"
                       : options->last > 0    ? "episode that has ended"
                                              : "episode");
    }
    oct_err err = episodes.count == 0 ? OCT_EINVAL
                                      : data_write(&written, path, source, &episodes, MADE_BY, why);
    if (err == OCT_OK && prints) {
        printf("%s: %" PRIu64 " of %" PRIu64 " episodes, %" PRIu64 " steps, %s\n", path,
               episodes.count, found, written.steps, cli_text_bytes((double)written.bytes).text);
    }
    data_episodes_free(&episodes);
    data_source_close(source);
    return err;
}

// paths that a signal handler removes: a temporary file, and its draft; "": none
static char passing[2][OCT_FILE_PATH_MAX];
// a folder that was made for the temporary file, removed with it; "": none
static char passing_folder[CLI_PATH_MAX];

// Removes the temporary files when a signal ends the process. The handler may interrupt
// oct_file_remove, which holds a lock, so it calls only functions that take none.
static void
passing_remove(int number)
{
    (void)unlink(passing[0]);
    (void)unlink(passing[1]);
    (void)rmdir(passing_folder);
    (void)raise(number);
}

// Registers the draft of path for removal by signals; with is_step also path itself, because then
// it is only an intermediate file.
static oct_err
passing_begin(const char *path, bool is_step, oct_reason *why)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = passing_remove, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    (void)snprintf(passing[0], sizeof(passing[0]), "%s", is_step ? path : "");
    if (oct_file_draft_name(path, passing[1]) != OCT_OK) {
        return oct_fail(why, OCT_EIO, "'%s' cannot be written: %s", path,
                        errno == ENOTSUP ? "it is a device, a pipe or the output of this command"
                                         : oct_file_strerror(errno));
    }
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
    return OCT_OK;
}

// Writes a data set in Octet's own format.
static oct_err
own_write(const data_options *options, oct_reason *why)
{
    OCT_TRY(passing_begin(options->out, false, why));
    return data_set_write(options->out, options, true, why);
}

// Writes the chosen episodes to path, an intermediate file that a program converts to what the user
// wants.
static oct_err
step_write(const data_options *options, const char *path, oct_reason *why)
{
    data_options chosen = *options;
    chosen.complete_only = true;
    OCT_TRY(passing_begin(path, true, why));
    OCT_TRY(data_set_write(path, &chosen, false, why));
    if (options->npz != NULL) {
        oct_file_clear(options->npz);
    }
    const char *const minari[] = {"export", path, "--minari", options->minari, NULL};
    const char *const npz[] = {"export", path, "--npz", options->npz, NULL};
    return cli_python_run(PYTHON, options->minari != NULL ? minari : npz, why);
}

// Writes a temporary data set and runs the program that converts it. The folder can be entered only
// by this user: in TMPDIR itself, other users could create a file under a name that they guess.
static oct_err
other_write(const data_options *options, oct_reason *why)
{
    const char *temporary = getenv("TMPDIR");
    char path[CLI_PATH_MAX + 8];
    (void)snprintf(passing_folder, sizeof(passing_folder), "%s/octet-data-XXXXXX",
                   temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (mkdtemp(passing_folder) == NULL) {
        return oct_fail(why, OCT_EIO, "cannot make the folder '%s': %s", passing_folder,
                        strerror(errno));
    }
    (void)snprintf(path, sizeof(path), "%s/data", passing_folder);
    oct_err err = step_write(options, path, why);
    oct_file_remove_tree(passing_folder, false);
    return err;
}

// Refuses a target that is also a source, because it would be replaced while it is read.
static oct_err
target_check(const data_options *options, const char *target, oct_reason *why)
{
    data_source_place place;
    char name[DATA_SOURCE_PATH_BYTES];
    OCT_TRY(data_source_find(&place, options->file, why));
    for (uint32_t i = 0; i < place.shards; i++) {
        config_shard_name(place.path, i, name, sizeof(name));
        if (oct_file_is_same(name, target)) {
            return oct_refuse(why, "'%s' is the file to export; name another file", target);
        }
    }
    return OCT_OK;
}

static int export(int argc, char **argv)
{
    data_options options = {.command = argv[0]};
    oct_reason why = {""};
    cli_args_parse(&export_args, argc, argv, &options);
    int outs = (options.out != NULL) + (options.minari != NULL) + (options.npz != NULL);
    if (outs != 1) {
        cli_usage_error(options.command, "%s output given; name one with --out, --minari or --npz",
                        outs == 0 ? "no" : "more than one");
    }
    const char *target = options.out != NULL ? options.out : options.npz;
    oct_err err = target != NULL ? target_check(&options, target, &why) : OCT_OK;
    if (err == OCT_OK) {
        err = options.out != NULL ? own_write(&options, &why) : other_write(&options, &why);
    }
    return err == OCT_OK ? 0 : failure(&options, why.text);
}

// ---- import

// Returns the environment that --env names; the caller frees it. NULL, after a note: it cannot be
// opened on this machine, and the steps are not compared with it.
static octet_env_spec *
import_env(const data_options *options)
{
    oct_reason why = {""};
    const env_request request = {
        .id = options->env_id,
        .options = options->env_options != NULL ? options->env_options : "",
        .count = 1,
        .seed = 1,
    };
    env *e = NULL;
    cli_env_guard_begin(options->command, options->env_id);
    oct_err err = env_open(&e, &request, &why);
    if (err == OCT_OK) {
        err = actor_spec_trains(env_spec(e), &why);
    }
    octet_env_spec *own = err == OCT_OK ? actor_spec_copy(env_spec(e)) : NULL;
    env_close(e);
    cli_env_guard_end();
    if (own == NULL) {
        fprintf(stderr,
                "octet %s: note: cannot check whether the steps come from environment '%s': %s\n",
                options->command, options->env_id, why.text);
    }
    return own;
}

// Checks that the recorded steps are those of the environment.
static oct_err
import_check_env(const data_options *options, const replay_data_env *recorded,
                 const octet_env_spec *its, oct_reason *reason)
{
    static actor_spec own;
    oct_reason why = {""};
    if (actor_spec_init(&own, its, &why) == OCT_OK &&
        cli_data_check_env(recorded, &own.wire, &why) == OCT_OK) {
        return OCT_OK;
    }
    return oct_refuse(reason, "--env is '%s', but the steps come from another environment: %s",
                      options->env_id, why.text);
}

// Checks what the program has written, as a data set and against the environment `own` (NULL: no
// check), and renames it to out.
static oct_err
import_finish(const data_options *options, const char *draft, const octet_env_spec *own,
              oct_reason *why)
{
    data_source *source;
    data_episodes episodes;
    data_numbers n;
    OCT_TRY(data_source_open(&source, draft, NULL, why));
    const replay_data_header *header = data_source_header(source);
    data_episodes_find(&episodes, source);
    data_numbers_find(&n, source, &episodes);
    oct_err err = own == NULL ? OCT_OK : import_check_env(options, &header->env, own, why);
    if (err == OCT_OK && (err = oct_file_adopt(draft, options->out)) != OCT_OK) {
        oct_reason_set(why, "cannot write '%s': %s", options->out, oct_file_strerror(errno));
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
    data_options options = {.command = argv[0]};
    oct_reason why = {""};
    cli_args_parse(&import_args, argc, argv, &options);
    if (options.minari == NULL || options.out == NULL) {
        cli_usage_error(options.command,
                        "--minari FOLDER, the input, and --out FILE, the output, are required");
    }
    if (options.env_options != NULL && options.env_id == NULL) {
        cli_usage_error(options.command,
                        "--options needs --env, the environment that the options belong to");
    }
    // The environment is opened before the draft exists: an environment that ends the process would
    // leave the draft behind.
    octet_env_spec *own = options.env_id != NULL ? import_env(&options) : NULL;
    oct_file_clear(options.out);
    if (passing_begin(options.out, false, &why) != OCT_OK) {
        free(own);
        return failure(&options, why.text);
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
    oct_err err = cli_python_run(PYTHON, arguments, &why);
    if (err == OCT_OK) {
        err = import_finish(&options, draft, own, &why);
    }
    (void)oct_file_remove(draft); // does nothing if the draft was renamed
    free(own);
    return err == OCT_OK ? 0 : failure(&options, why.text);
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
