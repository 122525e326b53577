// octet run check: reports what a resume of a run would find in its folder, without changing
// anything.

#include "cli/cli_commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "cli/cli_json.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_check.h"

typedef struct check_options {
    const char *folder;
    bool json;
} check_options;

static const oct_arg check_rows[] = {
    {OCT_ARG_OPERAND("folders", check_options, folder), .missing = "no RUN_DIR given"},
    {OCT_ARG_FLAG("json", check_options, json), .help = "Print one JSON document"},
    {0},
};

static const oct_args check_args = {
    .rows = check_rows,
    .usage = "RUN_DIR",
    .doc = "Shows what octet train --resume would find in a run folder: configuration, "
           "checkpoint, rows of replay, policies, keys and data set, and what is missing or "
           "damaged. Nothing is changed. The exit code is 0 if everything is there, and 1 if "
           "something is missing or damaged, or the run is live.\v"
           "Example:\n"
           "  octet run check runs/pole",
};

static void
print_json(const char *folder, const cli_check *check)
{
    json_t *all = json_object(), *items = json_array();
    for (uint32_t i = 0; i < check->count; i++) {
        const cli_check_item *item = &check->item[i];
        cli_json_append(items,
                        CLI_JSON_OBJECT({"name", cli_json_text(item->name)},
                                        {"state", cli_json_text(cli_check_words[item->level])},
                                        {"text", cli_json_text(item->text)}));
    }
    cli_json_put(all, "folder", cli_json_text(folder));
    cli_json_put(all, "resumable", json_boolean(cli_check_worst(check) != CLI_CHECK_ERROR));
    cli_json_put(all, "complete", json_boolean(cli_check_worst(check) == CLI_CHECK_OK));
    cli_json_put(all, "items", items);
    char *text = cli_json_print(all, JSON_COMPACT);
    printf("%s\n", text);
    free(text);
    json_decref(all);
}

int
cli_run_check(int argc, char **argv)
{
    static cli_check check;
    struct stat folder;
    check_options options = {.folder = NULL};
    cli_args_parse(&check_args, argc, argv, &options);
    int code = stat(options.folder, &folder) != 0 ? errno : ENOTDIR;
    if (code != ENOTDIR || !S_ISDIR(folder.st_mode)) {
        return cli_error("run check", "no run folder '%s': %s", options.folder, strerror(code));
    }
    cli_check_folder(&check, options.folder);
    if (options.json) {
        print_json(options.folder, &check);
    }
    for (uint32_t i = 0; !options.json && i < check.count; i++) {
        const cli_check_item *item = &check.item[i];
        printf("%-8s %-16s %s\n", cli_check_words[item->level], item->name, item->text);
    }
    return cli_check_worst(&check) == CLI_CHECK_OK ? 0 : CLI_EXIT_FAILED;
}
