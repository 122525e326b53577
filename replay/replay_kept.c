// Converts the configuration of a table between the message that brings it and the numbers that a
// file stores.
#include "replay/replay_kept.h"

#include <string.h>

#include "common/oct_base.h"
#include "replay/replay_head.h"

// Files of earlier releases have these sizes.
_Static_assert(sizeof(replay_kept_configure) == 232, "another REPLAY_FILE_VERSION");
_Static_assert(sizeof(replay_head) == 648, "another REPLAY_FILE_VERSION");

replay_kept_configure
replay_kept_of(const wire_configure *configure)
{
    replay_kept_configure kept;
    memset(&kept, 0, sizeof(kept));
    kept.run_id = configure->run_id;
    kept.capacity = configure->capacity;
    kept.streams = configure->streams;
    kept.obs_bytes = configure->obs_bytes;
    kept.obs_is_float = configure->obs_is_float;
    kept.action_bytes = configure->action_bytes;
    kept.action_is_float = configure->action_is_float;
    kept.extra_dim = configure->extra_dim;
    kept.sampler = (uint32_t)configure->sampler;
    kept.priority_exponent = configure->priority_exponent;
    kept.window = (uint32_t)configure->window;
    kept.window_steps = configure->window_steps;
    kept.window_stride = configure->window_stride;
    kept.discount = configure->discount;
    kept.reward_clip = configure->reward_clip;
    kept.min_size = configure->min_size;
    kept.samples_per_insert = configure->samples_per_insert;
    kept.tolerance = configure->tolerance;
    kept.seed = configure->seed;
    kept.epoch = configure->epoch;
    kept.table = configure->table;
    kept.samples = configure->samples;
    kept.turn_actors = configure->turn_actors;
    kept.turn = configure->turn;
    memcpy(kept.turn_digest, configure->turn_digest, sizeof(kept.turn_digest));
    return kept;
}

bool
replay_kept_give(const replay_kept_configure *kept, wire_configure *out)
{
    memset(out, 0, sizeof(*out));
    if (kept->obs_is_float > 1 || kept->action_is_float > 1) {
        return false;
    }
    out->run_id = kept->run_id;
    out->capacity = kept->capacity;
    out->streams = kept->streams;
    out->obs_bytes = kept->obs_bytes;
    out->obs_is_float = kept->obs_is_float != 0;
    out->action_bytes = kept->action_bytes;
    out->action_is_float = kept->action_is_float != 0;
    out->extra_dim = kept->extra_dim;
    out->sampler = (wire_sampler)kept->sampler;
    out->priority_exponent = kept->priority_exponent;
    out->window = (wire_window)kept->window;
    out->window_steps = kept->window_steps;
    out->window_stride = kept->window_stride;
    out->discount = kept->discount;
    out->reward_clip = kept->reward_clip;
    out->min_size = kept->min_size;
    out->samples_per_insert = kept->samples_per_insert;
    out->tolerance = kept->tolerance;
    out->seed = kept->seed;
    out->epoch = kept->epoch;
    out->table = kept->table;
    out->samples = kept->samples;
    out->turn_actors = kept->turn_actors;
    out->turn = kept->turn;
    memcpy(out->turn_digest, kept->turn_digest, sizeof(out->turn_digest));
    return true;
}
