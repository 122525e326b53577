#ifndef ACTOR_ACTOR_LADDER_H
#define ACTOR_ACTOR_LADDER_H

#include <stdint.h>

// The environments of all actors stand on one ladder, from the least to the most exploration. An
// actor's environments have the positions actor_index * envs … of total; actors beyond the planned
// number begin again at the bottom.
//
// Threads: any.
typedef struct actor_ladder {
    uint32_t actor_index;
    uint32_t envs; // of this actor
    uint32_t total;
} actor_ladder;

// Returns the position of environment i, from 0 at the bottom to 1 at the top; alone if there is
// one position at most.
static inline double
actor_ladder_at(const actor_ladder *ladder, uint32_t i, double alone)
{
    uint32_t total = ladder->total;
    uint32_t position = total > 0 ? (ladder->actor_index * ladder->envs + i) % total : 0;
    return total > 1 ? (double)position / (double)(total - 1) : alone;
}

#endif // ACTOR_ACTOR_LADDER_H
