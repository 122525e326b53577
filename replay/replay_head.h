#ifndef REPLAY_REPLAY_HEAD_H
#define REPLAY_REPLAY_HEAD_H

#include "common/oct_rng.h"
#include "replay/replay_config.h"
#include "replay/replay_dedupe.h"
#include "replay/replay_items.h"
#include "replay/replay_kept.h"
#include "replay/replay_table.h"

// The state of a table besides its regions (replay_regions.h) and its sessions that it cannot
// compute again. A durable table writes the whole head after each insert, sample and update of
// priorities (replay_journal.h). The head holds plain numbers without pointers, as this machine
// stores them. Any change of the head needs another REPLAY_FILE_VERSION.

// A session, and when it was used last.
typedef struct replay_kept_session {
    replay_session session; // session 0: the slot is empty
    uint64_t used;          // number of commits at its last use
} replay_kept_session;

typedef struct replay_head {
    replay_kept_configure configure; // the present one
    uint64_t oldest;                 // blocks with serials oldest .. next - 1 are held
    uint64_t next;
    oct_rng rng;
    replay_limiter limiter;
    replay_select_state select;
    replay_items_stats items;
    replay_table_stats stats;
    uint32_t last_windows; // of the batch inserted last; credit counts in this unit
    uint32_t last_blocks;
    uint32_t session_index; // of the session that this commit changes; REPLAY_SESSION_NONE: none
    uint32_t turn_batches;  // batches of the turn
    uint64_t turn;          // lock-step: the last turn that the table has; 0: none
    replay_kept_session session; // the session at session_index
} replay_head;

#endif // REPLAY_REPLAY_HEAD_H
