#ifndef DATA_DATA_WRITER_H
#define DATA_DATA_WRITER_H

#include "data/data_episodes.h"

// Writes a data set (replay_data.h). The file appears at its path when it is whole, in place of
// what was there.
//
// Threads: any, one user at a time. Owns: one block and the file. Full: OCT_EIO, and nothing at
// path has changed.
typedef struct data_written {
    uint64_t rows;
    uint64_t steps; // rows with an action
    uint64_t blocks;
    uint64_t bytes; // of the file
} data_written;

// The rows of these episodes of source, in their order there. Rollouts are no more told apart:
// the end rows of those that an episode goes on behind are left out, and WIRE_ROLLOUT says that an
// episode's beginning (on a first row) or end (on an end row) may be missing. made_by: who writes.
// OCT_EINVAL: there are none, or rows that no data set has (replay_data_numbers_fault); OCT_EIO:
// path cannot be written. reason says why.
OCT_CHECKED oct_err data_write(data_written *out, const char *path, const data_source *source,
                               const data_episodes *episodes, const char *made_by, char *reason,
                               size_t reason_size);

#endif // DATA_DATA_WRITER_H
