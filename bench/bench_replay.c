// The speed at which the core of replay inserts, samples and updates priorities, without a network:
// batches of 1024 steps with 64-byte observations, samples of 256 one-step windows. Rates are per
// second of CPU time of the one thread, so that another process on the machine does not count. It
// also measures how many batches of unregistered sessions it refuses and how many of a registered
// session it admits. usage: bench_replay [quick]
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_sort.h"
#include "bench/bench_steps.h"
#include "common/oct_base.h"
#include "common/oct_clock.h"
#include "replay/replay_admit.h"
#include "replay/replay_table.h"

#define SAMPLE_ROWS 256
#define REPEATS_MAX 21

struct effort {
    uint64_t capacity;
    int repeats;
    int batches;
    uint32_t streams; // of the one actor, each with its share of a batch
};

static void
report(const char *name, const char *sampler, const struct effort *effort, double *rate, int count)
{
    bench_sort(rate, count);
    printf("{\"name\":\"replay_%s_%s\",\"capacity\":%" PRIu64 ",\"streams\":%u,\"n\":%d,"
           "\"median\":%.0f,\"min\":%.0f,\"max\":%.0f,\"unit\":\"windows per CPU second\","
           "\"cores\":%ld}\n",
           name, sampler, effort->capacity, effort->streams, count, rate[count / 2], rate[0],
           rate[count - 1], sysconf(_SC_NPROCESSORS_ONLN));
}

static void
insert_many(replay_table *table, bench_steps *self, int batches, uint64_t *ns)
{
    for (int i = 0; i < batches; i++) {
        replay_insert result;
        bench_steps_next(self);
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        oct_err err = replay_table_insert(&result, table, &self->batch);
        *ns += oct_clock_thread_cpu_ns() - begin_ns;
        OCT_ASSERT(err == OCT_OK && result.rows == BENCH_ROWS);
    }
}

static void
bench_insert(replay_table *table, bench_steps *self, const char *sampler,
             const struct effort *effort)
{
    double rate[REPEATS_MAX];
    uint64_t ns = 0;
    insert_many(table, self, (int)(effort->capacity * 3 / 2 / BENCH_ROWS), &ns); // full, and warm
    for (int r = 0; r < effort->repeats; r++) {
        ns = 0;
        insert_many(table, self, effort->batches, &ns);
        rate[r] = 1e9 * effort->batches * BENCH_ROWS / (double)ns;
    }
    report("insert", sampler, effort, rate, effort->repeats);
}

// Each sample is followed by an update of all its priorities, as a learner would.
static void
bench_sample(replay_table *table, const char *sampler, const struct effort *effort)
{
    double sample_rate[REPEATS_MAX], update_rate[REPEATS_MAX];
    float priority[SAMPLE_ROWS];
    for (int r = 0; r < effort->repeats; r++) {
        uint64_t sample_ns = 0, update_ns = 0;
        for (int i = 0; i < effort->batches * 4; i++) {
            wire_sampled sampled;
            uint64_t begin_ns = oct_clock_thread_cpu_ns();
            uint32_t allowed = replay_table_may_sample(table, SAMPLE_ROWS, 1, 0);
            OCT_ASSERT(allowed == 1);
            replay_table_sample(&sampled, table, SAMPLE_ROWS, 1);
            uint64_t middle_ns = oct_clock_thread_cpu_ns();
            bench_steps_check(&sampled, 1);
            for (int k = 0; k < SAMPLE_ROWS; k++) {
                priority[k] = 0.1f + (float)(sampled.key[k] * 2654435761u % 1000) / 1000;
            }
            wire_priorities update = {
                .count = SAMPLE_ROWS, .key = sampled.key, .priority = priority};
            uint64_t update_begin_ns = oct_clock_thread_cpu_ns();
            replay_table_update(table, &update);
            update_ns += oct_clock_thread_cpu_ns() - update_begin_ns;
            sample_ns += middle_ns - begin_ns;
        }
        sample_rate[r] = 4e9 * effort->batches * SAMPLE_ROWS / (double)sample_ns;
        update_rate[r] = 4e9 * effort->batches * SAMPLE_ROWS / (double)update_ns;
    }
    report("sample", sampler, effort, sample_rate, effort->repeats);
    report("update", sampler, effort, update_rate, effort->repeats);
}

// A packed batch from wire to verdict, as the daemon does it before it decodes anything. forged:
// every one names a session of its own, so that each costs a token; else all are of one session.
static void
bench_admit(bench_steps *self, bool forged, const struct effort *effort)
{
    static const uint8_t key[WIRE_TOKEN_KEY_BYTES];
    replay_admit *admit = replay_admit_create();
    bool changed = replay_admit_set_key(admit, 1, key);
    wire_token_maker *learner = wire_token_maker_create(key);
    OCT_ASSERT(changed);
    bench_steps_next(self);
    wire_token_make(learner, 1, self->batch.session, self->batch.actor_id, self->batch.token);
    size_t length = wire_batch_size(&self->batch);
    uint8_t *bytes = oct_alloc(length);
    wire_batch_pack(&self->batch, bytes);
    double rate[REPEATS_MAX];
    uint64_t session = 1ull << 32;
    int count = effort->batches * 100;
    for (int r = 0; r < effort->repeats; r++) {
        uint64_t begin_ns = oct_clock_thread_cpu_ns();
        for (int i = 0; i < count; i++) {
            session += forged;
            if (forged) {
                memcpy(bytes + WIRE_FRAME_BYTES + 3, &session, sizeof(session)); // after actor_id
            }
            wire_claim claim;
            oct_err err = wire_claim_find(&claim, bytes, length);
            OCT_ASSERT(err == OCT_OK && replay_admit_check(admit, &claim) == !forged);
        }
        rate[r] = 1e9 * count / (double)(oct_clock_thread_cpu_ns() - begin_ns);
    }
    bench_sort(rate, effort->repeats);
    printf("{\"name\":\"replay_%s\",\"batch_bytes\":%zu,\"n\":%d,\"median\":%.0f,\"min\":%.0f,"
           "\"max\":%.0f,\"unit\":\"batches per CPU second\",\"cores\":%ld}\n",
           forged ? "refuse_forged" : "admit_registered", length, effort->repeats,
           rate[effort->repeats / 2], rate[0], rate[effort->repeats - 1],
           sysconf(_SC_NPROCESSORS_ONLN));
    wire_token_maker_destroy(learner);
    replay_admit_destroy(admit);
    free(bytes);
}

int
main(int argc, char **argv)
{
    bool is_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    struct effort effort =
        is_quick ? (struct effort){20000, 1, 8, 1} : (struct effort){1000000, 11, 256, 1};
    static const struct {
        const char *name;
        wire_sampler sampler;
    } samplers[] = {{"uniform", WIRE_SAMPLER_UNIFORM}, {"prioritized", WIRE_SAMPLER_PRIORITIZED}};
    bench_steps *self = oct_alloc(sizeof(*self));
    for (size_t i = 0; i < 2 * OCT_COUNTOF(samplers); i++) {
        effort.streams = i % 2 == 0 ? 1 : BENCH_STREAMS_MAX; // a run of 1024 rows, or 128 of 8
        wire_configure configure = {
            .run_id = 1,
            .capacity = effort.capacity,
            .obs_bytes = sizeof(self->obs[0]),
            .obs_is_float = true,
            .action_bytes = sizeof(int32_t),
            .sampler = samplers[i / 2].sampler,
            .priority_exponent = 0.6,
            .streams = effort.streams,
            .window = WIRE_WINDOW_N_STEP,
            .window_steps = 1,
            .discount = 0.99,
            .min_size = 1,
            .seed = 1,
        };
        bench_steps_init(self, effort.streams);
        replay_table *table = replay_table_create(&configure);
        bench_insert(table, self, samplers[i / 2].name, &effort);
        bench_sample(table, samplers[i / 2].name, &effort);
        replay_table_destroy(table);
    }
    bench_admit(self, false, &effort);
    bench_admit(self, true, &effort);
    free(self);
    return 0;
}
