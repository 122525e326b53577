// The table against a model that is too simple to be wrong: a list of all blocks with their rows,
// in which windows are looked for row by row, anew each time. Several actors with several streams,
// batches cut anywhere, rows that are missing, repeats, sessions that are replaced, blocks that
// leave, restarts of replay, windows that change, priorities, all three samplers.
//
// Built with REPLAY_STEPS the table is a durable one, and is killed: at each place where the order
// of stores matters a copy of its file can be taken, as a kill at that moment would leave it. The
// table that is recovered from it must be the model's, before or after the call that was cut off.
#include "tests/replay/replay_test.h"

#include <stdlib.h>

#include "common/oct_rng.h"
#include "tests/replay/replay_kill.h"

#define ACTORS     3
#define STREAMS    4
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

typedef struct block {
    uint64_t serial;
    uint32_t count;
    row rows[REPLAY_BLOCK_ROWS_MAX];
} block;

static struct model {
    block blocks[BLOCKS_MAX]; // oldest first
    uint32_t count, most, block_rows;
    uint64_t serial;
    row *list[ROWS_MAX]; // every row held
    uint32_t rows;
    uint64_t queue[ROWS_MAX]; // FIFO: keys in the order in which they are to come
    uint32_t queued;
    double weight_max;
    uint64_t overrun; // windows that left before they were drawn
    wire_configure configure;
} m;

// An environment: what its next row is.
typedef struct env {
    uint64_t number;
    uint8_t before; // flags of the row before
} env;

static struct pretended {
    uint64_t session;
    env env[STREAMS];
    test_actor out;
    float values[TEST_ROWS_MAX]; // observation
} actors[ACTORS];

static oct_rng rng;

static uint32_t
below(uint32_t bound)
{
    return oct_rng_below(&rng, bound);
}

// ---- the model

static bool
is_same_stream(const row *a, const row *b)
{
    return a->actor == b->actor && a->session == b->session && a->stream == b->stream;
}

// Every row held, and behind which the next of its stream is.
static void
list_make(void)
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
        for (uint32_t k = i + 1; k < m.rows && at->next == UINT32_MAX; k++) {
            const row *other = m.list[k];
            if (is_same_stream(at, other) && other->number == at->number + 1 && !other->begins) {
                at->next = k;
            }
        }
    }
}

// The rows of the window that begins at a row, with the one behind it: how many there are, 0 when
// there is no such window.
static uint32_t
window_rows(const row *first, const row *out[STEPS_MAX + 1])
{
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
            return 0;
        }
    }
}

// Looks for all windows anew. New ones come behind the others, oldest block first.
static uint32_t
items_find(void)
{
    uint32_t items = 0;
    const row *rows[STEPS_MAX + 1];
    list_make();
    for (uint32_t i = 0; i < m.rows; i++) {
        row *at = m.list[i];
        bool was_item = at->is_item;
        at->is_item = !at->used && window_rows(at, rows) > 0;
        if (at->is_item && !was_item) {
            at->weight = m.weight_max;
            m.queue[m.queued++] = at->key;
        }
        items += at->is_item;
    }
    return items;
}

static row *
row_of(uint64_t key)
{
    for (uint32_t i = 0; i < m.rows; i++) {
        if (m.list[i]->key == key) {
            return m.list[i];
        }
    }
    return NULL;
}

static void
queue_clean(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m.queued; i++) {
        const row *at = row_of(m.queue[i]);
        if (at && at->is_item) {
            m.queue[kept++] = m.queue[i];
        }
    }
    m.queued = kept;
}

static block *
model_block(const row *of, bool *is_known)
{
    for (uint32_t b = m.count; b > 0; b--) {
        block *last = &m.blocks[b - 1];
        const row *end = &last->rows[last->count - 1];
        if (is_same_stream(end, of)) {
            *is_known = true;
            bool follows = end->number + 1 == of->number;
            return follows && last->count < m.block_rows ? last : NULL;
        }
    }
    return NULL;
}

static void
model_add(const row *new, const row *before)
{
    bool is_known = false;
    block *at = model_block(new, &is_known);
    if (!at) {
        if (m.count == m.most) {
            // A block may have to leave for the same batch that made its windows complete.
            (void)items_find();
            for (uint32_t i = 0; i < m.blocks[0].count; i++) {
                m.overrun += m.blocks[0].rows[i].is_item;
            }
            memmove(m.blocks, m.blocks + 1, --m.count * sizeof(block));
        }
        at = &m.blocks[m.count++];
        at->serial = m.serial++;
        at->count = 0;
    }
    row *to = &at->rows[at->count];
    *to = *new;
    to->key = at->serial * m.block_rows + at->count++;
    // Within a run nothing is forgotten, whatever leaves.
    to->begins = !before && (!is_known || new->begins);
    to->episode = (new->flags &WIRE_FIRST) ? new->number : to->begins ? NONE : new->episode;
}

// The last row of the stream that is held.
static const row *
model_last(const row *of)
{
    const row *last = NULL;
    for (uint32_t b = 0; b < m.count; b++) {
        const row *end = &m.blocks[b].rows[m.blocks[b].count - 1];
        last = is_same_stream(end, of) ? end : last;
    }
    return last;
}

static void
model_insert(const struct pretended *actor)
{
    const wire_batch *batch = &actor->out.batch;
    uint32_t at = 0;
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
                .obs = actor->out.obs[at][3],
                .reward = batch->reward[at],
                .extra = batch->extra[at],
                .action = actor->out.action[at],
            };
            const row *last = model_last(&new);
            if (i == 0) {
                new.begins = !last || last->number + 1 != new.number;
                episode = new.begins ? NONE : last->episode;
            }
            new.episode = episode = (new.flags &WIRE_FIRST) ? new.number : episode;
            model_add(&new, i > 0 ? &new : NULL);
        }
        (void)items_find();
    }
    queue_clean();
}

// ---- actors

static void
session_begin(struct pretended *actor, uint32_t id, uint64_t session)
{
    test_actor_init(&actor->out, id, session);
    actor->out.batch.extra_dim = 1;
    actor->session = session;
    for (uint32_t i = 0; i < STREAMS; i++) {
        actor->env[i] = (env){0, WIRE_END};
    }
}

static uint8_t
env_step(env *e)
{
    bool is_last = (e->before & (WIRE_TERMINATED | WIRE_TRUNCATED)) != 0;
    uint8_t flags = 0;
    if (is_last) {
        flags = WIRE_END | (below(2) == 0 ? WIRE_ROLLOUT : 0);
    } else if (!(e->before & WIRE_END) && below(40) == 0) {
        flags = WIRE_END | WIRE_FAILED | (below(2) == 0 ? WIRE_ROLLOUT : 0);
    } else if (!(e->before & WIRE_END) && below(12) == 0) {
        flags = WIRE_END | WIRE_ROLLOUT;
    } else {
        flags = (e->before & WIRE_END) ? WIRE_FIRST | (below(3) > 0 ? WIRE_ROLLOUT : 0) : 0;
        flags |= below(5) == 0 ? WIRE_RANDOM : 0;
        uint32_t end = below(24);
        flags |= end < 2 ? WIRE_TERMINATED : end == 2 ? WIRE_TRUNCATED : 0;
    }
    e->before = flags;
    e->number++;
    return flags;
}

static void
batch_make(struct pretended *actor, uint32_t version)
{
    (void)test_batch_begin(&actor->out);
    uint32_t runs = below(6);
    for (uint32_t run = 0; run < runs; run++) {
        uint32_t stream = below(STREAMS), rows = 1 + below(below(8) == 0 ? 40 : 9);
        env *e = &actor->env[stream];
        for (uint32_t lost = below(25) == 0 ? 1 + below(9) : 0; lost > 0; lost--) {
            (void)env_step(e); // of a batch that was rejected
        }
        test_batch_run(&actor->out, stream, e->number, version - below(2));
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t at = actor->out.batch.count;
            test_batch_row(&actor->out, env_step(e));
            actor->out.obs[at][3] = oct_rng_float(&rng);
            actor->out.extra[at] = oct_rng_float(&rng);
            if (!(actor->out.flags[at] & WIRE_END)) {
                actor->out.reward[at] = 4 * oct_rng_float(&rng) - 2;
                actor->out.action[at] = (int32_t)below(1000);
            }
        }
    }
}

// ---- comparisons

static void
obs_check(const uint8_t *column, size_t index, const row *want)
{
    float obs[TEST_OBS_FLOATS];
    memcpy(obs, column + index * sizeof(obs), sizeof(obs));
    assert_true(obs[0] == (float)want->actor && obs[1] == (float)want->number);
    assert_true(obs[2] == (float)want->stream && obs[3] == want->obs);
}

static void
n_step_check(const wire_sampled *s, uint32_t i, const row **rows, uint32_t count)
{
    obs_check(s->obs, i, rows[0]);
    obs_check(s->next, i, rows[count - 1]);
    float sum = 0, power = 1;
    double exact = 1;
    for (uint32_t k = 0; k + 1 < count; k++) {
        sum += power * fmaxf(-CLIP, fminf(CLIP, rows[k]->reward));
        exact *= GAMMA;
        power = (float)exact;
    }
    bool is_terminated = (rows[count - 2]->flags & WIRE_TERMINATED) != 0;
    assert_memory_equal(&s->reward[i], &sum, sizeof(sum));
    assert_true(s->discount[i] == (is_terminated ? 0 : power));
    assert_memory_equal(s->action + i * sizeof(int32_t), &rows[0]->action, sizeof(int32_t));
    assert_true(s->extra[i] == rows[0]->extra);
}

static void
sequence_check(const wire_sampled *s, uint32_t i, const row **rows, uint32_t count)
{
    uint32_t steps = m.configure.window_steps, actions = 0;
    assert_int_equal(s->window_steps, steps);
    static const float nothing[TEST_OBS_FLOATS];
    for (uint32_t k = 0; k <= steps; k++) {
        size_t at = (size_t)i * steps + k;
        if (k < count) {
            obs_check(s->obs, at + i, rows[k]);
        } else {
            assert_memory_equal(s->obs + (at + i) * sizeof(nothing), nothing, sizeof(nothing));
        }
        if (k < steps) {
            static const row filled = {.flags = WIRE_END};
            const row *want = k < count ? rows[k] : &filled;
            assert_true(s->reward[at] == want->reward && s->extra[at] == want->extra);
            assert_int_equal(s->flags[at], want->flags);
            actions += !(s->flags[at] & WIRE_END);
            assert_int_equal(s->version[at], want->version);
            assert_memory_equal(s->action + at * sizeof(int32_t), &want->action, sizeof(int32_t));
        }
    }
    assert_true(actions > 0);
}

static void
row_use(row *at)
{
    const row *rows[STEPS_MAX + 1];
    const wire_configure *c = &m.configure;
    uint32_t count = window_rows(at, rows);
    uint32_t used = c->window == WIRE_WINDOW_N_STEP ? 1
                    : c->window_stride == 0         ? OCT_MIN(count, c->window_steps)
                                                    : OCT_MIN(c->window_stride, c->window_steps);
    for (uint32_t i = 0; i < used; i++) {
        row_of(rows[i]->key)->used = true;
    }
    at->is_item = false;
}

static uint32_t
version_of(const row *at)
{
    const row *rows[STEPS_MAX + 1];
    uint32_t count = OCT_MIN(window_rows(at, rows), m.configure.window_steps);
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        oldest = rows[i]->flags & WIRE_END ? oldest : OCT_MIN(oldest, rows[i]->version);
    }
    return oldest;
}

// FIFO: those that are too old and would be met on the way to the next size are given up.
static uint32_t
model_give_up(uint32_t size, uint32_t version_min)
{
    uint32_t good = 0, bad = 0;
    for (uint32_t i = 0; i < m.queued && good < size; i++) {
        row *at = row_of(m.queue[i]);
        if (version_min > 0 && version_of(at) < version_min) {
            row_use(at);
            bad++;
        } else {
            good++;
        }
    }
    queue_clean();
    return bad;
}

static void
sample_check(replay_table *table, wire_sampler sampler, uint32_t size, uint32_t version_min)
{
    double total = 0;
    uint32_t items = 0;
    for (uint32_t i = 0; i < m.rows; i++) {
        items += m.list[i]->is_item;
        total += m.list[i]->is_item ? m.list[i]->weight : 0;
    }
    uint64_t given_up = replay_table_stats_get(table).given_up;
    uint32_t allowed = replay_table_may_sample(table, size, 1, version_min);
    if (sampler == WIRE_SAMPLER_FIFO) {
        given_up += model_give_up(size, version_min);
        assert_int_equal(replay_table_stats_get(table).given_up, given_up);
        items = m.queued / size;
    }
    assert_int_equal(allowed, items > 0);
    if (allowed == 0) {
        replay_table_sample_cancelled(table);
        return;
    }
    wire_sampled sampled;
    replay_table_sample(&sampled, table, size, 1);
    for (uint32_t i = 0; i < size; i++) {
        const row *rows[STEPS_MAX + 1];
        row *at = row_of(sampled.key[i]);
        assert_true(at && at->is_item);
        uint32_t count = window_rows(at, rows);
        if (m.configure.window == WIRE_WINDOW_N_STEP) {
            n_step_check(&sampled, i, rows, count);
        } else {
            sequence_check(&sampled, i, rows, count);
        }
        if (sampler == WIRE_SAMPLER_FIFO) {
            assert_int_equal(sampled.key[i], m.queue[i]);
            row_use(at);
        } else {
            double share = sampler == WIRE_SAMPLER_PRIORITIZED && total > 0
                               ? fmax(at->weight / total, 1e-37)
                               : 1.0 / items;
            T_NEAR(sampled.probability[i], share, 1e-36, 1e-5);
        }
    }
    queue_clean();
}

// Key by key: an update is taken exactly where a window is.
static void
items_check(replay_table *table)
{
    uint32_t items = 0;
    uint64_t end = m.serial * m.block_rows;
    uint64_t begin = end - OCT_MIN(end, (uint64_t)(m.most + 1) * m.block_rows);
    for (uint64_t key = begin; key < end; key++) {
        const row *at = row_of(key);
        bool is_item = at && at->is_item;
        float priority = is_item ? (float)at->weight : 1;
        uint64_t before = replay_table_stats_get(table).updates;
        wire_priorities one = {.count = 1, .key = &key, .priority = &priority};
        replay_table_update(table, &one);
        assert_int_equal(replay_table_stats_get(table).updates - before, is_item);
        items += is_item;
    }
    replay_table_stats stats = replay_table_stats_get(table);
    assert_int_equal(stats.size, items);
    assert_int_equal(stats.rows, m.rows);
    assert_int_equal(stats.blocks, m.count);
    bool takes = m.configure.sampler == WIRE_SAMPLER_FIFO;
    assert_int_equal(stats.overrun, takes ? m.overrun : 0);
}

static void
priorities_change(replay_table *table)
{
    for (int i = 0; i < 10 && m.rows > 0; i++) {
        row *at = m.list[below(m.rows)];
        float priority = (float)below(50) / 8;
        wire_priorities one = {.count = 1, .key = &at->key, .priority = &priority};
        replay_table_update(table, &one);
        if (at->is_item) {
            at->weight = (double)priority;
            m.weight_max = fmax(m.weight_max, (double)priority);
        }
    }
}

// ---- a table in a file, and kills

// Of the oldest blocks, those that had left for a batch that was rolled back.
static void
model_leave(uint64_t oldest)
{
    while (m.count > 0 && m.blocks[0].serial < oldest) {
        memmove(m.blocks, m.blocks + 1, --m.count * sizeof(block));
    }
    (void)items_find();
    queue_clean();
}

static void
kill_plan(void)
{
    kill_state.taken = false;
    kill_state.step = 0;
    kill_state.at = kill_state.file && below(3) == 0 ? 1 + below(30) : 0;
}

// The insert that has just returned was killed at the planned step, if it came that far: recovers
// the table, and tells whether the batch was in. Then the actor sends it again.
static replay_table *
insert_kill(replay_table *table, const wire_batch *batch, bool *is_in)
{
    kill_state.at = 0;
    *is_in = true;
    if (!kill_state.taken) {
        return table;
    }
    table = kill_table_again(table, kill_state.copy);
    const replay_session *session = NULL;
    for (uint32_t i = 0; i < REPLAY_SESSIONS_MAX && replay_table_session(table, i); i++) {
        const replay_session *at = replay_table_session(table, i);
        session = at->session == batch->session ? at : session;
    }
    *is_in = session && session->sequence >= batch->sequence;
    if (!*is_in) {
        kill_state.rolled_back++;
        model_leave(replay_journal_held(kill_state.file)->oldest);
    }
    return table;
}

// ---- operations

static void
window_choose(wire_configure *configure)
{
    static const struct {
        wire_window window;
        uint32_t steps, stride;
    } windows[] = {
        {WIRE_WINDOW_N_STEP, 1, 0},   {WIRE_WINDOW_N_STEP, 3, 0},   {WIRE_WINDOW_N_STEP, 12, 0},
        {WIRE_WINDOW_SEQUENCE, 4, 4}, {WIRE_WINDOW_SEQUENCE, 8, 2}, {WIRE_WINDOW_SEQUENCE, 5, 7},
        {WIRE_WINDOW_SEQUENCE, 1, 1}, {WIRE_WINDOW_SEQUENCE, 3, 0}, {WIRE_WINDOW_SEQUENCE, 16, 0},
        {WIRE_WINDOW_SEQUENCE, 1, 0}, {WIRE_WINDOW_SEQUENCE, 1, 3}, {WIRE_WINDOW_ROLLOUT, 4, 0},
        {WIRE_WINDOW_ROLLOUT, 16, 0},
    };
    uint32_t i = below(OCT_COUNTOF(windows));
    configure->window = windows[i].window;
    configure->window_steps = windows[i].steps;
    configure->window_stride = windows[i].stride;
}

static replay_table *
table_make(const wire_configure *configure)
{
    replay_table *table;
    if (kill_state.path[0] != 0) {
        table = kill_table_make(configure);
    } else {
        table = replay_table_create(configure);
    }
    replay_config_blocks blocks = replay_table_blocks(table);
    m.count = m.rows = m.queued = 0;
    m.serial = m.overrun = 0;
    m.most = blocks.count;
    m.block_rows = blocks.rows;
    m.weight_max = 1;
    m.configure = *configure;
    assert_true(m.most <= BLOCKS_MAX && m.most * m.block_rows <= ROWS_MAX);
    return table;
}

static void
table_window(replay_table *table)
{
    wire_configure wanted = m.configure;
    replay_config_blocks blocks = replay_table_blocks(table);
    char reason[256];
    window_choose(&wanted);
    if (replay_config_decide(replay_table_configure(table), &blocks, &wanted, reason,
                             sizeof(reason)) == REPLAY_CONFIG_KEEP) {
        replay_table_set(table, &wanted);
        m.configure = wanted;
        // The order of what stays does not change.
        (void)items_find();
        queue_clean();
    }
}

static replay_table *
batch_send(replay_table *table, struct pretended *actor, wire_sampler sampler, uint32_t version)
{
    batch_make(actor, version);
    wire_batch *batch = &actor->out.batch;
    batch->first_unacked = batch->sequence;
    replay_insert result;
    for (;;) {
        kill_plan();
        oct_err err = replay_table_insert(&result, table, batch);
        bool is_in;
        table = insert_kill(table, batch, &is_in);
        if (!is_in) {
            continue;
        }
        if (err == OCT_OK) {
            break;
        }
        assert_int_equal(sampler, WIRE_SAMPLER_FIFO);
        sample_check(table, sampler, 1 + below(OCT_MIN(m.queued, 4)), 0);
    }
    if (result.kind == REPLAY_INSERT_REJECTED) {
        fprintf(stderr, "rejected: %s\n", result.reason);
    }
    assert_int_equal(result.kind, REPLAY_INSERT_TAKEN);
    model_insert(actor);
    if (below(10) == 0) {
        assert_int_equal(test_insert(table, batch).kind, REPLAY_INSERT_DUPLICATE);
        wire_batch later = *batch;
        later.sequence += 2;
        assert_int_equal(test_insert(table, &later).kind, REPLAY_INSERT_GAP);
    }
    return table;
}

static void
operations_run(wire_sampler sampler, uint64_t capacity, uint64_t seed, int steps)
{
    oct_rng_init(&rng, seed, 0);
    uint64_t session = 1;
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(&actors[i], i + 1, session++);
    }
    wire_configure configure = test_configure(capacity, sampler);
    configure.streams = 4; // and more of them come: then blocks leave before they are full
    configure.extra_dim = 1;
    configure.discount = GAMMA;
    configure.reward_clip = (double)CLIP;
    replay_table *table = table_make(&configure);
    for (int step = 0; step < steps; step++) {
        uint32_t version = 2 + (uint32_t)step / 3;
        table = batch_send(table, &actors[below(ACTORS)], sampler, version);
        items_check(table);
        priorities_change(table);
        uint32_t most = OCT_MIN(replay_table_batch_max(table), 12);
        sample_check(table, sampler, 1 + below(most), below(3) == 0 ? version - 5 + below(4) : 0);
        if (below(40) == 0) {
            table_window(table);
            items_check(table);
        }
        if (below(100) == 0) {
            uint32_t i = below(ACTORS);
            session_begin(&actors[i], i + 1, session++);
        }
        if (kill_state.file && below(20) == 0) {
            table = kill_table_again(table, NULL);
            items_check(table);
        }
        if (below(250) == 0) {
            wire_configure now = m.configure;
            replay_table_destroy(table);
            table = table_make(&now);
        }
    }
    replay_table_destroy(table);
    replay_file_close(kill_state.file);
    kill_state.file = NULL;
}

#ifndef REPLAY_STEPS
static void
test_windows_equal_those_of_the_model(void **state)
{
    (void)state;
    operations_run(WIRE_SAMPLER_UNIFORM, 256, 100, 800);
    operations_run(WIRE_SAMPLER_PRIORITIZED, 300, 200, 800);
    operations_run(WIRE_SAMPLER_FIFO, 256, 300, 800);
    operations_run(WIRE_SAMPLER_FIFO, 512, 400, 400);
    operations_run(WIRE_SAMPLER_UNIFORM, 1000, 500, 200);
}
#else
static void
test_killed_tables_equal_the_model(void **state)
{
    (void)state;
    (void)snprintf(kill_state.path, sizeof(kill_state.path), "/tmp/octet-replay-kill-XXXXXX");
    int file = mkstemp(kill_state.path);
    assert_true(file >= 0);
    (void)close(file);
    operations_run(WIRE_SAMPLER_UNIFORM, 256, 1100, 800);
    operations_run(WIRE_SAMPLER_PRIORITIZED, 300, 1200, 800);
    operations_run(WIRE_SAMPLER_FIFO, 256, 1300, 800);
    operations_run(WIRE_SAMPLER_FIFO, 512, 1400, 400);
    // Or the kills fell where there was nothing to undo.
    assert_true(kill_state.rolled_back > 100 && kill_state.left > 10);
    assert_true(kill_state.restored > kill_state.rolled_back + 100);
    (void)unlink(kill_state.path);
    free(kill_state.copy);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef REPLAY_STEPS
        cmocka_unit_test(test_killed_tables_equal_the_model),
#else
        cmocka_unit_test(test_windows_equal_those_of_the_model),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
