#ifndef REPLAY_REPLAY_JOURNAL_H
#define REPLAY_REPLAY_JOURNAL_H

#include "replay/replay_file.h"
#include "replay/replay_plan.h"

// How a change of a durable table is whole or not there, whenever the process is killed.
//
// Rows go into the mapping at once. What the table knows beside them is written whole, as the other
// of two heads; one store, of the number of commits, makes that the one that holds. Before a batch
// changes a block that has rows already, the journal says how many: when the commit did not come,
// those behind are cut off again, and blocks that the batch opened are beyond the head's end. A
// block that left to make room is gone; one that was renewed is put back (replay_recover.h).
//
// Threads: those of the table. Owns: nothing.

// A batch as planned is about to be stored.
void replay_journal_begin(replay_file *file, const replay_store *store, const replay_plan *plan);
// The head that is to be filled, then committed.
replay_head *replay_journal_head(replay_file *file);
void replay_journal_commit(replay_file *file);
// The head that holds.
const replay_head *replay_journal_held(const replay_file *file);
// After a kill: cuts off what was not committed, and does what was and may not have been done. The
// head that holds is what the table knows now, but for the blocks that left.
void replay_journal_undo(replay_file *file);

#endif // REPLAY_REPLAY_JOURNAL_H
