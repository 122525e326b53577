// The file of a durable table, changed anywhere: an input says which table it was, what is mended
// of its sums, and the edits. It is refused in words, or recovered to a table that does what tables
// do, and that a next process takes over again.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/oct_reason.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"
#include "tests/replay/replay_test.h"

enum {
    TABLE_MASK = 3,
    AFTER_POWER_FAILURE = 4, // nothing but what was synced counts
    MEND_HEADER = 8,
    MEND_SNAPSHOTS = 16,
    MEND_MARKS = 32,
    CUT_OFF = 64, // the file's last page
    ONLY_LOOK = 128,
};

// So few sessions that a file is small: it is written anew for each input.
enum { TABLES = 3, CAPACITY = 256, SESSIONS = 12, REGIONS = 9 };

typedef struct whole_file {
    uint8_t *bytes;
    uint64_t length;
    uint32_t crc; // of them
    fuzz_region regions[REGIONS];
    replay_layout layout;
} whole_file;

static char path[64];
static int descriptor;
static uint8_t *mapped; // the file, mapped once for all inputs
static uint64_t mapped_bytes;
static whole_file files[TABLES];

// ---- the files that are changed

static void
batch_make(test_actor *actor, uint64_t next[3], oct_rng *rng)
{
    (void)test_batch_begin(actor);
    for (uint32_t stream = 0; stream < 3; stream++) {
        test_batch_run(actor, stream, next[stream], 1);
        for (uint32_t rows = 1 + oct_rng_below(rng, 9); rows > 0; rows--) {
            test_batch_row(actor, next[stream]++ == 0 ? WIRE_FIRST : 0);
        }
    }
}

// Some streams of three sessions, synced now and then.
static void
table_fill(replay_file *file, const wire_configure *configure, oct_rng *rng)
{
    static test_actor actor;
    replay_table *table = replay_table_create_in(configure, file);
    replay_sync *sync = replay_sync_create(file);
    for (uint64_t session = 1; session <= 3; session++) {
        uint64_t next[3] = {0};
        test_actor_init(&actor, (uint32_t)session, session);
        for (int i = 0; i < 6; i++) {
            replay_insert result;
            batch_make(&actor, next, rng);
            oct_err err = replay_table_insert(&result, table, &actor.batch);
            if (err == OCT_OK && i % 3 == 1 && replay_sync_begin(sync)) {
                (void)replay_sync_mark(sync, UINT64_MAX);
                err = replay_sync_write(sync, false);
                replay_sync_end(sync, err);
            }
        }
    }
    replay_sync_destroy(sync);
    replay_table_destroy(table);
}

static void
regions_set(whole_file *whole, const replay_file *file)
{
    const replay_file_header *header = file->header;
    const fuzz_region regions[REGIONS] = {
        {0, sizeof(*header)},
        {REPLAY_FILE_LIFE_AT, sizeof(replay_file_identity)},
        {header->live_at, sizeof(replay_live)},
        {header->journal_at, sizeof(replay_journal) + 8 * sizeof(replay_journal_entry)},
        {header->sessions_at, 8 * sizeof(replay_kept_session)},
        {header->snapshot_at[0], sizeof(replay_head) + 8 * sizeof(replay_kept_session)},
        {header->snapshot_at[1], sizeof(replay_head) + 8 * sizeof(replay_kept_session)},
        {header->marks_at, header->used_at - header->marks_at},
        {header->used_at, header->file_bytes - header->used_at},
    };
    memcpy(whole->regions, regions, sizeof(regions));
    whole->layout = file->layout;
}

static void
files_make(void)
{
    oct_reason why = {""};
    oct_rng rng;
    oct_rng_init(&rng, 5, 0);
    descriptor = memfd_create("fuzz_replay_file", MFD_CLOEXEC);
    OCT_ASSERT(descriptor >= 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    for (uint32_t i = 0; i < TABLES; i++) {
        wire_configure configure = test_configure(CAPACITY, WIRE_SAMPLER_UNIFORM);
        configure.sampler = (wire_sampler)((uint32_t)configure.sampler + i);
        configure.streams = 4;
        replay_file *file;
        OCT_ASSERT(ftruncate(descriptor, 0) == 0);
        oct_err err = replay_file_create_for(&file, path, &configure, SESSIONS, &why);
        OCT_ASSERT(err == OCT_OK);
        table_fill(file, &configure, &rng);
        files[i].length = file->bytes;
        files[i].bytes = fuzz_copy(file->base, file->bytes);
        files[i].crc = oct_crc32(0, files[i].bytes, files[i].length);
        regions_set(&files[i], file);
        mapped_bytes = OCT_MAX(mapped_bytes, file->bytes);
        replay_file_close(file);
    }
    mapped = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    OCT_ASSERT(mapped != MAP_FAILED);
}

// ---- sums

static void
mend(uint8_t *bytes, const whole_file *whole, uint8_t what)
{
    replay_file_header *header = (replay_file_header *)(void *)bytes;
    const replay_file_header good = *(const replay_file_header *)(const void *)whole->bytes;
    if ((what & MEND_HEADER) != 0) {
        header->crc = oct_crc32(0, header, offsetof(replay_file_header, crc));
    }
    for (int i = 0; i < 2 && (what & MEND_SNAPSHOTS) != 0; i++) {
        replay_snapshot *snapshot = (replay_snapshot *)(void *)(bytes + good.snapshot_at[i]);
        snapshot->crc = replay_snapshot_crc(snapshot, good.sessions);
    }
    replay_mark(*marks)[2] = (replay_mark(*)[2])(void *)(bytes + good.marks_at);
    for (uint32_t i = 0; i < good.blocks && (what & MEND_MARKS) != 0; i++) {
        const replay_block *block =
            (const replay_block *)(const void *)(bytes + good.blocks_at + i * whole->layout.bytes);
        for (int k = 0; k < 2; k++) {
            if (marks[i][k].count <= good.block_rows) {
                marks[i][k].crc =
                    replay_mark_crc(&whole->layout, block, block->serial, marks[i][k].count);
            }
        }
    }
}

// ---- what becomes of it

static void
table_use(replay_table *table)
{
    static test_actor actor;
    wire_configure wanted = *replay_table_configure(table);
    test_actor_init(&actor, 9, 99);
    for (int i = 0; i < 8; i++) {
        replay_insert result;
        wire_sampled sampled;
        uint32_t size = OCT_MIN(4u, replay_table_batch_max(table));
        (void)test_batch_steps(&actor, 10);
        actor.batch.extra_dim = wanted.extra_dim;
        actor.batch.first_unacked = actor.batch.sequence;
        oct_err err = replay_table_insert(&result, table, &actor.batch);
        OCT_ASSERT(err == OCT_OK || err == OCT_EAGAIN);
        if (replay_table_may_sample(table, size, 1, 0) > 0) {
            replay_table_sample(&sampled, table, size, 1);
        }
    }
    wanted.window = WIRE_WINDOW_SEQUENCE;
    wanted.window_steps = 3;
    wanted.window_stride = 2;
    replay_table_set(table, &wanted);
}

// Whether it became a table; reason says why not.
static bool
take_over(bool is_used, oct_reason *why)
{
    replay_file *file;
    why->text[0] = '\0';
    if (replay_file_open(&file, path, why) != OCT_OK) {
        OCT_ASSERT(why->text[0] != '\0');
        return false;
    }
    replay_recovered recovered;
    replay_table *table = NULL;
    oct_err err = replay_recover(&recovered, file, why);
    OCT_ASSERT((err == OCT_OK) == (why->text[0] == '\0'));
    if (err == OCT_OK && replay_table_restore(&table, file, recovered.is_exact) != OCT_OK) {
        err = oct_refuse(why, "its sessions are damaged");
    }
    if (err == OCT_OK && is_used) {
        table_use(table);
    }
    replay_table_destroy(table);
    replay_file_close(file);
    return err == OCT_OK;
}

static void
look(void)
{
    oct_reason why = {""};
    replay_file *file;
    replay_recovered recovered;
    if (replay_file_open_copy(&file, path, &why) != OCT_OK) {
        return;
    }
    if (replay_recover(&recovered, file, &why) == OCT_OK) {
        fuzz_accept();
    }
    replay_file_close(file);
}

// What an input wrote where it must not would be blamed on a later one.
static void
files_check(void)
{
    enum { PERIOD = 4096 };
    static uint32_t inputs;
    for (uint32_t i = 0; i < TABLES && inputs % PERIOD == 0; i++) {
        OCT_ASSERT(oct_crc32(0, files[i].bytes, files[i].length) == files[i].crc);
    }
    inputs++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    if (files[0].bytes == NULL) {
        files_make();
    }
    files_check();
    uint8_t what = oct_read_u8(&in);
    const whole_file *whole = &files[(what & TABLE_MASK) % TABLES];
    OCT_ASSERT(ftruncate(descriptor, (off_t)whole->length) == 0);
    memcpy(mapped, whole->bytes, whole->length);
    if ((what & AFTER_POWER_FAILURE) != 0) {
        memset(mapped + REPLAY_FILE_LIFE_AT, 0, sizeof(replay_file_identity));
    }
    fuzz_edit(mapped, whole->length, whole->regions, REGIONS, &in);
    mend(mapped, whole, what);
    if ((what & CUT_OFF) != 0) {
        OCT_ASSERT(ftruncate(descriptor, (off_t)whole->length - 4096) == 0);
    }
    if ((what & ONLY_LOOK) != 0) {
        look();
        return 0;
    }
    oct_reason why;
    if (take_over(true, &why)) {
        fuzz_accept();
        if (!take_over(false, &why)) {
            fprintf(stderr, "the next process refuses it: %s\n", why.text);
            abort();
        }
    }
    return 0;
}

// Each table as it was left, after a power failure, and with changes that do no harm.
void
fuzz_seeds(void)
{
    for (uint8_t i = 0; i < TABLES; i++) {
        const uint8_t as_left[] = {i}, power[] = {i | AFTER_POWER_FAILURE};
        const uint8_t seen[] = {i | ONLY_LOOK};
        // A row of a block is another: the block is torn, or its mark is mended.
        const uint8_t row[] = {i | AFTER_POWER_FAILURE, 8, 0xf0, 0x10, 1};
        const uint8_t mended[] = {i | AFTER_POWER_FAILURE | MEND_MARKS | MEND_SNAPSHOTS, 8, 0xf0,
                                  0x10, 1};
        fuzz_seed(as_left, sizeof(as_left));
        fuzz_seed(power, sizeof(power));
        fuzz_seed(seen, sizeof(seen));
        fuzz_seed(row, sizeof(row));
        fuzz_seed(mended, sizeof(mended));
    }
}
