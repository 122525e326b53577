// Makes whole batches of those of the live replay and of a data set, and takes them apart again.
#include "learner/learner_mix.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

// A batch, and what it was made of.
struct whole {
    learner_batch *batch;
    learner_batch *live; // NULL: the batch is free
    learner_batch *data;
};

struct learner_mix {
    learner_mix_options options;
    uint32_t count;
    struct whole *whole; // [count], with two sources
};

learner_mix *
learner_mix_create(const learner_mix_options *options)
{
    learner_mix *mix = oct_alloc(sizeof(*mix));
    mix->options = *options;
    if (options->shards != NULL) {
        return mix;
    }
    mix->count = learner_source_batches(options->live);
    if (options->data == NULL) {
        return mix;
    }
    mix->count = OCT_MIN(mix->count, learner_source_batches(options->data));
    mix->whole = oct_alloc(mix->count * sizeof(*mix->whole));
    uint32_t B = options->live_windows + options->data_windows;
    for (uint32_t i = 0; i < mix->count; i++) {
        mix->whole[i].batch = learner_batch_create(options->spec, B, options->T);
    }
    return mix;
}

void
learner_mix_destroy(learner_mix *mix)
{
    if (mix == NULL) {
        return;
    }
    for (uint32_t i = 0; mix->whole != NULL && i < mix->count; i++) {
        learner_batch_destroy(mix->whole[i].batch);
    }
    free(mix->whole);
    free(mix);
}

uint32_t
learner_mix_batches(const learner_mix *mix)
{
    return mix->options.shards != NULL ? learner_shards_batches(mix->options.shards) : mix->count;
}

// Of this batch; of NULL: a free one. NULL: there is none.
static struct whole *
whole_find(learner_mix *mix, const learner_batch *batch)
{
    for (uint32_t i = 0; i < mix->count; i++) {
        struct whole *whole = &mix->whole[i];
        if (batch != NULL ? whole->batch == batch : whole->live == NULL) {
            return whole;
        }
    }
    return NULL;
}

learner_batch *
learner_mix_take(learner_mix *mix)
{
    learner_source *live = mix->options.live, *data = mix->options.data;
    if (mix->options.shards != NULL) {
        return learner_shards_take(mix->options.shards);
    }
    if (data == NULL) {
        return learner_source_take(live);
    }
    struct whole *whole = whole_find(mix, NULL);
    if (whole == NULL || learner_source_filled(live) == 0 || learner_source_filled(data) == 0) {
        return NULL;
    }
    whole->live = learner_source_take(live);
    whole->data = learner_source_take(data);
    learner_batch_place(whole->batch, 0, whole->live);
    learner_batch_place(whole->batch, whole->live->view.B, whole->data);
    return whole->batch;
}

// What was learned from the windows of a part, from window at on.
static void
part_give(learner_source *source, learner_batch *part, const learner_batch *batch, uint32_t at,
          uint64_t now_ns)
{
    part->learned = batch->learned;
    part->updates = batch->updates;
    memcpy(part->priority, batch->priority + at, part->view.B * sizeof(*part->priority));
    learner_source_give(source, part, now_ns);
}

void
learner_mix_give(learner_mix *mix, learner_batch *batch, uint64_t now_ns)
{
    if (mix->options.shards != NULL) {
        learner_shards_give(mix->options.shards, batch, now_ns);
        return;
    }
    if (mix->options.data == NULL) {
        learner_source_give(mix->options.live, batch, now_ns);
        return;
    }
    struct whole *whole = whole_find(mix, batch);
    OCT_ASSERT(whole != NULL && whole->live != NULL);
    learner_batch *live = whole->live, *data = whole->data;
    whole->live = whole->data = NULL;
    part_give(mix->options.live, live, batch, 0, now_ns);
    part_give(mix->options.data, data, batch, live->view.B, now_ns);
}
