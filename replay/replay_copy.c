// Writes copies of a table's file for checkpoints in lock-step, and restores the file from one of
// them.
#include "replay/replay_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "replay/replay_recover.h"

#define PIECE_BYTES (1u << 20) // of one read or write
#define COPIES_MAX  4096       // copies of one file that are listed

// Returns false if the path would be too long.
static bool
copy_path(const char *path, uint64_t turn, char out[OCT_FILE_PATH_MAX])
{
    int length = snprintf(out, OCT_FILE_PATH_MAX, "%s.%" PRIu64, path, turn);
    return length > 0 && length < OCT_FILE_PATH_MAX;
}

// The error of a failed write, from errno.
static oct_err
failed(const char *path, oct_reason *why)
{
    int code = errno;
    (void)oct_refuse(why, "%s cannot be written: %s", path, oct_file_strerror(code));
    return code == ENOSPC || code == EDQUOT ? OCT_EAGAIN : OCT_EIO;
}

// ---- copies that there are

// Returns the turn that a file name is a copy of; 0: it is not a copy.
static uint64_t
turn_of(const char *base, const char *name)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 || name[length] != '.') {
        return 0;
    }
    const char *digits = name + length + 1;
    bool is_number = *digits >= '1' && *digits <= '9' && strlen(digits) <= 10 &&
                     digits[strspn(digits, "0123456789")] == '\0';
    return is_number ? strtoull(digits, NULL, 10) : 0;
}

static int
turn_order(const void *a, const void *b) // the latest first
{
    const uint64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

// Lists the copies of path. *out receives their turns, the latest first, allocated with malloc.
// Returns their number.
static uint32_t
copies_list(const char *path, uint64_t **out)
{
    char folder[OCT_FILE_PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    (void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
                   slash ? path : ".");
    uint64_t *turns = oct_alloc(COPIES_MAX * sizeof(*turns));
    uint32_t count = 0;
    DIR *all = oct_file_open_entries(folder);
    for (struct dirent *entry; all && count < COPIES_MAX && (entry = readdir(all));) {
        uint64_t turn = turn_of(base, entry->d_name);
        turns[count] = turn;
        count += turn > 0;
    }
    if (all) {
        (void)closedir(all);
    }
    qsort(turns, count, sizeof(*turns), turn_order);
    *out = turns;
    return count;
}

// Returns true if the file at name belongs to the same run as file. Copies of other runs are never
// removed.
static bool
is_of_run(const replay_file *file, const char *name)
{
    replay_file_header header = {.run_id = 0};
    int descriptor = oct_file_open(name, O_RDONLY | O_NOFOLLOW, 0, NULL);
    bool is_of = descriptor >= 0 &&
                 read(descriptor, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
                 memcmp(header.magic, file->header->magic, sizeof(header.magic)) == 0 &&
                 header.run_id == file->header->run_id;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return is_of;
}

// Removes the copies of turns after turn, and of the others all but the last `kept`.
static void
copies_prune(const replay_file *file, uint64_t turn, uint32_t kept)
{
    char name[OCT_FILE_PATH_MAX];
    uint64_t *turns;
    uint32_t count = copies_list(file->path, &turns), good = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (copy_path(file->path, turns[i], name) && is_of_run(file, name) &&
            (turns[i] > turn || ++good > kept)) {
            (void)oct_file_remove(name);
        }
    }
    free(turns);
}

void
replay_copy_forget(const replay_file *file, uint64_t turn)
{
    copies_prune(file, turn, UINT32_MAX);
}

// ---- writing

// Writes all bytes in pieces, and beats the pulse for each, because a long write blocks the loop.
static bool
bytes_write(int descriptor, const uint8_t *bytes, uint64_t at, uint64_t length)
{
    while (length > 0) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        ssize_t done = pwrite(descriptor, bytes, OCT_MIN(length, PIECE_BYTES), (off_t)at);
        if (done <= 0 && (done == 0 || errno != EINTR)) {
            return false;
        }
        uint64_t written = done > 0 ? (uint64_t)done : 0;
        oct_pulse_moved(written);
        bytes += written;
        at += written;
        length -= written;
    }
    return true;
}

// Writes everything before the blocks, and the blocks that are held; the rest stays a hole.
static bool
file_write(int descriptor, const replay_file *file, uint64_t oldest, uint64_t next)
{
    bool is_good = ftruncate(descriptor, (off_t)file->bytes) == 0 &&
                   bytes_write(descriptor, file->base, 0, file->header->blocks_at);
    for (uint64_t serial = oldest; is_good && serial < next; serial++) {
        const uint8_t *block = (const uint8_t *)replay_file_block(file, serial);
        is_good =
            bytes_write(descriptor, block, (uint64_t)(block - file->base), file->layout.bytes);
    }
    return is_good && fsync(descriptor) == 0;
}

// Renames the draft to path, or removes it.
static oct_err
draft_end(int descriptor, bool is_good, const char *draft, const char *path, oct_reason *why)
{
    int code = errno;
    is_good = close(descriptor) == 0 && is_good;
    if (is_good && oct_file_adopt(draft, path) == OCT_OK) {
        return OCT_OK;
    }
    errno = is_good ? errno : code;
    oct_err err = failed(path, why);
    (void)oct_file_remove(draft);
    return err;
}

// Opens a new, empty file beside path. Returns -1 with errno set on an error.
static int
draft_open(const char *path, char draft[OCT_FILE_PATH_MAX])
{
    oct_file_clear(path); // files that killed processes left
    return oct_file_draft_open(path, 0600, draft);
}

oct_err
replay_copy_keep(const replay_file *file, const replay_head *head, uint64_t turn, uint32_t kept,
                 oct_reason *why)
{
    char path[OCT_FILE_PATH_MAX], draft[OCT_FILE_PATH_MAX];
    int descriptor = -1;
    errno = ENAMETOOLONG;
    if (copy_path(file->path, turn, path)) {
        descriptor = draft_open(path, draft);
    }
    if (descriptor < 0) {
        return failed(file->path, why);
    }
    oct_pulse_write_begin();
    bool is_good = file_write(descriptor, file, head->oldest, head->next);
    oct_pulse_write_end();
    OCT_TRY(draft_end(descriptor, is_good, draft, path, why));
    copies_prune(file, turn, kept);
    return OCT_OK;
}

// ---- taking one back

bool
replay_copy_data(int from, int to, uint64_t begin, uint64_t end)
{
    uint8_t *piece = oct_alloc(PIECE_BYTES);
    bool is_good = true;
    for (uint64_t at = begin; is_good && at < end;) {
        off_t data = lseek(from, (off_t)at, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end) {
            is_good = data >= 0 || errno == ENXIO; // only a hole follows
            break;
        }
        at = (uint64_t)data;
        ssize_t got = pread(from, piece, OCT_MIN(PIECE_BYTES, end - at), (off_t)at);
        is_good = got > 0 && bytes_write(to, piece, at, (uint64_t)got);
        at += got > 0 ? (uint64_t)got : 0;
    }
    free(piece);
    return is_good;
}

static oct_err
copy_open(replay_file **out, const char *path, uint64_t turn, oct_reason *why)
{
    char name[OCT_FILE_PATH_MAX];
    oct_err err =
        copy_path(path, turn, name) ? replay_file_open_copy(out, name, why) : OCT_ENOTFOUND;
    if (err == OCT_ENOTFOUND) {
        (void)oct_refuse(why,
                         "the run continues from turn %" PRIu64 ", but %s has no copy of that turn",
                         turn, path);
    }
    return err == OCT_EIO ? OCT_EAGAIN : err; // opening it may succeed later
}

// Checks that a draft of the copy `name` is the table after this turn, with this hash. The draft is
// checked instead of the copy: copying has already shown that all of the copy can be read.
static oct_err
draft_check(const char *draft, const char *name, uint64_t turn, const uint8_t hash[WIRE_HASH_BYTES],
            oct_reason *why)
{
    replay_file *file;
    replay_recovered recovered;
    replay_table *table;
    uint8_t now[WIRE_HASH_BYTES];
    OCT_TRY(replay_file_open_copy(&file, draft, why));
    free(file->path); // error messages name the copy
    file->path = strdup(name);
    OCT_ASSERT(file->path);
    replay_file_set_live(file); // a copy was synced before it got its name
    oct_err err = replay_recover(&recovered, file, why);
    if (err == OCT_OK && replay_table_restore(&table, file, recovered.is_exact) != OCT_OK) {
        err = oct_refuse(why, "%s: its sessions are damaged", name);
    } else if (err == OCT_OK) {
        replay_table_digest(table, now);
        bool is_same = replay_table_turn(table) == turn && memcmp(now, hash, sizeof(now)) == 0;
        replay_table_destroy(table);
        err = is_same ? OCT_OK
                      : oct_refuse(why, "%s is not the table that the checkpoint names", name);
    }
    replay_file_close(file);
    return err;
}

oct_err
replay_copy_take(const char *path, uint64_t turn, const uint8_t hash[WIRE_HASH_BYTES],
                 oct_reason *why)
{
    char draft[OCT_FILE_PATH_MAX], name[OCT_FILE_PATH_MAX];
    replay_file *copy;
    OCT_TRY(copy_open(&copy, path, turn, why));
    (void)snprintf(name, sizeof(name), "%s", copy->path);
    int to = draft_open(path, draft);
    if (to < 0) {
        oct_err err = failed(path, why);
        replay_file_close(copy);
        return err;
    }
    oct_pulse_write_begin();
    oct_err err = replay_file_reserve(to, path, copy->bytes, why);
    bool is_good =
        err == OCT_OK && replay_copy_data(copy->descriptor, to, 0, copy->bytes) && fsync(to) == 0;
    int code = errno;
    oct_pulse_write_end();
    replay_file_close(copy);
    if (is_good) {
        err = draft_check(draft, name, turn, hash, why);
    }
    if (err != OCT_OK) { // reason is set
        (void)close(to);
        (void)oct_file_remove(draft);
        return err;
    }
    errno = code;
    return draft_end(to, is_good, draft, path, why);
}
