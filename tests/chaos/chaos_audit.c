// The audit by content: blocks of a store become ranges of rows, sorted by what they hold and by
// the stream that they are of; acknowledged rows are looked up in them.
#include "tests/chaos/chaos_audit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "tests/chaos/chaos_digest.h"
#include "tests/chaos/chaos_row.h"

#define WORDS_BYTES 2048
#define LINE_BYTES  256

// Rows of one block, whose numbers follow.
typedef struct range {
    uint64_t session;
    uint32_t actor_id;
    uint32_t stream;
    uint64_t first;  // in the stream
    uint64_t serial; // of the block
    uint64_t tag;
    uint32_t slot;
    uint32_t number; // of the first row's content
    uint32_t count;
    uint32_t version_first; // of rows that are no end rows; UINT32_MAX: there are none
    uint32_t version_last;
    const replay_block *block;
    const replay_layout *layout;
} range;

struct chaos_audit {
    chaos_audit_mode mode;
    chaos_audit_result result;
    range *ranges; // by stream
    uint64_t count;
    uint64_t room;
    uint64_t *emptied; // serials of blocks without rows, ascending
    uint64_t emptied_count;
    uint32_t block_rows;
    bool has_reused; // it may have used places again
    bool is_checked; // what is there; and it is in the order of streams
    bool has_rows;   // the environment's rows say which they are
    char words[WORDS_BYTES];
    size_t words_used;
};

chaos_audit *
chaos_audit_create(chaos_audit_mode mode)
{
    chaos_audit *audit = oct_alloc(sizeof(*audit));
    audit->mode = mode;
    return audit;
}

void
chaos_audit_destroy(chaos_audit *audit)
{
    free(audit->ranges);
    free(audit->emptied);
    free(audit);
}

__attribute__((format(printf, 2, 3))) static void
say(chaos_audit *audit, const char *format, ...)
{
    if (sizeof(audit->words) - audit->words_used < LINE_BYTES) {
        return;
    }
    va_list args;
    va_start(args, format);
    int length = vsnprintf(audit->words + audit->words_used, LINE_BYTES, format, args);
    va_end(args);
    audit->words_used += (size_t)OCT_MIN(length, LINE_BYTES - 1);
}

// ---- what is there

static uint8_t
flags_of(const chaos_row *row)
{
    if (chaos_row_is_end(row)) {
        return WIRE_END;
    }
    uint8_t flags = chaos_row_is_first(row) ? WIRE_FIRST : 0;
    chaos_row next = chaos_row_make(row->tag, row->slot, row->number + 1);
    if (chaos_row_is_end(&next)) {
        flags |= chaos_row_is_truncated(&next) ? WIRE_TRUNCATED : WIRE_TERMINATED;
    }
    return flags;
}

// False: it says nothing, or something else than it must be.
static bool
row_read(chaos_audit *audit, const range *r, const replay_layout *layout, const replay_block *block,
         uint32_t i)
{
    chaos_row row;
    if (!chaos_row_read(&row, replay_block_obs(layout, block, i)) || row.tag != r->tag ||
        row.slot != r->slot || row.number != r->number + i) {
        audit->result.foreign++;
        say(audit, "row %u of block %" PRIu64 " is not the one after that before it\n", i,
            block->serial);
        return false;
    }
    uint8_t flags = *replay_block_flags(layout, block, i) & (uint8_t)~WIRE_RANDOM;
    int32_t action;
    memcpy(&action, replay_block_action(layout, block, i), sizeof(action));
    float off = *replay_block_reward(layout, block, i) - chaos_row_reward(&row);
    if (flags != flags_of(&row) || off < 0 || off > 0 ||
        (!chaos_row_is_end(&row) && action != 0 && action != 1)) {
        audit->result.altered++;
        say(audit, "row %u of block %" PRIu64 " has another reward, other flags or no action\n", i,
            block->serial);
    }
    return true;
}

static void
row_take(chaos_audit *audit, range *r, const replay_layout *layout, const replay_block *block,
         uint32_t i)
{
    bool is_end = (*replay_block_flags(layout, block, i) & WIRE_END) != 0;
    if ((audit->has_rows && !row_read(audit, r, layout, block, i)) || is_end) {
        return;
    }
    uint32_t version = *replay_block_version(layout, block, i);
    if (r->version_first == UINT32_MAX) {
        r->version_first = version;
    } else if (version < r->version_last) {
        audit->result.backward++;
        say(audit, "row %u of block %" PRIu64 " was acted on by an older policy\n", i,
            block->serial);
    }
    r->version_last = version;
}

static void
block_take(chaos_audit *audit, const replay_layout *layout, const replay_block *block)
{
    // Without rows that say it, what is where it belongs is what belongs there.
    chaos_row row = {.tag = chaos_row_check(block->session, block->actor_id, block->stream),
                     .slot = block->stream,
                     .number = (uint32_t)block->first};
    audit->result.blocks++;
    audit->result.rows += block->count;
    if (audit->has_rows && !chaos_row_read(&row, replay_block_obs(layout, block, 0))) {
        audit->result.foreign += block->count;
        say(audit, "block %" PRIu64 " does not begin with a row of ours\n", block->serial);
        return;
    }
    if (audit->count == audit->room) {
        audit->room = OCT_MAX(2 * audit->room, (uint64_t)1024);
        audit->ranges = realloc(audit->ranges, audit->room * sizeof(range));
        OCT_ASSERT(audit->ranges != NULL);
    }
    range *r = &audit->ranges[audit->count++];
    *r = (range){
        .session = block->session,
        .actor_id = block->actor_id,
        .stream = block->stream,
        .first = block->first,
        .serial = block->serial,
        .tag = row.tag,
        .slot = row.slot,
        .number = row.number,
        .count = block->count,
        .version_first = UINT32_MAX,
        .version_last = UINT32_MAX,
        .block = block,
        .layout = layout,
    };
    for (uint32_t i = 0; i < block->count; i++) {
        row_take(audit, r, layout, block, i);
    }
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int
by_stream(const void *left, const void *right)
{
    const range *a = left, *b = right;
    COMPARE(a->session, b->session);
    COMPARE(a->actor_id, b->actor_id);
    COMPARE(a->stream, b->stream);
    COMPARE(a->first, b->first);
    return 0;
}

static int
by_content(const void *left, const void *right)
{
    const range *a = left, *b = right;
    COMPARE(a->tag, b->tag);
    COMPARE(a->slot, b->slot);
    COMPARE(a->number, b->number);
    return 0;
}

static bool
is_same_stream(const range *a, const range *b)
{
    return a->session == b->session && a->actor_id == b->actor_id && a->stream == b->stream;
}

// How many rows between two blocks of a stream may have been in blocks whose places were used
// again when the power failed. Blocks leave in order, and the disk has any of what came after them.
static uint64_t
rows_emptied(const chaos_audit *audit, const range *before, const range *behind)
{
    uint64_t blocks = 0;
    bool is_cut = audit->mode == CHAOS_AUDIT_CUT || audit->mode == CHAOS_AUDIT_SYNCED;
    for (uint64_t i = 0; is_cut && audit->has_reused && i < audit->emptied_count; i++) {
        blocks += audit->emptied[i] > before->serial && audit->emptied[i] < behind->serial;
    }
    return blocks * audit->block_rows;
}

// The same row may lie in two streams: what was inserted twice under another name is found here.
static void
content_check(chaos_audit *audit)
{
    qsort(audit->ranges, audit->count, sizeof(range), by_content);
    for (uint64_t i = 1; i < audit->count; i++) {
        const range *a = &audit->ranges[i - 1], *b = &audit->ranges[i];
        if (a->tag != b->tag || a->slot != b->slot) {
            continue;
        }
        if (!is_same_stream(a, b)) {
            audit->result.streams++;
            say(audit, "environment %u of %016" PRIx64 " is in two streams\n", a->slot, a->tag);
        }
        if (a->number + a->count > b->number) {
            uint32_t twice = OCT_MIN(a->number + a->count - b->number, b->count);
            audit->result.doubled += twice;
            say(audit, "%u rows from %u of environment %u of %016" PRIx64 " are there twice\n",
                twice, b->number, b->slot, b->tag);
        }
    }
}

static void
stream_check(chaos_audit *audit)
{
    qsort(audit->ranges, audit->count, sizeof(range), by_stream);
    for (uint64_t i = 1; i < audit->count; i++) {
        const range *a = &audit->ranges[i - 1], *b = &audit->ranges[i];
        if (!is_same_stream(a, b)) {
            continue;
        }
        if (a->tag != b->tag || a->slot != b->slot) {
            audit->result.streams++;
            say(audit, "stream %u of session %016" PRIx64 " has rows of two environments\n",
                a->stream, a->session);
            continue;
        }
        if (b->first - a->first != b->number - a->number) {
            audit->result.foreign += b->count;
            say(audit,
                "stream %u of session %016" PRIx64 ": row %" PRIu64 " is at another's place\n",
                a->stream, a->session, b->first);
        }
        if (a->first + a->count < b->first && audit->mode != CHAOS_AUDIT_DAMAGED &&
            b->first - a->first - a->count > rows_emptied(audit, a, b)) {
            audit->result.holes += b->first - a->first - a->count;
            say(audit,
                "stream %u of session %016" PRIx64 ": rows %" PRIu64 " to %" PRIu64
                " are not there, later ones are\n",
                a->stream, a->session, a->first + a->count, b->first - 1);
        }
        if (a->version_last != UINT32_MAX && b->version_first != UINT32_MAX &&
            b->version_first < a->version_last) {
            audit->result.backward++;
            say(audit, "stream %u of session %016" PRIx64 ": version %u after %u\n", a->stream,
                a->session, b->version_first, a->version_last);
        }
    }
}

void
chaos_audit_take(chaos_audit *audit, const replay_file *file)
{
    const replay_head *head = &file->live->head[file->live->commits % 2];
    uint64_t before = audit->result.rows;
    audit->result.oldest = OCT_MAX(audit->result.oldest, head->oldest);
    audit->result.taken += head->stats.rows_taken;
    audit->block_rows = file->layout.rows;
    audit->has_rows = file->layout.obs_bytes == CHAOS_ROW_BYTES;
    // A generation, during which fewer than half of all blocks are opened, is all that it knows of.
    audit->has_reused |= head->next >= file->header->blocks / 2;
    uint64_t emptied = audit->emptied_count + head->next - head->oldest + 1;
    audit->emptied = realloc(audit->emptied, emptied * sizeof(uint64_t));
    OCT_ASSERT(audit->emptied != NULL);
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_block *block = replay_file_block(file, serial);
        if (block->count > 0) {
            block_take(audit, &file->layout, block);
        } else {
            audit->emptied[audit->emptied_count++] = serial;
        }
    }
    uint64_t rows = audit->result.rows - before, taken = head->stats.rows_taken;
    if (audit->mode != CHAOS_AUDIT_DAMAGED &&
        (rows > taken || (head->oldest == 0 && rows != taken))) {
        audit->result.miscount += rows > taken ? rows - taken : taken - rows;
        say(audit, "%" PRIu64 " rows are there, the table says that it took %" PRIu64 "\n", rows,
            taken);
    }
}

static void
ranges_check(chaos_audit *audit)
{
    if (!audit->is_checked) {
        audit->is_checked = true;
        content_check(audit);
        stream_check(audit);
    }
}

// ---- what was acknowledged

// The first range of this stream that ends behind row first; NULL: there is none.
static const range *
range_find(const chaos_audit *audit, const chaos_ack *ack, uint64_t first, bool *has_stream)
{
    const range wanted = {
        .session = ack->session, .actor_id = ack->actor_id, .stream = ack->stream, .first = first};
    uint64_t low = 0, high = audit->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (by_stream(&audit->ranges[middle], &wanted) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const range *before = low > 0 ? &audit->ranges[low - 1] : NULL;
    const range *behind = low < audit->count ? &audit->ranges[low] : NULL;
    bool is_before = before != NULL && is_same_stream(before, &wanted);
    bool is_behind = behind != NULL && is_same_stream(behind, &wanted);
    *has_stream = is_before || is_behind;
    if (is_before && first < before->first + before->count) {
        return before;
    }
    return is_behind ? behind : NULL;
}

// Rows from first of an acknowledged run, until the next that is there: why they are not.
static void
absent(chaos_audit *audit, const chaos_ack *ack, uint64_t first, uint64_t rows, const range *next,
       bool has_stream)
{
    // What left was the oldest: rows of the stream that are there are newer.
    bool is_first = next == audit->ranges || (next != NULL && !is_same_stream(next - 1, next));
    bool is_old =
        audit->result.oldest > 0 &&
        (!has_stream || is_first || (next != NULL && rows_emptied(audit, next - 1, next) >= rows));
    if (is_old) {
        audit->result.left += rows;
    } else if (audit->mode == CHAOS_AUDIT_DAMAGED ||
               (audit->mode == CHAOS_AUDIT_SYNCED && next == NULL)) {
        audit->result.unsynced += rows;
    } else {
        audit->result.missing += rows;
        say(audit,
            "actor %u, session %016" PRIx64 ", stream %u: rows %" PRIu64 " to %" PRIu64
            " were acknowledged and are not there\n",
            ack->actor_id, ack->session, ack->stream, first, first + rows - 1);
    }
}

// Of rows first .. end - 1 of a stream, which a range holds, behind those of digest.
static uint64_t
range_digest(const range *r, uint64_t first, uint64_t end, uint64_t digest)
{
    const replay_layout *layout = r->layout;
    for (uint64_t number = first; number < end; number++) {
        uint32_t i = (uint32_t)(number - r->first);
        digest = chaos_digest_row(digest, replay_block_obs(layout, r->block, i), layout->obs_bytes,
                                  replay_block_action(layout, r->block, i), layout->action_bytes,
                                  *replay_block_reward(layout, r->block, i),
                                  *replay_block_flags(layout, r->block, i));
    }
    return digest;
}

static void
claim(chaos_audit *audit, const chaos_ack *ack)
{
    uint64_t at = ack->first, end = ack->first + ack->rows, digest = CHAOS_DIGEST_NONE;
    bool is_digested = !audit->has_rows;
    audit->result.acked += ack->rows;
    while (at < end) {
        bool has_stream;
        const range *found = range_find(audit, ack, at, &has_stream);
        uint64_t until = found != NULL ? OCT_MIN(found->first, end) : end;
        if (until > at) {
            absent(audit, ack, at, until - at, found, has_stream);
            is_digested = false;
            at = until;
            continue;
        }
        until = OCT_MIN(found->first + found->count, end);
        digest = is_digested ? range_digest(found, at, until, digest) : digest;
        if (audit->has_rows &&
            (found->tag != ack->tag || found->slot != ack->slot ||
             found->number + (at - found->first) != ack->number + (at - ack->first))) {
            audit->result.foreign += until - at;
            say(audit,
                "actor %u, session %016" PRIx64 ", stream %u: row %" PRIu64
                " is not the one that was acknowledged\n",
                ack->actor_id, ack->session, ack->stream, at);
        }
        at = until;
    }
    if (is_digested && digest != ack->digest) {
        audit->result.foreign += ack->rows;
        say(audit,
            "actor %u, session %016" PRIx64 ", stream %u: rows %" PRIu64 " to %" PRIu64
            " are not those that were acknowledged\n",
            ack->actor_id, ack->session, ack->stream, ack->first, end - 1);
    }
}

void
chaos_audit_claim(chaos_audit *audit, const chaos_ack *acks, uint64_t count)
{
    ranges_check(audit);
    for (uint64_t i = 0; i < count; i++) {
        claim(audit, &acks[i]);
    }
}

chaos_audit_result
chaos_audit_end(chaos_audit *audit)
{
    chaos_audit_result *r = &audit->result;
    ranges_check(audit);
    // More cannot have left than came and is not there.
    if (audit->mode != CHAOS_AUDIT_DAMAGED && r->left > r->taken - OCT_MIN(r->rows, r->taken)) {
        r->missing += r->left - (r->taken - OCT_MIN(r->rows, r->taken));
        say(audit,
            "%" PRIu64 " acknowledged rows are not there, but only %" PRIu64 " can have left\n",
            r->left, r->taken - OCT_MIN(r->rows, r->taken));
    }
    return *r;
}

bool
chaos_audit_is_sound(const chaos_audit_result *r)
{
    return r->missing + r->doubled + r->foreign + r->holes + r->altered + r->backward + r->streams +
               r->miscount ==
           0;
}

const char *
chaos_audit_words(const chaos_audit *audit)
{
    return audit->words;
}
