#ifndef REPLAY_REPLAY_REGIONS_H
#define REPLAY_REPLAY_REGIONS_H

#include <stdint.h>

#include "replay/replay_block.h"
#include "replay/replay_select.h"

// The memory that holds what a table cannot find out anew: blocks, which windows were given out,
// what the sampler keeps for each row. Plain memory, or a part of a file (replay_file.h); the table
// does the same with both.
//
// Threads: those of the table. Owns: nothing but what reserve reserved.
typedef struct replay_regions {
    uint8_t *blocks; // [blocks][layout.bytes]
    uint64_t *used;  // [blocks] rows of windows that a sampler that takes has given out
    void *select;    // [select->kept_bytes]
} replay_regions;

typedef struct replay_region_bytes {
    uint64_t blocks;
    uint64_t used;
    uint64_t select;
} replay_region_bytes;

replay_region_bytes replay_regions_measure(const replay_layout *layout, uint32_t blocks,
                                           const replay_select_ops *select);
// Zeroed. release: of what reserve gave, no other.
replay_regions replay_regions_reserve(const replay_region_bytes *bytes);
void replay_regions_release(replay_regions *regions);

#endif // REPLAY_REPLAY_REGIONS_H
