// Packs a run folder into one file.
//
// 1. The folder is locked as octet train and octet-learner lock it, so that no run starts in it.
// 2. If a run has the lock, the run is live. Its folder is copied beside the pack, in an order that
//    keeps the copy consistent: the checkpoint first, the tables last, so that they hold the rows
//    that the checkpoint counts. The copy is packed instead of the folder, and is removed
//    afterwards.
// 3. All plain files are listed and hashed. The list is the manifest, the first member of the tar.
// 4. The files are written and hashed a second time. A file that has changed in between ends the
//    packing.
// 5. The pack is written to a draft, which takes its name at the end. On any failure nothing is
//    left.

#include "cli/pack/cli_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_text.h"
#include "cli/pack/cli_pack_manifest.h"
#include "cli/pack/cli_pack_stream.h"
#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "config/config.h"
#include "learner/learner_checkpoints.h"
#include "replay/replay_backup.h"

#define PIECE_BYTES  (128u << 10) // read and written at a time
#define LOCKS_MAX    2
#define PATH_BYTES   OCT_FILE_PATH_MAX
#define TABLE_ENDING ".oct"
#define SYNC_WAIT_S  60.0 // for a table to sync, in addition to two intervals

typedef struct packing {
    int folder;          // of the folder that is packed
    int lock[LOCKS_MAX]; // descriptors; -1: not locked
    cli_pack_manifest manifest;
    uint32_t left_out;           // entries of the folder that are no plain files
    double sync_s;               // of a live run: how long its table may take to be synced
    char draft[PATH_BYTES + 32]; // of a live run: the copy of its folder; "": none
    oct_reason *why;
    uint8_t piece[PIECE_BYTES];
} packing;

#define REFUSE(p, ...) oct_refuse((p)->why, __VA_ARGS__)

// ---- which files

// Returns true for a draft that a killed writer has left.
static bool
is_draft(const char *entry)
{
    const char *tmp = strstr(entry, ".tmp.");
    return tmp != NULL && tmp[5] != '\0' && strspn(tmp + 5, "0123456789") == strlen(tmp + 5);
}

// Returns true for a file that belongs to a start of the run and not to the run: what octet train,
// octet cluster slurm and octet cluster ssh keep while they need it, with the keys of that start's
// certificates and the owner of the folder. octet run unpack marks the folder that it makes.
static bool
is_of_a_start(const char *name)
{
    static const char *const names[] = {
        OCT_OWNER_LOCK, OCT_OWNER_UNPACKED, ".collect", ".owner", ".plan", "certs",
        "job",          "actors.sh",        "log/.job"};
    return oct_text_is_one_of(name, names, OCT_COUNTOF(names));
}

// Adds a file to the manifest, with the size that it must still have when it is read.
static oct_err
file_add(packing *p, const char *name, const struct stat *status)
{
    cli_pack_manifest *manifest = &p->manifest;
    if (manifest->count == CLI_PACK_FILES_MAX) {
        return REFUSE(p, "more than %d files", CLI_PACK_FILES_MAX);
    }
    uint64_t time_s = (uint64_t)OCT_MAX(status->st_mtime, 0); // XFS has times up to the year 2486
    time_s = OCT_MIN(time_s, CLI_PACK_TIME_MAX);
    cli_pack_file *file = &manifest->file[manifest->count++];
    *file = (cli_pack_file){
        .mode = status->st_mode & 0777, .size = (uint64_t)status->st_size, .time_s = time_s};
    memcpy(file->name, name, strlen(name) + 1); // a valid name fits
    return OCT_OK;
}

static oct_err folder_list(packing *p, const char *below);

// Lists an entry of the folder. A name that no pack can have is an error, because a pack without
// the file would be incomplete.
static oct_err
entry_list(packing *p, const char *below, const char *entry)
{
    char name[CLI_PACK_NAME_MAX + NAME_MAX + 8];
    struct stat status;
    int length = snprintf(name, sizeof(name), "%s%s%s", below, below[0] != '\0' ? "/" : "", entry);
    if (is_draft(entry) || is_of_a_start(name)) {
        return OCT_OK;
    }
    if (length >= (int)sizeof(name) || !cli_pack_name_is_good(name)) {
        return REFUSE(p,
                      "'%s' cannot be packed; a path in the folder is at most two folders deep and "
                      "has at most %d characters of ASCII without blanks; rename it, or move it "
                      "elsewhere",
                      cli_text_plain(entry, SIZE_MAX).text, CLI_PACK_NAME_MAX);
    }
    if (fstatat(p->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return REFUSE(p, "%s: %s", name, oct_file_strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return folder_list(p, name);
    }
    if (!S_ISREG(status.st_mode)) {
        p->left_out++; // a link, a socket or a device
        return OCT_OK;
    }
    return file_add(p, name, &status);
}

static oct_err
folder_list(packing *p, const char *below)
{
    DIR *folder = oct_file_open_entries_at(p->folder, below);
    if (folder == NULL) {
        return REFUSE(p, "%s cannot be listed: %s", below, oct_file_strerror(errno));
    }
    oct_err err = OCT_OK;
    const struct dirent *entry;
    while (err == OCT_OK && (entry = readdir(folder)) != NULL) {
        bool is_own = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!is_own) {
            err = entry_list(p, below, entry->d_name);
        }
    }
    (void)closedir(folder);
    return err;
}

static int
files_compare(const void *a, const void *b)
{
    return strcmp(((const cli_pack_file *)a)->name, ((const cli_pack_file *)b)->name);
}

// ---- locks

// Locks a file. *is_taken: another process has it; false on a file system without locks.
static oct_err
file_lock(packing *p, const char *name, int fd, bool is_shared, bool *is_taken)
{
    oct_lock got = oct_file_lock(fd, is_shared);
    *is_taken = got == OCT_LOCK_TAKEN;
    return got == OCT_LOCK_FAILED
               ? REFUSE(p, "%s cannot be locked: %s", name, oct_file_strerror(errno))
               : OCT_OK;
}

// Takes the locks of octet train and octet-learner while the folder is packed. *is_live: another
// process has one of them.
static oct_err
lock(packing *p, bool *is_live)
{
    static const char *const names[LOCKS_MAX] = {".lock", "learner.lock"};
    // If octet train has the folder, learner.lock is not touched: a learner that restarts must not
    // find it taken.
    for (int i = 0; i < LOCKS_MAX && !*is_live; i++) {
        p->lock[i] = oct_file_open_at(p->folder, names[i], O_RDWR, 0, NULL);
        bool is_taken = false;
        if (p->lock[i] >= 0) {
            OCT_TRY(file_lock(p, names[i], p->lock[i], false, &is_taken));
        }
        *is_live = *is_live || is_taken;
    }
    return OCT_OK;
}

// ---- content

// Opens a file, which must be unused and have the size that was listed.
static oct_err
file_open(packing *p, const cli_pack_file *file, int *out)
{
    struct stat status;
    int fd = oct_file_open_at(p->folder, file->name, O_RDONLY, 0, &status);
    if (fd < 0) {
        return REFUSE(p, "%s cannot be read: %s", file->name, oct_file_strerror(errno));
    }
    // A replay has its table locked, and a learner learner.lock, which this process holds.
    bool is_ours = strcmp(file->name, "learner.lock") == 0;
    bool is_taken = false;
    oct_err err = is_ours ? OCT_OK : file_lock(p, file->name, fd, true, &is_taken);
    if (is_taken) {
        err = REFUSE(p, "%s is in use by a daemon; end the run first", file->name);
    } else if (err == OCT_OK && (uint64_t)status.st_size != file->size) {
        err = REFUSE(p, "%s changed while it was packed", file->name);
    }
    if (err != OCT_OK) {
        (void)close(fd);
        return err;
    }
    *out = fd;
    return OCT_OK;
}

static oct_err
write_failed(packing *p)
{
    (void)REFUSE(p, "the pack cannot be written: %s", oct_file_strerror(errno));
    return OCT_EIO;
}

// Hashes a file, and writes it to writer unless that is NULL.
static oct_err
file_read(packing *p, const cli_pack_file *file, cli_pack_writer *writer,
          uint8_t hash[WIRE_HASH_BYTES])
{
    int fd = -1;
    OCT_TRY(file_open(p, file, &fd));
    wire_hash *sum = wire_hash_begin();
    uint64_t left = file->size;
    oct_err err = OCT_OK;
    while (err == OCT_OK && left > 0) {
        ssize_t count = read(fd, p->piece, OCT_MIN(left, (uint64_t)PIECE_BYTES));
        if (count <= 0) {
            err = REFUSE(p, "%s cannot be read: %s", file->name,
                         count < 0 ? oct_file_strerror(errno) : "it has become shorter");
            break;
        }
        wire_hash_add(sum, p->piece, (size_t)count);
        left -= (uint64_t)count;
        if (writer != NULL && cli_pack_write(writer, p->piece, (size_t)count) != OCT_OK) {
            err = write_failed(p);
        }
    }
    wire_hash_end(sum, hash);
    (void)close(fd);
    return err;
}

static oct_err
zeros_write(packing *p, cli_pack_writer *writer, size_t length)
{
    static const uint8_t zeros[2 * CLI_PACK_BLOCK];
    return cli_pack_write(writer, zeros, length) == OCT_OK ? OCT_OK : write_failed(p);
}

// Writes a file as a member of the tar: a header, the content, and zeros to the end of the block.
static oct_err
member_write(packing *p, cli_pack_writer *writer, const cli_pack_file *file)
{
    uint8_t header[CLI_PACK_BLOCK], hash[WIRE_HASH_BYTES];
    cli_pack_header(file, header);
    if (cli_pack_write(writer, header, sizeof(header)) != OCT_OK) {
        return write_failed(p);
    }
    OCT_TRY(file_read(p, file, writer, hash));
    if (memcmp(hash, file->hash, sizeof(hash)) != 0) {
        return REFUSE(p, "%s changed while it was packed", file->name);
    }
    return zeros_write(p, writer, cli_pack_padding(file->size));
}

static oct_err
manifest_write(packing *p, cli_pack_writer *writer)
{
    uint8_t header[CLI_PACK_BLOCK];
    char *text = cli_pack_manifest_print(&p->manifest);
    size_t length = strlen(text);
    OCT_ASSERT(length <= CLI_PACK_MANIFEST_MAX); // CLI_PACK_FILES_MAX lines fit
    cli_pack_header_of_manifest(length, header);
    bool is_written = cli_pack_write(writer, header, sizeof(header)) == OCT_OK &&
                      cli_pack_write(writer, text, length) == OCT_OK;
    oct_err err = is_written ? OCT_OK : write_failed(p);
    free(text);
    return err == OCT_OK ? zeros_write(p, writer, cli_pack_padding(length)) : err;
}

// Writes the whole tar to fd, and waits until it is on the disk.
static oct_err
all_write(packing *p, int fd)
{
    cli_pack_writer *writer = cli_pack_writer_create(fd);
    oct_err err = manifest_write(p, writer);
    for (uint32_t i = 0; err == OCT_OK && i < p->manifest.count; i++) {
        err = member_write(p, writer, &p->manifest.file[i]);
    }
    if (err == OCT_OK) {
        err = zeros_write(p, writer, 2 * CLI_PACK_BLOCK); // two empty blocks end a tar
    }
    if (err == OCT_OK && (cli_pack_writer_finish(writer) != OCT_OK || fsync(fd) != 0)) {
        err = write_failed(p);
    }
    cli_pack_writer_destroy(writer);
    return err;
}

// Writes the pack to a draft beside path. The pack contains a secret (token.key), so only the owner
// may read it.
static oct_err
pack_write(packing *p, const char *path, cli_pack_result *result)
{
    char draft[PATH_BYTES];
    struct stat status;
    int fd = oct_file_draft_open(path, 0600, draft);
    if (fd < 0) {
        return REFUSE(p, "'%s' cannot be written: %s", path, oct_file_strerror(errno));
    }
    oct_err err = all_write(p, fd);
    if (err == OCT_OK && fstat(fd, &status) == 0) {
        result->packed = (uint64_t)status.st_size;
    }
    (void)close(fd);
    if (err == OCT_OK && oct_file_adopt(draft, path) != OCT_OK) {
        err = write_failed(p);
    }
    if (err != OCT_OK) {
        (void)oct_file_remove(draft);
    }
    return err;
}

// ---- the copy of a live run's folder

// Returns true for a table that is in use. The copies of turns (lock-step) have another ending, and
// do not change.
static bool
is_table(const char *path)
{
    size_t length = strlen(path), ending = strlen(TABLE_ENDING);
    return length > ending && strcmp(path + length - ending, TABLE_ENDING) == 0 &&
           replay_file_is_one(path);
}

// Copies a file that is no table, with its time. A file that has disappeared is skipped.
static oct_err
plain_copy(packing *p, const char *from, const char *to)
{
    struct stat status;
    int in = oct_file_open(from, O_RDONLY, 0, &status);
    if (in < 0 && errno == ENOENT) { // it was replaced or removed after it was listed
        return OCT_OK;
    }
    int out =
        in >= 0 ? oct_file_open(to, O_WRONLY | O_CREAT | O_EXCL, status.st_mode & 0777, NULL) : -1;
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, status.st_mtim};
    bool is_copied =
        out >= 0 && oct_file_copy(in, out, UINT64_MAX) == OCT_OK && futimens(out, times) == 0;
    int code = errno;
    if (in >= 0) {
        (void)close(in);
    }
    is_copied = (out < 0 || close(out) == 0) && is_copied;
    return is_copied ? OCT_OK : REFUSE(p, "%s cannot be copied: %s", from, oct_file_strerror(code));
}

// Finds how long the table may take to sync what it has. A table that is never synced cannot be
// packed.
static oct_err
sync_limit(packing *p, const char *folder)
{
    static config_experiment config;
    char path[PATH_BYTES + 16];
    (void)snprintf(path, sizeof(path), "%s/config.yaml", folder);
    config_default(&config);
    OCT_TRY(config_load(&config, path, p->why->text, sizeof(p->why->text)));
    if (config.replay.sync == CONFIG_SYNC_NONE) {
        return REFUSE(
            p,
            "the run in '%s' is live, and replay.sync is none: only a table that is synced "
            "can be packed meanwhile; 'octet stop %s' ends the run",
            folder, cli_text_word(folder).text);
    }
    p->sync_s = SYNC_WAIT_S + 2 * config.replay.sync_interval_s;
    return OCT_OK;
}

// Copies the tables, or all other files.
static oct_err
files_copy(packing *p, const char *folder, bool of_tables)
{
    char from[2 * PATH_BYTES], to[2 * PATH_BYTES];
    for (uint32_t i = 0; i < p->manifest.count; i++) {
        const char *name = p->manifest.file[i].name;
        (void)snprintf(from, sizeof(from), "%s/%s", folder, name);
        (void)snprintf(to, sizeof(to), "%s/%s", p->draft, name);
        if (is_table(from) != of_tables) {
            continue;
        }
        char *slash = strrchr(to, '/');
        *slash = '\0';
        oct_err err = oct_file_make_folder(to) == OCT_OK
                          ? OCT_OK
                          : REFUSE(p, "cannot make folder '%s': %s", to, oct_file_strerror(errno));
        *slash = '/';
        OCT_TRY(err);
        OCT_TRY(of_tables ? replay_backup(from, to, p->sync_s, p->why) : plain_copy(p, from, to));
    }
    return OCT_OK;
}

// Copies the folder of a live run beside the pack, and makes the copy the folder that is packed.
static oct_err
live_copy(packing *p, const char *folder, const char *path)
{
    (void)snprintf(p->draft, sizeof(p->draft), "%s.live.%ld", path, (long)getpid());
    if (oct_file_make_one_folder(p->draft) != 0) {
        int code = errno;
        p->draft[0] = '\0';
        return REFUSE(p, "cannot make a folder beside '%s': %s", path, oct_file_strerror(code));
    }
    OCT_TRY(sync_limit(p, folder));
    OCT_TRY(folder_list(p, ""));
    // The checkpoint comes before the copies of turns, because its own turn's copy is kept, and the
    // tables come last, because they then hold the rows that the checkpoint counts.
    qsort(p->manifest.file, p->manifest.count, sizeof(p->manifest.file[0]), files_compare);
    OCT_TRY(files_copy(p, folder, false));
    if (!learner_checkpoints_any(p->draft)) {
        return REFUSE(p,
                      "the run in '%s' is live and has no checkpoint yet; 'octet checkpoint %s' "
                      "writes one",
                      folder, cli_text_word(folder).text);
    }
    OCT_TRY(files_copy(p, folder, true));
    (void)close(p->folder);
    p->folder = oct_file_open_folder(p->draft, false);
    p->manifest.count = 0;
    p->left_out = 0;
    return p->folder >= 0 ? OCT_OK
                          : REFUSE(p, "cannot enter '%s': %s", p->draft, oct_file_strerror(errno));
}

// ---- the whole pack

// Names the run by the last part of the folder's real path, with '-' for each character that a
// pack's names cannot have. The pack, and the folder that it is unpacked to, get this name by
// default.
static void
run_name(packing *p, const char *folder)
{
    char *real = realpath(folder, NULL);
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    char *out = p->manifest.run;
    size_t length = 0;
    for (const char *at = slash; at != NULL && *++at != '\0' && length < CLI_PACK_NAME_MAX;) {
        unsigned char byte = (unsigned char)*at;
        if ((byte & 0xc0) != 0x80) { // not a later byte of a character in UTF-8
            out[length++] = byte > ' ' && byte < 0x7f ? (char)byte : '-';
        }
    }
    out[length] = '\0';
    free(real);
    if (length == 0) {
        (void)snprintf(out, sizeof(p->manifest.run), "run");
    }
    OCT_ASSERT(cli_pack_name_is_good(out));
}

// Does the whole work; cli_pack releases what it took.
static oct_err
pack_folder(packing *p, const char *folder, const char *out, cli_pack_result *result)
{
    char *path = result->path;
    const size_t path_size = sizeof(result->path);
    struct stat status;
    p->folder = oct_file_open_folder(folder, false);
    if (p->folder < 0) {
        return REFUSE(p, "cannot enter '%s': %s", folder, oct_file_strerror(errno));
    }
    if (faccessat(p->folder, "config.yaml", R_OK, 0) != 0) {
        return REFUSE(p, "'%s' is not a run folder: it has no config.yaml", folder);
    }
    run_name(p, folder);
    int length = out != NULL ? snprintf(path, path_size, "%s", out)
                             : snprintf(path, path_size, "%s.tar.zst", p->manifest.run);
    if (length < 0 || (size_t)length >= path_size) {
        return REFUSE(p, "the path of the pack is too long");
    }
    if (lstat(path, &status) == 0) {
        return REFUSE(p, "'%s' already exists; name another file with --out", path);
    }
    OCT_TRY(lock(p, &result->was_live));
    if (result->was_live) {
        OCT_TRY(live_copy(p, folder, path));
    }
    OCT_TRY(folder_list(p, ""));
    qsort(p->manifest.file, p->manifest.count, sizeof(p->manifest.file[0]), files_compare);
    for (uint32_t i = 0; i < p->manifest.count; i++) {
        cli_pack_file *file = &p->manifest.file[i];
        OCT_TRY(file_read(p, file, NULL, file->hash));
        result->bytes += file->size;
    }
    OCT_TRY(pack_write(p, path, result));
    (void)snprintf(result->run, sizeof(result->run), "%s", p->manifest.run);
    result->files = p->manifest.count;
    result->left_out = p->left_out;
    return OCT_OK;
}

oct_err
cli_pack(const char *folder, const char *out, cli_pack_result *result, oct_reason *why)
{
    packing *p = oct_alloc(sizeof(*p));
    *result = (cli_pack_result){0};
    p->folder = -1;
    p->why = why;
    for (int i = 0; i < LOCKS_MAX; i++) {
        p->lock[i] = -1;
    }
    oct_err err = pack_folder(p, folder, out, result);
    for (int i = 0; i < LOCKS_MAX; i++) {
        if (p->lock[i] >= 0) {
            (void)close(p->lock[i]);
        }
    }
    if (p->folder >= 0) {
        (void)close(p->folder);
    }
    if (p->draft[0] != '\0') {
        oct_file_remove_tree(p->draft, false);
    }
    free(p);
    return err;
}
