#ifndef DATA_DATA_EPISODES_H
#define DATA_DATA_EPISODES_H

#include "data/data_source.h"

// The episodes of recorded steps. One whose first rows have left the table, or that had not ended,
// is incomplete; rows that are missing cut an episode in two. A rollout that ends in the middle of
// one does not: the episode goes on with the row behind it, where that has the observation of the
// rollout's end row.
//
// Threads: any. Owns: a list, 48 bytes an episode.
typedef struct data_episode {
    uint32_t block;     // of its first row
    uint32_t row;       // in that block
    uint64_t rows;      // with the end row, if it has one, and those of rollouts
    uint64_t pauses;    // of them, the end rows of rollouts that ended before it did
    double order;       // when its last row came (data_source_order)
    double total;       // the sum of its rewards, in their order
    uint8_t last_flags; // of its last row with an action
    bool has_first;     // its first row is there
    bool has_end;       // and its end row
    bool is_failed;     // its environment failed
} data_episode;

typedef struct data_episodes {
    data_episode *list; // in the order of the source's blocks
    uint64_t count;
} data_episodes;

void data_episodes_find(data_episodes *out, const data_source *source);
void data_episodes_free(data_episodes *episodes);
// Leaves those that are complete (complete_only); of them the last ones that ended (last; 0: all),
// among which is none whose end is missing.
void data_episodes_choose(data_episodes *episodes, bool complete_only, uint64_t last);

static inline bool
data_episode_is_complete(const data_episode *episode)
{
    return episode->has_first && episode->has_end;
}

// Actions: the rows without end rows.
static inline uint64_t
data_episode_steps(const data_episode *episode)
{
    return episode->rows - episode->pauses - (episode->has_end ? 1 : 0);
}

#endif // DATA_DATA_EPISODES_H
