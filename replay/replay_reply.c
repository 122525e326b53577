// Allocates the memory for Sample replies.
#include "replay/replay_reply.h"

#include <stdlib.h>

#include "common/oct_base.h"

// malloc instead of oct_alloc, which zeroes: every byte is written before it is read, so the pages
// for replies larger than any asked for are never touched and take no memory.
static void *
reply_alloc(size_t rows, size_t row_bytes)
{
    void *memory = malloc(OCT_MAX(rows * row_bytes, 1));
    OCT_ASSERT(memory);
    return memory;
}

void
replay_reply_init(replay_reply *reply, const wire_configure *configure)
{
    bool is_n_step = configure->window == WIRE_WINDOW_N_STEP;
    size_t windows = replay_config_reply_windows(configure);
    size_t rows = is_n_step ? windows : windows * configure->window_steps;
    reply->windows_max = (uint32_t)windows;
    reply->slot = reply_alloc(windows, sizeof(uint32_t));
    reply->probability = reply_alloc(windows, sizeof(float));
    reply->columns = (replay_columns){
        .obs = reply_alloc(is_n_step ? rows : rows + windows, configure->obs_bytes),
        .next = is_n_step ? reply_alloc(rows, configure->obs_bytes) : NULL,
        .action = reply_alloc(rows, configure->action_bytes),
        .reward = reply_alloc(rows, sizeof(float)),
        .discount = is_n_step ? reply_alloc(rows, sizeof(float)) : NULL,
        .flags = is_n_step ? NULL : reply_alloc(rows, 1),
        .version = is_n_step ? NULL : reply_alloc(rows, sizeof(uint32_t)),
        .extra = reply_alloc(rows, configure->extra_dim * sizeof(float)),
        .key = reply_alloc(windows, sizeof(uint64_t)),
    };
}

void
replay_reply_fini(replay_reply *reply)
{
    free(reply->slot);
    free(reply->probability);
    free(reply->columns.obs);
    free(reply->columns.next);
    free(reply->columns.action);
    free(reply->columns.reward);
    free(reply->columns.discount);
    free(reply->columns.flags);
    free(reply->columns.version);
    free(reply->columns.extra);
    free(reply->columns.key);
}
