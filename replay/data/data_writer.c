// Writes a data set block by block: packs the rows of the chosen episodes, with those of a stream
// together.
#include "replay/data/data_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"

struct writer {
    FILE *file;
    const data_source *source;
    const replay_data_env *env;
    replay_layout layout;
    const char *fault;   // of the rows; NULL: none
    replay_block *block; // the current block; count 0: it has not begun
    bool is_linked;      // the current block follows the block before
    uint64_t serial;     // of the current block
    uint64_t next;       // number of the next row in its stream, if the row follows
    uint32_t age;        // rows of its episode before the next row; REPLAY_BLOCK_AGE_UNKNOWN
    const data_episode *episode; // the current episode
    bool has_begun;              // a row of that episode was written
    data_written written;
};

// ---- blocks

static bool
file_put(struct writer *writer, const void *bytes, size_t length)
{
    return fwrite(bytes, 1, length, writer->file) == length;
}

// Writes the current block, if it has begun. continues: the next rows follow without a gap.
static bool
block_end(struct writer *writer, bool continues)
{
    replay_block *block = writer->block;
    if (block->count == 0) {
        return true;
    }
    writer->fault = replay_data_numbers_fault(writer->env, &writer->layout, block);
    if (writer->fault) {
        return false;
    }
    block->previous = writer->is_linked ? block->serial - 1 : REPLAY_BLOCK_NONE;
    block->next = continues ? block->serial + 1 : REPLAY_BLOCK_NONE;
    block->checksum = replay_data_block_sum(&writer->layout, block);
    bool is_good = file_put(writer, block, writer->layout.bytes);
    writer->next = block->first + block->count;
    memset(block, 0, writer->layout.bytes);
    writer->serial++;
    writer->is_linked = continues;
    return is_good;
}

// Begins a block with row `row` of block `from`.
static void
block_begin(struct writer *writer, const replay_block *from, uint32_t row)
{
    *writer->block = (replay_block){
        .layout = REPLAY_BLOCK_LAYOUT,
        .serial = writer->serial,
        .session = from->session,
        .actor_id = from->actor_id,
        .stream = from->stream,
        .first = writer->is_linked ? writer->next : from->first + row,
        .episode_age = writer->age,
    };
}

static void
rows_copy(struct writer *writer, const replay_layout *from, const replay_block *block, uint32_t row,
          uint32_t count)
{
    replay_column there[REPLAY_COLUMNS], here[REPLAY_COLUMNS];
    replay_layout_columns(from, there);
    replay_layout_columns(&writer->layout, here);
    for (size_t i = 0; i < REPLAY_COLUMNS; i++) {
        size_t row_bytes = here[i].row_bytes; // both layouts have the same columns
        memcpy((uint8_t *)writer->block + here[i].at + writer->block->count * row_bytes,
               (const uint8_t *)block + there[i].at + row * row_bytes, count * row_bytes);
    }
    writer->block->count = (uint16_t)(writer->block->count + count);
}

// Returns the flags that a row of the episode has in a data set (data_writer.h).
static uint8_t
flags_of(const struct writer *writer, uint8_t flags)
{
    const data_episode *episode = writer->episode;
    bool is_first = (flags & WIRE_FIRST) != 0 && !writer->has_begun;
    bool is_open =
        (is_first && !episode->has_first) || ((flags & WIRE_END) != 0 && !episode->has_end);
    return (uint8_t)((flags & ~(WIRE_FIRST | WIRE_ROLLOUT)) | (is_first ? WIRE_FIRST : 0) |
                     (is_open ? WIRE_ROLLOUT : 0));
}

// Sets the flags of the last count rows of the block, which were just copied, and counts them.
static void
rows_mark(struct writer *writer, uint32_t count)
{
    uint8_t *flags = (uint8_t *)writer->block + writer->layout.flags;
    for (uint32_t i = writer->block->count - count; i < writer->block->count; i++) {
        bool is_end = (flags[i] & WIRE_END) != 0;
        flags[i] = flags_of(writer, flags[i]);
        writer->has_begun = true;
        writer->written.steps += !is_end;
        writer->age = is_end                                       ? 0
                      : writer->age < REPLAY_BLOCK_AGE_UNKNOWN - 1 ? writer->age + 1
                                                                   : writer->age;
    }
    writer->written.rows += count;
}

// Writes rows of one block of the source. They follow the rows written before, or begin an episode.
static bool
rows_put(struct writer *writer, const replay_layout *from, const replay_block *block, uint32_t row,
         uint32_t count)
{
    while (count > 0) {
        if (writer->block->count == writer->layout.rows && !block_end(writer, true)) {
            return false;
        }
        if (writer->block->count == 0) {
            block_begin(writer, block, row);
        }
        uint32_t taken = OCT_MIN(count, writer->layout.rows - writer->block->count);
        rows_copy(writer, from, block, row, taken);
        rows_mark(writer, taken);
        row += taken;
        count -= taken;
    }
    return true;
}

// ---- episodes

// Returns how many rows of its episode precede the first row that is present.
static uint32_t
age_of(const data_source *source, const data_episode *episode)
{
    const replay_block *block = data_source_block(source, episode->block);
    uint8_t flags = *replay_block_flags(data_source_layout(source), block, episode->row);
    // Then the next row is the first.
    bool is_left_out = (flags & WIRE_END) != 0 && episode->rows > 1;
    return (flags & WIRE_FIRST) != 0 || is_left_out ? 0
           : block->episode_age < REPLAY_BLOCK_AGE_UNKNOWN - REPLAY_BLOCK_ROWS_MAX &&
                   episode->row == 0 && block->episode_age > 0
               ? block->episode_age
               : REPLAY_BLOCK_AGE_UNKNOWN;
}

// Writes an episode. follows: its first row directly follows the last row written.
static bool
episode_put(struct writer *writer, const data_episode *episode, bool follows)
{
    const data_source *source = writer->source;
    const replay_layout *layout = data_source_layout(source);
    uint32_t index = episode->block, row = episode->row;
    if (!follows) {
        if (!block_end(writer, false)) {
            return false;
        }
        writer->age = age_of(source, episode);
    }
    writer->episode = episode;
    writer->has_begun = false;
    for (uint64_t left = episode->rows; left > 0;) {
        const replay_block *block = data_source_block(source, index);
        uint32_t count = (uint32_t)OCT_MIN(left, block->count - row);
        // The rows up to an end row; the end row of a rollout is left out if others follow it.
        uint32_t rows = replay_flags_find(replay_block_flags(layout, block, row), count, WIRE_END);
        bool has_end = rows < count;
        bool is_put = has_end && left == rows + 1;
        if (!rows_put(writer, layout, block, row, rows + is_put)) {
            return false;
        }
        left -= rows + has_end;
        row += rows + has_end;
        if (row == block->count) {
            row = 0;
            index++;
        }
    }
    return true;
}

// Returns true if an episode begins at the row after another one, in the same stream.
static bool
episode_follows(const data_source *source, const data_episode *before, const data_episode *episode)
{
    const replay_block *from = data_source_block(source, before->block);
    const replay_block *to = data_source_block(source, episode->block);
    return replay_block_is_of_stream(to, from) && before->has_end && episode->has_first &&
           from->first + before->row + before->rows == to->first + episode->row;
}

static bool
episodes_put(struct writer *writer, const data_episodes *episodes)
{
    for (uint64_t i = 0; i < episodes->count; i++) {
        const data_episode *episode = &episodes->list[i];
        bool follows = i > 0 && episode_follows(writer->source, episode - 1, episode);
        if (!episode_put(writer, episode, follows)) {
            return false;
        }
    }
    return block_end(writer, false);
}

// ---- the file

static void
header_fill(replay_data_header *header, const data_source *source, const char *made_by)
{
    *header = *data_source_header(source);
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    header->made_s = (uint64_t)now.tv_sec;
    header->block_rows = REPLAY_BLOCK_ROWS_MAX;
    header->notes_crc =
        oct_crc32(0, data_source_notes(source, &header->notes_bytes), header->notes_bytes);
    memset(header->made_by, 0, sizeof(header->made_by));
    (void)snprintf(header->made_by, sizeof(header->made_by), "%s", made_by);
}

// Writes page 0 and the notes. At the first call the number of blocks is not known; all_put writes
// the header again.
static bool
begin_put(struct writer *writer, const replay_data_header *header)
{
    static const uint8_t zeros[REPLAY_DATA_PAGE];
    uint32_t notes_bytes;
    const char *notes = data_source_notes(writer->source, &notes_bytes);
    uint64_t pad = header->blocks_at - header->notes_at - notes_bytes;
    return file_put(writer, header, sizeof(*header)) &&
           file_put(writer, zeros, REPLAY_DATA_PAGE - sizeof(*header)) &&
           file_put(writer, notes, notes_bytes) && file_put(writer, zeros, pad);
}

static bool
all_put(struct writer *writer, const data_episodes *episodes, replay_data_header *header)
{
    header->blocks = 1;
    writer->env = &header->env;
    writer->layout = replay_data_header_make(header);
    writer->block = oct_alloc(writer->layout.bytes);
    bool is_good = begin_put(writer, header) && episodes_put(writer, episodes);
    free(writer->block);
    if (!is_good || fseeko(writer->file, 0, SEEK_SET) != 0) {
        return false;
    }
    header->blocks = (uint32_t)writer->serial;
    (void)replay_data_header_make(header);
    writer->written.blocks = header->blocks;
    writer->written.bytes = header->file_bytes;
    return file_put(writer, header, sizeof(*header)) && fflush(writer->file) == 0 &&
           fsync(fileno(writer->file)) == 0;
}

// Writes the data set under a temporary name. OCT_EIO: errno says why, and no file is left.
static oct_err
draft_write(struct writer *writer, const char *path, char draft[OCT_FILE_PATH_MAX],
            const data_episodes *episodes, replay_data_header *header)
{
    int fd = oct_file_draft_open(path, 0666, draft);
    writer->file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!writer->file) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return OCT_EIO;
    }
    bool is_good = all_put(writer, episodes, header);
    int code = errno;
    if (fclose(writer->file) != 0 && is_good) {
        code = errno;
        is_good = false;
    }
    if (!is_good) {
        (void)oct_file_remove(draft);
        errno = code;
        return OCT_EIO;
    }
    return OCT_OK;
}

oct_err
data_write(data_written *out, const char *path, const data_source *source,
           const data_episodes *episodes, const char *made_by, oct_reason *reason)
{
    char draft[OCT_FILE_PATH_MAX];
    struct writer writer = {.source = source};
    replay_data_header header;
    if (episodes->count == 0) {
        return oct_refuse(reason, "there are no episodes to write");
    }
    header_fill(&header, source, made_by);
    oct_file_clear(path);
    oct_err err = draft_write(&writer, path, draft, episodes, &header);
    if (writer.fault) {
        return oct_refuse(reason, "%s is not written: %s", path, writer.fault);
    }
    if (err == OCT_OK) {
        err = oct_file_adopt(draft, path);
    }
    if (err != OCT_OK) {
        const char *why = errno == ENOTSUP ? "it is a device, a pipe or the output of this command"
                                           : oct_file_strerror(errno);
        return oct_fail(reason, OCT_EIO, "%s cannot be written: %s", path, why);
    }
    *out = writer.written;
    return OCT_OK;
}
