#ifndef REPLAY_REPLAY_ITEMS_H
#define REPLAY_REPLAY_ITEMS_H

#include "common/oct_rng.h"
#include "replay/replay_plan.h"
#include "replay/replay_regions.h"
#include "replay/replay_select.h"
#include "replay/replay_store.h"
#include "replay/replay_window.h"

// Keeps which rows of the store begin a window that can be drawn, and draws windows. Ties together
// the store, the rule of the windows and the sampler.
//
// Threads: one user at a time. Owns: the store, the sampler and two words of bits for each block,
// reserved by create. The caller's regions hold the blocks, the bits of rows given out, and the
// sampler's kept data.
//
// Full: the oldest block is dropped, with the windows that begin in it. A sampler that takes (each
// window is drawn once) still needs some blocks: those with rows of a window that waits to be
// drawn, and those with rows that the stream's next window may have. A needed block is renewed
// (replay_store.h) and the next oldest is considered, until one is found that is not needed. So an
// unfinished window waits for its own stream's rows, however fast other streams fill blocks. If
// there are more streams than expected, an idle stream (none of its rows arrived while the other
// blocks were used once) is not waited for, because its actor may have ended.
typedef struct replay_items replay_items;

// Counters since create.
typedef struct replay_items_stats {
    uint64_t inserted; // windows that became complete
    uint64_t cut;      // windows that began and can never become complete
    uint64_t overrun;  // of a sampler that takes: windows dropped before they were drawn
    uint64_t given_up; // of a sampler that takes: windows too old to be drawn
} replay_items_stats;

// streams: the number expected at the same time.
replay_items *replay_items_create(const replay_layout *layout, uint32_t blocks,
                                  const replay_select_ops *select, double exponent,
                                  const replay_window *window, uint32_t streams,
                                  const replay_regions *regions);
// What an earlier table left in its regions: blocks oldest .. next - 1 with correct links
// (replay_recover.h), its counters, and the sampler's state.
typedef struct replay_items_left {
    uint64_t oldest;
    uint64_t next;
    replay_items_stats stats;
    replay_select_state select;
    bool is_exact; // the regions are unchanged since select was saved
} replay_items_left;
void replay_items_restore(replay_items *items, const replay_items_left *left);
void replay_items_save(const replay_items *items, replay_select_state *state);
void replay_items_destroy(replay_items *items);
// Memory besides the blocks, the streams and the sampler.
uint64_t replay_items_mask_bytes(uint32_t blocks);

replay_store *replay_items_store(const replay_items *items);
const replay_window *replay_items_window(const replay_items *items);
replay_items_stats replay_items_stats_get(const replay_items *items);
// Windows that can be drawn.
uint32_t replay_items_count(const replay_items *items);

void replay_items_set_streams(replay_items *items, uint32_t streams);
// Changes the window. Windows that no longer exist leave, and new ones enter, except for rows that
// a sampler that takes has given out. Windows that exist under both rules keep their priority.
void replay_items_set_window(replay_items *items, const replay_window *window);

// Stores the batch's rows as planned. Returns how many windows they completed.
uint32_t replay_items_add(replay_items *items, const replay_plan *plan, const wire_batch *batch);
// For a sampler that takes: returns how many blocks can be opened without dropping a needed one, at
// most `most`. plan: of a batch about to be stored, or a closed plan. O(blocks held).
uint32_t replay_items_room(const replay_items *items, const replay_plan *plan, uint32_t most);

// Draws windows. There must be windows, for a sampler that takes at least to.count.
void replay_items_draw(replay_items *items, oct_rng *rng, replay_draws to);
// Sum of the weights that windows are drawn in proportion to; their count if all weigh the same.
double replay_items_mass(const replay_items *items);
// For a sampler that takes: gives up windows with an action of a policy older than version_min,
// until the next count windows have none. Returns how many of them there are, at most count.
uint32_t replay_items_filter(replay_items *items, uint32_t count, uint32_t version_min);
// Sets the priorities of the windows of these keys; priorities are finite and not negative, as in
// wire_priorities.
typedef struct replay_items_updates {
    uint32_t taken;
    uint32_t late; // the window has left
} replay_items_updates;
replay_items_updates replay_items_update(replay_items *items, uint32_t count, const uint64_t *key,
                                         const float *priority);

#endif // REPLAY_REPLAY_ITEMS_H
