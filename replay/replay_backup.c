// Copies the file of a table that is in use.
#include "replay/replay_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "replay/replay_copy.h"
#include "replay/replay_recover.h"

#define LOOK_NS 50000000L
#define TRIES   100 // to copy marks and snapshots of one generation

// Rows that the table has taken by its last commit.
static uint64_t
rows_taken(const replay_file *file)
{
    return file->live->head[file->live->commits % 2].stats.rows_taken;
}

static oct_err
sync_await(const replay_file *file, double wait_s, oct_reason *why)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    uint64_t rows = rows_taken(file), begun_ns = oct_clock_ns();
    const replay_snapshot *synced;
    while ((synced = replay_recover_snapshot(file)) == NULL ||
           synced->head.stats.rows_taken < rows) {
        if (1e-9 * (double)(oct_clock_ns() - begun_ns) > wait_s) {
            return oct_fail(why, OCT_EAGAIN, "%s: replay has not synced its rows for %.0f s",
                            file->path, wait_s);
        }
        (void)nanosleep(&pause, NULL);
    }
    return OCT_OK;
}

static uint64_t
generation(const replay_file *file)
{
    const replay_snapshot *synced = replay_recover_snapshot(file);
    return synced != NULL ? synced->generation : 0;
}

// What tells which rows there are, of one generation: its marks are written over only when a later
// one is whole. Then the blocks, to which rows are only added.
static bool
content_copy(int to, const replay_file *file)
{
    uint64_t blocks_at = file->header->blocks_at, before;
    int tries = 0;
    do {
        before = generation(file);
        if (!replay_copy_data(file->descriptor, to, 0, blocks_at)) {
            return false;
        }
    } while (generation(file) != before && ++tries < TRIES);
    return replay_copy_data(file->descriptor, to, blocks_at, file->bytes);
}

static oct_err
file_copy(const replay_file *file, const char *path, oct_reason *why)
{
    int to = oct_file_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
    bool is_copied = to >= 0 && ftruncate(to, (off_t)file->bytes) == 0 && content_copy(to, file);
    int code = errno;
    is_copied = (to < 0 || close(to) == 0) && is_copied;
    if (!is_copied) {
        (void)oct_refuse(why, "%s cannot be copied to %s: %s", file->path, path,
                         oct_file_strerror(code));
    }
    return is_copied ? OCT_OK : OCT_EIO;
}

oct_err
replay_backup(const char *from, const char *to, double wait_s, oct_reason *why)
{
    replay_recovered recovered = {.rows = 0};
    replay_file *file, *copy;
    OCT_TRY(replay_file_open_shared(&file, from, why));
    oct_err err = sync_await(file, wait_s, why);
    if (err == OCT_OK) {
        err = file_copy(file, to, why);
    }
    replay_file_close(file);
    if (err == OCT_OK) {
        err = replay_file_open(&copy, to, why);
    }
    if (err == OCT_OK) { // what is in it beyond that is cut here, and not found again
        err = replay_recover(&recovered, copy, why);
        replay_file_close(copy);
    }
    return err;
}
