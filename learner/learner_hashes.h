#ifndef LEARNER_LEARNER_HASHES_H
#define LEARNER_LEARNER_HASHES_H

#include "common/oct_err.h"
#include "proto/wire_hash.h"

// hashes.csv in the run folder: hashes of a lock-step run's state after some of its turns. Two runs
// that computed the same have the same file, byte for byte, even if processes were killed
// meanwhile.
//
// Threads: the loop thread.
typedef struct learner_hashes_row {
    uint64_t turn;
    uint64_t updates;
    uint64_t env_steps;
    uint8_t weights[WIRE_HASH_BYTES]; // of the learner's state: weights, optimiser, targets, …
    uint8_t replay[WIRE_HASH_BYTES];  // of replay's table (wire_digest)
} learner_hashes_row;

// Keeps the file's rows up to a turn and deletes later rows. A missing file, or a file with another
// header, is replaced by an empty table. OCT_EIO: the file cannot be read or written (errno says
// why), and keeps its rows.
OCT_CHECKED oct_err learner_hashes_begin(const char *path, uint64_t turn);
// Appends a row, which is on disk at return: no checkpoint may be newer than its row. OCT_EIO: the
// row cannot be written (errno says why), and the file contains no part of the row.
OCT_CHECKED oct_err learner_hashes_add(const char *path, const learner_hashes_row *row);

#endif // LEARNER_LEARNER_HASHES_H
