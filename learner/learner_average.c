// The exponential moving average of a policy's parameters. If learner.ema_decay is set, actors get
// the average instead of the parameters.
#include "learner/learner_average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define MAGIC 0x20414d45u // "EMA "

struct learner_average {
    size_t count;
    float rate; // 1 - decay
    bool has_begun;
    float params[];
};

learner_average *
learner_average_create(size_t count, double decay)
{
    OCT_ASSERT(count > 0 && count <= UINT32_MAX && decay > 0 && decay < 1);
    learner_average *average = oct_alloc(sizeof(*average) + count * sizeof(float));
    average->count = count;
    average->rate = (float)(1 - decay);
    return average;
}

void
learner_average_destroy(learner_average *average)
{
    free(average);
}

void
learner_average_add(learner_average *average, const float *params)
{
    if (!average->has_begun) {
        memcpy(average->params, params, average->count * sizeof(float));
        average->has_begun = true;
        return;
    }
    float rate = average->rate;
    for (size_t i = 0; i < average->count; i++) {
        average->params[i] += rate * (params[i] - average->params[i]);
    }
}

const float *
learner_average_params(const learner_average *average)
{
    return average->has_begun ? average->params : NULL;
}

void
learner_average_save(const learner_average *average, oct_writer *writer)
{
    if (!average->has_begun) {
        return;
    }
    oct_write_u32(writer, MAGIC);
    oct_write_u32(writer, (uint32_t)average->count);
    for (size_t i = 0; i < average->count; i++) {
        oct_write_f32(writer, average->params[i]);
    }
}

oct_err
learner_average_load(learner_average *average, oct_reader *reader)
{
    oct_reader at = *reader;
    if (oct_read_u32(&at) != MAGIC || at.failed) {
        return OCT_OK;
    }
    uint32_t count = oct_read_u32(&at);
    if (at.failed || count > at.left / sizeof(float) ||
        (average != NULL && count != average->count)) {
        return OCT_EPROTO;
    }
    float *params = oct_alloc((size_t)count * sizeof(float) + 1);
    bool is_sound = true;
    for (uint32_t i = 0; i < count; i++) {
        params[i] = oct_read_f32(&at);
        is_sound = is_sound && isfinite(params[i]);
    }
    if (is_sound && average != NULL) {
        memcpy(average->params, params, count * sizeof(float));
        average->has_begun = true;
    }
    free(params);
    if (!is_sound) {
        return OCT_EPROTO;
    }
    *reader = at;
    return OCT_OK;
}
