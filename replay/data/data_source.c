// Opens recorded steps: a data set, or replay files, whose blocks are sorted by stream.
#include "replay/data/data_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "config/config.h"
#include "proto/wire_check.h"
#include "proto/wire_env.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"

#define PATH_BYTES  DATA_SOURCE_PATH_BYTES
#define ARENA_BYTES (64u << 10)

// A block, and its file (NULL: it is in a data set).
struct held {
    const replay_block *block;
    const replay_file *file;
};

struct data_source {
    replay_data *data; // NULL: the steps come from replay files
    replay_file *file[CONFIG_SHARDS_MAX];
    uint32_t shards; // files that are open; 0: a data set
    data_source_loss loss;
    // Of a data set: a copy; of replay files: the fields that data_source_header names.
    replay_data_header header;
    replay_layout layout;
    char *notes; // of replay files; NULL: none
    uint32_t count;
    struct held *held; // [count]
};

// ---- a replay file

// Writes the path of `name` in the folder of path. Returns false if it is too long.
static bool
beside(char out[PATH_BYTES], const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int length = snprintf(out, PATH_BYTES, "%.*s%s", folder, path, name);
    return length >= 0 && length < PATH_BYTES;
}

static oct_err
environment_read(replay_data_env *out, const char *path, const char *given, oct_reason *why)
{
    char place[PATH_BYTES];
    if (!given && !beside(place, path, "environment.oct")) {
        return oct_refuse(why, "%s: the name is too long", path);
    }
    const char *name = given ? given : place;
    uint8_t *bytes;
    size_t length;
    oct_err err = oct_file_read(name, WIRE_ENV_BYTES_MAX, &bytes, &length);
    if (err != OCT_OK) {
        return oct_fail(why, err,
                        "%s: %s; a replay file does not name the environment of its steps: give "
                        "the run's environment.oct with --environment",
                        name, oct_file_strerror(errno));
    }
    wire_env_spec env;
    wire_arena *arena = wire_arena_create(ARENA_BYTES);
    err = wire_env_unpack(&env, arena, bytes, length);
    if (err != OCT_OK || (err = replay_data_env_make(out, &env)) != OCT_OK) {
        err = oct_refuse(why, "%s: damaged, or of another release: %s", name,
                         wire_arena_reason(arena));
    }
    wire_arena_destroy(arena);
    free(bytes);
    return err;
}

// Reads the experiment, if there is one and it is text.
static void
notes_read(data_source *source, const char *path)
{
    char place[PATH_BYTES];
    uint8_t *bytes;
    size_t length;
    if (!beside(place, path, "config.yaml") ||
        oct_file_read(place, REPLAY_DATA_NOTES_MAX, &bytes, &length) != OCT_OK) {
        return;
    }
    if (wire_check_text((const char *)bytes, length, REPLAY_DATA_NOTES_MAX)) {
        source->notes = (char *)bytes;
        source->header.notes_bytes = (uint32_t)length;
    } else {
        free(bytes);
    }
}

static int
held_order(const void *a, const void *b)
{
    const replay_block *x = ((const struct held *)a)->block, *y = ((const struct held *)b)->block;
    return x->session != y->session     ? (x->session < y->session ? -1 : 1)
           : x->actor_id != y->actor_id ? (x->actor_id < y->actor_id ? -1 : 1)
           : x->stream != y->stream     ? (x->stream < y->stream ? -1 : 1)
           : x->first != y->first       ? (x->first < y->first ? -1 : 1)
                                        : 0;
}

// Lists the blocks with rows, sorted by stream and first row, so that linked blocks are neighbours.
static void
blocks_list(data_source *source)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < source->shards; i++) {
        const replay_head *head = replay_journal_held(source->file[i]);
        most += head->next - head->oldest;
    }
    source->held = oct_alloc(most * sizeof(source->held[0]));
    for (uint32_t i = 0; i < source->shards; i++) {
        const replay_file *file = source->file[i];
        const replay_head *head = replay_journal_held(file);
        for (uint64_t serial = head->oldest; serial < head->next; serial++) {
            const replay_block *block = replay_file_block(file, serial);
            if (block->count > 0) {
                source->held[source->count++] = (struct held){block, file};
            }
        }
    }
    qsort(source->held, source->count, sizeof(source->held[0]), held_order);
}

// Checks that the file's rows can be steps of the environment.
static oct_err
shape_check(const data_source *source, const char *path, oct_reason *reason)
{
    oct_reason why;
    wire_configure table;
    const replay_head *head = replay_journal_held(source->file[0]);
    OCT_ASSERT(replay_kept_give(&head->configure, &table)); // recovery has checked it
    if (replay_data_env_fit(&source->header.env, &table, &why) != OCT_OK) {
        return oct_refuse(reason, "%s: %s", path, why.text);
    }
    return OCT_OK;
}

// Checks that a shard fits to the first one, which is open.
static oct_err
shard_check(const data_source *source, const char *path, uint32_t shard, oct_reason *why)
{
    const replay_file_header *first = source->file[0]->header, *own = source->file[shard]->header;
    if (own->run_id != first->run_id) {
        return oct_refuse(why, "%s belongs to another run than the shards beside it", path);
    }
    if (own->obs_bytes != first->obs_bytes || own->action_bytes != first->action_bytes ||
        own->extra_dim != first->extra_dim) {
        return oct_refuse(
            why,
            "rows of %s have %u bytes of observation, %u bytes of action and %u more numbers, rows "
            "of the first shard %u, %u and %u: name the files one by one",
            path, own->obs_bytes, own->action_bytes, own->extra_dim, first->obs_bytes,
            first->action_bytes, first->extra_dim);
    }
    if (own->block_rows != first->block_rows) {
        return oct_refuse(why,
                          "%s has blocks of %u rows, the first shard has %u: name the files one by "
                          "one",
                          path, own->block_rows, first->block_rows);
    }
    return OCT_OK;
}

static oct_err
shards_open(data_source *source, const char *path, uint32_t shards, oct_reason *why)
{
    for (uint32_t i = 0; i < shards; i++) {
        char name[PATH_BYTES];
        replay_recovered recovered;
        config_shard_name(path, i, name, sizeof(name));
        if (shards > 1 && !oct_file_is_there(name)) {
            return oct_fail(why, OCT_ENOTFOUND,
                            "%s: %s; the run has %u shards: name the files one by one to read the "
                            "others",
                            name, oct_file_strerror(errno), shards);
        }
        OCT_TRY(replay_file_open_copy(&source->file[i], name, why));
        source->shards = i + 1;
        OCT_TRY(replay_recover(&recovered, source->file[i], why));
        source->loss.blocks += recovered.blocks_torn;
        source->loss.rows += recovered.is_exact ? 0 : recovered.rows_cut;
        OCT_TRY(shard_check(source, name, i, why));
    }
    return OCT_OK;
}

static oct_err
replay_open(data_source *source, const data_source_place *place, const char *environment,
            oct_reason *why)
{
    OCT_TRY(shards_open(source, place->path, place->shards, why));
    OCT_TRY(environment_read(&source->header.env, place->home, environment, why));
    const replay_head *head = replay_journal_held(source->file[0]);
    const replay_file_header *file = source->file[0]->header;
    source->header.run_id = file->run_id;
    source->header.seed = head->configure.seed;
    source->header.block_rows = file->block_rows;
    source->header.extra_dim = file->extra_dim;
    source->layout = source->file[0]->layout;
    OCT_TRY(shape_check(source, place->path, why));
    notes_read(source, place->home);
    blocks_list(source);
    return OCT_OK;
}

// ---- a data set

static oct_err
data_open(data_source *source, const char *path, oct_reason *why)
{
    OCT_TRY(replay_data_open(&source->data, path, why));
    OCT_TRY(replay_data_check(source->data, why));
    source->header = *source->data->header;
    source->layout = source->data->layout;
    source->count = source->header.blocks;
    source->held = oct_alloc(source->count * sizeof(source->held[0]));
    for (uint32_t i = 0; i < source->count; i++) {
        source->held[i].block = replay_data_block(source->data, i);
    }
    return OCT_OK;
}

// ---- either

oct_err
data_source_open_place(data_source **out, const data_source_place *place, const char *environment,
                       oct_reason *why)
{
    OCT_ASSERT(place->shards >= 1 && place->shards <= CONFIG_SHARDS_MAX);
    data_source *source = oct_alloc(sizeof(*source));
    oct_err err = replay_file_is_one(place->path) ? replay_open(source, place, environment, why)
                                                  : data_open(source, place->path, why);
    if (err != OCT_OK) {
        data_source_close(source);
        return err;
    }
    *out = source;
    return OCT_OK;
}

oct_err
data_source_open(data_source **out, const char *path, const char *environment, oct_reason *why)
{
    data_source_place place = {.shards = 1};
    (void)snprintf(place.path, sizeof(place.path), "%s", path);
    (void)snprintf(place.home, sizeof(place.home), "%s", path);
    return data_source_open_place(out, &place, environment, why);
}

// Finds the table of a run, which its experiment names.
static oct_err
table_find(data_source_place *out, const char *folder, const config_experiment *config,
           oct_reason *why)
{
    const char *name = config->replay.path;
    if (strcmp(name, "none") == 0) {
        return oct_fail(why, OCT_ENOTFOUND, "%s: replay.path: none: the run kept no table", folder);
    }
    if (!beside(out->path, name[0] == '/' ? "" : out->home, name)) {
        return oct_refuse(why, "%s: the name is too long", folder);
    }
    out->shards = config_shards(config);
    for (uint32_t i = out->shards; i < CONFIG_SHARDS_MAX; i++) {
        char shard[PATH_BYTES];
        config_shard_name(out->path, i, shard, sizeof(shard));
        out->shards = oct_file_is_there(shard) ? i + 1 : out->shards;
    }
    return OCT_OK;
}

oct_err
data_source_find(data_source_place *out, const char *given, oct_reason *why)
{
    struct stat file;
    bool is_folder = oct_file_stat(given, &file) == 0 && S_ISDIR(file.st_mode);
    size_t length = strlen(given);
    bool has_slash = length > 0 && given[length - 1] == '/';
    int home = snprintf(out->home, sizeof(out->home), "%s%s%s", given,
                        is_folder && !has_slash ? "/" : "", is_folder ? "config.yaml" : "");
    if (home < 0 || (size_t)home >= sizeof(out->home)) {
        return oct_refuse(why, "%s: the name is too long", given);
    }
    if (is_folder) {
        oct_file_confine(given);
    } else {
        memcpy(out->path, out->home, sizeof(out->path));
        out->shards = 1;
        return OCT_OK;
    }
    char message[CONFIG_TEXT_MAX];
    config_experiment *config = oct_alloc(sizeof(*config));
    config_default(config);
    if (config_load(config, out->home, message, sizeof(message)) != OCT_OK) {
        config_default(config);
    }
    oct_err err = table_find(out, given, config, why);
    free(config);
    return err;
}

void
data_source_close(data_source *source)
{
    if (!source) {
        return;
    }
    replay_data_close(source->data);
    for (uint32_t i = 0; i < CONFIG_SHARDS_MAX; i++) {
        replay_file_close(source->file[i]);
    }
    free(source->notes);
    free(source->held);
    free(source);
}

const replay_data_header *
data_source_header(const data_source *source)
{
    return &source->header;
}

data_source_loss
data_source_lost(const data_source *source)
{
    return source->loss;
}

bool
data_source_is_data_set(const data_source *source)
{
    return source->data != NULL;
}

const char *
data_source_notes(const data_source *source, uint32_t *bytes)
{
    *bytes = source->header.notes_bytes;
    return source->data ? source->data->notes : source->notes;
}

const replay_layout *
data_source_layout(const data_source *source)
{
    return &source->layout;
}

uint32_t
data_source_blocks(const data_source *source)
{
    return source->count;
}

const replay_block *
data_source_block(const data_source *source, uint32_t index)
{
    return source->held[index].block;
}

bool
data_source_continues(const data_source *source, uint32_t index)
{
    if (index == 0) {
        return false;
    }
    const struct held *before = &source->held[index - 1], *held = &source->held[index];
    if (source->data) {
        return held->block->previous != REPLAY_BLOCK_NONE;
    }
    return held->file == before->file && before->block->next == held->block->serial;
}

// For a table: how many of its blocks had been begun before this one, minus how many were begun in
// all.
static double
begun(const struct held *held)
{
    double renewed = (double)held->block->renewed * held->file->header->blocks;
    return (double)held->block->serial - renewed - (double)replay_journal_held(held->file)->next;
}

static bool
is_same_stream(const struct held *a, const struct held *b)
{
    return a->file == b->file && replay_block_is_of_stream(a->block, b->block);
}

double
data_source_order(const data_source *source, uint32_t index, uint32_t row)
{
    const struct held *held = &source->held[index];
    double rows = row + 1;
    if (source->data) {
        return index + rows / source->layout.rows;
    }
    double begin = begun(held);
    if (index + 1 < source->count && is_same_stream(held, held + 1)) {
        return begin + (begun(held + 1) - begin) * rows / source->layout.rows;
    }
    if (index > 0 && is_same_stream(held - 1, held)) {
        double at = begin + (begin - begun(held - 1)) * rows / source->layout.rows;
        return OCT_MIN(at, 0); // not later than now
    }
    return begin - begin * rows / held->block->count;
}
