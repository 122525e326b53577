#ifndef REPLAY_DATA_DATA_WRITER_H
#define REPLAY_DATA_DATA_WRITER_H

#include "common/oct_reason.h"
#include "replay/data/data_episodes.h"

// Writes a data set (replay_data.h). The file appears at its path when it is complete, and replaces
// what was there.
//
// Threads: any, one user at a time. Owns: one block and the file. Full: OCT_EIO, and path is
// unchanged.
typedef struct data_written {
    uint64_t rows;  // rows written, with end rows
    uint64_t steps; // of rows: with an action
    uint64_t blocks;
    uint64_t bytes; // length of the file
} data_written;

// Writes the rows of these episodes of source, in the source's order. Rollouts are no longer
// distinguished: the end row of a rollout inside an episode is left out. WIRE_ROLLOUT gets another
// meaning: on a first row, the episode's beginning may be missing; on an end row, its end may be.
// made_by: name of the writing program. reason says why the file was not written:
//   OCT_EINVAL  there are no episodes, or a row that a data set cannot have
//               (replay_data_numbers_fault)
//   OCT_EIO     path cannot be written
OCT_CHECKED oct_err data_write(data_written *out, const char *path, const data_source *source,
                               const data_episodes *episodes, const char *made_by, oct_reason *why);

#endif // REPLAY_DATA_DATA_WRITER_H
