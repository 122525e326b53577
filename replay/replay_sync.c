// Writes generations of a durable table to the disk, in an order that a power failure may interrupt
// anywhere.
#include "replay/replay_sync.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_step.h"

#define PAGE_BYTES 4096u

// Serials of blocks that were not full, or not marked, when a generation began.
struct blocks {
    uint64_t *serial; // [blocks of the file]
    uint32_t count;
};

struct replay_sync {
    replay_file *file;
    uint64_t finished;  // number of the last finished generation
    uint64_t begun;     // number of the last generation that began
    int slot;           // the snapshot that the last finished generation is not in
    uint64_t commits;   // of the last finished generation; UINT64_MAX: unknown
    struct blocks open; // of the last finished generation
    uint64_t next;      // blocks from this serial on are newer than `open`
    uint64_t snapshot_bytes;
    replay_snapshot *done; // the last finished generation
    bool is_failed;        // the last write failed, or may have failed
    // The generation that is being written.
    bool is_writing;
    uint64_t taken_commits;
    struct blocks taken_open;
    uint64_t taken_next;
    uint64_t marked; // full blocks below this serial have their marks
    replay_snapshot *taken;
};

// ---- marks

static replay_mark *
marks_of(const replay_sync *sync, uint64_t serial)
{
    return sync->file->marks[serial % sync->file->header->blocks];
}

// Returns the mark that the last finished generation needs, 0 or 1; -1: it needs none.
static int
mark_needed(const replay_sync *sync, const replay_mark pair[2], uint64_t serial)
{
    int needed = -1;
    for (int i = 0; i < 2; i++) {
        if (pair[i].generation != 0 && pair[i].generation <= sync->finished &&
            pair[i].serial == serial &&
            (needed < 0 || pair[i].generation > pair[needed].generation)) {
            needed = i;
        }
    }
    return needed;
}

// Returns the mark that may be overwritten.
static int
mark_free(const replay_sync *sync, const replay_mark pair[2], uint64_t serial)
{
    int needed = mark_needed(sync, pair, serial);
    if (needed >= 0) {
        return 1 - needed;
    }
    // Both marks belong to earlier blocks at this index. The last finished generation needs the
    // newer mark of those that it may contain.
    bool is_first =
        pair[0].generation <= sync->finished &&
        (pair[1].generation > sync->finished || pair[0].generation >= pair[1].generation);
    return is_first ? 1 : 0;
}

// Marks a block, unless it has a valid mark. serial: the block's when the generation began.
static void
block_mark(replay_sync *sync, const replay_block *block, uint64_t serial)
{
    replay_mark *pair = marks_of(sync, serial);
    int needed = mark_needed(sync, pair, serial);
    if (block->count == 0 || (needed >= 0 && pair[needed].count == block->count)) {
        return;
    }
    pair[mark_free(sync, pair, serial)] = (replay_mark){
        .generation = sync->taken->generation,
        .serial = serial,
        .count = block->count,
        .crc = replay_mark_crc(&sync->file->layout, block, serial, block->count),
    };
}

// ---- life

// Lists the blocks that the first generation has to mark.
static void
open_find(replay_sync *sync)
{
    const replay_head *head = replay_journal_held(sync->file);
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_mark *pair = marks_of(sync, serial);
        int needed = mark_needed(sync, pair, serial);
        if (needed < 0 || pair[needed].count < sync->file->layout.rows) {
            sync->open.serial[sync->open.count++] = serial;
        }
    }
    sync->next = head->next;
}

replay_sync *
replay_sync_create(replay_file *file)
{
    replay_sync *sync = oct_alloc(sizeof(*sync));
    uint32_t blocks = file->header->blocks;
    sync->file = file;
    sync->commits = UINT64_MAX;
    sync->open.serial = oct_alloc(blocks * sizeof(uint64_t));
    sync->taken_open.serial = oct_alloc(blocks * sizeof(uint64_t));
    sync->snapshot_bytes = replay_snapshot_bytes(file->header->sessions);
    sync->done = oct_alloc(sync->snapshot_bytes);
    sync->taken = oct_alloc(sync->snapshot_bytes);
    // A write of the process before may have failed; a table that has just been made had none.
    sync->is_failed = file->live->commits > 1;
    const replay_snapshot *snapshot = replay_recover_snapshot(file);
    if (snapshot) {
        memcpy(sync->done, snapshot, sync->snapshot_bytes);
        sync->finished = sync->begun = snapshot->generation;
        sync->slot = snapshot == file->snapshot[0] ? 1 : 0;
        // The snapshot's rows are on the disk, or it would not exist. The snapshot itself must be
        // there before marks change.
        (void)msync(file->snapshot[1 - sync->slot], sync->snapshot_bytes, MS_SYNC);
    }
    open_find(sync);
    return sync;
}

void
replay_sync_destroy(replay_sync *sync)
{
    if (sync) {
        free(sync->open.serial);
        free(sync->taken_open.serial);
        free(sync->done);
        free(sync->taken);
        free(sync);
    }
}

// ---- a generation

// Makes pages dirty. If the kernel fails to write a page, it reports that once and then counts the
// page as clean: a later sync would succeed without it.
static void
pages_dirty(uint8_t *from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES) {
        volatile uint8_t *byte = from + at;
        *byte = *byte;
    }
    volatile uint8_t *last = from + bytes - 1;
    *last = *last;
}

// Takes a block into the generation. Blocks that may get more rows are marked at once, and so are
// those that were listed as open by the last generation. Full blocks are marked later.
static void
block_take(replay_sync *sync, uint64_t serial, bool was_listed)
{
    replay_block *block = replay_file_block(sync->file, serial);
    bool is_full = block->count == sync->file->layout.rows;
    if (sync->is_failed) {
        pages_dirty((uint8_t *)block, sync->file->layout.bytes);
    }
    if (was_listed || !is_full) {
        block_mark(sync, block, serial);
    }
    if (!is_full) {
        sync->taken_open.serial[sync->taken_open.count++] = serial;
    }
}

// Returns true if the block was open when the generation began, so that it has its mark.
static bool
was_open(const replay_sync *sync, uint64_t serial)
{
    const replay_mark *pair = marks_of(sync, serial);
    const replay_mark *taken = pair[0].generation == sync->begun   ? &pair[0]
                               : pair[1].generation == sync->begun ? &pair[1]
                                                                   : NULL;
    return taken && taken->serial == serial;
}

bool
replay_sync_begin(replay_sync *sync)
{
    OCT_ASSERT(!sync->is_writing);
    const replay_file *file = sync->file;
    const replay_head *head = replay_journal_held(file);
    if (file->live->commits == sync->commits) {
        return false;
    }
    sync->is_writing = true;
    if (sync->is_failed) {
        pages_dirty(file->base, file->header->blocks_at);
    }
    sync->taken->generation = ++sync->begun;
    sync->taken_commits = file->live->commits;
    sync->taken_next = head->next;
    sync->taken_open.count = 0;
    for (uint32_t i = 0; i < sync->open.count; i++) {
        if (sync->open.serial[i] >= head->oldest) {
            block_take(sync, sync->open.serial[i], true);
        }
    }
    sync->marked = OCT_MAX(sync->next, head->oldest);
    for (uint64_t serial = sync->marked; serial < head->next; serial++) {
        block_take(sync, serial, false);
    }
    sync->taken->head = *head;
    memcpy(sync->taken->sessions, file->sessions, file->header->sessions * sizeof(*file->sessions));
    return true;
}

bool
replay_sync_mark(replay_sync *sync, uint64_t bytes)
{
    OCT_ASSERT(sync->is_writing);
    const replay_file *file = sync->file;
    uint64_t blocks = OCT_MAX(bytes / file->layout.bytes, 1u);
    for (; sync->marked < sync->taken_next && blocks > 0; sync->marked++) {
        const replay_block *block = replay_file_block(file, sync->marked);
        if (replay_file_was(file, block, sync->marked) && !was_open(sync, sync->marked)) {
            block_mark(sync, block, sync->marked);
            blocks--;
        }
    }
    return sync->marked >= sync->taken_next;
}

// Writes only pages that differ: most session slots are empty, and their pages need not be written
// again.
static void
snapshot_copy(replay_snapshot *there, const replay_snapshot *taken, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES) {
        uint8_t *to = (uint8_t *)there + at;
        const uint8_t *from = (const uint8_t *)taken + at;
        size_t piece = (size_t)OCT_MIN(bytes - at, PAGE_BYTES);
        if (memcmp(to, from, piece) != 0) {
            memcpy(to, from, piece);
        }
    }
}

static oct_err
snapshot_write(replay_sync *sync, bool to_disk)
{
    replay_snapshot *there = sync->file->snapshot[sync->slot];
    sync->taken->crc = replay_snapshot_crc(sync->taken, sync->file->header->sessions);
    replay_step(); // everything else is on the disk
    snapshot_copy(there, sync->taken, sync->snapshot_bytes);
    replay_step();
    if (to_disk && msync(there, sync->snapshot_bytes, MS_SYNC) != 0) {
        there->generation = 0; // it must not count, because the next generation changes its marks
        return OCT_EIO;
    }
    return OCT_OK;
}

oct_err
replay_sync_write(replay_sync *sync, bool to_disk)
{
    OCT_ASSERT(sync->is_writing && sync->marked >= sync->taken_next);
    if (to_disk && fdatasync(sync->file->descriptor) != 0) {
        return OCT_EIO;
    }
    return snapshot_write(sync, to_disk);
}

void
replay_sync_end(replay_sync *sync, oct_err err)
{
    OCT_ASSERT(sync->is_writing);
    sync->is_writing = false;
    sync->is_failed = err != OCT_OK;
    if (err != OCT_OK) {
        return;
    }
    struct blocks open = sync->open;
    replay_snapshot *done = sync->done;
    sync->open = sync->taken_open;
    sync->taken_open = open;
    sync->next = sync->taken_next;
    sync->commits = sync->taken_commits;
    sync->done = sync->taken;
    sync->taken = done;
    sync->finished = sync->done->generation;
    sync->slot = 1 - sync->slot;
}

uint64_t
replay_sync_generation(const replay_sync *sync)
{
    return sync->finished;
}

uint64_t
replay_sync_sequence(const replay_sync *sync, uint32_t index, uint64_t session)
{
    OCT_ASSERT(index < sync->file->header->sessions);
    const replay_session *there = &sync->done->sessions[index].session;
    return there->session == session ? there->sequence : 0;
}
