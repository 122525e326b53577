#ifndef REPLAY_REPLAY_HEAD_H
#define REPLAY_REPLAY_HEAD_H

#include "common/oct_rng.h"
#include "replay/replay_config.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_items.h"
#include "replay/replay_kept.h"
#include "replay/replay_table.h"

// What a table knows beside its regions (replay_regions.h) and its sessions and cannot find out
// anew. A durable table writes it whole after each insert, sample and update of priorities
// (replay_journal.h). Plain numbers without pointers, as they lie in the memory of this machine; a
// change of anything in it is another REPLAY_FILE_VERSION.

// A session, with when it was used last.
typedef struct replay_kept_session {
    replay_session session; // session 0: there is none
    uint64_t used;          // commits then
} replay_kept_session;

typedef struct replay_head {
    replay_kept_configure configure; // as it holds now
    uint64_t oldest;                 // serials of blocks: oldest .. next - 1 are held
    uint64_t next;
    oct_rng rng;
    replay_limiter limiter;
    replay_select_state select;
    replay_items_stats items;
    replay_table_stats stats;
    uint32_t last_windows; // of the batch inserted last: what credit is counted in
    uint32_t last_blocks;
    uint32_t session_index; // of the session that this commit changes, REPLAY_SESSION_NONE
    uint32_t turn_batches;  // that the turn has
    uint64_t turn;          // lock-step: the last one that the table has; 0: none
    replay_kept_session session;
} replay_head;

#endif // REPLAY_REPLAY_HEAD_H
