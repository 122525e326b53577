// Power failures: what is on the disk then is, page by page, what was written there last or
// anything that lay in memory since. The table that is recovered from it must be that of the last
// generation that was synced: each of its blocks with the rows that it had, or gone where its place
// had been used again, and nothing else.
#include "common/oct_reason.h"
#include "tests/replay/replay_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_rng.h"
#include "replay/replay_journal.h"
#include "replay/replay_recover.h"
#include "replay/replay_step.h"
#include "replay/replay_sync.h"

#define PAGE         4096u
#define ACTORS       3
#define STREAMS      3
#define BLOCKS_MAX   64
#define VERSIONS_MAX 3

// A block as a generation has it.
typedef struct known {
    uint64_t serial, session, first;
    uint32_t actor_id, stream, count;
} known;

typedef struct generation {
    uint64_t number;
    uint64_t oldest, next; // serials; some blocks may be empty
    known block[BLOCKS_MAX];
    uint32_t blocks;
    uint64_t sequence[ACTORS + 1]; // by actor id
} generation;

static struct power {
    char path[64];
    replay_file *file;
    replay_table *table;
    replay_sync *sync;
    uint8_t *disk;                  // as it was synced last
    uint8_t *version[VERSIONS_MAX]; // of the memory since
    uint32_t versions;
    uint8_t *now; // of the memory when the power fails
    generation done, doing;
    bool is_doing;
    int fails_at; // step of a write, 0: none
    int step;
    bool is_off;
    uint64_t torn, left, cut, failures, newer, renewed; // for the summary
} p;

static test_actor actors[ACTORS];
static uint64_t next_row[ACTORS][STREAMS];
static uint64_t session_next = 1;
static oct_rng rng;

static uint32_t
below(uint32_t bound)
{
    return oct_rng_below(&rng, bound);
}

// ---- the disk

static void
memory_copy(uint8_t *to)
{
    memcpy(to, p.file->base, p.file->bytes);
}

static void
power_off(void)
{
    memory_copy(p.now);
    p.is_off = true;
}

// What a process leaves that is killed while it recovers a file: the memory at each step.
#define CUTS_MAX 16
static struct cuts {
    bool is_on;
    uint32_t count;
    uint8_t *memory[CUTS_MAX];
} cuts;

static void
cut_take(void)
{
    assert_true(cuts.count < CUTS_MAX);
    cuts.memory[cuts.count] = malloc(p.file->bytes);
    memory_copy(cuts.memory[cuts.count++]);
}

// In the middle of replay_sync_write: 1: all but the snapshot is on the disk, 2: that is in memory.
void
replay_step_taken(void)
{
    if (cuts.is_on) {
        cut_take();
    }
    if (p.step == 0) {
        return;
    }
    if (p.step == 1) {
        memory_copy(p.disk);
        p.versions = 0;
    }
    if (p.step++ == p.fails_at) {
        power_off();
    }
}

// Some of what lies in memory gets to the disk, sooner or later.
static void
version_take(void)
{
    if (p.versions < VERSIONS_MAX) {
        memory_copy(p.version[p.versions++]);
    }
}

// The disk as it may be after the power failed, into the file.
static void
disk_settle(void)
{
    uint64_t bytes = p.file->bytes;
    for (uint64_t at = 0; at < bytes; at += PAGE) {
        uint32_t which = below(p.versions + 2);
        if (which > 0) {
            memcpy(p.disk + at, (which == 1 ? p.now : p.version[which - 2]) + at, PAGE);
        }
    }
    memset(p.disk + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity)); // another boot
    int file = open(p.path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(file, p.disk, bytes, 0), bytes);
    (void)close(file);
}

// ---- what has to be there

static void
generation_note(generation *out, uint64_t number)
{
    const replay_head *head = replay_journal_held(p.file);
    *out = (generation){.number = number, .oldest = head->oldest, .next = head->next};
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_block *block = replay_file_block(p.file, serial);
        if (block->count > 0) {
            out->block[out->blocks++] = (known){serial,          block->session, block->first,
                                                block->actor_id, block->stream,  block->count};
        }
    }
    const replay_session *session;
    for (uint32_t i = 0; (session = replay_table_session(p.table, i)) != NULL; i++) {
        out->sequence[session->actor_id] = session->sequence;
    }
}

static void
row_check(const replay_block *block, uint32_t row)
{
    float obs[TEST_OBS_FLOATS];
    uint64_t number = block->first + row;
    memcpy(obs, replay_block_obs(&p.file->layout, block, row), sizeof(obs));
    assert_true(obs[0] == (float)block->actor_id && obs[1] == (float)number);
    assert_true(obs[2] == (float)block->stream && obs[3] == (float)(block->session % 1000));
    assert_true(*replay_block_reward(&p.file->layout, block, row) == (float)number);
}

static const known *
known_find(const generation *want, uint64_t serial)
{
    for (uint32_t i = 0; i < want->blocks; i++) {
        if (want->block[i].serial == serial) {
            return &want->block[i];
        }
    }
    return NULL;
}

static void
blocks_check(const generation *want, const replay_recovered *recovered)
{
    const replay_head *head = replay_journal_held(p.file);
    uint32_t held = 0, reused = 0, lost = 0;
    for (uint64_t serial = head->oldest; serial < head->next; serial++) {
        const replay_block *block = replay_file_block(p.file, serial);
        if (block->count == 0) {
            continue;
        }
        const known *as = known_find(want, serial);
        assert_non_null(as);
        assert_true(as->session == block->session && as->first == block->first);
        assert_true(as->actor_id == block->actor_id && as->stream == block->stream);
        assert_int_equal(block->count, as->count);
        for (uint32_t row = 0; row < block->count; row++) {
            row_check(block, row);
        }
        held++;
    }
    for (uint64_t serial = want->oldest; serial < want->next; serial++) {
        uint64_t at = serial % p.file->header->blocks;
        uint64_t offset = p.file->header->blocks_at + at * p.file->layout.bytes;
        const replay_block *last = (const replay_block *)(const void *)(p.now + offset);
        const known *as = known_find(want, serial);
        bool is_renewed = as && last->renewed > 0 && last->serial != REPLAY_BLOCK_NONE &&
                          last->session == as->session && last->stream == as->stream &&
                          last->first == as->first;
        p.renewed += is_renewed && last->serial != serial;
        reused += last->serial != serial && !is_renewed;
        lost += last->serial != serial && !is_renewed && as;
    }
    assert_true(held + lost >= want->blocks); // all that had to be there is
    assert_true(recovered->blocks_torn + recovered->blocks_left <= reused);
    assert_int_equal(recovered->blocks, held);
}

// ---- life

static void
session_begin(uint32_t i)
{
    test_actor_init(&actors[i], i + 1, session_next++);
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        next_row[i][stream] = 0;
    }
}

static void
table_restore(void)
{
    oct_reason why = {""};
    replay_recovered recovered;
    if (replay_file_open(&p.file, p.path, &why) != OCT_OK ||
        replay_recover(&recovered, p.file, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    assert_false(recovered.is_exact);
    bool is_newer = p.is_doing && recovered.generation == p.doing.number;
    const generation *want = is_newer ? &p.doing : &p.done;
    assert_int_equal(recovered.generation, want->number);
    blocks_check(want, &recovered);
    T_OK(replay_table_restore(&p.table, p.file, false));
    const replay_session *session;
    for (uint32_t i = 0; (session = replay_table_session(p.table, i)) != NULL; i++) {
        assert_int_equal(session->sequence, want->sequence[session->actor_id]);
    }
    p.torn += recovered.blocks_torn;
    p.left += recovered.blocks_left;
    p.cut += recovered.rows_cut;
    p.newer += is_newer;
    p.failures++;
    p.sync = replay_sync_create(p.file);
    generation_note(&p.done, recovered.generation);
    p.done.oldest = replay_recover_snapshot(p.file)->head.oldest; // emptied ones, too
}

static void
power_on(void)
{
    disk_settle();
    replay_sync_destroy(p.sync);
    replay_table_destroy(p.table);
    replay_file_close(p.file);
    // It may fail again before anything else was written.
    table_restore();
    p.is_off = p.is_doing = false;
    memory_copy(p.disk);
    p.versions = 0;
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(i);
    }
}

static void
batch_insert(void)
{
    uint32_t i = below(ACTORS);
    test_actor *actor = &actors[i];
    (void)test_batch_begin(actor);
    for (uint32_t run = 0; run < 1 + below(3); run++) {
        uint32_t stream = below(STREAMS), rows = 1 + below(20);
        test_batch_run(actor, stream, next_row[i][stream], 1);
        for (; rows > 0; rows--) {
            uint32_t at = actor->batch.count;
            test_batch_row(actor, next_row[i][stream]++ == 0 ? WIRE_FIRST : 0);
            actor->obs[at][3] = (float)(actor->batch.session % 1000);
        }
    }
    replay_insert result;
    while (replay_table_insert(&result, p.table, &actor->batch) == OCT_EAGAIN) { // of FIFO
        uint32_t size = OCT_MIN((uint32_t)replay_table_stats_get(p.table).size, 8);
        wire_sampled sampled;
        assert_int_equal(replay_table_may_sample(p.table, size, 1, 0), 1);
        replay_table_sample(&sampled, p.table, size, 1);
    }
    assert_int_equal(result.kind, REPLAY_INSERT_TAKEN);
}

static void
sample_some(void)
{
    wire_sampled sampled;
    if (replay_table_may_sample(p.table, 8, 1, 0) == 0) {
        return;
    }
    replay_table_sample(&sampled, p.table, 8, 1);
    test_check_rows(&sampled);
    float priority[8];
    for (int i = 0; i < 8; i++) {
        priority[i] = (float)below(4);
    }
    wire_priorities update = {.count = 8, .key = sampled.key, .priority = priority};
    replay_table_update(p.table, &update);
}

static void
generation_write(void)
{
    if (!replay_sync_begin(p.sync)) {
        return;
    }
    p.is_doing = true;
    generation_note(&p.doing, p.done.number + 1);
    if (below(2) == 0) { // the table goes on meanwhile
        version_take();
        batch_insert();
    }
    if (below(8) == 0) {
        power_off();
        return;
    }
    while (!replay_sync_mark(p.sync, below(8) * (uint64_t)p.file->layout.bytes)) {
        if (below(8) == 0) {
            power_off();
            return;
        }
        version_take();
        batch_insert();
    }
    p.fails_at = below(4) == 0 ? 1 + (int)below(2) : 0;
    p.step = 1;
    oct_err err = replay_sync_write(p.sync, false);
    p.step = 0;
    T_OK(err);
    if (p.is_off) {
        return;
    }
    uint32_t snapshot = 0;
    for (; snapshot < 2; snapshot++) { // the write is over: they are on the disk, too
        uint64_t at = p.file->header->snapshot_at[snapshot];
        memcpy(p.disk + at, p.file->base + at, replay_snapshot_bytes(p.file->header->sessions));
    }
    replay_sync_end(p.sync, OCT_OK);
    p.done = p.doing;
    p.is_doing = false;
    assert_int_equal(replay_sync_generation(p.sync), p.done.number);
}

static void
failures_run(wire_sampler sampler, uint64_t capacity, uint64_t seed, int steps)
{
    oct_reason why = {""};
    wire_configure configure = test_configure(capacity, sampler);
    configure.streams = 4;
    oct_rng_init(&rng, seed, 0);
    (void)unlink(p.path);
    if (replay_file_create(&p.file, p.path, &configure, &why) != OCT_OK) {
        fail_msg("%s", why.text);
    }
    assert_true(p.file->header->blocks <= BLOCKS_MAX);
    p.table = replay_table_create_in(&configure, p.file);
    p.sync = replay_sync_create(p.file);
    uint8_t **memory[] = {&p.disk, &p.now, &p.version[0], &p.version[1], &p.version[2]};
    for (size_t i = 0; i < OCT_COUNTOF(memory); i++) {
        *memory[i] = realloc(*memory[i], p.file->bytes);
    }
    memory_copy(p.disk);
    p.versions = 0;
    p.is_off = p.is_doing = false;
    generation_note(&p.done, 1);
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(i);
    }
    for (int step = 0; step < steps; step++) {
        batch_insert();
        sample_some();
        if (below(4) == 0) {
            version_take();
        }
        if (below(6) == 0) {
            generation_write();
        }
        if (!p.is_off && below(25) == 0) {
            power_off();
        }
        if (p.is_off) {
            power_on();
        }
    }
    replay_sync_destroy(p.sync);
    replay_table_destroy(p.table);
    replay_file_close(p.file);
}

static void
test_what_was_synced_is_there(void **state)
{
    (void)state;
    (void)snprintf(p.path, sizeof(p.path), "/tmp/octet-replay-power-XXXXXX");
    int file = mkstemp(p.path);
    assert_true(file >= 0);
    (void)close(file);
    failures_run(WIRE_SAMPLER_UNIFORM, 1024, 1, 2000);
    failures_run(WIRE_SAMPLER_PRIORITIZED, 256, 2, 2000);
    failures_run(WIRE_SAMPLER_UNIFORM, 4096, 3, 1000);
    failures_run(WIRE_SAMPLER_FIFO, 512, 4, 2000);
    // Or the failures fell where nothing was at stake.
    assert_true(p.renewed > 100);
    assert_true(p.failures > 100 && p.torn > 10 && p.left > 50 && p.cut > 100 && p.newer > 5);
    (void)unlink(p.path);
    free(p.disk);
    free(p.now);
    for (int i = 0; i < VERSIONS_MAX; i++) {
        free(p.version[i]);
    }
}

// Recovers the file at path, and closes it again.
static replay_recovered
file_recover(uint8_t digest[WIRE_HASH_BYTES])
{
    oct_reason why = {""};
    replay_recovered recovered;
    T_OK(replay_file_open(&p.file, p.path, &why));
    cuts.is_on = cuts.count == 0;
    oct_err err = replay_recover(&recovered, p.file, &why);
    if (err == OCT_OK) {
        err = replay_table_restore(&p.table, p.file, recovered.is_exact);
    }
    cuts.is_on = false;
    T_OK(err);
    replay_table_digest(p.table, digest);
    replay_table_destroy(p.table);
    replay_file_close(p.file);
    return recovered;
}

// Killed at any step of a recovery after a power failure: the next one gives the same table.
static void
test_recovery_that_is_cut_off_is_done_again(void **state)
{
    (void)state;
    oct_reason why = {""};
    uint8_t want[WIRE_HASH_BYTES], got[WIRE_HASH_BYTES];
    (void)snprintf(p.path, sizeof(p.path), "/tmp/octet-replay-cut-XXXXXX");
    int file = mkstemp(p.path);
    assert_true(file >= 0);
    (void)close(file);
    wire_configure configure = test_configure(4096, WIRE_SAMPLER_PRIORITIZED);
    configure.streams = 4;
    oct_rng_init(&rng, 6, 0);
    T_OK(replay_file_create(&p.file, p.path, &configure, &why));
    p.table = replay_table_create_in(&configure, p.file);
    p.sync = replay_sync_create(p.file);
    for (uint32_t i = 0; i < ACTORS; i++) {
        session_begin(i);
    }
    for (int i = 0; i < 60; i++) {
        batch_insert();
        if (i == 40) {
            assert_true(replay_sync_begin(p.sync) && replay_sync_mark(p.sync, UINT64_MAX));
            T_OK(replay_sync_write(p.sync, true));
            replay_sync_end(p.sync, OCT_OK);
        }
    }
    memset(p.file->regions.select, 0, sizeof(double)); // a window's weight, of another time
    memset(p.file->base + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity)); // another boot
    replay_sync_destroy(p.sync);
    replay_table_destroy(p.table);
    uint64_t bytes = p.file->bytes;
    replay_file_close(p.file);
    const replay_recovered whole = file_recover(want);
    assert_true(!whole.is_exact && whole.rows_cut > 0 && cuts.count > 0);
    for (uint32_t i = 0; i < cuts.count; i++) {
        file = open(p.path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(file, cuts.memory[i], bytes, 0), bytes);
        (void)close(file);
        const replay_recovered again = file_recover(got);
        assert_int_equal(again.generation, whole.generation);
        assert_int_equal(again.rows, whole.rows);
        assert_memory_equal(got, want, sizeof(got));
        free(cuts.memory[i]);
    }
    (void)unlink(p.path);
}

// What was synced of a file that is being made (the linker puts this before msync).
static struct making {
    uint8_t *synced; // all of the file, NULL: nothing was
    bool is_on;
} making;

int __real_msync(void *address, size_t length, int flags);
int __wrap_msync(void *address, size_t length, int flags);

int
__wrap_msync(void *address, size_t length, int flags)
{
    if (making.is_on && !making.synced) {
        making.synced = malloc(length);
        assert_non_null(making.synced);
        memcpy(making.synced, address, length);
    }
    return __real_msync(address, length, flags);
}

// Fails the power while a file is made or soon after: each page is as it was synced, or as it is.
static void
file_half_made(const wire_configure *configure)
{
    oct_reason why = {""};
    (void)unlink(p.path);
    making = (struct making){.is_on = true};
    T_OK(replay_file_create(&p.file, p.path, configure, &why));
    making.is_on = false;
    p.disk = realloc(p.disk, p.file->bytes);
    for (uint64_t at = 0; at < p.file->bytes; at += PAGE) {
        if (below(2) == 0) {
            memcpy(p.disk + at, p.file->base + at, PAGE);
        } else if (making.synced) {
            memcpy(p.disk + at, making.synced + at, PAGE);
        } else {
            memset(p.disk + at, 0, PAGE);
        }
    }
    memset(p.disk + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity)); // another boot
    memcpy(p.file->base, p.disk, p.file->bytes);
    replay_file_close(p.file);
    free(making.synced);
}

static void
test_table_that_was_being_made_is_there_or_is_made_again(void **state)
{
    (void)state;
    (void)snprintf(p.path, sizeof(p.path), "/tmp/octet-replay-made-XXXXXX");
    int file = mkstemp(p.path);
    assert_true(file >= 0);
    (void)close(file);
    const wire_configure configure = test_configure(256, WIRE_SAMPLER_UNIFORM);
    oct_rng_init(&rng, 4, 0);
    int there = 0;
    for (int i = 0; i < 100; i++) {
        oct_reason why = {""};
        replay_recovered recovered;
        file_half_made(&configure);
        oct_err err = replay_file_open(&p.file, p.path, &why);
        if (err == OCT_ENOTFOUND) {
            continue;
        }
        if (err != OCT_OK || (err = replay_recover(&recovered, p.file, &why)) != OCT_OK) {
            fail_msg("%s", why.text);
        }
        assert_int_equal(recovered.rows, 0);
        replay_file_close(p.file);
        there++;
    }
    assert_in_range(there, 20, 80); // 50, and 6 sigma
    (void)unlink(p.path);
    free(p.disk);
    p.disk = NULL;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_that_was_being_made_is_there_or_is_made_again),
        cmocka_unit_test(test_recovery_that_is_cut_off_is_done_again),
        cmocka_unit_test(test_what_was_synced_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
