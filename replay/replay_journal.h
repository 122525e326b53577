#ifndef REPLAY_REPLAY_JOURNAL_H
#define REPLAY_REPLAY_JOURNAL_H

#include "replay/replay_file.h"
#include "replay/replay_plan.h"

// Makes each change of a durable table atomic: after a kill at any moment, the file holds the
// change completely or not at all.
//
// 1. Before a batch changes a block that has rows already, the journal records the block's number
//    of rows (replay_journal_begin).
// 2. Rows go directly into the mapping.
// 3. The rest of the table's state is written as a whole into the unused one of two heads.
// 4. One store, of the number of commits, makes that head the valid one (replay_journal_commit).
//    Then the session that changed is stored in the list of sessions; if that is interrupted,
//    recovery repeats it.
//
// If the commit did not come, recovery cuts off the rows beyond the recorded numbers, and blocks
// that the batch opened are beyond the valid head's end. A block that was dropped to make room is
// lost. A block that was renewed gets its old serial back (replay_recover.h).
//
// Threads: those of the table. Owns: nothing.

// Call it before a planned batch is stored.
void replay_journal_begin(replay_file *file, const replay_store *store, const replay_plan *plan);
// Returns the unused head. Fill it completely, then commit.
replay_head *replay_journal_head(replay_file *file);
// Makes that head the valid one.
void replay_journal_commit(replay_file *file);
// Returns the valid head.
const replay_head *replay_journal_held(const replay_file *file);
// After a kill: cuts off rows that were not committed, and stores the session of the last commit
// again. The valid head then describes the table, except for blocks that were dropped.
void replay_journal_undo(replay_file *file);

#endif // REPLAY_REPLAY_JOURNAL_H
