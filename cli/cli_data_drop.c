// octet data drop: removes the rows of one session from the table of a run.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_data.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "replay/data/data_source.h"
#include "replay/replay_drop.h"
#include "replay/replay_file.h"

typedef struct drop_options {
    const char *command;
    const char *given; // a file of replay, or a run folder
    uint64_t session;  // 0: not given
} drop_options;

static oct_err
take_session(const oct_arg_given *given)
{
    const char *text = given->text;
    bool is_hex = strlen(text) <= 16 && strspn(text, "0123456789abcdefABCDEF") == strlen(text);
    uint64_t *session = given->field;
    *session = is_hex ? strtoull(text, NULL, 16) : 0;
    return *session != 0 ? OCT_OK : OCT_EINVAL;
}

static const oct_arg drop_rows[] = {
    {OCT_ARG_OPERAND("files", drop_options, given)},
    {OCT_ARG_TAKE("session", "S", drop_options, session, take_session),
     .allowed = "are 1 to 16 hexadecimal digits, not all 0",
     .help = "Drop the rows of this session: 16 hexadecimal digits, as log and status name it"},
    {0},
};

static const oct_args drop_args = {
    .rows = drop_rows,
    .usage = "FILE|RUN_FOLDER",
    .doc = "Removes all rows of a session from the replay.oct of a run that does not run, with all "
           "its shards: rows that spoil it, such as those that LEARNER-DIVERGED or "
           "REPLAY-SET-ASIDE names. Revoke the certificate, too, then resume the run.\v"
           "Example:\n"
           "  octet data drop runs/pole --session 3f2a91c07be4d856",
};

static oct_err
drop_all(const drop_options *options, uint64_t *rows, oct_reason *why)
{
    data_source_place place;
    char name[DATA_SOURCE_PATH_BYTES];
    *rows = 0;
    OCT_TRY(data_source_find(&place, options->given, why));
    for (uint32_t i = 0; i < place.shards; i++) {
        uint64_t dropped;
        config_shard_name(place.path, i, name, sizeof(name));
        if (!replay_file_is_one(name)) {
            return oct_refuse(why, "%s: not the replay.oct of a run", name);
        }
        OCT_TRY(replay_drop(name, options->session, &dropped, why));
        *rows += dropped;
    }
    return OCT_OK;
}

int
cli_data_drop(int argc, char **argv)
{
    drop_options options = {.command = argv[0]};
    oct_reason why = {""};
    uint64_t rows;
    cli_args_parse(&drop_args, argc, argv, &options);
    if (options.given == NULL || options.session == 0) {
        cli_usage_error(options.command, "a run folder or a replay.oct, and --session, are "
                                         "required");
    }
    if (drop_all(&options, &rows, &why) != OCT_OK) {
        return cli_error(options.command, "%s", why.text);
    }
    if (rows == 0) {
        return cli_error(options.command, "'%s' has no rows of session %016" PRIx64, options.given,
                         options.session);
    }
    printf("%s: %" PRIu64 " row%s of session %016" PRIx64 " dropped\n", options.given, rows,
           oct_text_plural(rows), options.session);
    return 0;
}
