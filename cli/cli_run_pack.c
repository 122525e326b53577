// octet run: checks a run folder, and packs it into one file and back.

#include "cli/cli_commands.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/pack/cli_pack.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "envs/env.h"

typedef struct pack_options {
    const char *command;
    const char *what; // the run folder, or the pack
    const char *to;   // NULL: a name made from the run's
    bool is_trusted;
} pack_options;

static const oct_arg pack_rows[] = {
    {OCT_ARG_OPERAND("folders", pack_options, what), .missing = "no RUN_DIR given"},
    {OCT_ARG_PATH("out", "FILE", pack_options, to),
     .help = "Write the pack to FILE, which must not exist (default: NAME.tar.zst)"},
    {0},
};

static const oct_args pack_args = {
    .rows = pack_rows,
    .usage = "RUN_DIR",
    .doc =
        "Packs everything that a run has on disk into one file: configuration, checkpoints, "
        "policies, metrics, logs, keys and the experience in its replay, unless replay.path is "
        "outside the run folder. A live run is packed as of its last checkpoint. octet run unpack "
        "restores the folder on any host.\v"
        "Example:\n"
        "  octet run pack runs/pole --out pole.tar.zst",
};

static const oct_arg unpack_rows[] = {
    {OCT_ARG_OPERAND("files", pack_options, what), .missing = "no FILE given"},
    {OCT_ARG_PATH("run-dir", "DIR", pack_options, to),
     .help = "Unpack to folder DIR, which must be empty or not exist, and not be the current one "
             "(default: runs/NAME)"},
    {OCT_ARG_FLAG("trust", pack_options, is_trusted),
     .help =
         "Treat the run as your own: later commands run the code that it names without --trust"},
    {0},
};

static const oct_args unpack_args = {
    .rows = unpack_rows,
    .usage = "FILE",
    .doc = "Restores a run folder from a pack, after checking that every file is unchanged. "
           "octet train --resume then continues the run. Prints which code the run names; commands "
           "execute it only with --trust.\v"
           "Example:\n"
           "  octet run unpack pole.tar.zst --run-dir runs/pole",
};

// Prints the result in one line and returns the exit code.
static int
say(const pack_options *options, oct_err err, const cli_pack_result *result, const char *reason)
{
    if (err != OCT_OK) {
        return cli_error(options->command, "%s", reason);
    }
    printf("%s: run %s, %u files, %s (%s packed)\n", result->path, result->run,
           (unsigned)result->files, cli_text_bytes((double)result->bytes).text,
           cli_text_bytes((double)result->packed).text);
    if (result->was_live) {
        printf("live: packed as of its last checkpoint, with the rows of then and later\n");
    }
    if (result->left_out > 0) {
        printf("left out: %u links, sockets or devices\n", (unsigned)result->left_out);
    }
    return 0;
}

// Returns true if the folder contains the table of its replay, or that of the first shard.
static bool
has_table(const char *folder, const char *path)
{
    char file[OCT_FILE_PATH_MAX + CONFIG_TEXT_MAX];
    (void)snprintf(file, sizeof(file), "%s/%s", folder, path);
    return oct_file_is_there(file);
}

// Notes that a pack has no experience if replay kept its table elsewhere: either replay.path says
// so, or replay was started by hand with another --path, which the folder does not record.
static void
say_of_replay(const char *folder)
{
    static config_experiment config;
    char path[OCT_FILE_PATH_MAX], real[PATH_MAX], message[1024];
    const char *table = config.replay.path;
    oct_file_confine(folder);
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    config_default(&config);
    if (config_load(&config, path, message, sizeof(message)) != OCT_OK ||
        strcmp(table, "none") == 0 || config_is_offline(&config) ||
        realpath(folder, real) == NULL) {
        return;
    }
    size_t length = strlen(real);
    bool is_elsewhere =
        table[0] == '/' && (strncmp(table, real, length) != 0 || table[length] != '/');
    if (is_elsewhere) {
        printf("left out: the experience of its replay, in %s (replay.path)\n",
               cli_text_plain(table, SIZE_MAX).text);
    } else if (table[0] != '/' && !has_table(folder, table)) {
        printf("left out: the experience of its replay: there is no %s in %s; keep the file that "
               "octet-replay --path names together with the pack\n",
               cli_text_plain(table, SIZE_MAX).text, folder);
    }
}

// Notes code that the run would execute on the machine where it is unpacked (cli_trust.h).
static void
say_of_code(const char *folder, bool is_trusted)
{
    static config_experiment config;
    char path[OCT_FILE_PATH_MAX + 16], message[1024];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    config_default(&config);
    if (config_load(&config, path, message, sizeof(message)) != OCT_OK) {
        return;
    }
    const char *id = cli_text_plain(config.env.id, SIZE_MAX).text;
    if (env_is_built_in(config.env.id)) {
        printf("executes: nothing; its environment %s comes with Octet\n", id);
    } else {
        printf("executes: the code of its environment %s%s\n", id,
               is_trusted ? "" : ", only with --trust");
    }
}

static int
run_pack(int argc, char **argv)
{
    oct_reason why = {""};
    cli_pack_result result;
    pack_options options = {.command = argv[0]};
    cli_args_parse(&pack_args, argc, argv, &options);
    oct_err err = cli_pack(options.what, options.to, &result, &why);
    int exit_code = say(&options, err, &result, why.text);
    if (err == OCT_OK) {
        say_of_replay(options.what);
    }
    return exit_code;
}

static int
run_unpack(int argc, char **argv)
{
    oct_reason why = {""};
    cli_pack_result result;
    pack_options options = {.command = argv[0]};
    cli_args_parse(&unpack_args, argc, argv, &options);
    oct_err err = cli_unpack(options.what, options.to, options.is_trusted, &result, &why);
    int exit_code = say(&options, err, &result, why.text);
    if (err == OCT_OK) {
        say_of_code(result.path, options.is_trusted);
    }
    return exit_code;
}

int
cli_run_folder(int argc, char **argv)
{
    static const cli_command list[] = {
        {"check", cli_run_check, "show what a resume would find in a run folder"},
        {"pack", run_pack, "pack a run folder into one file"},
        {"unpack", run_unpack, "restore a run folder from a pack"},
    };
    static const cli_family family = {
        .name = "run",
        .about = "Checks run folders, and packs them to archive or move them.",
        .list = list,
        .count = OCT_COUNTOF(list),
        .start = "octet run pack runs/pole"};
    return cli_family_run(&family, argc, argv);
}
