// Copies the columns of a batch into bytes, and finds them there.
#include "learner/learner_batch_bytes.h"

#include <string.h>

#include "common/oct_base.h"

learner_shape
learner_shape_of(const policy_spec *spec, uint32_t B, uint32_t T)
{
    size_t rows = OCT_MAX(T, 1u), numbers = spec->obs_count * sizeof(float);
    learner_shape s = {.B = B,
                       .T = T,
                       .obs = (T + 1) * numbers,
                       .next = T == 0 ? numbers : 0,
                       .action = rows * policy_spec_action_bytes(spec),
                       .reward = rows * sizeof(float),
                       .discount = T == 0 ? sizeof(float) : 0,
                       .version = T > 0 ? rows * sizeof(uint32_t) : 0,
                       .extra = rows * policy_spec_extra_dim(spec) * sizeof(float),
                       .weight = sizeof(float),
                       .flags = T > 0 ? rows : 0};
    s.part = B * (s.obs + s.next + s.action + s.reward + s.discount + s.version + s.extra +
                  s.weight + s.flags);
    return s;
}

static void
column_put(uint8_t **to, const void *column, size_t first, size_t windows, size_t bytes)
{
    if (bytes > 0) {
        memcpy(*to, (const uint8_t *)column + first * bytes, windows * bytes);
        *to += windows * bytes;
    }
}

// Flags come last, because all other columns need an alignment of four bytes.
void
learner_batch_bytes_put(const learner_shape *s, uint8_t *to, const algo_batch *batch, size_t first)
{
    column_put(&to, batch->obs, first, s->B, s->obs);
    column_put(&to, batch->next, first, s->B, s->next);
    column_put(&to, batch->action, first, s->B, s->action);
    column_put(&to, batch->reward, first, s->B, s->reward);
    column_put(&to, batch->discount, first, s->B, s->discount);
    column_put(&to, batch->version, first, s->B, s->version);
    column_put(&to, batch->extra, first, s->B, s->extra);
    column_put(&to, batch->weight, first, s->B, s->weight);
    column_put(&to, batch->flags, first, s->B, s->flags);
}

static const void *
column_take(const uint8_t **from, size_t windows, size_t bytes)
{
    const uint8_t *at = *from;
    *from += windows * bytes;
    return bytes > 0 ? at : NULL;
}

algo_batch
learner_batch_bytes_take(const learner_shape *s, const uint8_t *from)
{
    algo_batch part = {.B = s->B, .T = s->T};
    part.obs = column_take(&from, s->B, s->obs);
    part.next = column_take(&from, s->B, s->next);
    part.action = column_take(&from, s->B, s->action);
    part.reward = column_take(&from, s->B, s->reward);
    part.discount = column_take(&from, s->B, s->discount);
    part.version = column_take(&from, s->B, s->version);
    part.extra = column_take(&from, s->B, s->extra);
    part.weight = column_take(&from, s->B, s->weight);
    part.flags = column_take(&from, s->B, s->flags);
    return part;
}
