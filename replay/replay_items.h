#ifndef REPLAY_REPLAY_ITEMS_H
#define REPLAY_REPLAY_ITEMS_H

#include "common/oct_rng.h"
#include "replay/replay_plan.h"
#include "replay/replay_regions.h"
#include "replay/replay_select.h"
#include "replay/replay_store.h"
#include "replay/replay_window.h"

// Which of the rows in the store begin a window that can be sampled, and which of those are drawn:
// the store, the rule of the windows and the sampler tied together.
//
// Threads: one user at a time. Owns: store, sampler and two bits for each row, reserved by create;
// blocks, given-out bits and what the sampler keeps lie in the caller's regions.
// Full: the oldest blocks are dropped, with the windows that begin in them. Of a sampler that
// takes, a block is needed while it has rows of a window that waits to be drawn, or is of the rows
// that a stream's next window may have: such a block is renewed (replay_store.h) and the next one
// looked at, as long as there is one that is not needed. So a stream's windows wait for its own
// rows, however fast others come. Of more streams than are expected, those that got no row while
// the table's other blocks were used once are not waited for: their actors may be gone.
typedef struct replay_items replay_items;

// Counters since create.
typedef struct replay_items_stats {
    uint64_t inserted; // windows
    uint64_t cut;      // windows that began and will never be complete
    uint64_t overrun;  // windows of a sampler that takes, dropped before they were drawn
    uint64_t given_up; // windows of a sampler that takes, too old to be drawn
} replay_items_stats;

// streams: that are expected at the same time.
replay_items *replay_items_create(const replay_layout *layout, uint32_t blocks,
                                  const replay_select_ops *select, double exponent,
                                  const replay_window *window, uint32_t streams,
                                  const replay_regions *regions);
// Takes over regions that an earlier table left: its blocks oldest .. next - 1, whose links are
// right (replay_recover.h), and the sampler's state. is_exact: the regions are as they were when
// state was saved.
void replay_items_restore(replay_items *items, uint64_t oldest, uint64_t next,
                          const replay_items_stats *stats, const replay_select_state *state,
                          bool is_exact);
void replay_items_save(const replay_items *items, replay_select_state *state);
void replay_items_destroy(replay_items *items);
// Beside the blocks, the streams and the sampler.
uint64_t replay_items_mask_bytes(uint32_t blocks);

replay_store *replay_items_store(const replay_items *items);
const replay_window *replay_items_window(const replay_items *items);
replay_items_stats replay_items_stats_get(const replay_items *items);
uint32_t replay_items_count(const replay_items *items);

void replay_items_set_streams(replay_items *items, uint32_t streams);
// Another window: what no longer is one leaves; what has become one comes in, but nothing that
// a sampler that takes has given out; what stays keeps its priority.
void replay_items_set_window(replay_items *items, const replay_window *window);

// The batch's rows, as planned. Gives how many windows they made complete.
uint32_t replay_items_add(replay_items *items, const replay_plan *plan, const wire_batch *batch);
// Of a sampler that takes: how many blocks can be opened without dropping one that is needed, at
// most this many. plan: of a batch that is about to be added, or closed. O(blocks held).
uint32_t replay_items_room(const replay_items *items, const replay_plan *plan, uint32_t most);

// There are items; a sampler that takes has count of them.
void replay_items_draw(replay_items *items, oct_rng *rng, uint32_t count, uint32_t *slot,
                       float *probability);
// What windows are drawn in proportion to, summed: their count where all are alike.
double replay_items_mass(const replay_items *items);
// A sampler that takes: gives up windows with an action of a policy older than version_min, until
// the next count windows have none. Returns how many there are, at most count.
uint32_t replay_items_filter(replay_items *items, uint32_t count, uint32_t version_min);
// New priorities for the windows of these keys; as wire_priorities has them, finite and not
// negative.
typedef struct replay_items_updates {
    uint32_t taken;
    uint32_t late; // the window has left
} replay_items_updates;
replay_items_updates replay_items_update(replay_items *items, uint32_t count, const uint64_t *key,
                                         const float *priority);

#endif // REPLAY_REPLAY_ITEMS_H
