#ifndef REPLAY_REPLAY_RECOVER_H
#define REPLAY_REPLAY_RECOVER_H

#include "common/oct_reason.h"
#include "replay/replay_file.h"

// Prepares a file that replay_file_open found for replay_table_restore: afterwards its blocks, head
// and sessions belong to one moment.
//
// After a kill that moment is the last commit. After a power failure, or if the file was copied, it
// is the last generation that was synced. Then each block of that generation is compared with its
// mark:
// - A block keeps the rows that its mark proves; later rows are cut off.
// - A block that does not agree with its mark is torn, and is emptied.
// - A block that has left the table since is lost, and is emptied.
// - A block that was renewed since gets its serial of then.
// Recovery may be interrupted anywhere and repeated with the same result, because the file is not
// live before the table is restored.
//
// Threads: before a table uses the file. Errors: OCT_EINVAL, and reason says what is damaged.
typedef struct replay_recovered {
    bool is_exact;       // the moment is the last commit
    uint64_t generation; // the newest that was synced; 0: none
    uint64_t rows;       // rows that the table has
    // Not synced, or not committed; a repeated recovery does not count them again.
    uint64_t rows_cut;
    uint64_t blocks;       // blocks with rows
    uint64_t blocks_left;  // blocks of that moment that have left the table since
    uint64_t blocks_torn;  // blocks that differ from their marks, emptied
    uint64_t rows_dropped; // removed by replay_recover_drop
} replay_recovered;

OCT_CHECKED oct_err replay_recover(replay_recovered *out, replay_file *file, oct_reason *why);
// Empties the blocks of a session, after replay_recover and before a table uses the file. Clears
// is_exact if there was such a block.
void replay_recover_drop(replay_recovered *recovered, replay_file *file, uint64_t session);
// Returns the snapshot of the newest complete generation, NULL if there is none.
const replay_snapshot *replay_recover_snapshot(const replay_file *file);

#endif // REPLAY_REPLAY_RECOVER_H
