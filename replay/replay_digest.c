// Hashes a table: rows, sampler data, counters and generator.
#include "replay/replay_digest.h"

#include <string.h>

#include "common/oct_base.h"

static void
double_add(wire_hash *hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    wire_hash_add_u64(hash, bits);
}

static void
block_add(wire_hash *hash, const replay_layout *layout, const replay_block *block)
{
    const uint64_t names[] = {block->serial, block->count, block->stream, block->first,
                              block->episode_age};
    replay_column columns[REPLAY_COLUMNS];
    replay_layout_columns(layout, columns);
    for (size_t i = 0; i < OCT_COUNTOF(names); i++) {
        wire_hash_add_u64(hash, names[i]);
    }
    for (size_t i = 0; i < REPLAY_COLUMNS; i++) {
        wire_hash_add(hash, (const uint8_t *)block + columns[i].at,
                      columns[i].row_bytes * block->count);
    }
}

static void
counters_add(wire_hash *hash, const replay_head *head)
{
    const replay_limiter *limiter = &head->limiter;
    const uint64_t counters[] = {head->oldest,         head->next,       head->turn,
                                 head->turn_batches,   head->rng.state,  head->rng.stream,
                                 limiter->inserts,     limiter->samples, limiter->insert_chunk,
                                 limiter->sample_chunk};
    for (size_t i = 0; i < OCT_COUNTOF(counters); i++) {
        wire_hash_add_u64(hash, counters[i]);
    }
    double_add(hash, limiter->offset);
    double_add(hash, head->select.weight_max);
}

void
replay_digest(const replay_store *store, const replay_regions *regions,
              const replay_select_ops *select, const replay_head *head,
              uint8_t out[WIRE_HASH_BYTES])
{
    const replay_layout *layout = replay_store_layout(store);
    // Bytes for one block: the difference takes out what does not grow with the rows.
    size_t kept = (size_t)(select->kept_bytes(layout->rows * 2) - select->kept_bytes(layout->rows));
    wire_hash *hash = wire_hash_begin();
    counters_add(hash, head);
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        block_add(hash, layout, replay_store_block(store, serial));
        if (kept > 0) {
            size_t at = replay_store_place(store, serial) * kept;
            wire_hash_add(hash, (const uint8_t *)regions->select + at, kept);
        }
    }
    wire_hash_end(hash, out);
}
