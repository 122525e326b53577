// Lays out the columns of a block of rows, and copies rows into it.
#include "replay/replay_block.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"

// Of columns, in bytes: a cache line.
#define ALIGNMENT 64

static_assert(sizeof(replay_block) == 64, "the header of layout 1");
static_assert((REPLAY_FLAGS_UNKNOWN & WIRE_FLAGS) == 0, "no flags of a row");

oct_err
replay_block_readable(const char *path, uint32_t byte_order, uint32_t version, uint32_t known,
                      uint32_t block_layout, oct_reason *why)
{
    if (byte_order != REPLAY_BYTE_ORDER) {
        return oct_refuse(why, "%s is from a machine with another byte order", path);
    }
    if (version != known || block_layout != REPLAY_BLOCK_LAYOUT) {
        return oct_refuse(why,
                          "%s has version %" PRIu32 ".%" PRIu32
                          " of the format, this program reads %" PRIu32 ".%d",
                          path, version, block_layout, known, REPLAY_BLOCK_LAYOUT);
    }
    return OCT_OK;
}

// Appends a column to the layout and returns its offset.
static size_t
column_add(replay_layout *layout, size_t row_bytes)
{
    size_t begin = layout->bytes;
    size_t bytes = layout->rows * row_bytes;
    layout->bytes = begin + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return begin;
}

replay_layout
replay_layout_make(uint32_t rows, uint32_t obs_bytes, uint32_t action_bytes, uint32_t extra_dim)
{
    OCT_ASSERT(rows > 0 && rows <= REPLAY_BLOCK_ROWS_MAX && (rows & (rows - 1)) == 0);
    replay_layout layout = {
        .rows = rows,
        .shift = (uint32_t)__builtin_ctz(rows),
        .obs_bytes = obs_bytes,
        .action_bytes = action_bytes,
        .extra_dim = extra_dim,
        .bytes = sizeof(replay_block),
    };
    layout.obs = column_add(&layout, obs_bytes);
    layout.action = column_add(&layout, action_bytes);
    layout.reward = column_add(&layout, sizeof(float));
    layout.version = column_add(&layout, sizeof(uint32_t));
    layout.extra = column_add(&layout, extra_dim * sizeof(float));
    layout.flags = column_add(&layout, sizeof(uint8_t));
    return layout;
}

void
replay_layout_columns(const replay_layout *layout, replay_column out[REPLAY_COLUMNS])
{
    const replay_column columns[REPLAY_COLUMNS] = {
        {layout->obs, layout->obs_bytes},
        {layout->action, layout->action_bytes},
        {layout->reward, sizeof(float)},
        {layout->version, sizeof(uint32_t)},
        {layout->extra, layout->extra_dim * sizeof(float)},
        {layout->flags, sizeof(uint8_t)},
    };
    memcpy(out, columns, sizeof(columns));
}

void
replay_block_add(const replay_layout *layout, replay_block *block, replay_arrived rows)
{
    const wire_batch *batch = rows.batch;
    const uint32_t row = rows.row, count = rows.count;
    OCT_ASSERT(count <= layout->rows - block->count);
    uint8_t *base = (uint8_t *)block;
    size_t at = block->count;
    size_t obs = layout->obs_bytes, action = layout->action_bytes;
    size_t extra = layout->extra_dim * sizeof(float);
    memcpy(base + layout->obs + at * obs, batch->obs + row * obs, count * obs);
    memcpy(base + layout->action + at * action, batch->action + row * action, count * action);
    memcpy(base + layout->reward + at * sizeof(float), batch->reward + row, count * sizeof(float));
    memcpy(base + layout->flags + at, batch->flags + row, count);
    if (extra > 0) {
        memcpy(base + layout->extra + at * extra, batch->extra + (size_t)row * layout->extra_dim,
               count * extra);
    }
    uint32_t *versions = (uint32_t *)(base + layout->version) + at;
    for (uint32_t i = 0; i < count; i++) {
        versions[i] = rows.version;
    }
    block->count = (uint16_t)(block->count + count);
}
