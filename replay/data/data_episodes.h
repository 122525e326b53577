#ifndef REPLAY_DATA_DATA_EPISODES_H
#define REPLAY_DATA_DATA_EPISODES_H

#include "replay/data/data_source.h"

// The episodes of recorded steps. An episode is incomplete if its first rows have left the table,
// or if it had not ended. Missing rows cut an episode in two. A rollout that ends inside an episode
// does not: the episode continues with the row after the rollout's end row if that row has the same
// observation.
//
// Threads: any. Owns: a list, 48 bytes per episode.
typedef struct data_episode {
    uint32_t block;     // index of the block with its first row
    uint32_t row;       // its first row in that block
    uint64_t rows;      // all its rows, including its end row and the end rows of rollouts
    uint64_t pauses;    // of rows: end rows of rollouts that ended before the episode
    double order;       // time of its last row, as data_source_order gives it
    double total;       // sum of its rewards, added in order
    uint8_t last_flags; // of its last row with an action
    bool has_first;     // its first row is present
    bool has_end;       // its end row is present
    bool is_failed;     // its environment failed
} data_episode;

typedef struct data_episodes {
    data_episode *list; // in the order of the source's blocks
    uint64_t count;
} data_episodes;

// Lists all episodes of source. Free the list with data_episodes_free.
void data_episodes_find(data_episodes *out, const data_source *source);
void data_episodes_free(data_episodes *episodes);
// Keeps only some episodes. complete_only: the complete ones. last: of these, the episodes that
// ended last, at most this many; episodes without an end are then left out. 0: all.
void data_episodes_choose(data_episodes *episodes, bool complete_only, uint64_t last);

static inline bool
data_episode_is_complete(const data_episode *episode)
{
    return episode->has_first && episode->has_end;
}

// Number of actions: rows that are not end rows.
static inline uint64_t
data_episode_steps(const data_episode *episode)
{
    return episode->rows - episode->pauses - (episode->has_end ? 1 : 0);
}

#endif // REPLAY_DATA_DATA_EPISODES_H
