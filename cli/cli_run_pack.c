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
#include "common/oct_config.h"
#include "common/oct_file.h"
#include "envs/env.h"

enum { KEY_OUT = 256, KEY_RUN_DIR, KEY_TRUST };

typedef struct pack_options {
    const char *command;
    const char *what; // the folder, or the pack
    const char *to;   // NULL: by the run's name
    bool is_trusted;
} pack_options;

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    pack_options *options = state->input;
    switch (key) {
    case KEY_OUT:
    case KEY_RUN_DIR:
        options->to = arg;
        return 0;
    case KEY_TRUST:
        options->is_trusted = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->what != NULL) {
            cli_usage_error(options->command, "unexpected argument '%s'", arg);
        }
        options->what = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option pack_option_table[] = {
    {"out", KEY_OUT, "FILE", 0,
     "Write the pack to FILE, which must not exist (default: NAME.tar.zst)", 0},
    {0},
};

static const struct argp pack_argp = {
    .options = pack_option_table,
    .parser = parse,
    .args_doc = "RUN_DIR",
    .doc =
        "Packs everything that a run has on disk into one file: configuration, checkpoints, "
        "policies, metrics, logs, keys and the experience in its replay, unless replay.path is "
        "outside the run folder. A live run is packed as of its last checkpoint. octet run unpack "
        "restores the folder on any host.\v"
        "Example:\n"
        "  octet run pack runs/pole --out pole.tar.zst",
};

static const struct argp_option unpack_option_table[] = {
    {"run-dir", KEY_RUN_DIR, "DIR", 0,
     "Unpack to folder DIR, which must be empty or not exist, and not be the current one (default: "
     "runs/NAME)",
     0},
    {"trust", KEY_TRUST, NULL, 0,
     "Treat the run as your own: later commands run the code that it names without --trust", 0},
    {0},
};

static const struct argp unpack_argp = {
    .options = unpack_option_table,
    .parser = parse,
    .args_doc = "FILE",
    .doc = "Restores a run folder from a pack, after checking that every file is unchanged. "
           "octet train --resume then continues the run. Prints which code the run names; commands "
           "execute it only with --trust.\v"
           "Example:\n"
           "  octet run unpack pole.tar.zst --run-dir runs/pole",
};

// One line; the exit code.
static int
say(const pack_options *options, oct_err err, const char *path, const cli_pack_result *result,
    const char *reason)
{
    if (err != OCT_OK) {
        cli_error(options->command, "%s", reason);
        return CLI_EXIT_FAILED;
    }
    printf("%s: run %s, %u files, %s (%s packed)\n", path, result->run, (unsigned)result->files,
           cli_text_bytes((double)result->bytes).text, cli_text_bytes((double)result->packed).text);
    if (result->was_live) {
        printf("live: packed as of its last checkpoint, with the rows of then and later\n");
    }
    if (result->left_out > 0) {
        printf("left out: %u links, sockets or devices\n", (unsigned)result->left_out);
    }
    return 0;
}

// Whether the folder has the table of its replay, or of the first shard.
static bool
has_table(const char *folder, const char *path)
{
    char file[OCT_FILE_PATH_MAX + OCT_CONFIG_TEXT_MAX];
    (void)snprintf(file, sizeof(file), "%s/%s", folder, path);
    return oct_file_is_there(file);
}

// The experience of a run whose replay keeps it somewhere else: replay.path says so, or replay was
// started by hand with another --path, of which the folder knows nothing.
static void
say_of_replay(const char *folder)
{
    static oct_config config;
    char path[OCT_FILE_PATH_MAX], real[PATH_MAX], message[1024];
    const char *table = config.replay.path;
    oct_file_confine(folder);
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    oct_config_default(&config);
    if (oct_config_load(&config, path, message, sizeof(message)) != OCT_OK ||
        strcmp(table, "none") == 0 || oct_config_is_offline(&config) ||
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

// What the run names that is executed (cli_trust.h).
static void
say_of_code(const char *folder, bool is_trusted)
{
    static oct_config config;
    char path[OCT_FILE_PATH_MAX + 16], message[1024];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    oct_config_default(&config);
    if (oct_config_load(&config, path, message, sizeof(message)) != OCT_OK) {
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

static pack_options
take(const struct argp *argp, int argc, char **argv, const char *missing)
{
    pack_options options = {.command = argv[0]};
    cli_options_parse(argp, argc, argv, &options);
    if (options.what == NULL) {
        cli_usage_error(options.command, "%s", missing);
    }
    return options;
}

static int
run_pack(int argc, char **argv)
{
    char path[OCT_FILE_PATH_MAX] = "", reason[512] = "";
    cli_pack_result result;
    const pack_options options = take(&pack_argp, argc, argv, "no RUN_DIR given");
    oct_err err =
        cli_pack(options.what, options.to, path, sizeof(path), &result, reason, sizeof(reason));
    int exit_code = say(&options, err, path, &result, reason);
    if (err == OCT_OK) {
        say_of_replay(options.what);
    }
    return exit_code;
}

static int
run_unpack(int argc, char **argv)
{
    char path[OCT_FILE_PATH_MAX] = "", reason[512] = "";
    cli_pack_result result;
    const pack_options options = take(&unpack_argp, argc, argv, "no FILE given");
    oct_err err = cli_unpack(options.what, options.to, options.is_trusted, path, sizeof(path),
                             &result, reason, sizeof(reason));
    int exit_code = say(&options, err, path, &result, reason);
    if (err == OCT_OK) {
        say_of_code(path, options.is_trusted);
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
