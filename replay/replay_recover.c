// Determines which state of a replay file is valid after a kill or a power failure, and removes the
// rest.
#include "replay/replay_recover.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "replay/replay_journal.h"
#include "replay/replay_step.h"
#include "replay/replay_window.h"

// ---- a head that was read from a file

static bool
configure_is_sane(const replay_file_header *header, const replay_kept_configure *kept)
{
    oct_reason why;
    wire_configure configure;
    return replay_kept_give(kept, &configure) && replay_config_check(&configure, &why) == OCT_OK &&
           configure.run_id == header->run_id && configure.obs_bytes == header->obs_bytes &&
           configure.action_bytes == header->action_bytes &&
           configure.extra_dim == header->extra_dim &&
           (uint32_t)configure.sampler == header->sampler &&
           (configure.capacity + header->block_rows - 1) / header->block_rows == header->blocks &&
           replay_config_batch_rows(&configure) == header->journal_runs;
}

static bool
limiter_is_sane(const replay_limiter *limiter)
{
    uint8_t is_widened;
    memcpy(&is_widened, &limiter->is_widened, 1);
    const double numbers[] = {limiter->spec.samples_per_insert, limiter->spec.tolerance,
                              limiter->offset, limiter->balance_min, limiter->balance_max};
    bool is_finite = true;
    for (size_t i = 0; i < OCT_COUNTOF(numbers); i++) {
        is_finite = is_finite && isfinite(numbers[i]);
    }
    return is_widened <= 1 && is_finite && limiter->spec.samples_per_insert >= 0 &&
           limiter->spec.tolerance >= 0 && limiter->balance_min <= limiter->balance_max;
}

static bool
head_is_sane(const replay_file *file, const replay_head *head)
{
    return head->oldest <= head->next && head->next - head->oldest <= file->header->blocks &&
           head->next <= UINT64_MAX / REPLAY_BLOCK_ROWS_MAX / 2 &&
           // With an even stream, the generator would repeat one number forever.
           head->rng.stream % 2 == 1 && configure_is_sane(file->header, &head->configure) &&
           limiter_is_sane(&head->limiter);
}

// ---- after a kill

static void
block_empty(const replay_file *file, uint64_t serial)
{
    replay_mark *pair = file->marks[serial % file->header->blocks];
    pair[0] = pair[1] = (replay_mark){0};
    *replay_file_block(file, serial) = (replay_block){
        .layout = REPLAY_BLOCK_LAYOUT,
        .serial = serial,
        .previous = REPLAY_BLOCK_NONE,
        .next = REPLAY_BLOCK_NONE,
    };
}

// Gives blocks that were renewed without a commit their old serials back.
static void
blocks_put_back(const replay_file *file, const replay_head *head)
{
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        replay_block *block = replay_file_block(file, serial);
        if (replay_file_was(file, block, serial) && block->serial != serial) {
            block->serial = serial;
        }
    }
}

// Empties blocks that were dropped for a batch without a commit.
static void
blocks_left_empty(const replay_file *file, const replay_head *head, replay_recovered *out)
{
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        if (replay_file_block(file, serial)->serial != serial) {
            block_empty(file, serial);
            out->blocks_left++;
        }
    }
}

static oct_err
recover_live(replay_recovered *out, replay_file *file, oct_reason *why)
{
    const replay_snapshot *snapshot = replay_recover_snapshot(file);
    replay_head *head = &file->live->head[file->live->commits % 2];
    if (!head_is_sane(file, head)) {
        return oct_refuse(why, "%s: its state is damaged", file->path);
    }
    blocks_put_back(file, head);
    replay_journal_undo(file);
    blocks_left_empty(file, head, out);
    out->is_exact = true;
    out->generation = snapshot ? snapshot->generation : 0;
    return OCT_OK;
}

// ---- after a power failure

const replay_snapshot *
replay_recover_snapshot(const replay_file *file)
{
    const replay_snapshot *newest = NULL;
    for (int i = 0; i < 2; i++) {
        const replay_snapshot *snapshot = file->snapshot[i];
        if (snapshot->generation != 0 && (!newest || snapshot->generation > newest->generation) &&
            replay_snapshot_crc(snapshot, file->header->sessions) == snapshot->crc) {
            newest = snapshot;
        }
    }
    return newest;
}

// Clears the marks of generations that were not finished, because their serials are given to other
// blocks again.
static void
marks_clean(const replay_file *file, uint64_t generation)
{
    for (uint32_t place = 0; place < file->header->blocks; place++) {
        for (int i = 0; i < 2; i++) {
            if (file->marks[place][i].generation > generation) {
                file->marks[place][i] = (replay_mark){0};
            }
        }
    }
}

// Returns the newest mark of the block with this serial, NULL if there is none.
static const replay_mark *
mark_find(const replay_file *file, uint64_t serial)
{
    const replay_mark *pair = file->marks[serial % file->header->blocks];
    const replay_mark *newest = NULL;
    for (int i = 0; i < 2; i++) {
        if (pair[i].generation != 0 && pair[i].serial == serial &&
            (!newest || pair[i].generation > newest->generation)) {
            newest = &pair[i];
        }
    }
    return newest;
}

// Compares a block with its mark, and keeps the rows that the mark proves.
static void
block_prove(replay_recovered *out, const replay_file *file, uint64_t serial)
{
    replay_block *block = replay_file_block(file, serial);
    const replay_mark *mark = mark_find(file, serial);
    if (block->serial == serial && block->count == 0 && !mark) {
        block_empty(file, serial); // it was empty in the generation, too
    } else if (!replay_file_was(file, block, serial)) {
        out->blocks_left++;
        block_empty(file, serial);
    } else if (!mark || mark->count > block->count || block->count > file->layout.rows ||
               replay_mark_crc(&file->layout, block, serial, mark->count) != mark->crc) {
        out->blocks_torn++;
        block_empty(file, serial);
    } else if (block->count > mark->count || block->serial != serial) { // cut off, or renewed since
        out->rows_cut += block->count - mark->count;
        block->count = (uint16_t)mark->count;
        block->serial = serial;
    }
}

// Returns a number of commits that is at least the generation's, computed from when sessions were
// last used: later commits must count as later. It is even, so that head 0 is the valid one.
static uint64_t
commits_after(const replay_snapshot *snapshot, uint32_t sessions)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < sessions; i++) {
        used = OCT_MAX(used, snapshot->sessions[i].used);
    }
    return used + used % 2;
}

// Returns true if the numbers of a block's header are in range.
static bool
block_is_sane(const replay_file *file, const replay_block *block)
{
    return block->layout == REPLAY_BLOCK_LAYOUT && block->count <= file->layout.rows &&
           block->first <= INT64_MAX - REPLAY_BLOCK_ROWS_MAX && block->stream < WIRE_STREAMS_MAX &&
           (block->episode_age == REPLAY_BLOCK_AGE_UNKNOWN || block->episode_age <= block->first);
}

// Counts rows of the last commit that are newer than the snapshot, in blocks that it does not have.
static uint64_t
rows_after(const replay_file *file, const replay_snapshot *snapshot)
{
    const replay_head *last = &file->live->head[file->live->commits % 2];
    uint64_t rows = 0;
    if (!head_is_sane(file, last)) {
        return 0;
    }
    for (uint64_t serial = OCT_MAX(last->oldest, snapshot->head.next); serial < last->next;
         serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        const replay_block *block = replay_file_block(file, serial);
        rows += block->serial == serial && block->renewed == 0 && block_is_sane(file, block)
                    ? block->count
                    : 0;
    }
    return rows;
}

static oct_err
recover_synced(replay_recovered *out, replay_file *file, oct_reason *why)
{
    const replay_snapshot *snapshot = replay_recover_snapshot(file);
    if (!snapshot || !head_is_sane(file, &snapshot->head)) {
        return oct_refuse(why,
                          "%s: nothing in it was synced before this machine was started, or the "
                          "file was copied; remove it to start with an empty table",
                          file->path);
    }
    out->rows_cut = rows_after(file, snapshot);
    replay_head *head = &file->live->head[0];
    file->live->commits = commits_after(snapshot, file->header->sessions);
    file->journal->commit = 0;
    *head = snapshot->head;
    head->session_index = REPLAY_SESSION_NONE;
    memcpy(file->sessions, snapshot->sessions, file->header->sessions * sizeof(*file->sessions));
    marks_clean(file, snapshot->generation);
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        block_prove(out, file, serial);
    }
    out->generation = snapshot->generation;
    return OCT_OK;
}

// ---- either

// Returns the serial of the held block at the position of `serial` in the ring: that block, renewed
// or not, or another one. Returns head->next if none is held there.
static uint64_t
serial_held(const replay_file *file, const replay_head *head, uint64_t serial)
{
    uint64_t blocks = file->header->blocks;
    // Distance from the oldest block in the ring.
    uint64_t behind = (serial % blocks + blocks - head->oldest % blocks) % blocks;
    // False for REPLAY_BLOCK_NONE.
    bool is_held = serial < head->next && behind < head->next - head->oldest;
    return is_held ? head->oldest + behind : head->next;
}

// Links the blocks by what each says of the block before it. A link is stored only where it
// differs, because in a read-only copy each page that is stored to takes memory.
static void
blocks_link(replay_recovered *out, const replay_file *file, const replay_head *head)
{
    uint64_t count = head->next - head->oldest;
    uint64_t *next = oct_alloc(OCT_MAX(count, 1) * sizeof(*next));
    for (uint64_t i = 0; i < count; i++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        const replay_block *block = replay_file_block(file, head->oldest + i);
        if (!block_is_sane(file, block)) {
            out->blocks_torn++;
            block_empty(file, head->oldest + i);
        }
        next[i] = REPLAY_BLOCK_NONE;
        out->rows += block->count;
        out->blocks += block->count > 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        const replay_block *block = replay_file_block(file, head->oldest + i);
        uint64_t before = serial_held(file, head, block->previous);
        if (block->count > 0 && before < head->next &&
            next[before - head->oldest] == REPLAY_BLOCK_NONE &&
            replay_block_is_behind(&file->layout, block, replay_file_block(file, before))) {
            next[before - head->oldest] = head->oldest + i;
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        replay_block *block = replay_file_block(file, head->oldest + i);
        if (block->next != next[i]) {
            block->next = next[i];
        }
    }
    free(next);
}

// Skips empty blocks at the beginning.
static void
oldest_find(const replay_file *file, replay_head *head)
{
    while (head->oldest < head->next && replay_file_block(file, head->oldest)->count == 0) {
        head->oldest++;
    }
}

oct_err
replay_recover(replay_recovered *out, replay_file *file, oct_reason *why)
{
    *out = (replay_recovered){0};
    if (replay_file_is_live(file)) {
        OCT_TRY(recover_live(out, file, why));
    } else {
        OCT_TRY(recover_synced(out, file, why));
    }
    replay_head *head = &file->live->head[file->live->commits % 2];
    blocks_link(out, file, head);
    oldest_find(file, head);
    return OCT_OK;
}

void
replay_recover_drop(replay_recovered *recovered, replay_file *file, uint64_t session)
{
    replay_head *head = &file->live->head[file->live->commits % 2];
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_block *block = replay_file_block(file, serial);
        if (block->count > 0 && block->session == session) {
            recovered->rows_dropped += block->count;
            recovered->is_exact = false;
            block_empty(file, serial);
        }
    }
    recovered->rows = recovered->blocks = 0; // blocks_link counts them again
    blocks_link(recovered, file, head);
    oldest_find(file, head);
}
