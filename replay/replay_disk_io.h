#ifndef REPLAY_REPLAY_DISK_IO_H
#define REPLAY_REPLAY_DISK_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_config.h"
#include "net/net_loop.h"
#include "replay/replay_recover.h"
#include "replay/replay_table.h"

// The file of the daemon's table: what was in it, a new one, and when it is synced.
//
// Threads: loop thread; a thread of its own waits for the disk. Owns: the file, what is found in it
// until it is taken, the thread. Full: where the disk has no room for a new file, or for the holes
// of the one that is there, make answers OCT_EAGAIN, and the caller asks again.
typedef struct replay_disk replay_disk;

// OCT_SYNC_NONE: the kernel writes some time. INTERVAL: a generation every interval. ALWAYS: one
// after the other, and batches are acknowledged when they are on the disk.
typedef struct replay_disk_options {
    const char *path; // NULL: the table is in memory only, there is no replay_disk
    oct_sync_name mode;
    double interval_s;
} replay_disk_options;

typedef enum replay_disk_state {
    REPLAY_DISK_IDLE,    // no table yet
    REPLAY_DISK_WELL,    //
    REPLAY_DISK_FULL,    // no room for a new file, or for the holes of the one that is there
    REPLAY_DISK_FAILING, // it cannot be written; what is in memory goes on
} replay_disk_state;

typedef struct replay_disk_status {
    replay_disk_state state;
    uint64_t bytes;      // of the file
    uint64_t generation; // the last that was synced
    double synced_age_s; // since it was; NaN: nothing was
    uint64_t blocks_torn;
    uint64_t rows_cut; // of what was found
    uint64_t failures; // of writes
} replay_disk_status;

// Takes what is in the file, if it is there. on_synced: after each generation. Errors as of
// replay_file_open: reason says why the file cannot be used. One that lacks room is no error: it is
// opened later (replay_disk_look).
OCT_CHECKED oct_err replay_disk_open(replay_disk **out, net_loop *loop,
                                     const replay_disk_options *options, net_fn on_synced,
                                     void *arg, char *reason, size_t reason_size);
// A last generation, as the mode says; the table is gone after that. NULL is a no-op.
void replay_disk_close(replay_disk *disk);
const char *replay_disk_path(const replay_disk *disk);

// The table that was in the file, NULL: none, or it was taken. It is the caller's once it was
// taken.
replay_table *replay_disk_found(const replay_disk *disk);
// Tries again, every second, to open a file that lacked room. True: now there is such a table.
// Every 20 ms or so.
bool replay_disk_look(replay_disk *disk, uint64_t now_ns);
replay_table *replay_disk_take(replay_disk *disk);
// A table in a new file. Errors as of replay_file_create.
OCT_CHECKED oct_err replay_disk_make(replay_table **out, replay_disk *disk,
                                     const wire_configure *configure, char *reason,
                                     size_t reason_size);
// Lock-step: keeps a copy of the table as it is now after a turn, of the last kept such
// (replay_copy.h, whose errors these are).
OCT_CHECKED oct_err replay_disk_keep(const replay_disk *disk, uint64_t turn, uint32_t kept,
                                     char *reason, size_t reason_size);
// Lock-step: the table as it was after a turn, with the hash that it had then (replay_digest.h),
// which is what was found from then on, or none for turn 0. *table: the one that is in use, or
// NULL; it is destroyed, and NULL then. OCT_EAGAIN: the thread is at work, or there is no room:
// nothing has changed, ask again. Else as of replay_copy_take and replay_disk_open; nothing has
// changed while *table is there.
OCT_CHECKED oct_err replay_disk_go_back(replay_disk *disk, replay_table **table, uint64_t turn,
                                        const uint8_t hash[WIRE_HASH_BYTES], char *reason,
                                        size_t reason_size);
// A batch was inserted: goes on with the generation that was begun.
void replay_disk_inserted(replay_disk *disk);
// Begins generations as they are due, of the table that was taken or made. Every 20 ms or so.
void replay_disk_tick(replay_disk *disk, uint64_t now_ns);

// What may be acknowledged to a session.
uint64_t replay_disk_sequence(const replay_disk *disk, uint32_t index,
                              const replay_session *session);
replay_disk_status replay_disk_status_get(const replay_disk *disk, uint64_t now_ns);
// NULL: well. Else what is the matter, for a person.
const char *replay_disk_trouble(const replay_disk *disk);

#endif // REPLAY_REPLAY_DISK_IO_H
