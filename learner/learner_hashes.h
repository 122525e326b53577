#ifndef LEARNER_LEARNER_HASHES_H
#define LEARNER_LEARNER_HASHES_H

#include "common/oct_err.h"
#include "proto/wire_hash.h"

// hashes.csv in the run folder: what a run in lock-step was after some of its turns. Two runs that
// did the same have the same file, byte for byte, whatever was killed meanwhile.
//
// Threads: the loop thread.
typedef struct learner_hashes_row {
    uint64_t turn;
    uint64_t updates;
    uint64_t env_steps;
    uint8_t weights[WIRE_HASH_BYTES]; // of the learner's state: weights, optimiser, targets, …
    uint8_t replay[WIRE_HASH_BYTES];  // of replay's table (wire_digest)
} learner_hashes_row;

// The file with its rows up to a turn, those after it left out; one that is not there, or has
// another header, is begun anew. OCT_EIO: it cannot be read or written (errno says why), and has
// the rows that it had.
OCT_CHECKED oct_err learner_hashes_begin(const char *path, uint64_t turn);
// On the disk when it returns: no checkpoint may be newer than its row. OCT_EIO: it cannot be
// written (errno says why), and nothing of the row is there.
OCT_CHECKED oct_err learner_hashes_add(const char *path, const learner_hashes_row *row);

#endif // LEARNER_LEARNER_HASHES_H
