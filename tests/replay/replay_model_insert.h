#ifndef TESTS_REPLAY_REPLAY_MODEL_INSERT_H
#define TESTS_REPLAY_REPLAY_MODEL_INSERT_H

#include "tests/replay/replay_model.h"

// How batches come into the model: which blocks leave, are renewed or are opened for them.

// ---- streams

static inline model_stream *
stream_of(const row *of)
{
    for (uint32_t i = 0; i < m.streamed; i++) {
        if (model_is_same(&m.streams[i].last, of)) {
            return &m.streams[i];
        }
    }
    return NULL;
}

static inline bool
is_of_batch(const row *of)
{
    bool is_of = false;
    for (uint32_t run = 0; m.batch && run < m.batch->run_count; run++) {
        is_of |= m.batch->session == of->session && m.batch->actor_id == of->actor &&
                 m.batch->run_stream[run] == of->stream;
    }
    return is_of;
}

static inline bool
has_block(const row *of)
{
    bool has = false;
    for (uint32_t b = 0; b < m.count; b++) {
        has |= m.blocks[b].count > 0 && model_is_same(&m.blocks[b].rows[0], of);
    }
    return has;
}

// Streams without a block are forgotten, but for those of the batch.
static inline void
streams_clean(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m.streamed; i++) {
        if (has_block(&m.streams[i].last) || is_of_batch(&m.streams[i].last)) {
            m.streams[kept++] = m.streams[i];
        }
    }
    m.streamed = kept;
}

// That are known, and those that the batch adds.
static inline uint32_t
streams_count(void)
{
    uint32_t count = m.streamed;
    for (uint32_t run = 0; m.batch && run < m.batch->run_count; run++) {
        const row of = {.actor = m.batch->actor_id,
                        .session = m.batch->session,
                        .stream = m.batch->run_stream[run]};
        bool is_known = stream_of(&of) != NULL;
        for (uint32_t other = 0; other < run; other++) {
            is_known |= m.batch->run_stream[other] == of.stream;
        }
        count += !is_known;
    }
    return count;
}

// Anew, from the rows that are held: replay was started again.
static inline void
model_streams(void)
{
    m.streamed = 0;
    model_list();
    for (uint32_t i = 0; i < m.rows; i++) {
        model_stream *at = stream_of(m.list[i]);
        if (!at) {
            at = &m.streams[m.streamed++];
            *at = (model_stream){.last = *m.list[i]};
        } else if (m.list[i]->number > at->last.number) {
            at->last = *m.list[i];
        }
    }
    for (uint32_t i = 0; i < m.streamed; i++) { // back as far as rows are without a gap
        model_stream *at = &m.streams[i];
        const row *first = model_row(at->last.key);
        for (uint32_t k = 0; k < m.rows; k++) {
            if (m.list[k]->next != UINT32_MAX && m.list[m.list[k]->next] == first) {
                first = m.list[k];
                k = UINT32_MAX; // from the beginning
            }
        }
        at->held = first->number;
    }
}

// ---- blocks

static inline bool
is_in(const model_held *at, const row *of)
{
    return of >= at->rows && of < at->rows + at->count;
}

// The last row of the stream is in a block that has room for the next.
static inline model_held *
model_block(const model_stream *at)
{
    for (uint32_t b = 0; at->held <= at->last.number && b < m.count; b++) {
        model_held *last = &m.blocks[b];
        const row *end = &last->rows[last->count - 1];
        if (last->count > 0 && model_is_same(end, &at->last) && end->number == at->last.number) {
            return last->count < m.block_rows ? last : NULL;
        }
    }
    return NULL;
}

// Whether a window that waits, or the next of its stream, may have rows of the block.
static inline bool
model_is_needed(const model_held *at)
{
    const row *rows[STEPS_MAX + 1];
    for (uint32_t i = 0; i < m.rows; i++) {
        uint32_t count = m.list[i]->is_item ? model_window(m.list[i], rows) : 0;
        for (uint32_t k = 0; k < count; k++) {
            if (is_in(at, rows[k])) {
                return true;
            }
        }
    }
    const model_stream *of = at->count > 0 ? stream_of(&at->rows[0]) : NULL;
    if (!of || at->rows[0].number < of->held ||
        (of->is_idle && streams_count() > m.configure.streams && !is_of_batch(&of->last))) {
        return false;
    }
    uint64_t end = at->rows[at->count - 1].number;
    bool is_needed = end == of->last.number;
    for (uint32_t i = 0; i < m.rows && !is_needed; i++) {
        const row *first = m.list[i];
        bool is_open;
        if (model_is_same(first, &of->last) && first->number >= of->held && first->number <= end) {
            (void)model_look(first, rows, &is_open);
            is_needed = is_open;
        }
    }
    return is_needed;
}

static inline void
oldest_renew(void)
{
    model_held at = m.blocks[0];
    model_stream *of = stream_of(&at.rows[0]);
    for (uint32_t i = 0; i < at.count; i++) {
        uint64_t key = m.serial * m.block_rows + i;
        for (uint32_t k = 0; k < m.queued; k++) {
            m.queue[k] = m.queue[k] == at.rows[i].key ? key : m.queue[k];
        }
        at.rows[i].key = key;
    }
    of->is_idle |= at.rows[at.count - 1].number == of->last.number;
    at.serial = m.serial++;
    memmove(m.blocks, m.blocks + 1, (m.count - 1) * sizeof(model_held));
    m.blocks[m.count - 1] = at;
    model_list();
    m.renewed++;
}

static inline void
oldest_drop(void)
{
    const row *rows[STEPS_MAX + 1];
    const model_held *oldest = &m.blocks[0];
    for (uint32_t i = 0; i < m.rows; i++) {
        bool is_lost = false;
        for (uint32_t k = m.list[i]->is_item ? model_window(m.list[i], rows) : 0; k > 0; k--) {
            is_lost |= is_in(oldest, rows[k - 1]);
        }
        m.overrun += is_lost;
    }
    if (oldest->count > 0) {
        model_stream *of = stream_of(&oldest->rows[0]);
        of->held = OCT_MAX(of->held, oldest->rows[oldest->count - 1].number + 1);
    }
    memmove(m.blocks, m.blocks + 1, --m.count * sizeof(model_held));
    streams_clean();
    (void)model_find(true);
}

static inline void
room_make(void)
{
    // A block may have to leave for the same batch that made its windows complete.
    (void)model_find(true);
    bool takes = m.configure.sampler == WIRE_SAMPLER_FIFO;
    while (takes && m.blocks[0].serial < m.looked_at && model_is_needed(&m.blocks[0])) {
        oldest_renew();
    }
    oldest_drop();
}

static inline void
model_add(const row *new)
{
    model_stream *of = stream_of(new);
    model_held *at = of && of->last.number + 1 == new->number ? model_block(of) : NULL;
    if (!of) {
        of = &m.streams[m.streamed++];
        *of = (model_stream){.last = *new, .held = new->number};
        of->last.number--;
    } else if (new->begins) {
        of->held = new->number;
    }
    if (!at) {
        of->last.number = new->number - 1;
        if (m.count == m.most) {
            room_make();
        }
        of = stream_of(new);
        at = &m.blocks[m.count++];
        at->serial = m.serial++;
        at->count = 0;
    }
    row *to = &at->rows[at->count];
    *to = *new;
    to->key = at->serial * m.block_rows + at->count++;
    of->last = *to;
    of->is_idle = false;
}

static inline void
model_insert(const test_actor *actor)
{
    const wire_batch *batch = &actor->batch;
    uint32_t at = 0;
    m.batch = batch;
    m.looked_at = m.serial + m.most;
    for (uint32_t run = 0; run < batch->run_count; run++) {
        uint64_t episode = NONE;
        for (uint32_t i = 0; i < batch->run_rows[run]; i++, at++) {
            row new = {
                .actor = batch->actor_id,
                .stream = batch->run_stream[run],
                .session = batch->session,
                .number = batch->run_first[run] + i,
                .flags = batch->flags[at],
                .version = batch->run_version[run],
                .obs = actor->obs[at][3],
                .reward = batch->reward[at],
                .extra = batch->extra[at],
                .action = actor->action[at],
            };
            if (i == 0) { // within a run nothing is forgotten, whatever leaves
                const model_stream *of = stream_of(&new);
                new.begins = !of || !has_block(&new) || of->last.number + 1 != new.number;
                episode = new.begins ? NONE : of->last.episode;
            }
            new.episode = episode = (new.flags &WIRE_FIRST) ? new.number : episode;
            model_add(&new);
        }
        (void)model_find(true);
    }
    m.batch = NULL;
    streams_clean();
    model_clean();
}

#endif // TESTS_REPLAY_REPLAY_MODEL_INSERT_H
