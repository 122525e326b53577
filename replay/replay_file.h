#ifndef REPLAY_REPLAY_FILE_H
#define REPLAY_REPLAY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"
#include "replay/replay_head.h"
#include "replay/replay_regions.h"

// The file of a durable table (docs/internals/replay-file.md): everything that the table cannot
// compute again, as regions of one mapping. Numbers are in the byte order of the machine, and there
// are no pointers. All of the file is allocated on the disk when the table is made. Every region
// begins at a page.
//
//   page 0 · live · journal · sessions · snapshot A, B · marks · used · select · blocks
//
// Threads: those of the table; the thread that syncs reads all of the file and writes the
// snapshots.
// Owns: the mapping, the descriptor, and a lock on the file, if the file system has locks. The lock
// ends with the process.
#define REPLAY_FILE_VERSION 4
#define REPLAY_FILE_VERSION_OLD                                                                    \
    3 // 4096 sessions, else the same; such a file is read and keeps its 4096

// Page 0, from its first byte. Written once, after everything else.
typedef struct replay_file_header {
    char magic[8]; // "OCTETRPL"
    uint32_t version;
    uint32_t byte_order; // 0x01020304
    uint64_t run_id;
    uint64_t file_bytes;
    uint32_t block_layout; // REPLAY_BLOCK_LAYOUT
    uint32_t block_rows;
    uint32_t blocks;
    uint32_t obs_bytes;
    uint32_t action_bytes;
    uint32_t extra_dim;
    uint32_t sampler;      // wire_sampler
    uint32_t journal_runs; // runs of a batch, at most
    uint32_t sessions;     // sessions that are kept, 1 to REPLAY_SESSIONS_MAX
    uint32_t head_bytes;   // sizeof(replay_head)
    uint64_t live_at;      // from the file's first byte, as are the others
    uint64_t journal_at;
    uint64_t sessions_at;
    uint64_t snapshot_at[2];
    uint64_t marks_at;
    uint64_t used_at;
    uint64_t select_at;
    uint64_t blocks_at;
    uint32_t crc; // CRC-32 of all fields before
    uint32_t reserved;
} replay_file_header;

// Page 0, at REPLAY_FILE_LIFE_AT: names a kernel and a file. While both are the present ones, the
// file holds everything that was stored in the mapping. If one differs, the file was copied or the
// machine was restarted, and only the synced state counts.
#define REPLAY_FILE_LIFE_AT 1024
typedef struct replay_file_identity {
    char boot[40]; // /proc/sys/kernel/random/boot_id
    uint64_t device;
    uint64_t inode;
} replay_file_identity;

// What a killed process leaves (replay_journal.h).
typedef struct replay_live {
    uint64_t commits;  // head[commits % 2] is the valid one
    uint64_t table_id; // see replay_table_id; written once
    uint64_t reserved[6];
    replay_head head[2];
} replay_live;

// Blocks that the batch after commit - 1 extends, as they were before that batch.
typedef struct replay_journal_entry {
    uint64_t serial;
    uint32_t place; // slot of the block in the ring
    uint32_t count; // rows before the batch
} replay_journal_entry;

typedef struct replay_journal {
    uint64_t commit; // the commit that the batch leads to; 0: no batch is being inserted
    uint32_t count;
    uint32_t reserved;
    replay_journal_entry entry[]; // [journal_runs]
} replay_journal;

// Proof that a block held its first count rows in a generation (replay_sync.h).
typedef struct replay_mark {
    uint64_t generation; // 0: the slot is empty
    uint64_t serial;
    uint32_t count;
    uint32_t crc; // replay_mark_crc
    uint64_t reserved;
} replay_mark;

// A generation: the table's head and sessions, valid if the crc is right.
typedef struct replay_snapshot {
    uint64_t generation;
    uint32_t crc; // CRC-32 of generation, head and sessions
    uint32_t reserved;
    replay_head head;
    replay_kept_session sessions[]; // [sessions of the file]
} replay_snapshot;

typedef struct replay_file {
    char *path;
    int descriptor;
    bool is_copy;   // stores in the mapping do not reach the file
    bool is_shared; // another process uses it meanwhile
    bool is_locked; // false: the file system has no locks
    uint64_t bytes;
    uint8_t *base;
    const replay_file_header *header;
    replay_layout layout;
    replay_live *live;
    replay_journal *journal;
    replay_kept_session *sessions; // [header->sessions]
    replay_snapshot *snapshot[2];
    replay_mark (*marks)[2]; // [blocks] two slots for each block
    replay_regions regions;
} replay_file;

// Creates a file for the table of configure, which has passed the check. path must be absent, or an
// empty file, or one that was not finished. On an error path holds nothing new, and reason says
// why:
//   OCT_EAGAIN           the disk has no room
//   OCT_EINVAL, OCT_EIO  the file cannot be made
OCT_CHECKED oct_err replay_file_create(replay_file **out, const char *path,
                                       const wire_configure *configure, oct_reason *why);
// The same with slots for this number of sessions, 1 to REPLAY_SESSIONS_MAX; replay_file_create
// uses REPLAY_SESSIONS_MAX. In a file of few rows, the sessions are nearly all of its bytes.
OCT_CHECKED oct_err replay_file_create_for(replay_file **out, const char *path,
                                           const wire_configure *configure, uint32_t sessions,
                                           oct_reason *why);
// Allocates every page that a file lacks, so that no store in its mapping ever fails for lack of
// room. path: its present or later name, for messages. Errors, with a reason:
//   OCT_EAGAIN  the disk has no room
//   OCT_EIO     another error
OCT_CHECKED oct_err replay_file_reserve(int descriptor, const char *path, uint64_t bytes,
                                        oct_reason *why);
// Returns the length of the file of a table with these sizes.
uint64_t replay_file_bytes(const wire_configure *configure);
// Returns true if the file at path begins like a table's file. False also if it cannot be read.
bool replay_file_is_one(const char *path);
// Opens the file of a table and allocates its missing pages. Checks only the header. reason says
// which error it is:
//   OCT_ENOTFOUND  there is no file, or it never held rows
//   OCT_EINVAL     it is another kind of file, has another version or size, or is damaged (also if
//                  its first page is all zeros), or this user may not open it
//   OCT_EAGAIN     it has holes, and the disk has no room for them
//   OCT_EIO        it is in use, or cannot be read; it may be possible later
OCT_CHECKED oct_err replay_file_open(replay_file **out, const char *path, oct_reason *why);
// The same for reading: the file does not change, and stores in the mapping stay in this process. A
// lock keeps octet-replay from using it meanwhile; several readers are allowed.
OCT_CHECKED oct_err replay_file_open_copy(replay_file **out, const char *path, oct_reason *why);
// The same while octet-replay uses the file: its stores are seen, and nothing is locked.
OCT_CHECKED oct_err replay_file_open_shared(replay_file **out, const char *path, oct_reason *why);
// Returns true if the file holds all stores of its last process, not only what was synced.
bool replay_file_is_live(const replay_file *file);
// From now on it holds all stores.
void replay_file_set_live(replay_file *file);
// From now on only the synced state counts: an interrupted change is undone on recovery.
void replay_file_set_synced(replay_file *file);
// From now on blocks are read at random. If the file is larger than half of the memory, the kernel
// then reads single pages instead of the surroundings of each. Call it after recovery, which reads
// the blocks in order.
void replay_file_expect_samples(const replay_file *file);
// Length of a snapshot, and the sums of a snapshot and of a block's first count rows; serial: the
// block's serial in that generation.
uint64_t replay_snapshot_bytes(uint32_t sessions);
uint32_t replay_snapshot_crc(const replay_snapshot *snapshot, uint32_t sessions);
uint32_t replay_mark_crc(const replay_layout *layout, const replay_block *block, uint64_t serial,
                         uint32_t count);
void replay_file_close(replay_file *file); // NULL is a no-op

// Returns true if a block had this serial; it may have been renewed since.
static inline bool
replay_file_was(const replay_file *file, const replay_block *block, uint64_t serial)
{
    uint64_t blocks = file->header->blocks;
    return block->serial == serial ||
           (block->serial != REPLAY_BLOCK_NONE && block->serial > serial &&
            (block->serial - serial) % blocks == 0 &&
            (block->serial - serial) / blocks <= block->renewed);
}

static inline replay_block *
replay_file_block(const replay_file *file, uint64_t serial)
{
    uint64_t place = serial % file->header->blocks;
    return (replay_block *)(void *)(file->regions.blocks + place * file->layout.bytes);
}

#endif // REPLAY_REPLAY_FILE_H
