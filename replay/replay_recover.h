#ifndef REPLAY_REPLAY_RECOVER_H
#define REPLAY_REPLAY_RECOVER_H

#include "replay/replay_file.h"

// Makes a file that was found (replay_file_open) one that a table can take over
// (replay_table_restore): its blocks, head and sessions are those of one moment.
//
// After a kill that is the last commit. After a power failure, or where the file was copied, it is
// the last generation that was synced: a block keeps the rows that its mark proves; a block that
// should be there and does not agree with its mark is torn, and emptied; one whose place was used
// again had left. A block that was renewed since gets its serial of then. Doing it again, after it
// was cut off anywhere, gives the same: the file is not live before the table is restored.
//
// Threads: before a table uses the file. Errors: OCT_EINVAL, reason says what cannot be.
typedef struct replay_recovered {
    bool is_exact;       // the last commit
    uint64_t generation; // the newest that was synced
    uint64_t rows;
    uint64_t rows_cut; // not synced, or not committed; doing it again knows of no more
    uint64_t blocks;
    uint64_t blocks_left; // that were not there any more
    uint64_t blocks_torn;
    uint64_t rows_dropped; // by replay_recover_drop
} replay_recovered;

OCT_CHECKED oct_err replay_recover(replay_recovered *out, replay_file *file, char *reason,
                                   size_t reason_size);
// Then, before a table uses the file: empties the blocks of a session. is_exact is false if there
// was one.
void replay_recover_drop(replay_recovered *recovered, replay_file *file, uint64_t session);
// The newest generation whose snapshot is whole; NULL: none is.
const replay_snapshot *replay_recover_snapshot(const replay_file *file);

#endif // REPLAY_REPLAY_RECOVER_H
