#include "replay/replay_obsmap.h"

#include "common/oct_base.h"
#include "replay/replay_store.h"

void
replay_obsmap_init(replay_obsmap *map)
{
    map->newest = 0;
    map->count = 0;
}

uint64_t
replay_obsmap_end(const replay_obsmap *map)
{
    const replay_obsmap_run *run = &map->run[map->newest];
    return map->count == 0 ? 0 : run->session_first + run->count;
}

void
replay_obsmap_add(replay_obsmap *map, uint64_t session_first, uint64_t store_first, uint64_t count)
{
    OCT_ASSERT(session_first >= replay_obsmap_end(map));
    if (count == 0) {
        return;
    }
    replay_obsmap_run *last = &map->run[map->newest];
    if (map->count > 0 && last->session_first + last->count == session_first &&
        last->store_first + last->count == store_first) {
        last->count += count;
        return;
    }
    map->newest = (map->newest + 1) % REPLAY_OBSMAP_RUNS;
    map->count = OCT_MIN(map->count + 1, REPLAY_OBSMAP_RUNS);
    map->run[map->newest] = (replay_obsmap_run){session_first, store_first, count};
}

uint64_t
replay_obsmap_find(const replay_obsmap *map, uint64_t session_number)
{
    for (uint32_t i = 0; i < map->count; i++) {
        uint32_t at = (map->newest + REPLAY_OBSMAP_RUNS - i) % REPLAY_OBSMAP_RUNS;
        const replay_obsmap_run *run = &map->run[at];
        if (session_number >= run->session_first) {
            uint64_t within = session_number - run->session_first;
            return within < run->count ? run->store_first + within : REPLAY_OBS_NONE;
        }
    }
    return REPLAY_OBS_NONE;
}
