#ifndef TESTS_REPLAY_REPLAY_MODEL_H
#define TESTS_REPLAY_REPLAY_MODEL_H

#include "tests/replay/replay_test.h"

#include <stdlib.h>

// A table that is too simple to be wrong: a list of all blocks with their rows, in which windows
// are looked for row by row, anew each time. There is one.

#define BLOCKS_MAX 128
#define ROWS_MAX   1024
#define STEPS_MAX  16
#define CLIP       1.5f
#define GAMMA      0.9
#define NONE       UINT64_MAX

typedef struct row {
    uint32_t actor, stream;
    uint64_t session, number;
    uint64_t episode; // number of its first row, NONE when replay never saw that
    bool begins;      // what came before is missing
    uint8_t flags;
    uint32_t version;
    float obs, reward, extra;
    int32_t action;
    // Of the table's view.
    uint64_t key;
    bool used, is_item;
    double weight;
    uint32_t next; // index in the list, UINT32_MAX
} row;

typedef struct model_held {
    uint64_t serial;
    uint32_t count; // 0: it left, and its place is not free yet
    row rows[REPLAY_BLOCK_ROWS_MAX];
} model_held;

// A stream that has a block.
typedef struct model_stream {
    row last;      // row, copied: it may have left
    uint64_t held; // first row that is, of those that lead up to the last
    bool is_idle;
} model_stream;

static struct model {
    model_held blocks[BLOCKS_MAX]; // oldest first
    uint32_t count, most, block_rows;
    uint64_t serial;
    row *list[ROWS_MAX]; // every row held
    uint32_t rows;
    uint64_t queue[ROWS_MAX]; // FIFO: keys in the order in which they are to come
    uint32_t queued;
    double weight_max;
    uint64_t overrun; // windows that left before they were drawn
    model_stream streams[BLOCKS_MAX];
    uint32_t streamed;
    uint64_t looked_at;      // serials before it may be renewed for the batch
    const wire_batch *batch; // at hand
    uint64_t renewed;        // for the summary
    uint64_t needed_left;    // blocks, for batches that were rolled back
    wire_configure configure;
} m;

// ---- windows

static inline bool
model_is_same(const row *a, const row *b)
{
    return a->actor == b->actor && a->session == b->session && a->stream == b->stream;
}

// Every row held, and behind which the next of its stream is.
static inline void
model_list(void)
{
    m.rows = 0;
    for (uint32_t b = 0; b < m.count; b++) {
        for (uint32_t i = 0; i < m.blocks[b].count; i++) {
            m.list[m.rows++] = &m.blocks[b].rows[i];
        }
    }
    for (uint32_t i = 0; i < m.rows; i++) {
        row *at = m.list[i];
        at->next = UINT32_MAX;
        for (uint32_t k = 0; k < m.rows && at->next == UINT32_MAX; k++) {
            const row *other = m.list[k];
            if (model_is_same(at, other) && other->number == at->number + 1 && !other->begins) {
                at->next = k;
            }
        }
    }
}

// The rows of the window that begins at a row, with the one behind it: how many there are, 0 when
// there is no such window. is_open: rows that are to come may make it one.
static inline uint32_t
model_look(const row *first, const row *out[STEPS_MAX + 1], bool *is_open)
{
    *is_open = false;
    const wire_configure *c = &m.configure;
    bool is_n_step = c->window == WIRE_WINDOW_N_STEP;
    bool is_rollout = c->window == WIRE_WINDOW_ROLLOUT;
    bool is_by_episode = c->window == WIRE_WINDOW_SEQUENCE && c->window_stride == 0;
    bool has_one = is_n_step || is_by_episode || (!is_rollout && c->window_steps == 1);
    if (has_one && (first->flags & WIRE_END)) { // an action in its first row
        return 0;
    }
    if (is_by_episode &&
        (first->episode == NONE || (first->number - first->episode) % c->window_steps != 0)) {
        return 0;
    }
    if (is_rollout && (first->flags & (WIRE_ROLLOUT | WIRE_END)) != WIRE_ROLLOUT) {
        return 0;
    }
    if (!is_n_step && !is_by_episode && !is_rollout && first->number % c->window_stride != 0) {
        return 0;
    }
    uint32_t count = 0;
    for (const row *at = first;; at = m.list[at->next]) {
        out[count++] = at;
        bool is_edge = count > 1 && (at->flags & WIRE_ROLLOUT);
        if (is_rollout ? is_edge : (is_n_step || is_by_episode) && (at->flags & WIRE_END)) {
            return is_rollout && !(at->flags & WIRE_END) ? 0 : count; // no other begins inside
        }
        if (count == c->window_steps + 1) {
            return is_rollout ? 0 : count;
        }
        if (at->next == UINT32_MAX) {
            *is_open = true;
            return 0;
        }
    }
}

static inline uint32_t
model_window(const row *first, const row *out[STEPS_MAX + 1])
{
    bool is_open;
    return model_look(first, out, &is_open);
}

static inline row *
model_row(uint64_t key)
{
    for (uint32_t i = 0; i < m.rows; i++) {
        if (m.list[i]->key == key) {
            return m.list[i];
        }
    }
    return NULL;
}

static inline int
key_order(const void *a, const void *b) // by the rows' numbers
{
    const uint64_t *x = a, *y = b;
    const row *one = model_row(*x), *other = model_row(*y);
    return (one->number > other->number) - (one->number < other->number);
}

// Looks for all windows anew. New ones come behind the others: oldest block first, those of a run
// by the rows' numbers.
static inline uint32_t
model_find(bool is_run)
{
    uint32_t items = 0, before = m.queued;
    const row *rows[STEPS_MAX + 1];
    model_list();
    for (uint32_t i = 0; i < m.rows; i++) {
        row *at = m.list[i];
        bool was_item = at->is_item;
        at->is_item = !at->used && model_window(at, rows) > 0;
        if (at->is_item && !was_item) {
            at->weight = m.weight_max;
            m.queue[m.queued++] = at->key;
        }
        items += at->is_item;
    }
    if (is_run) {
        qsort(m.queue + before, m.queued - before, sizeof(m.queue[0]), key_order);
    }
    return items;
}

static inline void
model_clean(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m.queued; i++) {
        const row *at = model_row(m.queue[i]);
        if (at && at->is_item) {
            m.queue[kept++] = m.queue[i];
        }
    }
    m.queued = kept;
}

#endif // TESTS_REPLAY_REPLAY_MODEL_H
