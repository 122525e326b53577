// Compares the files of a run folder with its checkpoint, without changing any.

#include "cli/run/cli_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config_text.h"
#include "learner/learner_checkpoints.h"
#include "policy/policy_format.h"
#include "replay/replay_data.h"
#include "replay/replay_recover.h"

#define EMPTY_TEXT "the run continues with an empty table"
#define KEPT_TEXT  "the file is kept; move it away to continue with an empty table"

const char *const cli_check_words[CLI_CHECK_LEVELS] = {"ok", "warning", "error"};

// Appends an item. A full list drops it.
OCT_PRINTF(4, 5)
static void
add(cli_check *check, const char *name, cli_check_level level, const char *format, ...)
{
    if (check->count == CLI_CHECK_ITEMS_MAX) {
        return;
    }
    cli_check_item *item = &check->item[check->count++];
    va_list args;
    va_start(args, format);
    (void)snprintf(item->name, sizeof(item->name), "%s", name);
    item->level = level;
    (void)vsnprintf(item->text, sizeof(item->text), format, args);
    va_end(args);
}

cli_check_level
cli_check_worst(const cli_check *check)
{
    cli_check_level worst = CLI_CHECK_OK;
    for (uint32_t i = 0; i < check->count; i++) {
        worst = OCT_MAX(worst, check->item[i].level);
    }
    return worst;
}

// Writes FOLDER/NAME, or NAME if it is absolute.
static void
path_of(char out[CLI_PATH_MAX], const char *folder, const char *name)
{
    bool is_absolute = name[0] == '/';
    (void)snprintf(out, CLI_PATH_MAX, "%s%s%s", is_absolute ? "" : folder, is_absolute ? "" : "/",
                   name);
}

// ---- tables

// The table of a shard, as the checkpoint describes it.
typedef struct checked_table {
    char name[32]; // "replay", "replay-1"
    char path[CLI_PATH_MAX];
    const learner_checkpoint *checkpoint;
    const learner_source_place *place; // the shard in the checkpoint
    uint64_t lost;    // steps of the checkpoint that are lost if the file holds another table
    bool counts_rows; // count the rows, which may read the whole file
} checked_table;

// Returns true if the checkpoint lists this table as replaced.
static bool
is_earlier(const learner_source_place *place, uint64_t table)
{
    bool is_found = false;
    for (uint32_t i = 0; i < LEARNER_TABLES_KEPT; i++) {
        is_found = is_found || (table != 0 && place->earlier[i].table == table);
    }
    return is_found;
}

// Reports a table whose file does not exist.
static void
add_absent(cli_check *check, const checked_table *checked, const char *reason)
{
    if (checked->lost > 0) {
        add(check, checked->name, CLI_CHECK_WARNING,
            "%s: %" PRIu64 " steps of the checkpoint are lost, and " EMPTY_TEXT, reason,
            checked->lost);
    } else {
        add(check, checked->name, CLI_CHECK_OK, "%s; the checkpoint has no steps in it", reason);
    }
}

// Compares an open table with the checkpoint.
static void
add_present(cli_check *check, const checked_table *checked, replay_file *file)
{
    oct_reason why;
    uint64_t table = file->live->table_id;
    replay_recovered found = {.rows = 0};
    if (file->header->run_id != checked->checkpoint->run_id) {
        add(check, checked->name, CLI_CHECK_ERROR,
            "%s holds the rows of run %016" PRIx64 ", not of this one; " KEPT_TEXT, checked->path,
            file->header->run_id);
    } else if (checked->lost > 0 && table != checked->place->table) {
        add(check, checked->name, CLI_CHECK_WARNING,
            "%s holds %s table of the run: %" PRIu64 " steps of the checkpoint are lost",
            checked->path, is_earlier(checked->place, table) ? "an earlier" : "another",
            checked->lost);
    } else if (!checked->counts_rows) {
        add(check, checked->name, CLI_CHECK_OK, "%s", checked->path);
    } else if (replay_recover(&found, file, &why) != OCT_OK) {
        add(check, checked->name, CLI_CHECK_ERROR, "%s; " KEPT_TEXT, why.text);
    } else if (found.blocks_torn > 0 || found.rows_cut > 0) {
        add(check, checked->name, CLI_CHECK_WARNING,
            "%s: %" PRIu64 " rows; %" PRIu64 " rows were not yet on the disk, and %" PRIu64
            " blocks have wrong checksums",
            checked->path, found.rows, found.rows_cut, found.blocks_torn);
    } else {
        add(check, checked->name, CLI_CHECK_OK, "%s: %" PRIu64 " rows", checked->path, found.rows);
    }
}

// Opens a copy-on-write view of the table, so that the file does not change.
static void
table_check(cli_check *check, const checked_table *checked)
{
    oct_reason why;
    replay_file *file;
    switch (replay_file_open_copy(&file, checked->path, &why)) {
    case OCT_OK:
        add_present(check, checked, file);
        replay_file_close(file);
        break;
    case OCT_ENOTFOUND:
        add_absent(check, checked, why.text);
        break;
    case OCT_EINVAL:
        add(check, checked->name, CLI_CHECK_ERROR, "%s; " KEPT_TEXT, why.text);
        break;
    default: // the file is in use, or may be readable later
        add(check, checked->name, CLI_CHECK_WARNING, "%s", why.text);
    }
}

// Checks the copy of the table that a resumed run in lock-step starts from. Turn 0 has none.
static void
copy_check(cli_check *check, const checked_table *checked)
{
    char copy[CLI_PATH_MAX + 32];
    uint64_t turn = checked->checkpoint->policy_version;
    (void)snprintf(copy, sizeof(copy), "%s.%" PRIu64, checked->path, turn);
    bool is_there = turn == 0 || oct_file_is_there(copy);
    add(check, checked->name, is_there ? CLI_CHECK_OK : CLI_CHECK_ERROR,
        is_there ? "%s, the copy of turn %" PRIu64 : "%s, the copy of turn %" PRIu64 ", is missing",
        copy, turn);
}

void
cli_check_tables(cli_check *check, const char *folder, const config_experiment *config,
                 const learner_checkpoint *checkpoint, bool counts_rows)
{
    checked_table checked = {.checkpoint = checkpoint, .counts_rows = counts_rows};
    if (config_is_offline(config)) {
        return;
    }
    for (uint32_t i = 0; i < config_shards(config); i++) {
        char file[CONFIG_TEXT_MAX + 32];
        checked.place = &checkpoint->replay[i];
        // The table cannot have lost more steps than it holds.
        checked.lost = checked.place->table == 0
                           ? 0
                           : OCT_MIN(checked.place->steps, config_shard_capacity(config));
        config_shard_name("replay", i, checked.name, sizeof(checked.name));
        config_shard_name(config->replay.path, i, file, sizeof(file));
        path_of(checked.path, folder, file);
        if (strcmp(config->replay.path, "none") == 0) {
            add(check, checked.name, CLI_CHECK_OK,
                "replay.path is none: a table is lost when its octet-replay ends");
        } else if (config_table_copies(config) > 0) {
            copy_check(check, &checked);
        } else {
            table_check(check, &checked);
        }
    }
}

// ---- the rest of the folder

// Loads config.yaml. False: it cannot be used, which has been reported.
static bool
run_config_check(cli_check *check, const char *folder, config_experiment *config)
{
    char path[CLI_PATH_MAX], message[CLI_CHECK_TEXT_MAX] = "";
    path_of(path, folder, "config.yaml");
    config_default(config);
    if (config_load(config, path, message, sizeof(message)) != OCT_OK) {
        message[strcspn(message, "\n")] = '\0';
        add(check, "config", CLI_CHECK_ERROR, "%s", message);
        return false;
    }
    add(check, "config", CLI_CHECK_OK, "%s", path);
    return true;
}

// Reads the checkpoint. False: there is none to resume from, which has been reported.
static bool
checkpoint_check(cli_check *check, const char *folder, learner_checkpoint *checkpoint)
{
    char words[CLI_CHECK_TEXT_MAX];
    uint32_t number;
    oct_err err = learner_checkpoints_read(folder, checkpoint, &number, words, sizeof(words));
    if (err == OCT_ENOTFOUND) {
        (void)snprintf(words, sizeof(words), "%s has no checkpoint", folder);
    }
    add(check, "checkpoint",
        err != OCT_OK ? CLI_CHECK_ERROR
        : number > 0  ? CLI_CHECK_WARNING
                      : CLI_CHECK_OK,
        "%s", words);
    return err == OCT_OK;
}

// Checks a policy file. crc is its checksum in the checkpoint, or 0 if not known. A file that does
// not exist and that no checkpoint names is not mentioned.
static void
policy_check(cli_check *check, const char *folder, const char *name, uint32_t crc)
{
    char path[CLI_PATH_MAX];
    oct_reason why;
    uint8_t *bytes;
    size_t length;
    policy_image *image;
    path_of(path, folder, name);
    oct_err err = oct_file_read(path, POLICY_BYTES_MAX, &bytes, &length);
    if (err == OCT_ENOTFOUND && crc == 0) {
        return;
    }
    if (err != OCT_OK) {
        add(check, name, CLI_CHECK_WARNING, "%s: %s; a later version replaces it", path,
            err == OCT_ENOTFOUND ? strerror(ENOENT) : oct_file_strerror(errno));
        return;
    }
    bool is_other = crc != 0 && policy_checksum(bytes, length) != crc;
    if (policy_decode(&image, bytes, length, &why) != OCT_OK) {
        add(check, name, CLI_CHECK_WARNING, "%s: %s; a later version replaces it", path, why.text);
    } else {
        policy_image_destroy(image);
        add(check, name, is_other ? CLI_CHECK_WARNING : CLI_CHECK_OK, "%s%s", path,
            is_other ? " is not the policy of the checkpoint; it is evaluated again" : "");
    }
    free(bytes);
}

// Checks that a small file exists; consequence says what follows if it does not.
static void
small_check(cli_check *check, const char *folder, const char *name, const char *consequence)
{
    bool is_there = cli_folder_has(folder, name);
    char path[CLI_PATH_MAX];
    path_of(path, folder, name);
    add(check, name, is_there ? CLI_CHECK_OK : CLI_CHECK_WARNING, "%s%s%s", path,
        is_there ? "" : " is missing: ", is_there ? "" : consequence);
}

// Checks the data set, if the run learns from one.
static void
data_check(cli_check *check, const char *folder, const config_experiment *config)
{
    char path[CLI_PATH_MAX];
    oct_reason why = {""};
    replay_data *data = NULL;
    if (config_data_windows(config) == 0) {
        return;
    }
    path_of(path, folder, config->replay.data);
    oct_err err = replay_data_open(&data, path, &why);
    add(check, "data", err == OCT_OK ? CLI_CHECK_OK : CLI_CHECK_ERROR, "%s",
        err == OCT_OK ? path : why.text);
    replay_data_close(data);
}

// A live run is not examined, because its files change meanwhile. Without a checkpoint, tables
// cannot be judged and are left out.
void
cli_check_folder(cli_check *check, const char *folder)
{
    static config_experiment config;
    oct_reason why;
    learner_checkpoint checkpoint;
    if (cli_folder_check_free(folder, &why) != OCT_OK) {
        add(check, "run", CLI_CHECK_ERROR, "%s", why.text);
        return;
    }
    bool has_config = run_config_check(check, folder, &config);
    if (checkpoint_check(check, folder, &checkpoint)) {
        if (has_config) {
            cli_check_tables(check, folder, &config, &checkpoint, true);
        }
        policy_check(check, folder, "policy.oct", checkpoint.policy_crc);
        learner_checkpoint_fini(&checkpoint);
    }
    policy_check(check, folder, "policy.fp32.oct", 0);
    policy_check(check, folder, "policy_last.oct", 0);
    small_check(check, folder, "policy_versions",
                "it is not known which versions living actors may have");
    small_check(check, folder, "token.key", "actors must register again");
    if (has_config) {
        data_check(check, folder, &config);
    }
}
