#ifndef BENCH_BENCH_STEPS_H
#define BENCH_BENCH_STEPS_H

#include <string.h>

#include "bench/bench_must.h"
#include "proto/wire_replay.h"

// An actor's batches of endless episodes, for benchmarks of replay: 1024 steps with 64-byte
// observations. Every row's reward is the first number of its observation, so that samples can be
// checked.
//
// Threads: one. Owns: what its batch points to.

#define BENCH_OBS_FLOATS  16
#define BENCH_NUMBERS     1000003 // observations count up to it, and begin anew
#define BENCH_ROWS        1024
#define BENCH_STREAMS_MAX 128

typedef struct bench_steps {
    wire_batch batch;
    uint64_t rows_sent; // of each stream
    uint32_t run_stream[BENCH_STREAMS_MAX];
    uint64_t run_first[BENCH_STREAMS_MAX];
    uint32_t run_rows[BENCH_STREAMS_MAX];
    uint32_t run_version[BENCH_STREAMS_MAX];
    float obs[BENCH_ROWS][BENCH_OBS_FLOATS];
    int32_t action[BENCH_ROWS];
    float reward[BENCH_ROWS];
    uint8_t flags[BENCH_ROWS];
} bench_steps;

// streams: a divisor of BENCH_ROWS; each has its share of a batch.
static inline void
bench_steps_init(bench_steps *self, uint32_t streams)
{
    memset(self, 0, sizeof(*self));
    for (uint32_t i = 0; i < streams; i++) {
        self->run_stream[i] = i;
        self->run_rows[i] = BENCH_ROWS / streams;
        self->run_version[i] = 1;
    }
    self->batch = (wire_batch){
        .actor_id = 1,
        .session = 1,
        .first_unacked = 1,
        .run_count = streams,
        .run_stream = self->run_stream,
        .run_first = self->run_first,
        .run_rows = self->run_rows,
        .run_version = self->run_version,
        .count = BENCH_ROWS,
        .obs_bytes = sizeof(self->obs[0]),
        .obs = (const uint8_t *)self->obs,
        .action_bytes = sizeof(int32_t),
        .action = (const uint8_t *)self->action,
        .reward = self->reward,
        .flags = self->flags,
    };
}

static inline void
bench_steps_next(bench_steps *self)
{
    uint32_t each = BENCH_ROWS / self->batch.run_count;
    self->batch.sequence++;
    for (uint32_t run = 0; run < self->batch.run_count; run++) {
        self->run_first[run] = self->rows_sent;
        for (uint32_t i = 0; i < each; i++) {
            uint32_t row = run * each + i;
            self->obs[row][0] = (float)((self->rows_sent + i) % BENCH_NUMBERS);
            self->reward[row] = self->obs[row][0];
            self->flags[row] = self->rows_sent + i == 0 ? WIRE_FIRST : 0;
        }
    }
    self->rows_sent += each;
}

// Every so many-th row of a sample, as it was made.
static inline void
bench_steps_check(const wire_sampled *sampled, uint32_t every)
{
    for (uint32_t i = 0; i < sampled->count; i += every) {
        float obs, next;
        memcpy(&obs, sampled->obs + (size_t)i * sampled->obs_bytes, sizeof(obs));
        memcpy(&next, sampled->next + (size_t)i * sampled->obs_bytes, sizeof(next));
        float follows = obs == BENCH_NUMBERS - 1 ? 0 : obs + 1;
        if (obs != sampled->reward[i] || next != follows) {
            bench_give_up("a sample holds another observation than was sent", NULL);
        }
    }
}

#endif // BENCH_BENCH_STEPS_H
