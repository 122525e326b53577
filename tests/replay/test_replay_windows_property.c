// The table against a model that is too simple to be wrong (replay_model.h). Several actors with
// several streams, batches cut anywhere, rows that are missing, repeats, sessions that are
// replaced, blocks that leave or are renewed, restarts of replay, windows that change, priorities,
// all three samplers.
//
// Built with REPLAY_STEPS the table is a durable one, and is killed: at each place where the order
// of stores matters a copy of its file can be taken, as a kill at that moment would leave it. The
// table that is recovered from it must be the model's, before or after the call that was cut off.
#include "common/oct_reason.h"
#include "tests/replay/replay_model_insert.h"

#include "common/oct_rng.h"
#include "tests/replay/replay_kill.h"

#define ACTORS  3
#define STREAMS 4

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
    uint32_t count = model_window(at, rows);
    uint32_t used = c->window == WIRE_WINDOW_N_STEP ? 1
                    : c->window_stride == 0         ? OCT_MIN(count, c->window_steps)
                                                    : OCT_MIN(c->window_stride, c->window_steps);
    for (uint32_t i = 0; i < used; i++) {
        model_row(rows[i]->key)->used = true;
    }
    at->is_item = false;
}

static uint32_t
version_of(const row *at)
{
    const row *rows[STEPS_MAX + 1];
    uint32_t count = OCT_MIN(model_window(at, rows), m.configure.window_steps);
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
        row *at = model_row(m.queue[i]);
        if (version_min > 0 && version_of(at) < version_min) {
            row_use(at);
            bad++;
        } else {
            good++;
        }
    }
    model_clean();
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
        row *at = model_row(sampled.key[i]);
        assert_true(at && at->is_item);
        uint32_t count = model_window(at, rows);
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
    model_clean();
}

// Key by key: an update is taken exactly where a window is.
static void
items_check(replay_table *table)
{
    uint32_t items = 0;
    uint64_t end = m.serial * m.block_rows;
    uint64_t begin = end - OCT_MIN(end, (uint64_t)(m.most + 1) * m.block_rows);
    for (uint64_t key = begin; key < end; key++) {
        const row *at = model_row(key);
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

// Blocks that had left for a batch that was rolled back.
static void
model_leave(void)
{
    const replay_file *file = kill_state.file;
    uint64_t oldest = replay_journal_held(file)->oldest;
    model_list();
    for (uint32_t b = 0; b < m.count; b++) {
        uint64_t serial = m.blocks[b].serial;
        if (serial < oldest || replay_file_block(file, serial)->count == 0) {
            m.needed_left +=
                m.configure.sampler == WIRE_SAMPLER_FIFO && model_is_needed(&m.blocks[b]);
        }
    }
    for (uint32_t b = 0; b < m.count; b++) {
        uint64_t serial = m.blocks[b].serial;
        if (serial < oldest || replay_file_block(file, serial)->count == 0) {
            m.blocks[b].count = 0;
        }
    }
    while (m.count > 0 && m.blocks[0].serial < oldest) {
        memmove(m.blocks, m.blocks + 1, --m.count * sizeof(model_held));
    }
    model_streams();
    (void)model_find(false);
    model_clean();
}

static void
kill_plan(void)
{
    kill_state.taken = false;
    kill_state.step = 0;
    kill_state.at = kill_state.file && below(3) == 0 ? 1 + below(60) : 0;
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
        model_leave();
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
    m.count = m.rows = m.queued = m.streamed = 0;
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
    oct_reason why;
    window_choose(&wanted);
    if (replay_config_decide(replay_table_configure(table), &blocks, &wanted, &why) ==
        REPLAY_CONFIG_KEEP) {
        replay_table_set(table, &wanted);
        m.configure = wanted;
        // The order of what stays does not change.
        (void)model_find(false);
        model_clean();
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
    model_insert(&actor->out);
    if (kill_state.taken) { // and was in
        model_streams();
    }
    if (below(10) == 0) {
        assert_int_equal(test_insert(table, batch).kind, REPLAY_INSERT_DUPLICATE);
        wire_batch later = *batch;
        later.sequence += 2;
        assert_int_equal(test_insert(table, &later).kind, REPLAY_INSERT_GAP);
    }
    return table;
}

static void
operations_run(wire_sampler sampler, uint64_t capacity, uint32_t streams, uint64_t seed, int steps)
{
    oct_rng_init(&rng, seed, 0);
    uint64_t session = 1;
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(&actors[i], i + 1, session++);
    }
    wire_configure configure = test_configure(capacity, sampler);
    configure.streams = streams; // where more come, blocks leave before they are full
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
            model_streams();
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
    operations_run(WIRE_SAMPLER_UNIFORM, 256, 4, 100, 800);
    operations_run(WIRE_SAMPLER_PRIORITIZED, 300, 4, 200, 800);
    operations_run(WIRE_SAMPLER_FIFO, 256, 4, 300, 800);
    operations_run(WIRE_SAMPLER_FIFO, 512, 4, 400, 400);
    operations_run(WIRE_SAMPLER_FIFO, 1000, ACTORS * STREAMS, 500, 400);
    operations_run(WIRE_SAMPLER_UNIFORM, 1000, 4, 600, 200);
    assert_true(m.renewed > 1000);
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
    operations_run(WIRE_SAMPLER_UNIFORM, 256, 4, 1100, 800);
    operations_run(WIRE_SAMPLER_PRIORITIZED, 300, 4, 1200, 800);
    operations_run(WIRE_SAMPLER_FIFO, 256, 4, 1300, 800);
    operations_run(WIRE_SAMPLER_FIFO, 512, 4, 1400, 400);
    operations_run(WIRE_SAMPLER_FIFO, 1000, ACTORS * STREAMS, 1500, 400);
    // Or the kills fell where there was nothing to undo.
    assert_true(kill_state.rolled_back > 100 && kill_state.left > 10);
    assert_true(kill_state.restored > kill_state.rolled_back + 100);
    assert_true(m.renewed > 1000);
    assert_true(m.needed_left < 10); // those that rows missing, or no room, made the batch drop
    (void)unlink(kill_state.path);
}

static uint32_t
sample_all(replay_table *table)
{
    wire_sampled sampled;
    uint32_t count = 0;
    for (; replay_table_may_sample(table, 1, 1, 0) > 0 && replay_table_stats_get(table).size > 0;
         count++) {
        replay_table_sample(&sampled, table, 1, 1);
    }
    return count;
}

// A full table: its oldest block is the first actor's, and has rows whose windows nobody has drawn;
// the next batch of the second actor needs room for one more block.
static replay_table *
table_full(const wire_configure *configure, test_actor *first, test_actor *second)
{
    test_actor_init(first, 1, 1);
    test_actor_init(second, 2, 2);
    replay_table *table = kill_table_make(configure);
    replay_config_blocks blocks = replay_table_blocks(table);
    (void)test_insert(table, test_batch_steps(first, 0)); // a row, and no window yet
    while (replay_table_stats_get(table).blocks < blocks.count) {
        (void)test_insert(table, test_batch_steps(second, blocks.rows));
        if (configure->sampler == WIRE_SAMPLER_FIFO) {
            assert_true(sample_all(table) > 0);
        }
    }
    (void)test_insert(table, test_batch_steps(first, 3));
    return table;
}

// Rows of the first actor that are held.
static uint32_t
rows_of_first(void)
{
    const replay_head *head = replay_journal_held(kill_state.file);
    uint32_t rows = 0;
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_block *block = replay_file_block(kill_state.file, serial);
        rows += block->actor_id == 1 ? block->count : 0;
    }
    return rows;
}

// Of a table without priorities of its own each window is as likely as any other.
static void
windows_check(replay_table *table)
{
    wire_sampled sampled;
    uint64_t size = replay_table_stats_get(table).size;
    assert_int_equal(replay_table_may_sample(table, 8, 1, 0), 1);
    replay_table_sample(&sampled, table, 8, 1);
    test_check_rows(&sampled);
    for (uint32_t i = 0; i < 8; i++) {
        T_NEAR(sampled.probability[i], 1.0 / (double)size, 0, 1e-5);
    }
}

// A block that gives its place up is gone with all that belongs to it, or is there; one that is
// renewed is there, wherever the batch was cut off.
static void
test_a_batch_that_needs_room_is_killed_at_every_step(void **state)
{
    (void)state;
    static test_actor first, second;
    (void)snprintf(kill_state.path, sizeof(kill_state.path), "/tmp/octet-replay-kill-XXXXXX");
    int file = mkstemp(kill_state.path);
    assert_true(file >= 0);
    (void)close(file);
    for (wire_sampler sampler = WIRE_SAMPLER_UNIFORM; sampler <= WIRE_SAMPLER_FIFO; sampler++) {
        wire_configure configure = test_configure(256, sampler);
        configure.streams = 2;
        kill_state.taken = true;
        for (uint64_t at = 1; kill_state.taken; at++) {
            replay_table *table = table_full(&configure, &first, &second);
            uint32_t rows = replay_table_blocks(table).rows;
            kill_state.taken = false;
            kill_state.step = 0;
            kill_state.at = at;
            (void)test_insert(table, test_batch_steps(&second, rows));
            kill_state.at = 0;
            table = kill_table_again(table, kill_state.taken ? kill_state.copy : NULL);
            if (sampler == WIRE_SAMPLER_FIFO) {
                assert_int_equal(rows_of_first(), 4);
            } else {
                windows_check(table);
            }
            replay_table_destroy(table);
            assert_true(at > 10 || kill_state.taken); // or there was nothing to kill
        }
    }
    replay_file_close(kill_state.file);
    kill_state.file = NULL;
    (void)unlink(kill_state.path);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef REPLAY_STEPS
        cmocka_unit_test(test_killed_tables_equal_the_model),
        cmocka_unit_test(test_a_batch_that_needs_room_is_killed_at_every_step),
#else
        cmocka_unit_test(test_windows_equal_those_of_the_model),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
