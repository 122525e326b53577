// octet data drop: removes the rows of one session from the table of a run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_data.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_config.h"
#include "common/oct_text.h"
#include "data/data_source.h"
#include "replay/replay_drop.h"
#include "replay/replay_file.h"

enum { KEY_SESSION = 256 };

typedef struct drop_options {
    const char *command;
    const char *given; // a file or a run folder
    uint64_t session;  // 0: not given
} drop_options;

static const struct argp_option options_list[] = {
    {"session", KEY_SESSION, "S", 0,
     "Drop the rows of this session: 16 hexadecimal digits, as log and status name it", 0},
    {0},
};

static uint64_t
session_parse(const char *command, const char *text)
{
    char *end;
    bool is_hex = strlen(text) <= 16 && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
    uint64_t session = is_hex ? strtoull(text, &end, 16) : 0;
    if (session == 0) {
        cli_usage_error(
            command, "--session is '%s'; allowed are 1 to 16 hexadecimal digits, not all 0", text);
    }
    return session;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    drop_options *options = state->input;
    switch (key) {
    case KEY_SESSION:
        options->session = session_parse(options->command, arg);
        return 0;
    case ARGP_KEY_ARG:
        if (options->given != NULL) {
            cli_usage_error(options->command, "two files, '%s' and '%s'", options->given, arg);
        }
        options->given = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options_list,
    .parser = parse,
    .args_doc = "FILE|RUN_FOLDER",
    .doc = "Removes all rows of a session from the replay.oct of a run that does not run, with all "
           "its shards: rows that spoil it, such as those that LEARNER-DIVERGED or "
           "REPLAY-SET-ASIDE names. Revoke the certificate, too, then resume the run.\v"
           "Example:\n"
           "  octet data drop runs/pole --session 3f2a91c07be4d856",
};

static oct_err
drop_all(const drop_options *options, uint64_t *rows, char *reason, size_t reason_size)
{
    data_source_place place;
    char name[DATA_SOURCE_PATH_BYTES];
    *rows = 0;
    OCT_TRY(data_source_find(&place, options->given, reason, reason_size));
    for (uint32_t i = 0; i < place.shards; i++) {
        uint64_t dropped;
        oct_config_shard_name(place.path, i, name, sizeof(name));
        if (!replay_file_is_one(name)) {
            return oct_refuse(reason, reason_size, "%s: not the replay.oct of a run", name);
        }
        OCT_TRY(replay_drop(name, options->session, &dropped, reason, reason_size));
        *rows += dropped;
    }
    return OCT_OK;
}

int
cli_data_drop(int argc, char **argv)
{
    drop_options options = {.command = argv[0]};
    char reason[2 * DATA_SOURCE_PATH_BYTES] = "";
    uint64_t rows;
    cli_options_parse(&argp, argc, argv, &options);
    if (options.given == NULL || options.session == 0) {
        cli_usage_error(options.command, "a run folder or a replay.oct, and --session, are "
                                         "required");
    }
    if (drop_all(&options, &rows, reason, sizeof(reason)) != OCT_OK) {
        cli_error(options.command, "%s", reason);
        return CLI_EXIT_FAILED;
    }
    if (rows == 0) {
        cli_error(options.command, "'%s' has no rows of session %016" PRIx64, options.given,
                  options.session);
        return CLI_EXIT_FAILED;
    }
    printf("%s: %" PRIu64 " row%s of session %016" PRIx64 " dropped\n", options.given, rows,
           oct_text_plural(rows), options.session);
    return 0;
}
