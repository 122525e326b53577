#ifndef REPLAY_REPLAY_OBSMAP_H
#define REPLAY_REPLAY_OBSMAP_H

#include <stdbool.h>
#include <stdint.h>

// Where the observations of one actor's session lie in the store: its numbers (0, 1, 2 … in the
// order sent) to the store's numbers, for the last batches.
//
// Threads: one user at a time. Owns: plain value.
// Full: forgets the oldest batch; a transition that refers to it is then an orphan.
#define REPLAY_OBSMAP_RUNS 64

typedef struct replay_obsmap_run {
    uint64_t session_first;
    uint64_t store_first;
    uint64_t count;
} replay_obsmap_run;

typedef struct replay_obsmap {
    replay_obsmap_run run[REPLAY_OBSMAP_RUNS]; // a ring
    uint32_t newest;
    uint32_t count;
} replay_obsmap;

void replay_obsmap_init(replay_obsmap *map);
// One more than the last session number added; 0 for an empty map.
uint64_t replay_obsmap_end(const replay_obsmap *map);
// session_first >= replay_obsmap_end. A run that continues the last one in both numberings (a lone
// actor) is merged with it.
void replay_obsmap_add(replay_obsmap *map, uint64_t session_first, uint64_t store_first,
                       uint64_t count);
// The store's number; REPLAY_OBS_NONE when the map does not have it.
uint64_t replay_obsmap_find(const replay_obsmap *map, uint64_t session_number);

#endif // REPLAY_REPLAY_OBSMAP_H
