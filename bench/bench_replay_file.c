// What a file costs a table: inserts of batches of 1024 steps with 64-byte observations into a full
// table, in memory, in a file that is never synced, in one that is synced at every interval by
// another thread; the time in which tables of growing size are there again; samples from such
// tables, uniform and prioritized, in memory and in a file, beside bare copies of as many bytes.
// Checks the rows that it samples. usage: bench_replay_file FOLDER [quick | ROWS] [sizes | WAY]
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench_sort.h"
#include "bench/bench_steps.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "common/oct_ring.h"
#include "common/oct_rng.h"
#include "replay/replay_recover.h"
#include "replay/replay_sync.h"
#include "replay/replay_table.h"

#define SAMPLE_ROWS 256
#define SYNC_NS     1000000000ull
#define MARK_BYTES  (1u << 20) // as the daemon with each batch

static bench_steps maker;

static char path[512];

struct bench {
    replay_file *file;
    replay_table *table;
    replay_sync *sync; // NULL: not synced
    oct_ring *jobs;
    pthread_t thread;
    volatile int is_writing;
    bool is_marking;
    uint64_t longest_ns; // CPU time of one turn of a generation
};

static wire_configure
configure_of(uint64_t capacity, wire_sampler sampler)
{
    return (wire_configure){
        .run_id = 1,
        .capacity = capacity,
        .streams = 1,
        .obs_bytes = sizeof(maker.obs[0]),
        .obs_is_float = true,
        .action_bytes = sizeof(int32_t),
        .sampler = sampler,
        .priority_exponent = 0.6,
        .window = WIRE_WINDOW_N_STEP,
        .window_steps = 1,
        .discount = 0.99,
        .min_size = 1,
        .seed = 1,
    };
}

static void *
sync_thread(void *arg)
{
    struct bench *b = arg;
    void *job;
    for (;;) {
        oct_err err = oct_ring_pop_wait(b->jobs, &job, 1000);
        if (err == OCT_ECLOSED) {
            return NULL;
        }
        if (err == OCT_OK) {
            err = replay_sync_write(job, true);
            OCT_ASSERT(err == OCT_OK);
            __atomic_store_n(&b->is_writing, 2, __ATOMIC_RELEASE);
        }
    }
}

static void
bench_open(struct bench *b, const wire_configure *configure, bool in_file, bool is_synced)
{
    oct_reason why;
    *b = (struct bench){0};
    bench_steps_init(&maker, 1);
    (void)unlink(path);
    if (!in_file) {
        b->table = replay_table_create(configure);
        return;
    }
    if (replay_file_create(&b->file, path, configure, &why) != OCT_OK) {
        fprintf(stderr, "bench_replay_file: %s\n", why.text);
        exit(1);
    }
    b->table = replay_table_create_in(configure, b->file);
    if (is_synced) {
        b->sync = replay_sync_create(b->file);
        b->jobs = oct_ring_create(1);
        OCT_ASSERT(pthread_create(&b->thread, NULL, sync_thread, b) == 0);
    }
}

static void
bench_close(struct bench *b)
{
    if (b->jobs) {
        oct_ring_close(b->jobs);
        (void)pthread_join(b->thread, NULL);
        oct_ring_destroy(b->jobs);
    }
    replay_sync_destroy(b->sync);
    replay_table_destroy(b->table);
    replay_file_close(b->file);
}

// The table's part of a generation, as the daemon's loop does it.
static void
sync_turn(struct bench *b, uint64_t *begun_ns)
{
    if (!b->sync) {
        return;
    }
    if (__atomic_load_n(&b->is_writing, __ATOMIC_ACQUIRE) == 2) {
        replay_sync_end(b->sync, OCT_OK);
        b->is_writing = 0;
    }
    uint64_t now_ns = oct_clock_ns();
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    if (!b->is_marking && b->is_writing == 0 && now_ns - *begun_ns >= SYNC_NS) {
        b->is_marking = replay_sync_begin(b->sync);
        *begun_ns = b->is_marking ? now_ns : *begun_ns;
    }
    bool is_marked = b->is_marking && replay_sync_mark(b->sync, MARK_BYTES);
    b->longest_ns = OCT_MAX(b->longest_ns, oct_clock_thread_cpu_ns() - begin_ns);
    if (is_marked) {
        b->is_marking = false;
        b->is_writing = 1;
        oct_err err = oct_ring_push(b->jobs, b->sync);
        OCT_ASSERT(err == OCT_OK);
    }
}

// rate: rows per second that come, 0: as fast as it goes.
static double
inserts(struct bench *b, uint64_t rows, double rate)
{
    uint64_t ns = 0, begun_ns = oct_clock_ns(), start_ns = begun_ns;
    for (uint64_t done = 0; done < rows; done += BENCH_ROWS) {
        replay_insert result;
        bench_steps_next(&maker);
        while (rate > 0 && (double)(oct_clock_ns() - start_ns) * 1e-9 * rate < (double)done) {
            usleep(200);
        }
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        oct_err err = replay_table_insert(&result, b->table, &maker.batch);
        sync_turn(b, &begun_ns);
        ns += oct_clock_thread_cpu_ns() - begin_ns;
        OCT_ASSERT(err == OCT_OK && result.rows == BENCH_ROWS);
    }
    return (double)ns / (double)rows;
}

static void
bench_inserts(const char *name, uint64_t capacity, bool in_file, bool is_synced, int passes)
{
    struct bench b;
    wire_configure configure = configure_of(capacity, WIRE_SAMPLER_UNIFORM);
    bench_open(&b, &configure, in_file, is_synced);
    double first = inserts(&b, capacity, 0);
    double next = inserts(&b, capacity * (uint64_t)passes, 0);
    double steady = inserts(&b, capacity * (uint64_t)passes, 3e6);
    printf("{\"name\":\"replay_file_insert_%s\",\"capacity\":%" PRIu64
           ",\"first_ns\":%.1f,\"full_ns\":%.1f,\"at_3M_ns\":%.1f,\"longest_turn_ms\":%.2f,"
           "\"unit\":\"CPU ns per row of the inserting thread\"}\n",
           name, capacity, first, next, steady, (double)b.longest_ns * 1e-6);
    bench_close(&b);
}

// ns a window.
static double
samples(replay_table *table, int batches, uint64_t (*now_ns)(void))
{
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < batches; i++) {
        wire_sampled sampled;
        uint32_t allowed = replay_table_may_sample(table, SAMPLE_ROWS, 1, 0);
        OCT_ASSERT(allowed == 1);
        replay_table_sample(&sampled, table, SAMPLE_ROWS, 1);
        float obs;
        memcpy(&obs, sampled.obs, sizeof(obs));
        OCT_ASSERT(obs == sampled.reward[0]);
    }
    return (double)(now_ns() - begin_ns) / batches / SAMPLE_ROWS;
}

// Of a file none of which is in memory.
static double
samples_cold(replay_table *table, const replay_file *file)
{
    OCT_ASSERT(fdatasync(file->descriptor) == 0);
    OCT_ASSERT(madvise(file->base, file->bytes, MADV_DONTNEED) == 0);
    OCT_ASSERT(posix_fadvise(file->descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0);
    return samples(table, 20, oct_clock_ns);
}

static void
bench_samples(uint64_t rows)
{
    struct bench b;
    wire_configure configure = configure_of(rows, WIRE_SAMPLER_UNIFORM);
    bench_open(&b, &configure, true, false);
    (void)inserts(&b, rows, 0);
    double ns = samples(b.table, 2000, oct_clock_thread_cpu_ns);
    uint64_t windows = replay_table_stats_get(b.table).size;
    bench_close(&b);
    uint64_t begin_ns = oct_clock_ns();
    oct_reason why;
    replay_file *file;
    replay_table *table;
    replay_recovered recovered;
    oct_err err = replay_file_open(&file, path, &why);
    OCT_ASSERT(err == OCT_OK);
    err = replay_recover(&recovered, file, &why);
    OCT_ASSERT(err == OCT_OK && recovered.is_exact);
    err = replay_table_restore(&table, file, true);
    OCT_ASSERT(err == OCT_OK && replay_table_stats_get(table).size == windows);
    double again_ms = (double)(oct_clock_ns() - begin_ns) * 1e-6;
    printf("{\"name\":\"replay_file_sample\",\"rows\":%" PRIu64
           ",\"sample_ns\":%.1f,\"again_ms\":%.1f,\"from_disk_us\":%.1f,\"file_mib\":%.1f,"
           "\"unit\":\"CPU ns, wall us per window\"}\n",
           rows, ns, again_ms, samples_cold(table, file) * 1e-3,
           (double)file->bytes / (1024 * 1024));
    replay_table_destroy(table);
    replay_file_close(file);
}

// ---- samples from tables of growing size

#define SIZES_MAX  8
#define ROUNDS     9
#define UPDATES    1024
#define BLOCK_ROWS 64

enum way { COPIES, UNIFORM_MEMORY, PRIORITIZED_MEMORY, UNIFORM_FILE, PRIORITIZED_FILE, WAYS };

static const char *const way_names[WAYS] = {"copies", "uniform_memory", "prioritized_memory",
                                            "uniform_file", "prioritized_file"};

// One size of the tables; copies has only as much memory as a table's blocks.
struct sized {
    struct bench bench;
    uint64_t rows;
    uint8_t *memory;
    double ns[ROUNDS];
};

// Every window gets another priority, as from a learner.
static void
priorities_spread(replay_table *table, uint64_t rows)
{
    uint64_t key[UPDATES];
    float priority[UPDATES];
    for (uint64_t at = 0; at < rows; at += UPDATES) {
        for (uint32_t i = 0; i < UPDATES; i++) {
            key[i] = at + i;
            priority[i] = 0.1f + (float)((at + i) * 2654435761u % 1000) / 1000;
        }
        const wire_priorities update = {.count = UPDATES, .key = key, .priority = priority};
        replay_table_update(table, &update);
    }
}

static replay_layout
layout_make(void)
{
    return replay_layout_make(BLOCK_ROWS, sizeof(maker.obs[0]), sizeof(int32_t), 0);
}

// The machine's part of a sample: the bytes of as many windows are copied from random rows, known
// and asked for beforehand, and nothing else is done. ns a window.
static double
copies(const struct sized *sized, uint64_t seed, int batches)
{
    static struct {
        float obs[2][BENCH_OBS_FLOATS], reward;
        int32_t action;
    } out[SAMPLE_ROWS];
    struct {
        const uint8_t *obs, *action;
        const float *reward;
    } from[SAMPLE_ROWS];
    replay_layout layout = layout_make();
    oct_rng rng;
    oct_rng_init(&rng, seed, sized->rows);
    uint64_t begin_ns = oct_clock_thread_cpu_ns();
    for (int b = 0; b < batches; b++) {
        for (uint32_t i = 0; i < SAMPLE_ROWS; i++) {
            uint32_t slot = oct_rng_below(&rng, (uint32_t)sized->rows), row = slot % BLOCK_ROWS;
            row -= row == BLOCK_ROWS - 1; // the one behind it is in the block, too
            const uint8_t *block = sized->memory + slot / BLOCK_ROWS * layout.bytes;
            from[i].obs = block + layout.obs + row * layout.obs_bytes;
            from[i].action = block + layout.action + row * sizeof(int32_t);
            from[i].reward = (const float *)(const void *)(block + layout.reward) + row;
            __builtin_prefetch(from[i].obs);
            __builtin_prefetch(from[i].obs + layout.obs_bytes);
            __builtin_prefetch(from[i].action);
            __builtin_prefetch(from[i].reward);
        }
        for (uint32_t i = 0; i < SAMPLE_ROWS; i++) {
            memcpy(out[i].obs, from[i].obs, sizeof(out[i].obs));
            memcpy(&out[i].action, from[i].action, sizeof(out[i].action));
            out[i].reward = *from[i].reward;
        }
        __asm__ volatile("" : : "r"(out) : "memory"); // they are used
    }
    return (double)(oct_clock_thread_cpu_ns() - begin_ns) / batches / SAMPLE_ROWS;
}

static void
sized_open(struct sized *sized, enum way way, uint64_t rows)
{
    sized->rows = rows;
    if (way == COPIES) {
        size_t bytes = rows / BLOCK_ROWS * layout_make().bytes;
        sized->memory = oct_alloc(bytes);
        memset(sized->memory, 1, bytes);
        return;
    }
    bool is_uniform = way == UNIFORM_MEMORY || way == UNIFORM_FILE;
    wire_configure configure =
        configure_of(rows, is_uniform ? WIRE_SAMPLER_UNIFORM : WIRE_SAMPLER_PRIORITIZED);
    bench_open(&sized->bench, &configure, way == UNIFORM_FILE || way == PRIORITIZED_FILE, false);
    (void)inserts(&sized->bench, rows, 0);
    if (!is_uniform) {
        priorities_spread(sized->bench.table, rows);
    }
}

static void
sized_close(struct sized *sized, enum way way)
{
    if (way == COPIES) {
        free(sized->memory);
    } else {
        bench_close(&sized->bench);
    }
}

// All sizes are there at once and take turns, so that they share what else the machine does.
static void
bench_sizes(enum way way, uint64_t least, uint64_t most, int rounds)
{
    static struct sized sized[SIZES_MAX];
    uint32_t sizes = 0;
    memset(sized, 0, sizeof(sized));
    for (uint64_t rows = least; rows <= most && sizes < SIZES_MAX; rows *= 10) {
        sized_open(&sized[sizes++], way, rows);
    }
    for (int r = 0; r < rounds; r++) {
        for (uint32_t i = 0; i < sizes; i++) {
            sized[i].ns[r] = way == COPIES
                                 ? copies(&sized[i], (uint64_t)r, 200)
                                 : samples(sized[i].bench.table, 200, oct_clock_thread_cpu_ns);
        }
    }
    for (uint32_t i = 0; i < sizes; i++) {
        double *ns = sized[i].ns;
        bench_sort(ns, rounds);
        printf("{\"name\":\"replay_sample_%s\",\"rows\":%" PRIu64
               ",\"n\":%d,\"median\":%.1f,\"min\":%.1f,\"max\":%.1f,\"ratio\":%.2f,"
               "\"unit\":\"CPU ns per window\"}\n",
               way_names[way], sized[i].rows, rounds, ns[rounds / 2], ns[0], ns[rounds - 1],
               ns[rounds / 2] / sized[0].ns[rounds / 2]);
    }
    for (uint32_t i = 0; i < sizes; i++) {
        sized_close(&sized[i], way);
    }
}

// Of the third argument, "sizes" (samples all ways) or one of the ways.
static bool
is_way(const char *name)
{
    bool is = strcmp(name, "sizes") == 0;
    for (enum way way = 0; way < WAYS; way++) {
        is = is || strcmp(name, way_names[way]) == 0;
    }
    return is;
}

int
main(int argc, char **argv)
{
    bool is_quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    char *end = NULL;
    uint64_t most = is_quick ? 20480 : argc > 2 ? strtoull(argv[2], &end, 10) : 10000000;
    if (argc < 2 || argc > 4 || most == 0 || (end != NULL && *end != '\0') ||
        (argc > 3 && !is_way(argv[3]))) {
        fprintf(stderr, "usage: bench_replay_file FOLDER [quick | ROWS] [sizes | WAY]\n");
        for (enum way way = 0; way < WAYS; way++) {
            fprintf(stderr, "%s%s", way == 0 ? "WAY: " : ", ", way_names[way]);
        }
        fprintf(stderr, "\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    uint64_t capacity = is_quick ? 20480 : 1024000;
    int passes = is_quick ? 1 : 8;
    (void)snprintf(path, sizeof(path), "%s/bench_replay_file.%ld", argv[1], (long)getpid());
    const char *only = argc > 3 ? argv[3] : NULL;
    bool is_all = only == NULL;
    for (int way = 0; is_all && way < 3; way++) {
        static const char *const names[] = {"memory", "none", "interval"};
        bench_inserts(names[way], capacity, way > 0, way > 1, passes);
    }
    for (uint64_t rows = is_quick ? most : 102400; is_all && rows <= most; rows *= 10) {
        bench_samples(rows);
    }
    for (enum way way = 0; way < WAYS; way++) {
        if (is_all || strcmp(only, "sizes") == 0 || strcmp(only, way_names[way]) == 0) {
            bench_sizes(way, is_quick ? most : 102400, most, is_quick ? 1 : ROUNDS);
        }
    }
    (void)unlink(path);
    return 0;
}
