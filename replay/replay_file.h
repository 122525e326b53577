#ifndef REPLAY_REPLAY_FILE_H
#define REPLAY_REPLAY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/oct_err.h"
#include "replay/replay_head.h"
#include "replay/replay_regions.h"

// The file of a durable table (docs/internals/replay-file.md): all that the table cannot find out
// anew, as regions of one mapping. Numbers are in the byte order of the machine, there are no
// pointers, all of it has been allocated on the disk when the table is made. Every region begins at
// a page.
//
//   page 0 · live · journal · sessions · snapshot A, B · marks · used · select · blocks
//
// Threads: those of the table; the thread that syncs reads all of it and writes the snapshots.
// Owns: the mapping, the descriptor, a lock on the file that ends with the process, where the file
// system has locks.
#define REPLAY_FILE_VERSION 4
#define REPLAY_FILE_VERSION_OLD                                                                    \
    3 // the same, with 4096 sessions: it is read, and goes on with these

// Page 0, from its first byte. Written once, when all else is there.
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
    uint32_t journal_runs; // a batch has at most
    uint32_t sessions;     // that are kept: 1 to REPLAY_SESSIONS_MAX
    uint32_t head_bytes;   // sizeof(replay_head)
    uint64_t live_at;      // from the file's first byte
    uint64_t journal_at;
    uint64_t sessions_at;
    uint64_t snapshot_at[2];
    uint64_t marks_at;
    uint64_t used_at;
    uint64_t select_at;
    uint64_t blocks_at;
    uint32_t crc; // CRC-32 of all before
    uint32_t reserved;
} replay_file_header;

// Page 0, at REPLAY_FILE_LIFE_AT: under which kernel, and as which file, everything that was stored
// in the mapping is in it. Otherwise the file was copied, or the machine was started anew: then
// only what was synced counts.
#define REPLAY_FILE_LIFE_AT 1024
typedef struct replay_file_life {
    char boot[40]; // /proc/sys/kernel/random/boot_id
    uint64_t device;
    uint64_t inode;
} replay_file_life;

// What a process that is killed leaves (replay_journal.h).
typedef struct replay_live {
    uint64_t commits;  // head[commits % 2] holds
    uint64_t table_id; // replay_table_id; written once
    uint64_t reserved[6];
    replay_head head[2];
} replay_live;

// Blocks that the batch after commit - 1 extends, as they were before it.
typedef struct replay_journal_entry {
    uint64_t serial;
    uint32_t place;
    uint32_t count;
} replay_journal_entry;

typedef struct replay_journal {
    uint64_t commit; // 0: no batch is being inserted
    uint32_t count;
    uint32_t reserved;
    replay_journal_entry entry[]; // [journal_runs]
} replay_journal;

// That a block held its first count rows in a generation (replay_sync.h).
typedef struct replay_mark {
    uint64_t generation; // 0: none
    uint64_t serial;
    uint32_t count;
    uint32_t crc; // replay_mark_crc
    uint64_t reserved;
} replay_mark;

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
    bool is_copy;   // nothing that is stored in the mapping reaches the file
    bool is_locked; // false: the file system has no locks
    uint64_t bytes;
    uint8_t *base;
    const replay_file_header *header;
    replay_layout layout;
    replay_live *live;
    replay_journal *journal;
    replay_kept_session *sessions; // [header->sessions]
    replay_snapshot *snapshot[2];
    replay_mark (*marks)[2]; // [blocks]
    replay_regions regions;
} replay_file;

// A new file for the table of configure, which has passed the check; there is none at path, or an
// empty one, or one whose making was cut off. OCT_EAGAIN: the disk has no room for it; OCT_EINVAL,
// OCT_EIO: it cannot be made; reason says why, and path holds nothing then.
OCT_CHECKED oct_err replay_file_create(replay_file **out, const char *path,
                                       const wire_configure *configure, char *reason,
                                       size_t reason_size);
// The same with room for so many sessions, 1 to REPLAY_SESSIONS_MAX (which replay_file_create
// gives): of a file of few rows they are nearly all of its bytes.
OCT_CHECKED oct_err replay_file_create_for(replay_file **out, const char *path,
                                           const wire_configure *configure, uint32_t sessions,
                                           char *reason, size_t reason_size);
// Every page of a file that it does not have yet, so that no store in its mapping ever lacks room.
// path: what it is, or will be, called. OCT_EAGAIN: the disk has no room; OCT_EIO; reason says it.
OCT_CHECKED oct_err replay_file_reserve(int descriptor, const char *path, uint64_t bytes,
                                        char *reason, size_t reason_size);
// Of a table with these sizes.
uint64_t replay_file_bytes(const wire_configure *configure);
// Whether what is at path begins as such a file does. False: not, or it cannot be read.
bool replay_file_is_one(const char *path);
// The file that is there, with all its pages reserved; its header has been checked, nothing else.
// OCT_ENOTFOUND: nothing is there, or the file never held rows; OCT_EINVAL: it is another kind of
// file, of another version or size, damaged (also if its first page holds only zeros), or this user
// may not open it; OCT_EAGAIN: it has holes, and the disk has no room for them; OCT_EIO: in use,
// or it cannot be read; it may be possible later. reason says which.
OCT_CHECKED oct_err replay_file_open(replay_file **out, const char *path, char *reason,
                                     size_t reason_size);
// The same, to be looked at: the file is only read, and what is stored in the mapping stays in this
// process. It is locked, so that it is not in use meanwhile; several may look at it.
OCT_CHECKED oct_err replay_file_open_copy(replay_file **out, const char *path, char *reason,
                                          size_t reason_size);
// Whether what was stored in the mapping is there, and not only what was synced.
bool replay_file_is_live(const replay_file *file);
// From now on it is.
void replay_file_set_live(replay_file *file);
// From now on only what was synced counts: a change that is cut off is done again from there.
void replay_file_set_synced(replay_file *file);
// From now on blocks are read at random: of a file that memory cannot hold page by page, not with
// the stretch of the file around each. Not before recovery is over, which reads them in order.
void replay_file_expect_samples(const replay_file *file);
// What the sums of a snapshot and of a block's first count rows are; serial: the block's, then.
uint64_t replay_snapshot_bytes(uint32_t sessions);
uint32_t replay_snapshot_crc(const replay_snapshot *snapshot, uint32_t sessions);
uint32_t replay_mark_crc(const replay_layout *layout, const replay_block *block, uint64_t serial,
                         uint32_t count);
void replay_file_close(replay_file *file); // NULL is a no-op

// Whether a block is the one that had this serial, and may have been renewed since.
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
