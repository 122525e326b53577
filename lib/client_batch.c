// Copies windows of a sample reply into one block of memory, in columns of include/octet/replay.h.
#include "lib/client_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_importance.h"

#define COLUMN_ALIGNMENT 64 // bytes; for vector instructions of the caller

_Static_assert(OCTET_REPLAY_TERMINATED == (int)WIRE_TERMINATED &&
                   OCTET_REPLAY_TRUNCATED == (int)WIRE_TRUNCATED &&
                   OCTET_REPLAY_FIRST == (int)WIRE_FIRST && OCTET_REPLAY_END == (int)WIRE_END,
               "flags keep the values that were sent");

enum { OBS, NEXT, ACTION, REWARD, DISCOUNT, FLAGS, PROBABILITY, KEY, WEIGHT, COLUMNS };

struct column {
    const void *from; // the first window; NULL: filled later
    size_t bytes;     // of all windows; 0: the kind of window lacks it
};

// Finds the columns of count windows. N-step windows have next observations and discounts;
// sequences of T rows have flags and T + 1 observations.
static void
columns_of(struct column out[COLUMNS], const wire_sampled *s, uint32_t first, uint32_t count)
{
    bool is_sequence = s->window_steps > 0;
    size_t rows = is_sequence ? s->window_steps : 1, at = (size_t)first, n = count;
    size_t obs = (is_sequence ? rows + 1 : 1) * s->obs_bytes, action = rows * s->action_bytes;
    memset(out, 0, COLUMNS * sizeof(*out));
    out[OBS] = (struct column){s->obs + at * obs, n * obs};
    out[ACTION] = (struct column){s->action + at * action, n * action};
    out[REWARD] = (struct column){s->reward + at * rows, n * rows * sizeof(float)};
    out[PROBABILITY] = (struct column){s->probability + at, n * sizeof(float)};
    out[KEY] = (struct column){s->key + at, n * sizeof(uint64_t)};
    out[WEIGHT] = (struct column){NULL, n * sizeof(float)};
    if (is_sequence) {
        out[FLAGS] = (struct column){s->flags + at * rows, n * rows};
    } else {
        out[NEXT] = (struct column){s->next + at * obs, n * obs};
        out[DISCOUNT] = (struct column){s->discount + at, n * sizeof(float)};
    }
}

// Rounds up to the alignment.
static size_t
whole(size_t bytes)
{
    return (bytes + COLUMN_ALIGNMENT - 1) / COLUMN_ALIGNMENT * COLUMN_ALIGNMENT;
}

client_batch *
client_batch_create(const wire_sampled *sampled, uint32_t first, uint32_t count)
{
    OCT_ASSERT(first + count <= sampled->count);
    struct column columns[COLUMNS];
    void *placed[COLUMNS] = {0};
    columns_of(columns, sampled, first, count);
    // One block of memory, so that the caller frees one pointer.
    size_t bytes = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        bytes += whole(columns[i].bytes);
    }
    uint8_t *memory = oct_reserve(COLUMN_ALIGNMENT, bytes), *at = memory;
    for (size_t i = 0; i < COLUMNS; i++) {
        placed[i] = columns[i].bytes > 0 ? at : NULL;
        if (columns[i].from != NULL) {
            memcpy(at, columns[i].from, columns[i].bytes);
        }
        at += whole(columns[i].bytes);
    }
    client_batch *batch = oct_alloc(sizeof(*batch));
    batch->weight = placed[WEIGHT];
    batch->view = (octet_replay_batch){
        .size = sizeof(batch->view),
        .count = count,
        .steps = sampled->window_steps,
        .observation_bytes = sampled->obs_bytes,
        .action_bytes = sampled->action_bytes,
        .incarnation = sampled->incarnation,
        .observations = placed[OBS],
        .next_observations = placed[NEXT],
        .actions = placed[ACTION],
        .rewards = placed[REWARD],
        .discounts = placed[DISCOUNT],
        .flags = placed[FLAGS],
        .weights = placed[WEIGHT],
        .probabilities = placed[PROBABILITY],
        .keys = placed[KEY],
        .windows = sampled->size,
        .inserts = sampled->inserts,
        .samples = sampled->samples,
        .memory = memory,
        .memory_bytes = bytes,
    };
    return batch;
}

client_batch *
client_batch_fail(oct_err err, const char *reason)
{
    client_batch *batch = oct_alloc(sizeof(*batch));
    batch->err = err;
    (void)snprintf(batch->reason, sizeof(batch->reason), "%s", reason);
    return batch;
}

void
client_batch_destroy(client_batch *batch)
{
    free(batch->view.memory);
    free(batch);
}

void
client_batch_give(client_batch *take, double importance_exponent, octet_replay_batch *out)
{
    oct_importance_weights(take->weight, take->view.probabilities, take->view.count,
                           take->view.windows, importance_exponent);
    *out = take->view;
    free(take);
}
