// Removes the rows of a session from a table's file.
#include "replay/replay_drop.h"

#include <errno.h>
#include <string.h>

#include "common/oct_reason.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"
#include "replay/replay_table.h"

// Writes one generation of the whole table.
static oct_err
sync_all(replay_file *file, oct_reason *why)
{
    oct_err err = OCT_OK;
    replay_sync *sync = replay_sync_create(file);
    if (replay_sync_begin(sync)) {
        while (!replay_sync_mark(sync, UINT64_MAX)) {
        }
        err = replay_sync_write(sync, true);
        if (err != OCT_OK) {
            (void)oct_refuse(why, "%s cannot be written: %s", file->path, strerror(errno));
        }
        replay_sync_end(sync, err);
    }
    replay_sync_destroy(sync);
    return err;
}

// Restores the recovered table and writes it to the disk.
static oct_err
table_sync(replay_file *file, bool is_exact, oct_reason *why)
{
    replay_table *table;
    if (replay_table_restore(&table, file, is_exact) != OCT_OK) {
        return oct_refuse(why, "%s: its sessions are damaged", file->path);
    }
    oct_err err = sync_all(file, why);
    replay_table_destroy(table);
    return err;
}

static oct_err
file_drop(replay_file *file, uint64_t session, uint64_t *rows, oct_reason *why)
{
    replay_recovered recovered;
    OCT_TRY(replay_recover(&recovered, file, why));
    if (replay_journal_held(file)->configure.turn_actors > 0) {
        return oct_refuse(why,
                          "%s is of a run in lock-step (run.deterministic: true), which repeats "
                          "its rows to the bit: begin another run",
                          file->path);
    }
    // The table is on the disk before the change begins, because the change may be interrupted.
    OCT_TRY(table_sync(file, recovered.is_exact, why));
    replay_file_set_synced(file);
    replay_recover_drop(&recovered, file, session);
    *rows = recovered.rows_dropped;
    return table_sync(file, recovered.is_exact, why);
}

oct_err
replay_drop(const char *path, uint64_t session, uint64_t *rows, oct_reason *why)
{
    replay_file *file;
    *rows = 0;
    OCT_TRY(replay_file_open(&file, path, why));
    oct_err err = file_drop(file, session, rows, why);
    replay_file_close(file);
    return err;
}
