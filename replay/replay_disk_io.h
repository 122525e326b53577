#ifndef REPLAY_REPLAY_DISK_IO_H
#define REPLAY_REPLAY_DISK_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_reason.h"
#include "config/config.h"
#include "net/net_loop.h"
#include "replay/replay_recover.h"
#include "replay/replay_table.h"

// The file of the daemon's table: opens it, creates it, and writes it to the disk (replay_disk_io.c
// says how).
//
// Threads: the loop thread; a thread of its own writes to the disk. Owns: the file, the table that
// was found in it until the caller takes it, the thread. Full: where the disk has no room for a new
// file, or for the holes of an existing one, make answers OCT_EAGAIN, and the caller asks again.
typedef struct replay_disk replay_disk;

// mode: when the table is written to the disk.
//   CONFIG_SYNC_NONE      the kernel decides
//   CONFIG_SYNC_INTERVAL  a generation begins every interval_s
//   CONFIG_SYNC_ALWAYS    a generation begins when the last one has ended, and a batch is
//   acknowledged
//                      only once it is on the disk
typedef struct replay_disk_options {
    const char *path; // NULL: the table is in memory only, and there is no replay_disk
    config_sync_name mode;
    double interval_s; // seconds; also the pause after a failed write in every mode
} replay_disk_options;

typedef enum replay_disk_state {
    REPLAY_DISK_IDLE,    // there is no table yet
    REPLAY_DISK_WELL,    // the last write succeeded, or none was made yet
    REPLAY_DISK_FULL,    // the disk has no room for a new file, or for the holes of an existing one
    REPLAY_DISK_FAILING, // the file cannot be written; the table in memory stays in use
} replay_disk_state;

typedef struct replay_disk_status {
    replay_disk_state state;
    uint64_t bytes;       // size of the file
    uint64_t generation;  // last generation that is on the disk; 0: none
    double synced_age_s;  // age of that generation; NaN: this process has finished none
    uint64_t blocks_torn; // blocks with a wrong checksum, dropped when the file was opened
    uint64_t rows_cut;    // rows dropped when the file was opened: not synced, or not committed
    uint64_t failures;    // writes that failed
} replay_disk_status;

// Opens the file and recovers the table in it, if the file exists. on_synced: called on the loop
// thread after each generation, also a failed one. Errors as of replay_file_open; reason says why
// the file cannot be used. A lack of room is not an error: the file is opened later
// (replay_disk_look).
OCT_CHECKED oct_err replay_disk_open(replay_disk **out, net_loop *loop,
                                     const replay_disk_options *options, net_fn on_synced,
                                     void *arg, oct_reason *why);
// Writes a last generation (to the disk unless the mode is CONFIG_SYNC_NONE) and closes the file.
// The table in it can no longer be used. NULL is a no-op.
void replay_disk_close(replay_disk *disk);
const char *replay_disk_path(const replay_disk *disk);

// The table that was found in the file, still owned by the disk. NULL: none was found, or the
// caller has taken it.
replay_table *replay_disk_found(const replay_disk *disk);
// Tries again, at most once a second, to open a file that lacked room. Returns true if a table was
// found now. Call it every 20 ms or so.
bool replay_disk_look(replay_disk *disk, uint64_t now_ns);
// Gives the caller the table that was found; from now on the disk writes its generations.
replay_table *replay_disk_take(replay_disk *disk);
// Creates the file and a table in it. Errors as of replay_file_create; OCT_EAGAIN or OCT_EINVAL
// also while an existing file could not be opened.
OCT_CHECKED oct_err replay_disk_make(replay_table **out, replay_disk *disk,
                                     const wire_configure *configure, oct_reason *why);
// Lock-step: keeps a copy of the file as it is now, after the given turn, and of the last `kept`
// such copies. Errors as of replay_copy_keep.
OCT_CHECKED oct_err replay_disk_keep(const replay_disk *disk, uint64_t turn, uint32_t kept,
                                     oct_reason *why);
// Lock-step: goes back to the table after a turn, which must have this hash (replay_digest.h). It
// becomes the found table; for turn 0 there is none. *table is the table in use, or NULL; it is
// destroyed and set to NULL. Errors, in this order; while *table is set, nothing has changed:
//   OCT_EAGAIN  the thread is writing, or a file could not be opened yet; ask again
//   others      as of replay_copy_take, OCT_EIO where the file cannot be removed, and as of
//               replay_disk_open
OCT_CHECKED oct_err replay_disk_go_back(replay_disk *disk, replay_table **table, uint64_t turn,
                                        const uint8_t hash[WIRE_HASH_BYTES], oct_reason *why);
// Marks more blocks of the generation that has begun; call it after each batch.
void replay_disk_inserted(replay_disk *disk);
// Begins a generation of the table in use when one is due, and marks blocks of it. Call it every 20
// ms or so.
void replay_disk_tick(replay_disk *disk, uint64_t now_ns);

// Returns the sequence up to which batches of a session may be acknowledged.
uint64_t replay_disk_sequence(const replay_disk *disk, uint32_t index,
                              const replay_session *session);
replay_disk_status replay_disk_status_get(const replay_disk *disk, uint64_t now_ns);
// Returns one line that says what is wrong with the file, or NULL.
const char *replay_disk_trouble(const replay_disk *disk);

#endif // REPLAY_REPLAY_DISK_IO_H
