// Measures and allocates the memory for a table's blocks, bits of given-out rows and sampler data.
#include "replay/replay_regions.h"

#include <stdlib.h>

#include "common/oct_base.h"

replay_region_bytes
replay_regions_measure(const replay_layout *layout, uint32_t blocks,
                       const replay_select_ops *select)
{
    return (replay_region_bytes){
        .blocks = blocks * (uint64_t)layout->bytes,
        .used = blocks * sizeof(uint64_t),
        .select = select->kept_bytes(blocks * layout->rows),
    };
}

replay_regions
replay_regions_reserve(const replay_region_bytes *bytes)
{
    return (replay_regions){
        .blocks = oct_alloc(bytes->blocks),
        .used = oct_alloc(bytes->used),
        .select = oct_alloc(OCT_MAX(bytes->select, 1)),
    };
}

void
replay_regions_release(replay_regions *regions)
{
    free(regions->blocks);
    free(regions->used);
    free(regions->select);
    *regions = (replay_regions){0};
}
