// The table of samplers.
#include "replay/replay_select.h"

#include "common/oct_base.h"
#include "proto/wire_replay.h"

static const replay_select_ops *const select_table[] = {
    [WIRE_SAMPLER_UNIFORM] = &replay_select_uniform,
    [WIRE_SAMPLER_PRIORITIZED] = &replay_select_prioritized,
    [WIRE_SAMPLER_FIFO] = &replay_select_fifo,
};

const replay_select_ops *
replay_select_find(int sampler)
{
    return sampler < 0 || (size_t)sampler >= OCT_COUNTOF(select_table) ? NULL
                                                                       : select_table[sampler];
}
