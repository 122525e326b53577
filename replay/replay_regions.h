#ifndef REPLAY_REPLAY_REGIONS_H
#define REPLAY_REPLAY_REGIONS_H

#include <stdint.h>

#include "replay/replay_block.h"
#include "replay/replay_select.h"

// The memory that holds what a table cannot compute again: blocks, bits of rows given out, and the
// sampler's kept data. It is plain memory or part of a file (replay_file.h); the table treats both
// alike.
//
// Threads: those of the table. Owns: only what reserve allocated.
typedef struct replay_regions {
    uint8_t *blocks; // [blocks][layout.bytes]
    uint64_t *used;  // [blocks] bit r: row r is in a window that a sampler that takes has given out
    void *select;    // [select->kept_bytes]
} replay_regions;

// Sizes of the regions.
typedef struct replay_region_bytes {
    uint64_t blocks;
    uint64_t used;
    uint64_t select;
} replay_region_bytes;

replay_region_bytes replay_regions_measure(const replay_layout *layout, uint32_t blocks,
                                           const replay_select_ops *select);
// Allocates zeroed regions. release frees only what reserve allocated.
replay_regions replay_regions_reserve(const replay_region_bytes *bytes);
void replay_regions_release(replay_regions *regions);

#endif // REPLAY_REPLAY_REGIONS_H
